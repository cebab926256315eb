"""A result that arrives once, for any number of waiters; and tasks that the package runs for itself."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine, Generator
from types import TracebackType
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_log = logging.getLogger("kai_terminal")


class Completion(Generic[T]):
    """Awaitable by any number of tasks, on any loop, again and again, with the same result object.

    Unlike a future it belongs to no loop, a cancelled waiter does not cancel it, and a failure that nobody awaits is
    not reported as "never retrieved": whoever fails it decides what to log.
    """

    __slots__ = ("_error", "_settled", "_traceback", "_value", "_waiters")

    def __init__(self) -> None:
        self._settled = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._traceback: TracebackType | None = None
        # With the thread that each waits in.
        self._waiters: dict[asyncio.Future[None], int] = {}

    @property
    def settled(self) -> bool:
        """Whether the result is there."""
        return self._settled

    def succeed(self, value: T) -> None:
        """Settle with a value."""
        self._value = value
        self._settle()

    def fail(self, error: BaseException) -> bool:
        """Settle with an error; returns whether anybody waited for it."""
        self._error = error
        self._traceback = error.__traceback__
        return self._settle()

    def __await__(self) -> Generator[Any, None, T]:
        if not self._settled:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            # Register before checking again: the result may come from another thread in between.
            self._waiters[waiter] = threading.get_ident()
            try:
                if not self._settled:
                    yield from waiter
            finally:
                self._waiters.pop(waiter, None)
        if self._error is not None:
            # The traceback of the first raise, so that it does not grow with each waiter.
            raise self._error.with_traceback(self._traceback)
        return self._value  # type: ignore[return-value]  # Settled without an error: it is a T.

    def _settle(self) -> bool:
        if self._settled:
            message = "a completion settles once"
            raise RuntimeError(message)
        self._settled = True
        if not self._waiters:
            return False
        waiters, self._waiters = self._waiters, {}
        here = threading.get_ident()
        for waiter, thread in waiters.items():
            try:
                if thread == here:
                    _wake(waiter)
                else:
                    waiter.get_loop().call_soon_threadsafe(_wake, waiter)
            except RuntimeError:
                # Its loop is closed: the waiter can no longer be woken, nor does it need to be.
                _log.debug("an event loop was closed before it could be told something")
        return bool(waiters)


def background(work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop | None = None) -> asyncio.Task[None]:
    """Run work of the package's own on the running loop. Whoever starts it keeps the task, or it may be collected."""
    if loop is None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            # Or it would be reported as never awaited, on top of the error that says why.
            work.close()
            raise
    task = loop.create_task(work)
    # A loop that is closed in the middle of things must not make the interpreter complain about tasks its user never
    # saw. There is no public way to say so; asyncio itself sets this for the futures of `gather`.
    if hasattr(task, "_log_destroy_pending"):
        task._log_destroy_pending = False  # pyright: ignore[reportAttributeAccessIssue]
    return task


def stranded(work: asyncio.Future[Any] | None) -> bool:
    """Whether the loop that this ran on was closed, so that it will never go on."""
    return work is not None and work.get_loop().is_closed()


def cancelled_from_outside() -> bool:
    """Whether the current task itself is being cancelled, which for a task of the package's own means a loop's end.

    Otherwise a `CancelledError` that it meets comes from what it awaited, and is a failure like any other.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
