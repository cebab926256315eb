"""fish 3.2 and later."""

from __future__ import annotations

from ._launch import Launch, Report, ShellOptions, checked_key, fields, start_up_text

_TEXT = 63
_CONFIGURATION = 62
_REPORTS: frozenset[Report] = frozenset({"exit_code", "exit_codes", "cwd", "command", "continuation", "command_start"})


class FishDialect:
    """fish. There is no secondary prompt: that a command is unfinished is told by the key that could not end it."""

    name = "fish"

    def launch(self, program: str, key: str, options: ShellOptions) -> Launch:
        """See `Dialect.launch`. fish has no history expansion."""
        # Only a redirection can read a pipe: `source` by name wants a regular file.
        arguments = ["-i", "--init-command", f"source </dev/fd/{_TEXT}"]
        if options.login:
            arguments.insert(0, "-l")
        if options.startup == "clean":
            arguments.insert(0, "--no-config")
        return Launch(
            argv=(program, *arguments),
            descriptors={_CONFIGURATION: fields(checked_key(key)), _TEXT: start_up_text("fish.fish")},
            marks=True,
            reports=_REPORTS,
        )
