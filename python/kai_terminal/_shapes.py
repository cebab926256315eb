"""The shapes in which `_core` hands out what it knows."""

from __future__ import annotations

from typing import TypeAlias, TypedDict

__all__ = ["Closed", "Exit", "Page", "Settled"]

Exit: TypeAlias = tuple[int | None, str | None] | None
"""How a process ended: exit code, or the name of the signal; both `None` where nobody saw it. `None`: not yet."""

Page: TypeAlias = tuple[str, int, int, int, int, int, bool]
"""The fields of `TerminalReadResult`, in order."""

Closed: TypeAlias = tuple[list[tuple[int, str, str, Exit]], bool, float, bool]
"""Processes (pid, command, user, end), whether any was killed, seconds, whether this call performed the close."""


class Settled(TypedDict):
    """The fields of `TerminalSendResult`."""

    viewport: str
    wait_reason: str
    evidence: str
    waiting_for: str | None
    status: Exit
    truncated: bool
    exit_code: int | None
    exit_codes: list[int] | None
    command: str | None
    cwd: str | None
    output: str | None
    duration: float
