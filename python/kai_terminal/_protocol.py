"""Backends are other people's code: what they give is looked at before it is used, and an error names them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any, TypeVar

from .types import (
    Exited,
    Running,
    TerminalBackendSession,
    TerminalSendOperation,
    TerminalSendResult,
    TerminalSessionStatus,
)

T = TypeVar("T")


def broken(backend_type: str, what: str) -> TypeError:
    """The error for a backend that breaks its protocol."""
    return TypeError(f"terminal backend {backend_type!r} broke its protocol: {what}")


def check_session(backend_type: str, session: Any) -> TerminalSessionStatus:
    """Refuse what is not a session; returns its status."""
    for name in SESSION_METHODS:
        if not callable(getattr(session, name, None)):
            raise broken(backend_type, f"spawn returned {type(session).__name__}, which has no method {name}")
    motd = getattr(session, "motd", None)
    if not isinstance(motd, str):
        raise broken(backend_type, f"the session's motd is {type(motd).__name__}, not str")
    pid = getattr(session, "pid", None)
    if pid is not None and not isinstance(pid, int):
        raise broken(backend_type, f"the session's pid is {type(pid).__name__}, not int or None")
    return checked_status(backend_type, session)


def checked_status(backend_type: str, session: TerminalBackendSession) -> TerminalSessionStatus:
    """The session's status, if it is one."""
    status = session.status()
    if not isinstance(status, (Running, Exited)):
        discard(status)
        raise broken(backend_type, f"status() returned {type(status).__name__}, not Running or Exited")
    return status


def checked_operation(backend_type: str, operation: TerminalSendOperation) -> TerminalSendOperation:
    """The operation, if it is one. `done` is not touched: it may make something that must then be awaited."""
    for name in OPERATION_METHODS:
        if not callable(getattr(operation, name, None)):
            break
    else:
        if hasattr(type(operation), "done") or "done" in getattr(operation, "__dict__", {}):
            return operation
    discard(operation)
    raise broken(backend_type, f"start_send returned {type(operation).__name__}, not a TerminalSendOperation")


def checked_result(backend_type: str, result: object) -> TerminalSendResult:
    """The result of a send, if it is one."""
    if not isinstance(result, TerminalSendResult):
        raise broken(backend_type, f"a send's done gave {type(result).__name__}, not a TerminalSendResult")
    return result


def awaitable(backend_type: str, what: str, value: Awaitable[T]) -> Awaitable[T]:
    """The value, if it can be awaited: a method that should have been async gives something else."""
    if not inspect.isawaitable(value):
        raise broken(backend_type, f"{what} is not awaitable, but {type(value).__name__}")
    return value


def discard(value: object) -> None:
    """Close a coroutine that nobody will await, so that the interpreter does not warn about it."""
    if inspect.iscoroutine(value):
        value.close()


SESSION_METHODS = ("start_send", "read", "signal", "status", "close")
OPERATION_METHODS = ("read_output", "wait_output", "cancel")
