"""Backends that break their protocol: the error names them, and the service goes on (rules B1, B2, S12)."""

from __future__ import annotations

import asyncio
import logging

import pytest

from fakes import FakeBackend, FakeOperation, FakeSession, Gate, ticks
from kai_terminal import (
    Agent,
    Running,
    TerminalReadRequest,
    TerminalSendRequest,
    TerminalSessionService,
    TerminalSpawnRequest,
    TerminalSpawnResult,
)

pytestmark = pytest.mark.rule("B1", "B2")

REQUEST = TerminalSpawnRequest("fake", name="build")


async def still_usable(service: TerminalSessionService, owner: Agent) -> None:
    service.register_backend(FakeBackend("good"))
    opened = await service.spawn(owner, TerminalSpawnRequest("good", name="build"))
    await service.kill(owner, opened.session_id)
    assert not service.has_owner_activity(owner)


class Closable:
    """Not a session, but it can be closed."""

    def __init__(self) -> None:
        self.closed: list[str] = []

    async def close(self, reason: str) -> None:
        self.closed.append(reason)


@pytest.mark.parametrize("junk", [None, object(), "session", 7])
async def test_spawn_returns_junk(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend, junk: object
) -> None:
    backend.make = lambda: junk  # type: ignore[assignment, return-value]
    with pytest.raises(TypeError, match=f"'fake' broke its protocol: spawn returned {type(junk).__name__}"):
        await service.spawn(owner, REQUEST)
    await still_usable(service, owner)


async def test_what_is_no_session_but_can_be_closed_is_closed(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    closable = Closable()
    backend.make = lambda: closable  # type: ignore[assignment, return-value]
    with pytest.raises(TypeError, match="Closable, which has no method start_send"):
        await service.spawn(owner, REQUEST)
    assert closable.closed == ["PTY spawn rolled back"]
    await still_usable(service, owner)


async def test_methods_that_should_be_async_but_are_not(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    session = FakeSession()
    spawn = backend.spawn
    backend.spawn = lambda spec: session  # type: ignore[assignment, method-assign, return-value]
    with pytest.raises(TypeError, match="'fake' broke its protocol: spawn is not awaitable, but FakeSession"):
        await service.spawn(owner, REQUEST)
    assert session.close_reasons == ["PTY spawn rolled back"]
    backend.spawn = spawn  # type: ignore[method-assign]
    opened = await service.spawn(owner, REQUEST)
    session = backend.sessions[-1]
    session.close = lambda reason: None  # type: ignore[assignment, method-assign, return-value]
    with pytest.raises(TypeError, match="'fake' broke its protocol: close is not awaitable, but NoneType"):
        await service.kill(owner, opened.session_id)
    del session.close  # type: ignore[attr-defined]
    await service.kill(owner, opened.session_id)
    await still_usable(service, owner)


@pytest.mark.rule("S11")
async def test_a_broken_session_that_cannot_be_closed_is_reported_with_both(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    session = FakeSession()
    session.motd = None  # type: ignore[assignment]
    failure, gate = OSError(), Gate()
    gate.fail(failure)
    session.close_gates = [gate]
    backend.make = lambda: session
    with pytest.raises(ExceptionGroup) as caught:
        await service.spawn(owner, REQUEST)
    assert caught.value.message == "PTY spawn and rollback both failed"
    assert "motd is NoneType" in str(caught.value.exceptions[0])
    assert caught.value.exceptions[1] is failure
    assert service.has_owner_activity(owner)
    with pytest.raises(ExceptionGroup):
        await service.dispose()


@pytest.mark.parametrize(("attribute", "value"), [("motd", 7), ("pid", "7"), ("status", lambda: None)])
async def test_a_session_of_wrong_facts_is_closed_and_named(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend, attribute: str, value: object
) -> None:
    session = FakeSession()
    setattr(session, attribute, value)
    backend.make = lambda: session
    with pytest.raises(TypeError, match=f"'fake' broke its protocol.*{attribute}"):
        await service.spawn(owner, REQUEST)
    assert session.close_reasons == ["PTY spawn rolled back"]
    await still_usable(service, owner)


async def test_a_session_that_raises_when_looked_at_is_closed(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    class Raising(FakeSession):
        def status(self) -> Running:
            message = "status broke"
            raise OSError(message)

    backend.make = Raising
    with pytest.raises(OSError, match="status broke"):
        await service.spawn(owner, REQUEST)
    assert backend.sessions[0].close_reasons == ["PTY spawn rolled back"]
    await still_usable(service, owner)


@pytest.fixture
async def opened(service: TerminalSessionService, owner: Agent) -> TerminalSpawnResult:
    return await service.spawn(owner, REQUEST)


@pytest.mark.filterwarnings("error")
async def test_start_send_returns_junk(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend, opened: TerminalSpawnResult
) -> None:
    session = backend.sessions[0]

    async def coroutine(request: TerminalSendRequest) -> None:
        """An async method where a plain one is wanted: easily written."""

    for junk in (lambda _: None, lambda _: object(), coroutine):
        session.start_send = junk  # type: ignore[assignment]
        with pytest.raises(TypeError, match="'fake' broke its protocol: start_send returned"):
            service.start_send(owner, opened.session_id, TerminalSendRequest("x"))
    del session.start_send  # type: ignore[attr-defined]
    operation = service.start_send(owner, opened.session_id, TerminalSendRequest("x"))
    session.operations[0].settle()
    await operation.done


@pytest.mark.parametrize("done", [None, 7, "result"])
async def test_done_is_not_awaitable(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend, opened: TerminalSpawnResult, done: object
) -> None:
    class Odd(FakeOperation):
        @property
        def done(self) -> object:  # type: ignore[override]
            return done

    session = backend.sessions[0]
    session.start_send = lambda request: Odd(session, request)  # type: ignore[method-assign]
    operation = service.start_send(owner, opened.session_id, TerminalSendRequest("x"))
    with pytest.raises(TypeError, match="'fake' broke its protocol"):
        await operation.done
    del session.start_send  # type: ignore[attr-defined]
    service.start_send(owner, opened.session_id, TerminalSendRequest("x"))


async def test_done_raises_when_asked_for(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend, opened: TerminalSpawnResult
) -> None:
    class Odd(FakeOperation):
        @property
        def done(self) -> object:  # type: ignore[override]
            message = "no done"
            raise OSError(message)

    session = backend.sessions[0]
    session.start_send = lambda request: Odd(session, request)  # type: ignore[method-assign]
    operation = service.start_send(owner, opened.session_id, TerminalSendRequest("x"))
    with pytest.raises(OSError, match="no done"):
        await operation.done


async def test_done_gives_junk_or_is_cancelled(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend, opened: TerminalSpawnResult
) -> None:
    operation = service.start_send(owner, opened.session_id, TerminalSendRequest("x"))
    backend.sessions[0].operations[-1].done.set_result(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'fake' broke its protocol: a send's done gave NoneType"):
        await operation.done
    operation = service.start_send(owner, opened.session_id, TerminalSendRequest("x"))
    backend.sessions[0].operations[-1].done.cancel()
    with pytest.raises(Exception, match="'fake' gave up a send"):
        await operation.done
    service.start_send(owner, opened.session_id, TerminalSendRequest("x"))


async def test_read_and_signal_return_junk(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend, opened: TerminalSpawnResult
) -> None:
    session = backend.sessions[0]

    async def signal(name: str) -> None:
        return None

    async def read(request: TerminalReadRequest) -> None:
        return None

    session.signal = signal  # type: ignore[assignment, method-assign]
    with pytest.raises(TypeError, match="'fake' broke its protocol: signal returned NoneType"):
        await service.signal(owner, opened.session_id, "SIGINT")
    session.read = read  # type: ignore[assignment, method-assign]
    with pytest.raises(TypeError, match="'fake' broke its protocol: read returned coroutine"):
        service.read(owner, opened.session_id)


async def test_a_broken_status_hides_no_other_session(
    service: TerminalSessionService,
    owner: Agent,
    backend: FakeBackend,
    opened: TerminalSpawnResult,
    caplog: pytest.LogCaptureFixture,
) -> None:
    other = await service.spawn(owner, TerminalSpawnRequest("fake"))

    def broken() -> Running:
        raise OSError

    backend.sessions[0].status = broken  # type: ignore[method-assign]
    assert [snapshot.session_id for snapshot in service.list(owner)] == [opened.session_id, other.session_id]
    assert service.list(owner)[0].status == Running()
    assert f"status of {opened.session_id} is not known: OSError" in caplog.text
    with pytest.raises(OSError):
        service.start_send(owner, opened.session_id, TerminalSendRequest("x"))
    assert await service.kill(owner, opened.session_id)


async def test_a_session_that_says_it_runs_after_its_close_is_not_believed(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend, opened: TerminalSpawnResult
) -> None:
    session = backend.sessions[0]
    operation = service.start_send(owner, opened.session_id, TerminalSendRequest("x"))
    session.settles_at_close = False
    session.status = Running  # type: ignore[method-assign, assignment]
    await service.kill(owner, opened.session_id)
    session.operations[0].settle("timeout")
    result = await operation.done
    assert (result.wait_reason, result.session_status.kind) == ("session_exit", "exited")


async def test_an_operation_that_settles_twice_counts_once(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend, opened: TerminalSpawnResult
) -> None:
    operation = service.start_send(owner, opened.session_id, TerminalSendRequest("x"))
    inner = backend.sessions[0].operations[0]
    expected = inner.settle()
    assert await operation.done is expected
    with pytest.raises(asyncio.InvalidStateError):
        inner.settle("timeout")
    await service.kill(owner, opened.session_id)
    assert await operation.done is expected


async def test_the_log_says_what_happened(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "kai_terminal")
    opened = await service.spawn(owner, REQUEST)
    backend.sessions[0].exit(1)
    with pytest.raises(Exception, match="has ended"):
        service.start_send(owner, opened.session_id, TerminalSendRequest("x"))
    await service.kill(owner, opened.session_id)
    await ticks()
    assert [record.getMessage() for record in caplog.records if record.name == "kai_terminal"] == [
        f"opened {opened.session_id} (fake) for agent 'owner'",
        f"refused input for {opened.session_id}: SESSION_EXITED",
        f"closed {opened.session_id} (model request)",
    ]
