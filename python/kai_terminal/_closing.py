"""Closing a published session: one attempt at a time, joined by whoever comes while it runs."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from ._completion import Completion, background, cancelled_from_outside, stranded
from ._protocol import awaitable
from .errors import as_exception

if TYPE_CHECKING:
    from ._registry import SessionRecord, SessionRegistry
    from .types import TerminalBackendSession, TerminalReceipt

_log = logging.getLogger("kai_terminal")


class CloseAttempt(Completion[None]):
    """One call of a backend session's `close`. It runs on whatever becomes of those who wait for it."""

    __slots__ = ("task",)

    def __init__(self) -> None:
        super().__init__()
        self.task: asyncio.Task[None] | None = None


def close_session(
    registry: SessionRegistry, record: SessionRecord, reason: str, loop: asyncio.AbstractEventLoop
) -> CloseAttempt:
    """The attempt in flight, or one that begins now. From here on the session is fenced."""
    attempt = record.closing
    if attempt is None or stranded(attempt.task):
        attempt = record.closing = CloseAttempt()
        if record.send is not None:
            record.send.handle_close_began()
        attempt.task = background(_close(registry, record, attempt, reason), loop)
    return attempt


async def close_to_the_end(backend_type: str, session: TerminalBackendSession, reason: str) -> TerminalReceipt:
    """Close, also when a loop that ends cancels this once: a close can be joined, and then it is."""
    try:
        return await awaitable(backend_type, "close", session.close(reason))
    except asyncio.CancelledError:
        if not cancelled_from_outside():
            raise
    return await session.close(reason)


async def _close(registry: SessionRegistry, record: SessionRecord, attempt: CloseAttempt, reason: str) -> None:
    try:
        receipt = await close_to_the_end(record.backend_type, record.session, reason)
    except (Exception, asyncio.CancelledError) as error:
        _handle_failure(record, attempt, as_exception(error))
    except BaseException as error:
        # The interpreter, or the loop, ends. The session stays, for whoever may still come.
        _handle_failure(record, attempt, as_exception(error))
        raise
    else:
        registry.remove(record, receipt)
        record.closing = None
        _log.info("closed %s (%s)", record.session_id, reason)
        if record.send is not None:
            record.send.handle_closed()
        attempt.succeed(None)


def _handle_failure(record: SessionRecord, attempt: CloseAttempt, failure: Exception) -> None:
    # Only its own fence: a newer attempt keeps the one it put up.
    if record.closing is attempt:
        record.closing = None
    _log.warning("closing %s failed: %s", record.session_id, type(failure).__name__)
    if record.send is not None and record.closing is None:
        record.send.handle_close_failed()
    attempt.fail(failure)
