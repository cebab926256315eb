"""zsh 5.3 and later."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from ._launch import Launch, Report, ShellOptions, checked_key, fields

_CONFIGURATION = 62
_REPORTS: frozenset[Report] = frozenset({"exit_code", "exit_codes", "cwd", "command", "continuation", "command_start"})


class ZshDialect:
    """zsh.

    zsh can be told to read a file of ours only through `ZDOTDIR`, the directory of the user's start-up files (zsh(1),
    STARTUP/SHUTDOWN FILES). It is set to a directory of this package with nothing but a `.zshenv`, which puts the
    user's own back. A system whose `/etc/zsh/zshenv` sets `ZDOTDIR` never reads it: no marks there.
    """

    name = "zsh"

    def launch(self, program: str, key: str, options: ShellOptions) -> Launch:
        """See `Dialect.launch`."""
        checked_key(key)
        arguments = (*(("-l",) if options.login else ()), "-i")
        directory = files("kai_terminal.shells").joinpath("zsh")
        # Called `sh` it reads other files; and a package inside an archive is no directory that zsh could read.
        if Path(program).name == "sh" or not isinstance(directory, Path):
            return Launch(argv=(program, *arguments))
        configuration = fields(
            key,
            options.startup,
            "1" if options.history_expansion else "",
            "1" if "ZDOTDIR" in options.env else "",
            options.env.get("ZDOTDIR", ""),
        )
        return Launch(
            argv=(program, *arguments),
            env={"ZDOTDIR": str(directory)},
            descriptors={_CONFIGURATION: configuration},
            marks=True,
            reports=_REPORTS,
        )
