"""A send, as the service hands it out.

Two things may end one: the backend's operation, and a close of the session. The rules (N8, N11), as events:

    backend settled, no close begun since the send    settles as the backend says
    backend settled, a close in flight                held
    close succeeded                                   settles as `session_exit`: at once if held, else with the last
                                                      word of the backend, for which it gets `LAST_WORD` seconds
    close failed, held, top-level process ended       settles as `session_exit`
    close failed otherwise                            held: waits for the retry
    backend settled after a failed close              as `session_exit` if the top-level process ended, else held

The session's slot is free again when the send has settled.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any

from ._completion import Completion, background, cancelled_from_outside, stranded
from ._protocol import awaitable, checked_result, checked_status
from .abort import call_on
from .errors import TerminalError, TerminalErrorCode, as_exception
from .types import Exited, TerminalSendOperation, TerminalSendRead, TerminalSendResult

if TYPE_CHECKING:
    from ._registry import SessionRecord
    from .abort import AbortSignal

_log = logging.getLogger("kai_terminal")

LAST_WORD = 1.0
"""How long, in seconds, a backend's operation may take to settle after the close of its session."""


class ServiceSend:
    """A `TerminalSendOperation` whose `done` can be awaited by any number of tasks, again and again."""

    __slots__ = (
        "_close_began",
        "_closed",
        "_completion",
        "_detach",
        "_heard",
        "_inner",
        "_outcome",
        "_record",
        "_watcher",
    )

    def __init__(self, record: SessionRecord, inner: TerminalSendOperation) -> None:
        self._record = record
        self._inner = inner
        self._completion: Completion[TerminalSendResult] = Completion()
        self._outcome: TerminalSendResult | Exception | None = None
        self._close_began = False
        self._closed = False
        self._heard = False
        self._detach: Callable[[], None] | None = None
        self._watcher: asyncio.Task[None] | asyncio.Future[TerminalSendResult] | None = None

    @property
    def done(self) -> Awaitable[TerminalSendResult]:
        """The result, the same object for everybody. Cancelling a waiter does not cancel the send."""
        return _Done(self)

    def read_output(self) -> TerminalSendRead:
        """What the send produced since the last call, bounded, newest kept."""
        return self._inner.read_output()

    async def wait_output(self) -> None:
        """Return when there is something unread, or the send has settled."""
        if not self._completion.settled:
            if self._outcome is None:
                await self._inner.wait_output()
            elif not self._heard:
                # The backend has settled: it may have left something to read, but it will never have more.
                self._heard = True
            else:
                await self._settled()
        # A caller that loops over this must not keep the loop from delivering the result it waits for.
        await asyncio.sleep(0)

    def cancel(self) -> bool:
        """Drop input not yet written and interrupt the foreground; `False` once the send has settled."""
        if self._completion.settled or self._outcome is not None:
            return False
        return bool(self._inner.cancel())

    def __repr__(self) -> str:
        state = "settled" if self._completion.settled else "active"
        return f"<send to {self._record.session_id}: {state}>"

    def cancel_on(self, signal: AbortSignal) -> None:
        """Cancel when this signal aborts, in the loop that is running now."""
        loop = asyncio.get_running_loop()

        def cancel(_reason: BaseException) -> None:
            # The send outlives the loop it was begun on.
            if loop.is_closed():
                self._cancel_by_signal()
            else:
                call_on(loop, self._cancel_by_signal)

        self._detach = signal.add_callback(cancel)

    def watch(self) -> None:
        """See to it that somebody notices when the backend settles: a loop that ended took its watcher along."""
        if self._completion.settled or self._outcome is not None:
            return
        if self._watcher is not None and not stranded(self._watcher):
            return
        try:
            done = awaitable(self._record.backend_type, "a send's done", self._inner.done)
        except Exception as error:
            self._handle_outcome(error)
            return
        if isinstance(done, asyncio.Future):
            # No task is needed, and cancelling one could not cancel the backend's future.
            self._watcher = done
            done.add_done_callback(self._handle_future)
        else:
            self._watcher = background(self._wait_for(done))
        if self._closed:
            self._allow_a_last_word()

    def handle_close_began(self) -> None:
        """A close is on its way: from now on the send ends with the session, in no other way."""
        self._close_began = True
        self.watch()

    def handle_closed(self) -> None:
        """The range is quiescent."""
        self._closed = True
        if self._outcome is not None:
            self._finish_as_exit()
        elif not self._completion.settled:
            self._allow_a_last_word()

    def handle_close_failed(self) -> None:
        """The session lives on, or its top-level process has ended all the same."""
        if self._outcome is not None and self._exited():
            self._finish_as_exit()

    async def _wait_for(self, done: Awaitable[TerminalSendResult]) -> None:
        try:
            outcome: TerminalSendResult | Exception = await done
        except asyncio.CancelledError as error:
            if cancelled_from_outside():
                # The loop is being shut down. The send goes on in the backend; whoever asks next watches again.
                self._watcher = None
                raise
            outcome = self._cancelled(error)
        except Exception as error:
            outcome = error
        except BaseException as error:
            self._handle_outcome(as_exception(error))
            raise
        self._handle_outcome(outcome)

    def _handle_future(self, future: asyncio.Future[TerminalSendResult]) -> None:
        if future.cancelled():
            self._handle_outcome(self._cancelled(None))
            return
        error = future.exception()
        self._handle_outcome(future.result() if error is None else as_exception(error))

    def _handle_outcome(self, outcome: TerminalSendResult | Exception) -> None:
        """The backend has settled."""
        if self._completion.settled:
            return
        if not isinstance(outcome, Exception):
            try:
                outcome = checked_result(self._record.backend_type, outcome)
            except TypeError as error:
                outcome = error
        if not self._close_began:
            self._finish(outcome)
            return
        self._outcome = outcome
        if self._closed or (self._record.closing is None and self._exited()):
            self._finish_as_exit()

    def _allow_a_last_word(self) -> None:
        asyncio.get_running_loop().call_later(LAST_WORD, self._give_up)

    def _give_up(self) -> None:
        """The session is closed and the backend's operation says nothing."""
        if not self._completion.settled and self._outcome is None:
            _log.warning(
                "terminal backend %r did not settle a send when it closed %s",
                self._record.backend_type,
                self._record.session_id,
            )
            self._finish_as_exit()

    def _finish_as_exit(self) -> None:
        """Settle as `session_exit`, with whatever else the backend had to say."""
        outcome = self._outcome
        try:
            status = checked_status(self._record.backend_type, self._record.session)
        except Exception:
            _log.warning("terminal backend %r cannot tell the status of a closed session", self._record.backend_type)
            status = self._record.last_status
        if not isinstance(status, Exited):
            # It is quiescent, so its top-level process has ended, whatever the backend says.
            status = Exited()
        if isinstance(outcome, TerminalSendResult):
            if outcome.wait_reason != "session_exit":
                outcome = dataclasses.replace(
                    outcome, wait_reason="session_exit", session_status=status, evidence="exit", waiting_for=None
                )
            self._finish(outcome)
            return
        if outcome is not None:
            _log.warning("a send to %s failed during its close: %s", self._record.session_id, type(outcome).__name__)
        viewport, truncated = "", False
        try:
            rest = self._inner.read_output()
            viewport, truncated = rest.delta, rest.truncated
        except Exception:
            _log.warning("terminal backend %r lost the output of a send", self._record.backend_type)
        self._finish(TerminalSendResult(viewport, "session_exit", status, truncated, evidence="exit"))

    def _finish(self, outcome: TerminalSendResult | Exception) -> None:
        self._outcome = outcome
        self._watcher = None
        if self._detach is not None:
            self._detach()
            self._detach = None
        if self._record.send is self:
            self._record.send = None
        if isinstance(outcome, Exception):
            if not self._completion.fail(outcome):
                _log.debug("a send to %s failed: %s", self._record.session_id, type(outcome).__name__)
        else:
            self._completion.succeed(outcome)

    def _exited(self) -> bool:
        try:
            return isinstance(checked_status(self._record.backend_type, self._record.session), Exited)
        except Exception:
            _log.warning("terminal backend %r cannot tell the status of a session", self._record.backend_type)
            return False

    def _cancelled(self, cause: BaseException | None) -> TerminalError:
        error = TerminalError(
            f"terminal backend {self._record.backend_type!r} gave up a send: its done was cancelled",
            TerminalErrorCode.TRANSPORT_FAILED,
        )
        error.__cause__ = cause
        return error

    def _cancel_by_signal(self) -> None:
        try:
            self.cancel()
        except Exception as error:
            # There is nobody to raise it to; the send itself goes on and will say how it ended.
            _log.warning("cancelling a send to %s failed: %s", self._record.session_id, type(error).__name__)

    def result(self) -> Generator[Any, None, TerminalSendResult]:
        """What awaiting `done` does."""
        self.watch()
        return self._completion.__await__()

    async def _settled(self) -> None:
        try:
            await self.done
        except Exception:
            # Whoever awaits `done` is told; here it only means that there will be no more output.
            return


class _Done:
    """The result of a send, to be awaited as often as one likes, on whatever loop runs then."""

    __slots__ = ("_send",)

    def __init__(self, send: ServiceSend) -> None:
        self._send = send

    def __await__(self) -> Generator[Any, None, TerminalSendResult]:
        return self._send.result()
