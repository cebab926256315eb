"""What the service knows: which sessions exist, whose they are, and what is still to be reported. Pure bookkeeping.

Each owner has an index of its own, so that nothing an owner asks for costs more when other owners have many sessions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

from .agents import Agent
from .errors import TerminalError, TerminalErrorCode
from .types import TerminalBackendSession, TerminalReceipt, TerminalSessionId, TerminalSessionStatus

if TYPE_CHECKING:
    from ._closing import CloseAttempt
    from ._sending import ServiceSend
    from ._spawning import PendingSpawn


class SessionRecord:
    """A published session."""

    __slots__ = ("backend_type", "closing", "last_status", "name", "owner", "send", "session", "session_id")

    def __init__(
        self,
        session_id: TerminalSessionId,
        owner: OwnerState,
        name: str | None,
        backend_type: str,
        session: TerminalBackendSession,
        status: TerminalSessionStatus,
    ) -> None:
        self.session_id = session_id
        self.owner = owner
        self.name = name
        self.backend_type = backend_type
        self.session = session
        self.last_status = status
        self.closing: CloseAttempt | None = None
        self.send: ServiceSend | None = None


class OwnerState:
    """What one owner has: sessions in publication order, pending spawns, names taken, failures not yet reported."""

    __slots__ = ("agent", "detach", "failures", "names", "pending", "receipts", "sessions")

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.sessions: dict[TerminalSessionId, SessionRecord] = {}
        # A dict for its order.
        self.pending: dict[PendingSpawn, None] = {}
        self.names: set[str] = set()
        self.failures: list[Exception] = []
        self.receipts: set[TerminalSessionId] = set()
        self.detach: Callable[[], None] | None = None

    @property
    def active(self) -> bool:
        """Whether anything is alive, under way or unreported."""
        return bool(self.sessions or self.pending or self.failures)

    def take_failures(self) -> list[Exception]:
        """The cleanup failures that nobody has been told of; from now on they have been."""
        failures, self.failures = self.failures, []
        return failures


class SessionRegistry:
    """The sessions of one service, by id and by owner."""

    __slots__ = ("owners", "receipts", "sessions")

    def __init__(self) -> None:
        self.sessions: dict[TerminalSessionId, SessionRecord] = {}
        self.owners: dict[Agent, OwnerState] = {}
        self.receipts: dict[TerminalSessionId, tuple[OwnerState, TerminalReceipt]] = {}

    def expect(self, owner: Agent, session_id: TerminalSessionId) -> SessionRecord:
        """The owner's session, or `NO_SESSION`, or `FOREIGN_SESSION`."""
        check_owner(owner)
        record = self.sessions.get(session_id) if isinstance(session_id, str) else None
        if record is None:
            raise no_session(session_id)
        if record.owner.agent is not owner:
            raise foreign_session(session_id)
        return record

    def expect_receipt(self, owner: Agent, session_id: TerminalSessionId) -> TerminalReceipt:
        """The receipt of a close of the owner's; `None` while the session has none."""
        check_owner(owner)
        kept = self.receipts.get(session_id) if isinstance(session_id, str) else None
        if kept is None:
            self.expect(owner, session_id)
            return None
        state, receipt = kept
        if state.agent is not owner:
            raise foreign_session(session_id)
        return receipt

    def state_of(self, agent: Agent) -> OwnerState:
        """The owner's state, made now if it has none."""
        state = self.owners.get(agent)
        if state is None:
            state = self.owners[agent] = OwnerState(agent)
        return state

    def publish(self, record: SessionRecord) -> None:
        """From now on the session can be seen."""
        self.sessions[record.session_id] = record
        record.owner.sessions[record.session_id] = record

    def remove(self, record: SessionRecord, receipt: TerminalReceipt) -> None:
        """The session is closed. Its name is free; its receipt is kept until the owner ends."""
        owner = record.owner
        del self.sessions[record.session_id]
        del owner.sessions[record.session_id]
        if record.name is not None:
            owner.names.discard(record.name)
        # An owner that has ended will not ask, and nothing would ever drop the receipt.
        if receipt is not None and owner.detach is not None:
            self.receipts[record.session_id] = (owner, receipt)
            owner.receipts.add(record.session_id)
        self.release(owner)

    def drop_receipts(self, owner: OwnerState) -> None:
        """The owner ends."""
        for session_id in owner.receipts:
            del self.receipts[session_id]
        owner.receipts.clear()

    def release(self, owner: OwnerState) -> None:
        """Forget an owner that has nothing any more."""
        if owner.active or owner.receipts:
            return
        if self.owners.get(owner.agent) is owner:
            del self.owners[owner.agent]
        if owner.detach is not None:
            owner.detach()
            owner.detach = None


def check_owner(owner: object) -> None:
    """Refuse an owner that is not an agent."""
    if not isinstance(owner, Agent):
        message = f"the owner of a terminal is an Agent made by AgentRegistry.create, not {type(owner).__name__}"
        raise TypeError(message)


def mint_session_id() -> TerminalSessionId:
    """An id that no session of this process has had, whichever service it belonged to."""
    return TerminalSessionId(f"pty-{next(_numbers)}")


def no_session(session_id: object) -> Exception:
    """The error for an id that is not, or no longer, a session's."""
    if not isinstance(session_id, str):
        return TypeError(f"a session id is the string that spawn returned, not {type(session_id).__name__}")
    return TerminalError(
        f"no terminal session has the id {session_id!r}: it was closed, or never opened; list() gives those there are",
        TerminalErrorCode.NO_SESSION,
    )


def foreign_session(session_id: str) -> TerminalError:
    """The error for another owner's session."""
    return TerminalError(
        f"terminal session {session_id!r} belongs to another owner: only the agent that opened it can use it",
        TerminalErrorCode.FOREIGN_SESSION,
    )


_numbers = itertools.count(1)
