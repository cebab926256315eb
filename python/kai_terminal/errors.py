"""What can go wrong, by name.

Every refusal and failure of a terminal is a `TerminalError` with a `code` that a program can branch on;
`docs/errors.md` says for each code what happened and what to do. Failures that belong together are native
`ExceptionGroup`s.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Self

__all__ = ["AbortError", "TerminalBackendCleanupError", "TerminalError", "TerminalErrorCode"]


class TerminalErrorCode(StrEnum):
    """The codes a `TerminalError` carries. A member equals its own name: `error.code == "NO_SESSION"`."""

    DUPLICATE_BACKEND = "DUPLICATE_BACKEND"
    DUPLICATE_NAME = "DUPLICATE_NAME"
    FOREIGN_SESSION = "FOREIGN_SESSION"
    NO_BACKEND = "NO_BACKEND"
    NO_SESSION = "NO_SESSION"
    OWNER_NOT_LIVE = "OWNER_NOT_LIVE"
    SEND_ACTIVE = "SEND_ACTIVE"
    SERVICE_DISPOSING = "SERVICE_DISPOSING"
    SESSION_CLOSING = "SESSION_CLOSING"
    SESSION_EXITED = "SESSION_EXITED"
    INPUT_REFUSED = "INPUT_REFUSED"
    NOT_AT_PROMPT = "NOT_AT_PROMPT"
    UNSUPPORTED = "UNSUPPORTED"
    SIGNAL_DENIED = "SIGNAL_DENIED"
    SIGNAL_FAILED = "SIGNAL_FAILED"
    START_FAILED = "START_FAILED"
    START_TIMEOUT = "START_TIMEOUT"
    CLOSE_FAILED = "CLOSE_FAILED"
    TRANSPORT_FAILED = "TRANSPORT_FAILED"
    RESOURCES = "RESOURCES"
    FORKED = "FORKED"
    SHUT_DOWN = "SHUT_DOWN"


class TerminalError(Exception):
    """A terminal refused, or failed; `code` says which of the documented cases it is."""

    code: TerminalErrorCode

    def __init__(self, message: str, code: TerminalErrorCode | str) -> None:
        super().__init__(message)
        self.code = TerminalErrorCode(code)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are rebuilt from `args`, which hold the message alone.
        return type(self), (str(self), self.code)


class AbortError(Exception):
    """The reason of an abort that was given none, and the stand-in for one that is not an `Exception`."""


class TerminalBackendCleanupError(ExceptionGroup[Exception]):
    """A backend's setup failed, and so did the cleanup of what it had started.

    `spawn_error` and `cleanup_error` are the exact objects. `exceptions` holds the same two, each one that is not an
    `Exception` (a `CancelledError`) replaced by an `AbortError` with it as `__cause__`.
    """

    spawn_error: BaseException
    cleanup_error: BaseException

    # The initialiser of a group takes what `__new__` takes and does nothing.
    def __new__(  # pyright: ignore[reportInconsistentConstructor]
        cls, spawn_error: BaseException, cleanup_error: BaseException
    ) -> Self:
        """Group both; anything that is not an exception is a `TypeError`."""
        for error in (spawn_error, cleanup_error):
            if not isinstance(error, BaseException):
                message = f"a cleanup error is made of two exceptions, not of {type(error).__name__}"
                raise TypeError(message)
        self = super().__new__(cls, SPAWN_AND_ROLLBACK_FAILED, [as_exception(spawn_error), as_exception(cleanup_error)])
        self.spawn_error = spawn_error
        self.cleanup_error = cleanup_error
        return self

    def derive(self, excs: Sequence[Any], /) -> ExceptionGroup[Any]:
        """A part of this group (from `split` or `except*`) is a plain group: it no longer holds exactly these two."""
        return ExceptionGroup(self.message, excs)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.spawn_error, self.cleanup_error)


def as_exception(error: BaseException) -> Exception:
    """The error itself, or an `AbortError` with it as `__cause__` where a group could not hold it."""
    if isinstance(error, Exception):
        return error
    stand_in = AbortError(f"ended by {type(error).__name__}")
    stand_in.__cause__ = error
    return stand_in


SPAWN_AND_ROLLBACK_FAILED = "PTY spawn and rollback both failed"
