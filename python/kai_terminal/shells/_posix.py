"""Shells that have an ENV file and expand PS1, and nothing else: dash, busybox ash, mksh, ksh93."""

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

    `reports` is what the shell can tell beside the status and the working directory. No hook runs before a command, so
    its start is not marked, and an empty line cannot be told from a command: the status is then that of the last one.
    """

    name: str
    reports: frozenset[Report] = frozenset()

    def launch(self, program: str, key: str, options: ShellOptions) -> Launch:
        """See `Dialect.launch`."""
        lines = (
            checked_key(key),
            self.name,
            options.startup,
            "1" if options.login else "",
            # A path with a newline cannot be given back.
            options.env.get("ENV", "").partition("\n")[0],
        )
        name = PurePath(program).name
        return Launch(
            argv=(program, "-i"),
            # busybox is whatever it is called.
            arg0="ash" if name == "busybox" else None,
            env={"ENV": f"/dev/fd/{_TEXT}"},
            descriptors={
                _CONFIGURATION: "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"),
                _TEXT: start_up_text("posix.sh"),
            },
            marks=True,
            reports=_ALWAYS | self.reports,
        )
