"""nushell."""

from __future__ import annotations

from ._launch import Launch, Report, ShellOptions, checked_key, fields, start_up_text

_TEXT = 63
_CONFIGURATION = 62
_REPORTS: frozenset[Report] = frozenset({"exit_code", "cwd", "command", "command_start"})


class NushellDialect:
    """nushell. Its pipelines have one status, and an unfinished command goes on in the same edit buffer."""

    name = "nushell"

    def launch(self, program: str, key: str, options: ShellOptions) -> Launch:
        """See `Dialect.launch`. History expansion (a line that begins with `!`) cannot be switched off."""
        arguments = ["-i", "--execute", f"source /dev/fd/{_TEXT}"]
        if options.login:
            arguments.insert(0, "-l")
        if options.startup == "clean":
            arguments.insert(0, "--no-config-file")
        return Launch(
            argv=(program, *arguments),
            descriptors={_CONFIGURATION: fields(checked_key(key)), _TEXT: start_up_text("nushell.nu")},
            marks=True,
            reports=_REPORTS,
        )
