"""The service against a model of its contract: random stories of several owners, told one step at a time.

Backends stop at every point (setup, close, send) until a step lets them go on, well or badly. After each step all that
is ready has run, and the model says what each task must have come to. Steps that race (`in_the_same_breath`) let the
service choose between two outcomes, and hold it to all that follows from its choice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, precondition, rule

from fakes import FakeOperation, FakeSession, Gate
from kai_terminal import (
    AbortController,
    Agent,
    AgentRegistry,
    Exited,
    TerminalBackendCleanupError,
    TerminalBackendSpawnSpec,
    TerminalError,
    TerminalSendRequest,
    TerminalSendResult,
    TerminalSessionService,
    TerminalSpawnRequest,
)
from kai_terminal import _sending as sending

TICKS = 16
"""More than the longest chain of things that become ready by one another; what is not done by then waits for a step."""


class ScriptedSession(FakeSession):
    """Every close waits for a step."""

    def __init__(self) -> None:
        super().__init__()
        self.points: list[Gate] = []

    async def close(self, reason: str) -> None:
        self.close_reasons.append(reason)
        gate = Gate()
        self.points.append(gate)
        await gate.pass_through()
        self.current = Exited(None, "SIGHUP")


class Setup:
    """One call of a backend's `spawn`, waiting for a step."""

    def __init__(self, spec: TerminalBackendSpawnSpec) -> None:
        self.spec = spec
        self.gate = Gate()
        self.junk = False
        self.session = ScriptedSession()


class ScriptedBackend:
    def __init__(self, backend_type: str, setups: list[Setup]) -> None:
        self.type = backend_type
        self.setups = setups

    async def spawn(self, spec: TerminalBackendSpawnSpec) -> ScriptedSession:
        setup = Setup(spec)
        self.setups.append(setup)
        await setup.gate.pass_through()
        return None if setup.junk else setup.session  # type: ignore[return-value]


class Attempt:
    """A close in flight, and who waits for it."""

    def __init__(self) -> None:
        self.over = False
        self.error: Exception | None = None
        self.kills: list[Kill] = []


class Owner:
    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.live = True
        self.names: set[str] = set()
        self.kept: list[Exception] = []
        self.disposal: Disposal | None = None


class Spawn:
    """A spawn, and the session that may come of it."""

    def __init__(self, owner: Owner, name: str | None) -> None:
        self.owner = owner
        self.name = name
        self.controller = AbortController()
        self.reason = LookupError("the caller's")
        self.phase = "pending"
        self.task: asyncio.Task[Any]
        self.setup: Setup
        self.caller: str | None = None
        self.lifecycle: str | None = None
        self.backend_error: BaseException | None = None
        self.rollback_error: Exception | None = None
        self.watchers: list[Disposal] = []
        self.attempt: Attempt | None = None
        self.send: Send | None = None

    def __repr__(self) -> str:
        return f"<spawn of {self.owner.agent.id}: {self.phase}>"

    @property
    def session(self) -> ScriptedSession:
        return self.setup.session

    @property
    def session_id(self) -> Any:
        return self.setup.spec.session_id

    @property
    def exited(self) -> bool:
        return isinstance(self.session.current, Exited)


class Send:
    def __init__(self, operation: Any, inner: FakeOperation) -> None:
        self.operation = operation
        self.inner = inner
        self.fenced = False
        self.done: asyncio.Future[TerminalSendResult] = asyncio.ensure_future(operation.done)


class Kill:
    def __init__(self, task: asyncio.Task[bool], made: bool) -> None:
        self.task = task
        self.made = made


class Disposal:
    """A disposal in flight: what it waits for, and what it will have to report."""

    def __init__(self, owners: list[Owner], spawns: list[Spawn], attempts: list[Attempt]) -> None:
        self.owners = owners
        self.spawns = spawns
        self.attempts = attempts
        self.tasks: list[asyncio.Task[None]] = []

    @property
    def over(self) -> bool:
        return all(spawn.phase == "over" for spawn in self.spawns) and all(attempt.over for attempt in self.attempts)

    def failures(self) -> list[Exception]:
        rollbacks = [spawn.rollback_error for spawn in self.spawns]
        return [error for error in rollbacks + [attempt.error for attempt in self.attempts] if error is not None]


class Story(RuleBasedStateMachine):
    owners = Bundle("owners")
    spawns = Bundle("spawns")
    kills = Bundle("kills")
    disposals = Bundle("disposals")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.agents = AgentRegistry()
        self.service = TerminalSessionService(self.agents)
        self.setups: list[Setup] = []
        self.offers: dict[str, Callable[[], None]] = {}
        self.disposing = False
        self.disposal: Disposal | None = None
        self.running: list[Disposal] = []
        self.all_owners: list[Owner] = []
        self.all_spawns: list[Spawn] = []
        self.published: list[Spawn] = []
        self.complaints: list[dict[str, Any]] = []
        self.loop.set_exception_handler(lambda _, context: self.complaints.append(context))
        for backend_type in "xy":
            self.register(backend_type)

    # How a step is taken.

    def run(self, action: Callable[[], Any], ticks: int = TICKS) -> Any:
        async def step() -> Any:
            result = action()
            for _ in range(ticks):
                await asyncio.sleep(0)
            return result

        return self.loop.run_until_complete(step())

    def task(self, make: Callable[[], Any], ticks: int = TICKS) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = self.run(lambda: asyncio.ensure_future(make()), ticks)
        return task

    def register(self, backend_type: str) -> None:
        self.offers[backend_type] = self.service.register_backend(ScriptedBackend(backend_type, self.setups))

    # Steps: owners and backends.

    @initialize(target=owners)
    def first_owners(self) -> Any:
        return multiple(*(self.create_owner() for _ in range(2)))

    @rule(target=owners)
    @precondition(lambda self: len(self.all_owners) < 5)
    def another_owner(self) -> Owner:
        return self.create_owner()

    def create_owner(self) -> Owner:
        owner = Owner(self.agents.create(f"owner {len(self.all_owners)}"))
        self.all_owners.append(owner)
        return owner

    @rule(backend_type=st.sampled_from("xy"))
    @precondition(lambda self: len(self.all_spawns) >= 3)
    def toggle_backend(self, backend_type: str) -> None:
        """Live sessions and pending spawns must not notice."""
        if backend_type in self.offers:
            self.offers.pop(backend_type)()
        elif self.disposing:
            with pytest.raises(TerminalError, match="disposed"):
                self.register(backend_type)
        else:
            self.register(backend_type)

    # Steps: opening.

    @rule(target=spawns, owner=owners, name=st.sampled_from([None, "a"]), backend_type=st.sampled_from("xyz"))
    def spawn(self, owner: Owner, name: str | None, backend_type: str) -> Any:
        spawn = Spawn(owner, name)
        refusal = None
        if self.disposing:
            refusal = "SERVICE_DISPOSING"
        elif not owner.live:
            refusal = "OWNER_NOT_LIVE"
        elif backend_type not in self.offers:
            refusal = "NO_BACKEND"
        elif name in owner.names:
            refusal = "DUPLICATE_NAME"
        request = TerminalSpawnRequest(backend_type, name)
        spawn.task = self.task(lambda: self.service.spawn(owner.agent, request, spawn.controller.signal))
        if refusal is not None:
            error = spawn.task.exception()
            assert isinstance(error, TerminalError)
            assert error.code == refusal
            return multiple()
        assert not spawn.task.done()
        spawn.setup = self.setups[-1]
        if name is not None:
            owner.names.add(name)
        self.all_spawns.append(spawn)
        return spawn

    @rule(target=spawns, owner=owners, name=st.sampled_from([None, "a"]))
    def open(self, owner: Owner, name: str | None) -> Any:
        """A spawn that goes well, so that stories get to what comes after it."""
        backend_type = next(iter(self.offers), "x")
        spawn = self.spawn(owner, name, backend_type)
        if isinstance(spawn, Spawn):
            self.settle_setup(spawn, "well")
        return spawn

    def in_phase(self, *phases: str) -> list[Spawn]:
        return [spawn for spawn in self.all_spawns if spawn.phase in phases]

    def pick(self, data: st.DataObject, *phases: str) -> Spawn:
        return data.draw(st.sampled_from(self.in_phase(*phases)), "spawn")

    @rule(data=st.data(), how=st.sampled_from(["well", "well", "badly", "dirty", "junk"]))
    @precondition(lambda self: self.in_phase("pending"))
    def settle_a_setup(self, data: st.DataObject, how: str) -> None:
        self.settle_setup(self.pick(data, "pending"), how)

    def settle_setup(self, spawn: Spawn, how: str) -> None:
        if spawn.phase == "pending":
            self.let_setup_go(spawn, how)
            self.run(lambda: None)
            self.after_setup(spawn, how)

    def let_setup_go(self, spawn: Spawn, how: str) -> None:
        gate = spawn.setup.gate
        if how == "badly":
            spawn.backend_error = OSError("setup")
            gate.fail(spawn.backend_error)
        elif how == "dirty":
            spawn.rollback_error = KeyError("left")
            spawn.backend_error = TerminalBackendCleanupError(OSError("setup"), spawn.rollback_error)
            gate.fail(spawn.backend_error)
        else:
            spawn.setup.junk = how == "junk"
            gate.open()

    def after_setup(self, spawn: Spawn, how: str) -> None:
        if how != "well":
            self.end_spawn(spawn)
        elif spawn.caller or spawn.lifecycle:
            spawn.phase = "rolling back"
            assert spawn.session.close_reasons == ["PTY spawn rolled back"]
            assert not spawn.task.done()
        else:
            spawn.phase = "live"
            self.published.append(spawn)
            assert spawn.task.result().session_id == spawn.session_id

    @rule(data=st.data(), how=st.sampled_from(["signal", "cancel"]))
    @precondition(lambda self: self.in_phase(*PENDING))
    def abort_a_pending_spawn(self, data: st.DataObject, how: str) -> None:
        self.abort_spawn(self.pick(data, *PENDING), how)

    @rule(spawn=spawns, how=st.sampled_from(["signal", "cancel"]))
    def abort_spawn(self, spawn: Spawn, how: str) -> None:
        self.abort(spawn, how)
        self.run(lambda: None)

    def abort(self, spawn: Spawn, how: str) -> None:
        if how == "signal":
            self.run(lambda: spawn.controller.abort(spawn.reason), 0)
        else:
            spawn.task.cancel()
        if spawn.phase in ("pending", "rolling back") and spawn.caller is None:
            spawn.caller = how

    @rule(data=st.data(), how=st.sampled_from(["signal", "cancel"]), ticks=st.integers(0, 4))
    @precondition(lambda self: self.in_phase("pending"))
    def settle_setup_and_abort_in_the_same_breath(self, data: st.DataObject, how: str, ticks: int) -> None:
        spawn = self.pick(data, "pending")
        self.let_setup_go(spawn, "well")
        self.run(lambda: None, ticks)
        published = spawn.task.done()
        self.abort(spawn, how)
        if published:
            spawn.caller = None
        self.run(lambda: None)
        self.after_setup(spawn, "well")

    @rule(target=disposals, data=st.data(), ticks=st.integers(0, 4))
    @precondition(lambda self: self.in_phase("pending") and len(self.all_spawns) >= 3)
    def settle_setup_and_dispose_in_the_same_breath(self, data: st.DataObject, ticks: int) -> Any:
        spawn = self.pick(data, "pending")
        if not spawn.owner.live:
            return multiple()
        self.let_setup_go(spawn, "well")
        self.run(lambda: None, ticks)
        if spawn.task.done():
            self.after_setup(spawn, "well")
            return self.dispose_owner(spawn.owner)
        disposal = self.dispose_owner(spawn.owner)
        self.after_setup(spawn, "well")
        return disposal

    def end_spawn(self, spawn: Spawn) -> None:
        """Everything is undone: what did `spawn` raise, and who hears of a failed cleanup?"""
        spawn.phase = "over"
        owner = spawn.owner
        if spawn.name is not None:
            owner.names.discard(spawn.name)
        if spawn.rollback_error is not None and not spawn.watchers:
            owner.kept.append(spawn.rollback_error)
        assert spawn.task.done()
        if spawn.caller == "cancel":
            assert spawn.task.cancelled()
            return
        error = spawn.task.exception()
        if spawn.caller == "signal":
            assert error is spawn.reason
        elif spawn.lifecycle is None:
            if spawn.setup.junk:
                assert isinstance(error, TypeError)
            else:
                assert error is spawn.backend_error
        elif spawn.rollback_error is not None:
            assert isinstance(error, ExceptionGroup)
            assert error.message == "PTY spawn and rollback both failed"
            assert error.exceptions[1] is spawn.rollback_error
            assert error.exceptions[0] is spawn.setup.spec.signal.reason
        else:
            assert isinstance(error, TerminalError)
            assert error.code == spawn.lifecycle
            assert error is spawn.setup.spec.signal.reason

    # Steps: using.

    @rule(spawn=spawns)
    def start_own_send(self, spawn: Spawn) -> None:
        self.start_send(spawn.owner, spawn)

    @rule(owner=owners, spawn=spawns)
    def start_send(self, owner: Owner, spawn: Spawn) -> None:
        refusal = None
        if self.disposing:
            refusal = "SERVICE_DISPOSING"
        elif spawn.phase != "live":
            refusal = "NO_SESSION"
        elif spawn.owner is not owner:
            refusal = "FOREIGN_SESSION"
        elif spawn.attempt is not None:
            refusal = "SESSION_CLOSING"
        elif spawn.send is not None:
            refusal = "SEND_ACTIVE"
        elif spawn.exited:
            refusal = "SESSION_EXITED"

        def begin() -> Send | None:
            request = TerminalSendRequest("x")
            if refusal is not None:
                with pytest.raises(TerminalError) as caught:
                    self.service.start_send(owner.agent, spawn.session_id, request)
                assert caught.value.code == refusal
                return None
            operation = self.service.start_send(owner.agent, spawn.session_id, request)
            return Send(operation, spawn.session.operations[-1])

        send = self.run(begin)
        if send is not None:
            spawn.send = send

    @rule(data=st.data(), how=st.sampled_from(["stdin_read", "timeout", "badly"]))
    @precondition(lambda self: self.sending())
    def settle_a_send(self, data: st.DataObject, how: str) -> None:
        self.settle_send(data.draw(st.sampled_from(self.sending()), "spawn"), how)

    def sending(self) -> list[Spawn]:
        return [spawn for spawn in self.all_spawns if spawn.send is not None]

    def settle_send(self, spawn: Spawn, how: Any) -> None:
        send = spawn.send
        if send is None or send.inner.done.done():
            return
        if how == "badly":
            self.run(lambda: send.inner.fail(OSError("send")))
        else:
            self.run(lambda: send.inner.settle(how))
        if not send.fenced:
            if how == "badly":
                assert send.done.exception() is send.inner.done.exception()
            else:
                assert send.done.result() is send.inner.done.result()
            spawn.send = None
        elif spawn.attempt is None and spawn.exited:
            self.sent_as_exit(spawn)
        else:
            assert not send.done.done()

    @rule(spawn=spawns)
    def cancel_send(self, spawn: Spawn) -> None:
        if spawn.send is not None:
            active = not spawn.send.inner.done.done()
            assert self.run(spawn.send.operation.cancel) is active

    def sent_as_exit(self, spawn: Spawn) -> None:
        assert spawn.send is not None
        result = spawn.send.done.result()
        assert result.wait_reason == "session_exit"
        assert isinstance(result.session_status, Exited)
        spawn.send = None

    @rule(spawn=spawns)
    def exit(self, spawn: Spawn) -> None:
        if spawn.phase == "live":
            spawn.session.exit(3)

    # Steps: closing.

    @rule(target=kills, spawn=spawns)
    def kill_own(self, spawn: Spawn) -> Any:
        return self.kill(spawn.owner, spawn)

    @rule(target=kills, owner=owners, spawn=spawns)
    def kill(self, owner: Owner, spawn: Spawn) -> Any:
        refusal = None
        if spawn.phase != "live":
            refusal = "NO_SESSION"
        elif spawn.owner is not owner:
            refusal = "FOREIGN_SESSION"
        task = self.task(lambda: self.service.kill(owner.agent, spawn.session_id))
        if refusal is not None:
            error = task.exception()
            assert isinstance(error, TerminalError)
            assert error.code == refusal
            return multiple()
        kill = Kill(task, spawn.attempt is None)
        self.begin_close(spawn).kills.append(kill)
        assert not task.done()
        return kill

    @rule(target=kills, data=st.data())
    @precondition(lambda self: self.published)
    def close(self, data: st.DataObject) -> Any:
        """A close that goes well, so that stories get to what comes after it."""
        spawn = self.pick(data, "live")
        kill = self.kill(spawn.owner, spawn)
        self.settle_close(spawn, True)
        return kill

    def begin_close(self, spawn: Spawn) -> Attempt:
        if spawn.attempt is None:
            spawn.attempt = Attempt()
        if spawn.send is not None:
            spawn.send.fenced = True
        return spawn.attempt

    @rule(kill=kills)
    def cancel_kill(self, kill: Kill) -> None:
        if not kill.task.done():
            self.run(kill.task.cancel)
            assert kill.task.cancelled()

    @rule(data=st.data(), well=st.booleans())
    @precondition(lambda self: self.closing())
    def settle_a_close(self, data: st.DataObject, well: bool) -> None:
        self.settle_close(data.draw(st.sampled_from(self.closing()), "spawn"), well)

    def closing(self) -> list[Spawn]:
        return [one for one in self.all_spawns if one.phase == "rolling back" or one.attempt is not None]

    def settle_close(self, spawn: Spawn, well: bool) -> None:
        attempt = spawn.attempt
        if spawn.phase == "over" or (spawn.phase != "rolling back" and attempt is None):
            return
        error = None if well else OSError("close")
        gate = spawn.session.points[-1]
        self.run(gate.open if error is None else lambda: gate.fail(error))
        if spawn.phase == "rolling back":
            spawn.rollback_error = error
            self.end_spawn(spawn)
            return
        assert attempt is not None
        attempt.over, attempt.error, spawn.attempt = True, error, None
        for kill in attempt.kills:
            if kill.task.cancelled():
                continue
            if error is None:
                assert kill.task.result() is kill.made
            else:
                assert kill.task.exception() is error
        if error is None:
            spawn.phase = "over"
            self.published.remove(spawn)
            if spawn.name is not None:
                spawn.owner.names.discard(spawn.name)
            if spawn.send is not None:
                self.sent_as_exit(spawn)
        elif spawn.send is not None:
            if spawn.send.inner.done.done() and spawn.exited:
                self.sent_as_exit(spawn)
            else:
                assert not spawn.send.done.done()

    # Steps: ending.

    @rule(target=disposals, owner=owners)
    @precondition(lambda self: len(self.all_spawns) >= 3)
    def dispose_owner(self, owner: Owner) -> Disposal:
        if owner.disposal is None:
            owner.live = False
            owner.disposal = self.begin_disposal([owner], "OWNER_NOT_LIVE")
        disposal = owner.disposal
        disposal.tasks.append(self.task(owner.agent.dispose))
        return disposal

    @rule(target=disposals)
    @precondition(lambda self: len(self.all_spawns) >= 6)
    def dispose_service(self) -> Disposal:
        if self.disposal is None:
            self.disposing = True
            self.offers.clear()
            self.disposal = self.begin_disposal(self.all_owners, "SERVICE_DISPOSING")
        disposal = self.disposal
        disposal.tasks.append(self.task(self.service.dispose))
        return disposal

    def begin_disposal(self, owners: list[Owner], code: str) -> Disposal:
        pending = [spawn for spawn in self.all_spawns if spawn.owner in owners and spawn.phase in PENDING]
        attempts = [self.begin_close(spawn) for spawn in self.published if spawn.owner in owners]
        disposal = Disposal(list(owners), pending, attempts)
        for spawn in pending:
            spawn.watchers.append(disposal)
            if spawn.lifecycle is None:
                spawn.lifecycle = code
        self.running.append(disposal)
        return disposal

    @rule(disposal=disposals, which=st.integers(0, 2))
    def cancel_a_waiter_of_a_disposal(self, disposal: Disposal, which: int) -> None:
        if which < len(disposal.tasks) and not disposal.tasks[which].done():
            task = disposal.tasks[which]
            self.run(task.cancel)
            assert task.cancelled()

    @invariant()
    def all_is_well(self) -> None:
        self.disposals_end_when_what_they_wait_for_has_ended()
        self.owners_see_their_own_and_nothing_else()
        self.a_session_is_closed_by_one_attempt_at_a_time()

    def disposals_end_when_what_they_wait_for_has_ended(self) -> None:
        ended = [disposal for disposal in self.running if disposal.over]
        kept = {id(owner): list(owner.kept) for disposal in ended for owner in disposal.owners}
        told: list[int] = []
        unheard = False
        for disposal in ended:
            observed = [task for task in disposal.tasks if not task.cancelled()]
            assert all(task.done() for task in observed)
            unheard = unheard or not observed
            outcomes = {id(task.exception()): task.exception() for task in observed}
            assert len(outcomes) <= 1
            for outcome in outcomes.values():
                extra = self.reported(outcome, disposal)
                assert all(any(error is one for owner in disposal.owners for one in owner.kept) for error in extra)
                told += map(id, extra)
        # What had been kept is told once, by one of the disposals that ended in this step.
        assert len(told) == len(set(told))
        if not unheard:
            assert sorted(told) == sorted(id(error) for errors in kept.values() for error in errors)
        for disposal in ended:
            for owner in disposal.owners:
                owner.kept = []
            self.running.remove(disposal)
            if disposal is self.disposal:
                self.disposal = None
        for disposal in self.running:
            assert all(task.cancelled() or not task.done() for task in disposal.tasks)

    def reported(self, outcome: BaseException | None, disposal: Disposal) -> list[BaseException]:
        """What a disposal reported beyond what it waited for."""
        said = leaves(outcome)
        for failure in disposal.failures():
            times = sum(error is failure for error in said)
            assert times == 1, f"{failure!r} is {times} times in {outcome!r}"
            said = [error for error in said if error is not failure]
        return said

    # What must hold after every step.

    def owners_see_their_own_and_nothing_else(self) -> None:
        for owner in self.all_owners:
            mine = [spawn for spawn in self.published if spawn.owner is owner]
            snapshots = self.service.list(owner.agent)
            assert [snapshot.session_id for snapshot in snapshots] == [spawn.session_id for spawn in mine]
            assert [snapshot.status for snapshot in snapshots] == [spawn.session.current for spawn in mine]
            under_way = any(spawn.owner is owner and spawn.phase in PENDING for spawn in self.all_spawns)
            assert self.service.has_owner_activity(owner.agent) is bool(mine or under_way or owner.kept)
            assert (self.agents.get(owner.agent.id) is owner.agent) is owner.live

    def a_session_is_closed_by_one_attempt_at_a_time(self) -> None:
        for spawn in self.all_spawns:
            waiting = [point for point in spawn.session.points if not point.passed]
            closing = spawn.phase == "rolling back" or spawn.attempt is not None
            assert len(waiting) == (1 if closing else 0)
        assert self.service.list_backends() == list(self.offers)
        assert self.complaints == []

    def teardown(self) -> None:
        """Let everything end well; then nothing may be left."""
        for spawn in self.all_spawns:
            self.settle_setup(spawn, "well")
            self.settle_close(spawn, True)
            self.settle_send(spawn, "timeout")
        self.disposals_end_when_what_they_wait_for_has_ended()
        self.dispose_service()
        for spawn in self.all_spawns:
            self.settle_close(spawn, True)
        self.all_is_well()
        for owner in self.all_owners:
            assert not self.service.has_owner_activity(owner.agent)
            self.dispose_owner(owner)
        assert not self.service._registry.owners
        assert not self.service._registry.sessions
        assert not asyncio.all_tasks(self.loop)
        self.loop.close()


def leaves(error: BaseException | None) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for member in error.exceptions for leaf in leaves(member)]
    return [] if error is None else [error]


PENDING = ("pending", "rolling back")

TestStory = Story.TestCase
TestStory.settings = settings(
    max_examples=200,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    report_multiple_bugs=False,
    database=None,
    suppress_health_check=list(HealthCheck),
)
TestStory = pytest.mark.rule(
    "S2", "S3", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "S12", "S13", "S14", "S15", "S16", "S17", "N8", "N11"
)(pytest.mark.timeout(900)(pytest.mark.usefixtures("no_last_word")(TestStory)))


@pytest.fixture
def no_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that did not settle a send with its close has had its chance at once: the model keeps no clock."""
    monkeypatch.setattr(sending, "LAST_WORD", 0)
