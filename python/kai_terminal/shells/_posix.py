"""Shells that have a start-up file and expand PS1, and no hooks: dash, busybox ash, mksh, ksh93, yash."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from ._launch import Launch, Report, ShellOptions, checked_key, start_up_text

# dash understands descriptors of one digit only.
_TEXT = 9
_CONFIGURATION = 8

_ALWAYS: frozenset[Report] = frozenset({"exit_code", "cwd"})


@dataclass(frozen=True, slots=True)
class PosixDialect:
    """A shell that reads the file that `ENV` names when it is interactive (POSIX.1, sh).

    yash does so only where it is called `sh`; else there is an option for that file, and prompts have escapes (yash(1),
    Initialization of yash; Prompts).

    `reports` is what the shell can tell beside the status and the working directory. No hook runs before a command, so
    its start is not marked, and an empty line cannot be told from a command: the status is then that of the last one.
    """

    name: str
    reports: frozenset[Report] = frozenset()

    def launch(self, program: str, key: str, options: ShellOptions) -> Launch:
        """See `Dialect.launch`."""
        name = PurePath(program).name
        own_option = self.name == "yash" and name != "sh"
        lines = (
            checked_key(key),
            "yash-sh" if self.name == "yash" and name == "sh" else self.name,
            options.startup,
            "1" if options.login else "",
            # A path with a newline cannot be given back.
            options.env.get("ENV", "").partition("\n")[0],
        )
        text = f"/dev/fd/{_TEXT}"
        return Launch(
            argv=(program, f"--rcfile={text}", "-i") if own_option else (program, "-i"),
            # busybox is whatever it is called.
            arg0="ash" if name == "busybox" else None,
            env={} if own_option else {"ENV": text},
            descriptors={
                _CONFIGURATION: "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"),
                _TEXT: start_up_text("posix.sh"),
            },
            marks=True,
            reports=_ALWAYS | self.reports,
        )
