"""The shells' dialects: how each is started so that it reports its prompts, and what it can report.

Nothing here starts a process or writes a file. `docs/marks.md` has the format of the marks.
"""

from ._find import dialect_for, find_shell
from ._launch import Dialect, Launch, ShellOptions

__all__ = ["Dialect", "Launch", "ShellOptions", "dialect_for", "find_shell"]
