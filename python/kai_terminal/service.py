"""The terminals of many owners: who may use which, one send at a time, and nothing left behind.

The service holds no terminal mechanics; backends do. It belongs to one thread at a time, the one whose event loop runs;
the loop may be another one later on.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from ._checks import check_keys, check_mouse, check_pattern, check_signal_name, check_size, check_type
from ._closing import close_session
from ._completion import Completion, background, stranded
from ._disposal import clean_up
from ._protocol import awaitable, broken, checked_operation, checked_status, discard
from ._registry import SessionRecord, SessionRegistry, check_owner, mint_session_id
from ._sending import ServiceSend
from ._spawning import PendingSpawn, owner_gone, service_gone
from .abort import AbortSignal
from .agents import Agent, AgentRegistry
from .errors import TerminalError, TerminalErrorCode, as_exception
from .types import (
    Exited,
    TerminalBackend,
    TerminalMouseAction,
    TerminalMouseButton,
    TerminalReadRequest,
    TerminalReadResult,
    TerminalReceipt,
    TerminalScreen,
    TerminalSendOperation,
    TerminalSendRequest,
    TerminalSendResult,
    TerminalSessionId,
    TerminalSessionSnapshot,
    TerminalSessionStatus,
    TerminalSignal,
    TerminalSignalResult,
    TerminalSpawnRequest,
    TerminalSpawnResult,
    check_seconds,
)

__all__ = ["TerminalSessionService"]

_log = logging.getLogger("kai_terminal")


class TerminalSessionService:
    """Opens, lends and closes terminals for the agents of one registry.

    Every operation takes the owner first and is fenced by its identity: `FOREIGN_SESSION` for another owner's session,
    `NO_SESSION` for an id that is unknown or closed. As an async context manager it disposes itself at the end.
    """

    def __init__(self, agents: AgentRegistry) -> None:
        check_type(agents, AgentRegistry, "the service takes the AgentRegistry of its owners")
        self._agents = agents
        self._backends: dict[str, tuple[TerminalBackend]] = {}
        self._registry = SessionRegistry()
        self._disposing = False
        self._disposal: Completion[None] | None = None
        self._disposer: asyncio.Task[None] | None = None

    # Backends.

    def register_backend(self, backend: TerminalBackend) -> Callable[[], None]:
        """Offer a backend under its type; returns a function that takes exactly this offer back.

        `DUPLICATE_BACKEND` while the type is taken, `ValueError` for an empty type. Sessions that are open stay open
        when their backend goes.
        """
        self._refuse_disposing()
        backend_type = getattr(backend, "type", None)
        spawn = getattr(backend, "spawn", None)
        if isinstance(backend, type) or not isinstance(backend_type, str) or not callable(spawn):
            message = f"a backend is an object with a type (str) and an async spawn(spec), not {type(backend).__name__}"
            raise TypeError(message)
        if not backend_type:
            message = "the type of a backend must not be empty: it is what spawn requests name"
            raise ValueError(message)
        if backend_type in self._backends:
            message = (
                f"a backend for {backend_type!r} is registered: take it back first (register_backend returned how)"
            )
            raise TerminalError(message, TerminalErrorCode.DUPLICATE_BACKEND)
        # A tuple of one, so that the same backend registered twice makes two offers to tell apart.
        offer = self._backends[backend_type] = (backend,)

        def unregister() -> None:
            if self._backends.get(backend_type) is offer:
                del self._backends[backend_type]

        return unregister

    def list_backends(self) -> list[str]:
        """The types on offer, in the order of their registration."""
        return list(self._backends)

    # Opening and closing.

    async def spawn(
        self, owner: Agent, request: TerminalSpawnRequest, signal: AbortSignal | None = None
    ) -> TerminalSpawnResult:
        """Open a terminal; it can be seen once the backend's setup has succeeded.

        Aborting `signal`, or cancelling the task that awaits this, undoes what was begun and raises the exact reason
        once that is done. A disposal of the owner or the service in the meantime raises `OWNER_NOT_LIVE` or
        `SERVICE_DISPOSING`. Where the undoing fails too, both come as one `ExceptionGroup`. There is no timeout of the
        service's own.
        """
        pending = self._accept(owner, request, signal)
        session = await pending.session()
        # No await from here to the return: the session becomes visible in the step in which the caller learns of it.
        record = SessionRecord(
            pending.session_id, pending.owner, pending.name, pending.backend_type, session, pending.status
        )
        self._registry.publish(record)
        pending.publish()
        _log.info("opened %s (%s) for agent %r", record.session_id, record.backend_type, owner.id)
        return TerminalSpawnResult(
            record.session_id, record.name, record.backend_type, session.pid, pending.status, session.motd
        )

    async def kill(self, owner: Agent, session_id: TerminalSessionId, reason: str = "model request") -> bool:
        """Close a session; returns once nothing of it is left: `True` if this call closed it, `False` if it joined one.

        If the close fails this raises, the session stays, and it can be tried again. Cancelling whoever awaits this
        does not stop the close.
        """
        record = self._registry.expect(owner, session_id)
        check_type(reason, str, "the reason of a close is a string")
        joined = record.closing is not None
        await close_session(self._registry, record, reason, asyncio.get_running_loop())
        return not joined

    def receipt(self, owner: Agent, session_id: TerminalSessionId) -> TerminalReceipt:
        """What the close of a session returned, kept until its owner is disposed; `None` before the close."""
        return self._registry.expect_receipt(owner, session_id)

    async def dispose(self) -> None:
        """Refuse new work, abort pending spawns, close every session, then return.

        What failed is raised as one group and stays listed; a later call tries that again, and does nothing once all is
        clean. Concurrent calls join. Cancelling whoever awaits this does not stop it.
        """
        disposal = self._disposal
        if disposal is None or stranded(self._disposer):
            self._disposing = True
            self._backends.clear()
            disposal = self._disposal = Completion()
            self._disposer = background(self._dispose(disposal))
        await disposal

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.dispose()

    # Looking.

    def list(self, owner: Agent) -> list[TerminalSessionSnapshot]:
        """The owner's sessions, in the order in which they were opened; exited ones too, until they are closed."""
        check_owner(owner)
        state = self._registry.owners.get(owner)
        return [] if state is None else [_snapshot(record) for record in state.sessions.values()]

    def has_owner_activity(self, owner: Agent) -> bool:
        """Whether the owner has a session, a spawn under way, or a failed cleanup that no disposal has reported yet."""
        check_owner(owner)
        state = self._registry.owners.get(owner)
        return state is not None and state.active

    def status(self, owner: Agent, session_id: TerminalSessionId) -> TerminalSessionStatus:
        """Whether the session's top-level process runs, and how it ended."""
        return _status(self._registry.expect(owner, session_id))

    def read(
        self, owner: Agent, session_id: TerminalSessionId, request: TerminalReadRequest | None = None
    ) -> TerminalReadResult:
        """A page of what was printed; without a request the newest 500 lines. Works on exited sessions too."""
        record = self._registry.expect(owner, session_id)
        if request is None:
            request = TerminalReadRequest()
        check_type(request, TerminalReadRequest, "read takes a TerminalReadRequest")
        page = record.session.read(request)
        if not isinstance(page, TerminalReadResult):
            discard(page)
            raise broken(record.backend_type, f"read returned {type(page).__name__}, not a TerminalReadResult")
        return page

    def screen(self, owner: Agent, session_id: TerminalSessionId) -> TerminalScreen:
        """What a person would see now. `UNSUPPORTED` where the backend has no screen."""
        screen: TerminalScreen = self._optional(owner, session_id, "screen")()
        return screen

    def explain(self, owner: Agent, session_id: TerminalSessionId) -> str:
        """The evidence at this moment for the terminal being busy or ready, for a person."""
        explanation: str = self._optional(owner, session_id, "explain")()
        return explanation

    # Typing.

    def start_send(
        self, owner: Agent, session_id: TerminalSessionId, request: TerminalSendRequest
    ) -> TerminalSendOperation:
        """Type, and learn from the operation how it ended. The session is reserved before this returns.

        `SEND_ACTIVE` until the send before it has settled and let go of the slot, `SESSION_CLOSING` and
        `SESSION_EXITED` as they say. A `signal` that has already aborted raises its reason, and nothing is typed.
        """
        return self._start(owner, session_id, request, "start_send")

    def start_run(
        self, owner: Agent, session_id: TerminalSessionId, request: TerminalSendRequest
    ) -> TerminalSendOperation:
        """A send that silence never settles. `NOT_AT_PROMPT` before a byte is written unless a shell's prompt is up."""
        return self._start(owner, session_id, request, "start_run")

    async def run(
        self,
        owner: Agent,
        session_id: TerminalSessionId,
        text: str | TerminalSendRequest,
        *,
        timeout: float | None = None,
        signal: AbortSignal | None = None,
    ) -> TerminalSendResult:
        """Run a shell command to its end, to the deadline, or to where it is proven to want input.

        `timeout` is in seconds (`None`: the backend's default). Cancelling the task that awaits this cancels the
        command (as `cancel()` does) and raises at once; the slot is free when that has settled.
        """
        if not isinstance(text, TerminalSendRequest):
            text = TerminalSendRequest(text, True, signal, timeout)
        elif timeout is not None or signal is not None:
            message = "run takes timeout and signal with a text; a TerminalSendRequest has its own"
            raise TypeError(message)
        return await finish_or_cancel(self.start_run(owner, session_id, text))

    async def press(self, owner: Agent, session_id: TerminalSessionId, *keys: str) -> None:
        """Type named keys (`"Ctrl-D"`, `"Up"`), encoded for the terminal's current mode."""
        press = self._optional(owner, session_id, "press", typing=True)
        check_keys(keys)
        await press(*keys)

    async def mouse(
        self,
        owner: Agent,
        session_id: TerminalSessionId,
        col: int,
        row: int,
        *,
        button: TerminalMouseButton = "left",
        action: TerminalMouseAction = "click",
    ) -> None:
        """A mouse event at a cell, counted from 0."""
        mouse = self._optional(owner, session_id, "mouse", typing=True)
        check_mouse(col, row, button, action)
        await mouse(col, row, button=button, action=action)

    def resize(self, owner: Agent, session_id: TerminalSessionId, cols: int, rows: int) -> None:
        """Give the terminal this size."""
        resize = self._optional(owner, session_id, "resize", typing=True)
        check_size(cols, rows)
        resize(cols, rows)

    async def wait_for(
        self,
        owner: Agent,
        session_id: TerminalSessionId,
        pattern: str | re.Pattern[str],
        timeout: float | None = None,
    ) -> str:
        """Wait for text or a pattern in what is printed from now on, or is already unread; returns what matched.

        `TimeoutError` after `timeout` seconds (`None`: never).
        """
        wait_for = self._optional(owner, session_id, "wait_for")
        check_pattern(pattern)
        check_seconds(timeout, "timeout")
        found: str = await wait_for(pattern, timeout)
        return found

    async def signal(self, owner: Agent, session_id: TerminalSessionId, name: TerminalSignal) -> TerminalSignalResult:
        """Signal the foreground process group, as the terminal driver names it at that moment."""
        record = self._registry.expect(owner, session_id)
        check_signal_name(name)
        result = await awaitable(record.backend_type, "signal", record.session.signal(name))
        if not isinstance(result, TerminalSignalResult):
            raise broken(record.backend_type, f"signal returned {type(result).__name__}, not a TerminalSignalResult")
        return result

    # How it is done.

    def _is_live(self, owner: Agent) -> bool:
        return self._agents.get(owner.id) is owner

    def _refuse_disposing(self) -> None:
        if self._disposing:
            message = "the terminal service is being disposed or gone: nothing new can be started"
            raise TerminalError(message, TerminalErrorCode.SERVICE_DISPOSING)

    def _accept(self, owner: Agent, request: TerminalSpawnRequest, signal: AbortSignal | None) -> PendingSpawn:
        """The checks, in the order of rule S3, then the reservation."""
        check_owner(owner)
        check_type(request, TerminalSpawnRequest, "spawn takes a TerminalSpawnRequest")
        if signal is not None:
            check_type(signal, AbortSignal, "the signal of a spawn is an AbortSignal")
        self._refuse_disposing()
        if signal is not None:
            signal.throw_if_aborted()
        if not self._is_live(owner):
            message = f"agent {owner.id!r} is not live: it was disposed, or belongs to another registry"
            raise TerminalError(message, TerminalErrorCode.OWNER_NOT_LIVE)
        offer = self._backends.get(request.type)
        if offer is None:
            known = ", ".join(map(repr, self._backends)) or "none"
            message = f"no terminal backend is registered for {request.type!r} (registered: {known})"
            raise TerminalError(message, TerminalErrorCode.NO_BACKEND)
        if request.name == "":
            message = "the name of a session must not be empty: leave it out, or give one"
            raise ValueError(message)
        state = self._registry.owners.get(owner)
        if state is not None and request.name in state.names:
            message = f"agent {owner.id!r} has a session named {request.name!r}: close it first, or choose another name"
            raise TerminalError(message, TerminalErrorCode.DUPLICATE_NAME)
        if state is None:
            state = self._registry.state_of(owner)
            state.detach = owner.scope.effect(lambda: self._dispose_owner(owner))
        pending = PendingSpawn(self._registry, state, offer[0], request, mint_session_id(), signal, self._is_live)
        pending.begin(request)
        return pending

    def _start(
        self, owner: Agent, session_id: TerminalSessionId, request: TerminalSendRequest, verb: str
    ) -> TerminalSendOperation:
        check_owner(owner)
        check_type(request, TerminalSendRequest, "a send takes a TerminalSendRequest")
        # Asked for first: without a running loop nothing may be typed.
        asyncio.get_running_loop()
        self._refuse_disposing()
        record = self._registry.expect(owner, session_id)
        if record.send is not None:
            record.send.watch()
        self._refuse_input(record, sending=True)
        start = getattr(record.session, verb, None)
        if start is None:
            raise _unsupported(record, verb)
        signal = request.signal
        if signal is not None:
            signal.throw_if_aborted()
            # The service heeds the signal, for every backend in the same way; heeding it twice would interrupt twice.
            request = TerminalSendRequest(request.text, request.submit, None, request.timeout, request.idle_silence)
        send = ServiceSend(record, checked_operation(record.backend_type, start(request)))
        record.send = send
        send.watch()
        if signal is not None and record.send is send:
            send.cancel_on(signal)
        return send

    def _refuse_input(self, record: SessionRecord, *, sending: bool) -> None:
        if record.closing is not None:
            code, why = TerminalErrorCode.SESSION_CLOSING, "is being closed: it takes no more input"
        elif sending and record.send is not None:
            code = TerminalErrorCode.SEND_ACTIVE
            why = "has a send under way: await its done, cancel it, or close the session"
        elif isinstance(_status(record), Exited):
            code, why = TerminalErrorCode.SESSION_EXITED, "has ended: it can be read and closed, not typed into"
        else:
            return
        _log.debug("refused input for %s: %s", record.session_id, code)
        raise TerminalError(f"terminal session {record.session_id!r} {why}", code)

    def _optional(self, owner: Agent, session_id: TerminalSessionId, verb: str, *, typing: bool = False) -> Any:
        """A method that a backend session may lack."""
        record = self._registry.expect(owner, session_id)
        method = getattr(record.session, verb, None)
        if method is None:
            raise _unsupported(record, verb)
        if typing:
            self._refuse_input(record, sending=False)
        return method

    async def _dispose_owner(self, owner: Agent) -> None:
        """The effect of an owner that ends."""
        state = self._registry.owners.get(owner)
        if state is None:
            return
        # Nothing to detach any more, and no receipts to keep.
        state.detach = None
        self._registry.drop_receipts(state)
        await clean_up(self._registry, [state], lambda: owner_gone(owner), "PTY owner disposed")

    async def _dispose(self, disposal: Completion[None]) -> None:
        owners = [*self._registry.owners.values()]
        try:
            await clean_up(self._registry, owners, service_gone, "PTY service disposed")
        except BaseException as error:
            self._disposal = self._disposer = None
            if not disposal.fail(as_exception(error)):
                _log.warning("disposing the terminal service failed: %s", type(error).__name__)
            if not isinstance(error, Exception):
                raise
        else:
            self._disposal = self._disposer = None
            disposal.succeed(None)


async def finish_or_cancel(operation: TerminalSendOperation) -> TerminalSendResult:
    """The result of a send that nobody else holds: whoever stops waiting for it wants it cancelled."""
    try:
        return await operation.done
    except asyncio.CancelledError:
        try:
            operation.cancel()
        except Exception as error:
            # The cancellation goes first; the send says itself how it ended.
            _log.warning("cancelling a send failed: %s", type(error).__name__)
        raise


def _status(record: SessionRecord) -> TerminalSessionStatus:
    status = record.last_status = checked_status(record.backend_type, record.session)
    return status


def _snapshot(record: SessionRecord) -> TerminalSessionSnapshot:
    try:
        status = _status(record)
    except Exception as error:
        # One broken session must not hide the others.
        _log.warning("the status of %s is not known: %s", record.session_id, type(error).__name__)
        status = record.last_status
    return TerminalSessionSnapshot(record.session_id, record.name, record.backend_type, record.session.pid, status)


def _unsupported(record: SessionRecord, verb: str) -> TerminalError:
    message = f"terminal backend {record.backend_type!r} does not offer {verb} for its sessions"
    return TerminalError(message, TerminalErrorCode.UNSUPPORTED)
