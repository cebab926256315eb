"""Ending everything that some owners have, and saying in one error what could not be ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ._closing import close_session
from .errors import TerminalError

if TYPE_CHECKING:
    from ._registry import OwnerState, SessionRegistry
    from ._spawning import PendingSpawn


async def clean_up(
    registry: SessionRegistry, owners: Sequence[OwnerState], why: Callable[[], TerminalError], reason: str
) -> None:
    """Abort what is pending, close what is open, wait for all of it, then raise what failed.

    Everything is begun before anything is waited for. Failures of earlier rollbacks that nobody was told of come along;
    from then on they have been told.
    """
    loop = asyncio.get_running_loop()
    pending = [spawn for owner in owners for spawn in owner.pending]
    for spawn in pending:
        spawn.watched = True
        spawn.abort_by_lifecycle(why())
    records = [record for owner in owners for record in owner.sessions.values()]
    attempts = [close_session(registry, record, reason, loop) for record in records]
    for spawn in pending:
        await _settled(spawn)
    close_failures: list[Exception] = []
    for attempt in attempts:
        try:
            await attempt
        except Exception as error:
            close_failures.append(error)
    failures = [spawn.rollback_error for spawn in pending if spawn.rollback_error is not None]
    for owner in owners:
        failures += owner.take_failures()
        registry.release(owner)
    groups: list[Exception] = []
    if failures:
        groups.append(ExceptionGroup("failed to roll back unpublished PTY setup", failures))
    if close_failures:
        groups.append(ExceptionGroup(f"failed to close {len(close_failures)} PTY session(s)", close_failures))
    if groups:
        raise ExceptionGroup("failed to clean up PTY lifecycle", groups)


async def _settled(spawn: PendingSpawn) -> None:
    if spawn.stranded and not spawn.settled:
        await spawn.rescue()
    else:
        await spawn.wait()
