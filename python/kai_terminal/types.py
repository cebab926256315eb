"""The vocabulary: requests, results and what a backend has to offer.

Times are in seconds. Value types are frozen and compare by value; what can be wrong about a request is said when it is
made.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Awaitable
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NewType, Protocol, TypeAlias

from .abort import AbortSignal

if TYPE_CHECKING:
    from .agents import Agent

__all__ = [
    "Exited",
    "Running",
    "TerminalBackend",
    "TerminalBackendSession",
    "TerminalBackendSpawnSpec",
    "TerminalEvidence",
    "TerminalMouseAction",
    "TerminalMouseButton",
    "TerminalReadRequest",
    "TerminalReadResult",
    "TerminalReceipt",
    "TerminalScreen",
    "TerminalSendOperation",
    "TerminalSendRead",
    "TerminalSendRequest",
    "TerminalSendResult",
    "TerminalSessionId",
    "TerminalSessionSnapshot",
    "TerminalSessionStatus",
    "TerminalSignal",
    "TerminalSignalResult",
    "TerminalSpawnRequest",
    "TerminalSpawnResult",
    "TerminalWaitReason",
    "TerminalWaitingFor",
]

TerminalSessionId = NewType("TerminalSessionId", str)

TerminalWaitReason: TypeAlias = Literal["stdin_read", "inferred_idle", "timeout", "session_exit"]
TerminalEvidence: TypeAlias = Literal["prompt_mark", "blocking_read", "input_poll", "silence", "deadline", "exit"]
TerminalWaitingFor: TypeAlias = Literal["shell_prompt", "continuation", "line", "secret", "keys"]
TerminalSignal: TypeAlias = Literal["SIGINT", "SIGTERM", "SIGKILL", "SIGTSTP", "SIGHUP"]
TerminalMouseButton: TypeAlias = Literal["left", "middle", "right", "wheel_up", "wheel_down"]
TerminalMouseAction: TypeAlias = Literal["click", "press", "release", "move"]

TerminalReceipt: TypeAlias = object
"""What a backend's `close` returned: how the managed range ended. Its shape is the backend's."""


@dataclass(frozen=True, slots=True)
class Running:
    """The top-level process runs."""

    kind: ClassVar[Literal["running"]] = "running"


@dataclass(frozen=True, slots=True)
class Exited:
    """The top-level process has ended, with a code or by a signal (`"SIGKILL"`); `None` where that is not known."""

    exit_code: int | None = None
    signal: str | None = None
    kind: ClassVar[Literal["exited"]] = "exited"


TerminalSessionStatus: TypeAlias = Running | Exited


@dataclass(frozen=True, slots=True)
class TerminalSpawnRequest:
    """Which terminal to open: the type of backend, a display name, the working directory (`None`: the backend's)."""

    type: str
    name: str | None = None
    cwd: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        _expect(self.type, str, "type")
        if self.name is not None:
            _expect(self.name, str, "name")
        if self.cwd is not None:
            cwd = self.cwd if isinstance(self.cwd, str) else _path(self.cwd)
            if not cwd:
                message = "cwd must not be empty: leave it out for the backend's own, or give a directory"
                raise ValueError(message)
            _refuse_nul(cwd, "cwd")


@dataclass(frozen=True, slots=True)
class TerminalBackendSpawnSpec(TerminalSpawnRequest):
    """What a backend is asked to open: the request, the id it will be known by, its owner and the signal to heed.

    When `signal` aborts, the backend stops its setup, cleans up and raises.
    """

    cwd: str | None = None
    session_id: TerminalSessionId = field(kw_only=True)
    owner: Agent = field(kw_only=True)
    signal: AbortSignal = field(kw_only=True)

    def __post_init__(self) -> None:
        """Its parts were checked when the request was made."""


@dataclass(frozen=True, slots=True)
class TerminalSessionSnapshot:
    """A session as it was at the moment of asking."""

    session_id: TerminalSessionId
    name: str | None
    type: str
    pid: int | None
    status: TerminalSessionStatus


@dataclass(frozen=True, slots=True)
class TerminalSpawnResult(TerminalSessionSnapshot):
    """The session that was opened; `motd` is the bounded text that was printed before the first prompt."""

    motd: str


@dataclass(frozen=True, slots=True)
class TerminalSendRequest:
    """Text to type. `submit` adds Enter. The text is never part of a `repr`, a message or a log: it may be a secret.

    `signal` cancels the send. `timeout` (`None`: the backend's default) is how long it may take, `idle_silence`
    (`None`: the backend's default) after how much silence it is taken for idle.
    """

    text: str = field(repr=False)
    submit: bool = True
    signal: AbortSignal | None = None
    timeout: float | None = None
    idle_silence: float | None = None

    def __post_init__(self) -> None:
        _expect(self.text, str, "text")
        _refuse_nul(self.text, "text", " (the key Ctrl-Space sends it)")
        if not _encodable(self.text):
            # Not the encoder's own error: it quotes the text.
            message = "text cannot be written as UTF-8: it holds lone surrogates"
            raise ValueError(message)
        _expect(self.submit, bool, "submit")
        if self.signal is not None:
            _expect(self.signal, AbortSignal, "signal")
        check_seconds(self.timeout, "timeout")
        check_seconds(self.idle_silence, "idle_silence")


@dataclass(frozen=True, slots=True)
class TerminalSendRead:
    """What a send produced since the last call; `truncated` says that older output was dropped to keep it bounded."""

    delta: str
    truncated: bool


@dataclass(frozen=True, slots=True)
class TerminalSendResult:
    """How a send ended. Everything after `truncated` is `None` where it cannot be known.

    `viewport` is the rendered output, echo and prompt included, that `read_output` has not consumed; `output` is what
    the command itself printed. `duration` is in seconds.
    """

    viewport: str
    wait_reason: TerminalWaitReason
    session_status: TerminalSessionStatus
    truncated: bool
    _: KW_ONLY
    evidence: TerminalEvidence | None = None
    waiting_for: TerminalWaitingFor | None = None
    exit_code: int | None = None
    exit_codes: tuple[int, ...] | None = None
    command: str | None = None
    cwd: str | None = None
    output: str | None = None
    duration: float | None = None
    explanation: str | None = None


@dataclass(frozen=True, slots=True)
class TerminalReadRequest:
    """A page: backwards from the newest line (`offset`, 0 unless given), or forwards from `from_line`."""

    offset: int | None = None
    from_line: int | None = None
    count: int = 500

    def __post_init__(self) -> None:
        if self.offset is not None and self.from_line is not None:
            message = "a read takes offset (from the newest line) or from_line (an absolute line), not both"
            raise ValueError(message)
        for name, value in (("offset", self.offset), ("from_line", self.from_line)):
            if value is not None:
                _expect(value, int, name)
                if value < 0:
                    message = f"{name} must be zero or more, not {value}"
                    raise ValueError(message)
        _expect(self.count, int, "count")
        if self.count <= 0:
            message = f"count must be one or more, not {self.count}"
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class TerminalReadResult:
    """A page, in chronological order.

    `line_begin` is its newest line counted from the newest, `line_end` one past its oldest.

    `first_line` is the absolute number of its first line, `stable_end` the first line number that may still change.
    """

    text: str
    total_lines: int
    line_begin: int
    line_end: int
    first_line: int
    stable_end: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class TerminalSignalResult:
    """The signal was delivered to this process group."""

    delivered: Literal[True]
    target_pgid: int


class TerminalSendOperation(Protocol):
    """A send under way."""

    @property
    def done(self) -> Awaitable[TerminalSendResult]:
        """Its result. A backend may give a fresh awaitable each time; anybody may await the service's, also again."""
        ...

    def read_output(self) -> TerminalSendRead:
        """What was produced since the last call."""
        ...

    async def wait_output(self) -> None:
        """Return when there is something unread, or the send has settled."""
        ...

    def cancel(self) -> bool:
        """Drop unwritten input and interrupt the foreground. `False` once it has settled."""
        ...


class TerminalScreen(Protocol):
    """What a person would see now."""

    @property
    def text(self) -> str:
        """The visible rows, right-trimmed, joined with newlines."""
        ...

    def rows(self) -> list[str]:
        """The visible rows, right-trimmed."""
        ...


class TerminalBackendSession(Protocol):
    """One live terminal of a backend.

    It may also have the methods of `SupportsKeys`, `SupportsMouse`, `SupportsResize`, `SupportsScreen`,
    `SupportsExplain`, `SupportsWaitFor` and `SupportsRun`; where one is missing the service answers `UNSUPPORTED`.
    """

    @property
    def motd(self) -> str:
        """Bounded text that was printed before the first prompt."""
        ...

    @property
    def pid(self) -> int | None:
        """The top-level process."""
        ...

    def start_send(self, request: TerminalSendRequest) -> TerminalSendOperation:
        """Begin a send. The service asks for one at a time."""
        ...

    def read(self, request: TerminalReadRequest) -> TerminalReadResult:
        """A page of the document."""
        ...

    async def signal(self, name: TerminalSignal) -> TerminalSignalResult:
        """Signal the foreground process group."""
        ...

    def status(self) -> TerminalSessionStatus:
        """About the top-level process only."""
        ...

    async def close(self, reason: str) -> TerminalReceipt:
        """End the managed range; idempotent, joinable, resolves only when quiescent, can be tried again if it failed.

        What it returns, if anything, is the receipt.
        """
        ...


class SupportsKeys(Protocol):
    """A backend session that takes named keys."""

    async def press(self, *keys: str) -> None:
        """Type named keys (`"Ctrl-D"`, `"Up"`), encoded for the terminal's current mode."""
        ...


class SupportsMouse(Protocol):
    """A backend session that takes mouse events."""

    async def mouse(
        self, col: int, row: int, *, button: TerminalMouseButton = "left", action: TerminalMouseAction = "click"
    ) -> None:
        """A mouse event at a cell, counted from 0."""
        ...


class SupportsResize(Protocol):
    """A backend session whose size can change."""

    def resize(self, cols: int, rows: int) -> None:
        """Give the terminal this size."""
        ...


class SupportsScreen(Protocol):
    """A backend session that knows what is on its screen."""

    def screen(self) -> TerminalScreen:
        """The screen as it is now."""
        ...


class SupportsExplain(Protocol):
    """A backend session that can say why it takes itself for busy or ready."""

    def explain(self) -> str:
        """The evidence at this moment, for a person."""
        ...


class SupportsWaitFor(Protocol):
    """A backend session that can wait for output."""

    async def wait_for(self, pattern: str | re.Pattern[str], timeout: float | None = None) -> str:
        """Wait for text or a pattern in what is printed from now on or already unread; returns what matched.

        `TimeoutError` after `timeout` seconds.
        """
        ...


class SupportsRun(Protocol):
    """A backend session that knows when a shell command has ended."""

    def start_run(self, request: TerminalSendRequest) -> TerminalSendOperation:
        """A send that silence never settles; `NOT_AT_PROMPT`, with nothing written, anywhere but at a prompt."""
        ...


class TerminalBackend(Protocol):
    """A provider of one type of session."""

    @property
    def type(self) -> str:
        """The type it provides, such as `"shell"`."""
        ...

    async def spawn(self, spec: TerminalBackendSpawnSpec) -> TerminalBackendSession:
        """A session that is ready, or an error after whatever was started has been cleaned up.

        Raise `TerminalBackendCleanupError` where that cleanup failed too.
        """
        ...


def check_seconds(value: float | None, name: str) -> None:
    """Refuse what is not a finite number of seconds, zero or more (`None` is fine)."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        message = f"{name} is a number of seconds or None, not {type(value).__name__}"
        raise TypeError(message)
    if not math.isfinite(value) or value < 0:
        message = f"{name} must be a finite number of seconds, zero or more, not {value}"
        raise ValueError(message)


def _expect(value: object, kind: type, name: str) -> None:
    """Refuse another type; a bool is no int here, and the value itself is never quoted."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        message = f"{name} must be {kind.__name__}, not {type(value).__name__}"
        raise TypeError(message)


def _path(value: os.PathLike[str]) -> str:
    """The text of a path object; a path of bytes is refused like anything else that is not text."""
    path: object = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        message = f"cwd must be a str or a path of one, not {type(path).__name__}"
        raise TypeError(message)
    return path


def _refuse_nul(value: str, name: str, hint: str = "") -> None:
    if "\0" in value:
        message = f"{name} must not hold NUL characters{hint}"
        raise ValueError(message)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
