"""The extension module: the core in Rust, as thin verbs.

It is private: `ShellBackend` and `Screen` are what the package offers of it. Verbs that wait take the port and the
event loop and give a future of that loop with the token that cancels; everything else returns at once. Times are in
seconds.
Errors are `kai_terminal.TerminalError`; any use in a forked copy of the process that opened the terminal is `FORKED`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal, final

from ._shapes import Closed, Exit, Page, Settled
from .types import TerminalReadResult

__all__ = [
    "VERSION",
    "Ask",
    "Cursor",
    "Port",
    "Screen",
    "Send",
    "Session",
    "check_size",
    "configure_guard",
    "error_codes",
    "guard_path",
    "shutdown",
]

VERSION: str

def check_size(cols: int, rows: int) -> None:
    """`ValueError` unless both are from 1 to 1,000."""

def configure_guard(path: str) -> None:
    """Say where the guard program is; the first call counts. Without one the embedded copy is used."""

def guard_path() -> str:
    """Where the guard program is that sessions are started with; `OSError` where none can be had."""

def error_codes() -> list[str]:
    """Every code that this module raises a `TerminalError` with."""

def shutdown(timeout_ms: int) -> None:
    """Stop the runtime, for the interpreter's exit, and wait for that, but no longer than this.

    Open sessions are ended by their guards. What waits, and whatever is called afterwards, is `SHUT_DOWN`.
    """

@final
class Ask:
    """The token of a pending verb: dropping it lets the waiter go."""

@final
class Port:
    """Where results come out of Rust: a queue and an eventfd(2) that one event loop watches."""

    def __new__(cls) -> Port:
        """`FORKED` in a forked copy of a process that has used terminals."""

    def fileno(self) -> int:
        """The descriptor to watch for reading."""

    @property
    def pending(self) -> int:
        """How many futures wait for their result."""

    def drain(self) -> None:
        """Settle the futures whose results have come; to be called on the loop's thread."""

    def cancel(self, ask: Ask) -> None:
        """Let a waiter go. What it waited for goes on."""

    def abandon(self) -> None:
        """Let every future go, for a loop that is closed."""

@final
class Session:
    """One open terminal."""

    @staticmethod
    def open(options: Mapping[str, object]) -> Session:
        """Start a program in a new terminal; `started` tells how that went.

        `START_FAILED`, `RESOURCES`; `ValueError` for sizes outside 1 to 1,000 and other bad options.
        """

    def started(self, port: Port, event_loop: asyncio.AbstractEventLoop) -> tuple[asyncio.Future[None], Ask]:
        """Wait until it is ready for input: `START_FAILED`, `START_TIMEOUT`, `TRANSPORT_FAILED`."""

    def close(self, port: Port, event_loop: asyncio.AbstractEventLoop) -> tuple[asyncio.Future[Closed], Ask]:
        """End the managed range and wait until it is proven empty: `CLOSE_FAILED`. Joins a close that is under way."""

    def start_send(
        self, text: str, *, submit: bool, run: bool, timeout: float | None, idle_silence: float | None
    ) -> Send:
        """Begin a send: `SEND_ACTIVE`, `SESSION_CLOSING`, `SESSION_EXITED`, `INPUT_REFUSED`, and for a run
        `NOT_AT_PROMPT`."""

    def page(self, offset: int, count: int) -> Page:
        """A page backwards from the newest line."""

    def page_from(self, line: int, count: int) -> Page:
        """A page forwards from an absolute line."""

    def signal(self, name: str) -> int:
        """Signal the foreground process group and return its id: `SIGNAL_DENIED`, `SIGNAL_FAILED`, `SESSION_EXITED`."""

    def resize(self, cols: int, rows: int) -> None:
        """Give the terminal this size: `SESSION_EXITED`."""

    def press(self, names: Sequence[str]) -> None:
        """Type named keys; `ValueError` for a name that is no key."""

    def mouse(self, col: int, row: int, button: str, action: str) -> bool:
        """A mouse action at a cell counted from 0; `False` where the program has not asked for it.

        `ValueError` for a cell that the terminal does not have.
        """

    def screen(self) -> tuple[list[str], Cursor, str, dict[str, int], tuple[int, int]]:
        """The visible rows, right-trimmed; cursor, title, modes, and size in columns and rows: all of one moment."""

    def screen_snapshot(self, form: str) -> str:
        """The screen as `text`, `ansi`, `html` or `svg`."""

    def motd(self) -> str:
        """What was printed before the first prompt."""

    def status(self) -> Exit:
        """`None` while the top-level process runs."""

    @property
    def pid(self) -> int | None:
        """The top-level process, once it runs."""

    def counters(self) -> dict[str, int]:
        """Oddities seen: `foreign_marks`, `refused_marks`, `dropped_replies`, `unanswered_queries`."""

@final
class Send:
    """A send under way, or settled."""

    def done(self, port: Port, event_loop: asyncio.AbstractEventLoop) -> tuple[asyncio.Future[Settled], Ask]:
        """Wait for its result: `TRANSPORT_FAILED`."""

    def wait_output(self, port: Port, event_loop: asyncio.AbstractEventLoop) -> tuple[asyncio.Future[None], Ask]:
        """Wait until there is something unread, or it has settled."""

    def read_output(self) -> tuple[str, bool]:
        """What it produced since the last call, and whether something was dropped."""

    def cancel(self) -> bool:
        """Drop unwritten input, discard what no program has read, interrupt the foreground; `False` once settled."""

@final
class Cursor:
    """Where the cursor is; rows and columns count from 0."""

    def __eq__(self, other: object, /) -> bool: ...
    @property
    def row(self) -> int: ...
    @property
    def col(self) -> int: ...
    @property
    def visible(self) -> bool: ...

@final
class Screen:
    """A terminal emulator alone, for whoever has a terminal's bytes and no program.

    The state depends on the bytes alone, however they are cut. It speaks the control functions of ECMA-48, the DEC
    terminals up to the VT525 and xterm, as far as programs use them.
    """

    def __new__(
        cls, cols: int = 80, rows: int = 24, scrollback_lines: int = 10_000, scrollback_bytes: int = 8388608
    ) -> Screen:
        """`ValueError` for sizes outside 1 to 1,000."""

    def feed(self, data: bytes) -> bytes:
        """Take output of a program; returns what a terminal would send back."""

    def resize(self, cols: int, rows: int) -> None:
        """Change the size; text of the primary screen is wrapped anew."""

    def rows(self) -> list[str]:
        """The visible rows, right-trimmed."""

    @property
    def text(self) -> str:
        """The visible rows joined with newlines."""

    @property
    def cursor(self) -> Cursor:
        """Where the cursor is."""

    @property
    def title(self) -> str:
        """The title that was set."""

    @property
    def modes(self) -> dict[str, int]:
        """The modes by name; 0 or 1 where they are switches."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""

    def history(self, offset: int = 0, count: int = 500) -> TerminalReadResult:
        """A page of the scrollback and the screen, `offset` lines above the newest.

        `ValueError` for a negative offset and for a count below one.
        """

    def snapshot(self, form: Literal["text", "ansi", "html", "svg"] = "text") -> str:
        """The screen in another form; `ansi` rebuilds it when fed to another screen."""
