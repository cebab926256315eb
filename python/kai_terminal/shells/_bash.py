"""bash 4.4 and later; also where it is called `sh`."""

from __future__ import annotations

from pathlib import PurePath

from ._launch import Launch, Report, ShellOptions, checked_key, fields, start_up_text

# High, out of the way of scripts that choose small numbers. bash moves its own to 255, and hands out those from 63
# downwards for process substitution only after the text has closed these two.
_TEXT = 63
_CONFIGURATION = 62

_REPORTS: frozenset[Report] = frozenset({"exit_code", "exit_codes", "cwd", "continuation", "command_start"})


class BashDialect:
    """bash.

    An interactive bash reads `--rcfile`; a login shell does not, and neither does one called `sh`. Those read `ENV`,
    the former only in POSIX mode, which `bash.sh` then leaves again (bash(1), INVOCATION).
    """

    name = "bash"

    def launch(self, program: str, key: str, options: ShellOptions) -> Launch:
        """See `Dialect.launch`."""
        env: dict[str, str | None] = {}
        mode: str
        arguments: tuple[str, ...]
        if options.login:
            mode, arguments = "login", ("--posix", "-l", "-i")
        elif PurePath(program).name == "sh":
            mode, arguments = "posix", ("-i",)
        else:
            mode, arguments = "interactive", ("--rcfile", f"/dev/fd/{_TEXT}", "-i")
        if mode != "interactive":
            env["ENV"] = f"/dev/fd/{_TEXT}"
        configuration = fields(
            checked_key(key),
            mode,
            options.startup,
            "1" if options.history_expansion else "",
            options.env.get("ENV", ""),
        )
        return Launch(
            argv=(program, *arguments),
            env=env,
            descriptors={_CONFIGURATION: configuration, _TEXT: start_up_text("bash.sh")},
            marks=True,
            reports=_REPORTS,
        )
