"""A spawn between its acceptance and its publication, or its rollback.

The backend's setup runs in a task of its own, so that cancelling the caller reaches the backend as an abort of its
signal and never as a cancellation in the middle of things. The steps:

    accepted -> backend settles -> (nothing aborted)  published, by the caller's own task, in one step with its return
                                -> (aborted, broken)  rolled back: whatever the backend returned is closed
             -> settled: reservations released, disposals told

Two may abort: the caller (its signal, or a cancellation of its task; the first one counts) and the lifecycle (its owner
or the service is disposed). The caller's reason is what `spawn` raises if both did.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._closing import close_to_the_end
from ._completion import Completion, background, stranded
from ._protocol import awaitable, check_session, discard
from ._registry import OwnerState, SessionRegistry
from .abort import AbortController, AbortSignal, call_on
from .agents import Agent
from .errors import (
    SPAWN_AND_ROLLBACK_FAILED,
    AbortError,
    TerminalBackendCleanupError,
    TerminalError,
    TerminalErrorCode,
    as_exception,
)
from .types import (
    Running,
    TerminalBackend,
    TerminalBackendSession,
    TerminalBackendSpawnSpec,
    TerminalSessionStatus,
)

if TYPE_CHECKING:
    from .types import TerminalSessionId, TerminalSpawnRequest

_log = logging.getLogger("kai_terminal")


class PendingSpawn:
    """One accepted spawn. Owned by the coroutine of `spawn`, watched by disposals."""

    # What a spawn that goes well never sets is set here, once for all of them.
    rollback_error: Exception | None = None
    status: TerminalSessionStatus = Running()
    watched = False
    _abandoned = False
    _arrived = False
    _caller_reason: BaseException | None = None
    _detach: Callable[[], None] | None = None
    _error: BaseException | None = None
    _lifecycle_error: TerminalError | None = None
    _rollback: asyncio.Task[None] | None = None
    _session: TerminalBackendSession | None = None
    _settled = False
    _settlement: Completion[None] | None = None
    _setup: asyncio.Task[None] | None = None
    _waiter: asyncio.Future[None] | None = None

    def __init__(
        self,
        registry: SessionRegistry,
        owner: OwnerState,
        backend: TerminalBackend,
        request: TerminalSpawnRequest,
        session_id: TerminalSessionId,
        signal: AbortSignal | None,
        is_live: Callable[[Agent], bool],
    ) -> None:
        self.owner = owner
        self.name = request.name
        self.session_id = session_id
        self.backend_type = request.type
        self._is_live = is_live
        self._registry = registry
        self._backend = backend
        self._controller = AbortController()
        self._caller_signal = signal

    def begin(self, request: TerminalSpawnRequest) -> None:
        """Reserve, and start the backend's setup."""
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        self.owner.pending[self] = None
        if self.name is not None:
            self.owner.names.add(self.name)
        spec = TerminalBackendSpawnSpec(
            request.type,
            request.name,
            None if request.cwd is None else os.fspath(request.cwd),
            session_id=self.session_id,
            owner=self.owner.agent,
            signal=self._controller.signal,
        )
        if self._caller_signal is not None:
            self._detach = self._caller_signal.add_callback(lambda reason: call_on(loop, self._abort_by_caller, reason))
        self._setup = background(self._set_up(spec), loop)

    async def session(self) -> TerminalBackendSession:
        """The session that may now be published. Otherwise what `spawn` raises, once everything is undone.

        Between this return and the publication nothing may be awaited.
        """
        try:
            while not self._arrived and self._waiter is not None:
                try:
                    await self._waiter
                except asyncio.CancelledError as error:
                    # Absorbed: it is an abort, also where the backend has settled by now. Nothing is published then.
                    self._abort_by_caller(error)
                    self._waiter = asyncio.get_running_loop().create_future()
            if self._session is None:
                self._settle()
            elif self._error is not None or self._aborted():
                self._rollback = background(self._roll_back(self._session))
                await self._rolled_back()
            else:
                return self._session
        except GeneratorExit:
            # The coroutine of `spawn` is thrown away; it cannot wait any more, so the setup cleans up on its own.
            self._abandon()
            raise
        raise self._failure()

    def publish(self) -> None:
        """The session has been published: the reservation of the name goes over to it."""
        del self.owner.pending[self]
        if self._detach is not None:
            self._detach()
        self._settled = True
        if self._settlement is not None:
            self._settlement.succeed(None)

    @property
    def settled(self) -> bool:
        """Whether it has been published, or undone."""
        return self._settled

    async def wait(self) -> None:
        """Wait until it has been published, or undone."""
        if not self._settled:
            if self._settlement is None:
                self._settlement = Completion()
            await self._settlement

    @property
    def stranded(self) -> bool:
        """Whether its event loop was closed in the middle of it."""
        return stranded(self._rollback or self._setup)

    async def rescue(self) -> None:
        """Undo, from another loop, what can be undone of a stranded spawn."""
        if self._session is not None:
            await self._roll_back(self._session)
            return
        if self.rollback_error is None:
            self.rollback_error = TerminalError(
                f"the event loop was closed while {self.session_id} was being opened: something of it may be left",
                TerminalErrorCode.CLOSE_FAILED,
            )
        self._settle()

    def abort_by_lifecycle(self, error: TerminalError) -> None:
        """The owner or the service ends; the first one counts."""
        if self._lifecycle_error is None:
            self._lifecycle_error = error
            self._controller.abort(error)

    def _abort_by_caller(self, reason: BaseException) -> None:
        if self._caller_reason is not None:
            return
        self._caller_reason = reason
        # Within a backend a CancelledError would look like a cancellation of its task.
        self._controller.abort(reason if isinstance(reason, Exception) else _stand_in(reason))

    def _aborted(self) -> bool:
        signal = self._caller_signal
        if self._caller_reason is None and signal is not None and signal.reason is not None:
            # Aborted by another thread a moment ago; the news is still on its way.
            self._abort_by_caller(signal.reason)
        if self._lifecycle_error is None and not self._is_live(self.owner.agent):
            # Its disposal has begun and will come to this spawn; it must not be published in the meantime.
            self.abort_by_lifecycle(owner_gone(self.owner.agent))
        return self._caller_reason is not None or self._lifecycle_error is not None

    async def _rolled_back(self) -> None:
        """Wait for the rollback without being stopped."""
        while not self._settled:
            try:
                await self.wait()
            except asyncio.CancelledError as error:
                self._abort_by_caller(error)

    async def _set_up(self, spec: TerminalBackendSpawnSpec) -> None:
        """Run the backend's setup to its end and keep what it gave. Never fails but for the end of the interpreter."""
        try:
            setup = self._backend.spawn(spec)
            if not inspect.isawaitable(setup):
                self._keep(setup)
                awaitable(self.backend_type, "spawn", setup)
            session = await setup
            self._keep(session)
            self.status = check_session(self.backend_type, session)
        except (Exception, asyncio.CancelledError) as error:
            self._error = error
        except BaseException as error:
            self._error = error
            self._arrive()
            raise
        if self._abandoned and self._session is not None:
            await self._roll_back(self._session)
        else:
            self._arrive()

    def _keep(self, session: Any) -> None:
        """Before anything else is asked of it: whatever is wrong with it, if it can be closed it will be."""
        if callable(getattr(session, "close", None)) and not inspect.iscoroutine(session):
            self._session = session
        else:
            discard(session)

    def _arrive(self) -> None:
        if self._abandoned:
            self._settle()
        else:
            self._arrived = True
            if self._waiter is not None and not self._waiter.done() and not stranded(self._waiter):
                self._waiter.set_result(None)

    async def _roll_back(self, session: TerminalBackendSession) -> None:
        try:
            await close_to_the_end(self.backend_type, session, "PTY spawn rolled back")
        except (Exception, asyncio.CancelledError) as error:
            self.rollback_error = as_exception(error)
        finally:
            self._settle()

    def _settle(self) -> None:
        """Everything is undone, or known not to be: release the reservations and see that a failure is reported."""
        if self._settled:
            return
        if isinstance(self._error, TerminalBackendCleanupError) and self.rollback_error is None:
            self.rollback_error = as_exception(self._error.cleanup_error)
        if self._detach is not None:
            self._detach()
        owner = self.owner
        owner.pending.pop(self, None)
        if self.name is not None:
            owner.names.discard(self.name)
        if self.rollback_error is not None:
            _log.warning("rolling back %s failed: %s", self.session_id, type(self.rollback_error).__name__)
            if not self.watched:
                owner.failures.append(self.rollback_error)
        self._registry.release(owner)
        self._settled = True
        if self._settlement is not None:
            self._settlement.succeed(None)

    def _failure(self) -> BaseException:
        """What `spawn` raises."""
        self._aborted()
        if self._caller_reason is not None:
            return self._caller_reason
        failure = self._lifecycle_error or self._error
        if failure is None:
            # Nothing is rolled back without a reason.
            raise AssertionError
        if self.rollback_error is None or isinstance(failure, TerminalBackendCleanupError):
            return as_raised(failure)
        return ExceptionGroup(SPAWN_AND_ROLLBACK_FAILED, [as_exception(failure), self.rollback_error])

    def _abandon(self) -> None:
        self._abandoned = True
        if self._settled:
            return
        self._controller.abort(AbortError("the coroutine of spawn was closed"))
        if self._arrived and self._rollback is None:
            if self._session is None:
                self._settle()
                return
            try:
                self._rollback = background(self._roll_back(self._session))
            except RuntimeError:
                _log.warning("%s was abandoned without an event loop that could close it", self.session_id)


def owner_gone(agent: Agent) -> TerminalError:
    """The error for a spawn whose owner ends before it is published."""
    message = f"agent {agent.id!r} was disposed while its terminal was being opened"
    return TerminalError(message, TerminalErrorCode.OWNER_NOT_LIVE)


def service_gone() -> TerminalError:
    """The error for a spawn whose service ends before it is published."""
    message = "the terminal service was disposed while a terminal was being opened"
    return TerminalError(message, TerminalErrorCode.SERVICE_DISPOSING)


def as_raised(error: BaseException) -> BaseException:
    """A backend's failure as the caller may see it: no `CancelledError`, for the caller was not cancelled."""
    return as_exception(error) if isinstance(error, asyncio.CancelledError) else error


def _stand_in(reason: BaseException) -> Exception:
    if isinstance(reason, asyncio.CancelledError):
        error = AbortError("the task that awaited spawn was cancelled")
        error.__cause__ = reason
        return error
    return as_exception(reason)
