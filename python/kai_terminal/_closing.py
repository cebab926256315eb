"""Closing a published session: one attempt at a time, joined by whoever comes while it runs."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from ._completion import Completion, background
from .errors import TerminalError, TerminalErrorCode, as_exception

if TYPE_CHECKING:
    from ._registry import SessionRecord, SessionRegistry

_log = logging.getLogger("kai_terminal")


class CloseAttempt:
    """One call of a backend session's `close`. It runs on whatever becomes of those who wait for it."""

    __slots__ = ("completion", "task")

    def __init__(self) -> None:
        self.completion: Completion[None] = Completion()
        self.task: asyncio.Task[None] | None = None


def close_session(registry: SessionRegistry, record: SessionRecord, reason: str) -> CloseAttempt:
    """The attempt in flight, or one that begins now. From here on the session is fenced."""
    attempt = record.closing
    if attempt is None:
        # The loop is asked for first: without one nothing may change.
        asyncio.get_running_loop()
        attempt = record.closing = CloseAttempt()
        if record.send is not None:
            record.send.handle_close_began()
        attempt.task = background(_close(registry, record, attempt, reason))
    return attempt


async def _close(registry: SessionRegistry, record: SessionRecord, attempt: CloseAttempt, reason: str) -> None:
    failure: Exception
    try:
        receipt = await record.session.close(reason)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            # The loop is being shut down under us; the backend's close can be called again.
            interrupted = TerminalError(
                f"the close of {record.session_id} was interrupted: close it again", TerminalErrorCode.CLOSE_FAILED
            )
            _fail(record, attempt, interrupted)
            raise
        failure = as_exception(error)
    except Exception as error:
        failure = error
    except BaseException as error:
        _fail(record, attempt, as_exception(error))
        raise
    else:
        registry.remove(record, receipt)
        record.closing = None
        _log.info("closed %s (%s)", record.session_id, reason)
        if record.send is not None:
            record.send.handle_closed()
        attempt.completion.succeed(None)
        return
    _fail(record, attempt, failure)


def _fail(record: SessionRecord, attempt: CloseAttempt, failure: Exception) -> None:
    # Only its own fence: a newer attempt keeps the one it put up.
    if record.closing is attempt:
        record.closing = None
    _log.warning("closing %s failed: %s", record.session_id, type(failure).__name__)
    if record.send is not None:
        record.send.handle_close_failed()
    attempt.completion.fail(failure)
