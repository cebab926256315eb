"""The screen: of an open terminal, and the emulator alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ._core import Cursor, Screen, Session

__all__ = ["Cursor", "Screen", "ShellScreen"]


class ShellScreen:
    """What a person would see: the screen at the moment of asking, taken once."""

    def __init__(self, inner: Session) -> None:
        # All at once: between two calls the program may draw.
        self._rows, self._cursor, self._title, self._modes, self._size = inner.screen()
        self._inner = inner

    @property
    def text(self) -> str:
        """The visible rows, right-trimmed, joined with newlines."""
        return "\n".join(self._rows)

    def rows(self) -> list[str]:
        """The visible rows, right-trimmed."""
        return list(self._rows)

    @property
    def cursor(self) -> Cursor:
        """Row and column, counted from 0, and whether it is visible."""
        return self._cursor

    @property
    def title(self) -> str:
        """The title that the program set."""
        return self._title

    @property
    def modes(self) -> Mapping[str, int]:
        """The terminal's modes by name, 0 or 1 where they are switches."""
        return self._modes

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self._size

    def snapshot(self, form: Literal["text", "ansi", "html", "svg"] = "text") -> str:
        """The screen, as it is when this is called, in another form."""
        return self._inner.screen_snapshot(form)
