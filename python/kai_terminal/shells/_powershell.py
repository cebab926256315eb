"""PowerShell 7. Written to its documentation and not run yet."""

from __future__ import annotations

from ._launch import Launch, Report, ShellOptions, checked_key, fields, start_up_text

_TEXT = 63
_CONFIGURATION = 62
_REPORTS: frozenset[Report] = frozenset({"exit_code", "cwd", "command", "command_start"})


class PowerShellDialect:
    """PowerShell. Its pipelines have one status, and an unfinished command goes on in the same edit buffer.

    The text is run by `-Command`, which comes after the profiles, and `-NoExit` makes the shell go on (about_Pwsh).
    """

    name = "powershell"

    def launch(self, program: str, key: str, options: ShellOptions) -> Launch:
        """See `Dialect.launch`. PowerShell has no history expansion."""
        arguments = ["-NoExit", "-Command", f". ([ScriptBlock]::Create([IO.File]::ReadAllText('/dev/fd/{_TEXT}')))"]
        if options.startup == "clean":
            arguments.insert(0, "-NoProfile")
        if options.login:
            # Only understood as the first.
            arguments.insert(0, "-Login")
        return Launch(
            argv=(program, *arguments),
            descriptors={_CONFIGURATION: fields(checked_key(key)), _TEXT: start_up_text("powershell.ps1")},
            marks=True,
            certain=False,
            reports=_REPORTS,
        )
