"""A shell that nothing is known about."""

from __future__ import annotations

from ._launch import Launch, ShellOptions


class PlainDialect:
    """Starts the program as it is. There are no marks: the kernel's evidence is all there is."""

    name = "plain"

    def launch(self, program: str, key: str, options: ShellOptions) -> Launch:
        """See `Dialect.launch`. Neither key nor options are used but for `login`, which is a dash before `argv[0]`."""
        del key
        return Launch(argv=(program,), arg0=f"-{program.rpartition('/')[2]}" if options.login else None)
