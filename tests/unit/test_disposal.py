"""Rules S15 and S16: ending an owner, ending the service, and trying again."""

from __future__ import annotations

import asyncio

import pytest

from fakes import FakeBackend, Gate, ticks
from kai_terminal import Agent, AgentRegistry, TerminalError, TerminalSessionService, TerminalSpawnRequest

REQUEST = TerminalSpawnRequest("fake")


def failing(error: BaseException) -> Gate:
    gate = Gate()
    gate.fail(error)
    return gate


@pytest.mark.rule("S15")
async def test_an_owner_ends_when_all_it_had_is_quiescent(
    service: TerminalSessionService, agents: AgentRegistry, owner: Agent, backend: FakeBackend
) -> None:
    other = agents.create("other")
    kept = await service.spawn(other, REQUEST)
    await service.spawn(owner, REQUEST)
    await service.spawn(owner, REQUEST)
    first, second, setup = Gate(), Gate(), Gate()
    backend.sessions[1].close_gates = [first]
    backend.sessions[2].close_gates = [second]
    backend.gates = [setup]
    spawn = asyncio.create_task(service.spawn(owner, REQUEST))
    await setup.reached()
    disposal = asyncio.ensure_future(owner.dispose())
    # All of it is under way before any of it has ended.
    await first.reached()
    await second.reached()
    assert backend.specs[-1].signal.aborted
    for gate in (first, setup, second):
        await ticks()
        assert not disposal.done()
        gate.open()
    await disposal
    assert backend.sessions[1].close_reasons == ["PTY owner disposed"]
    assert not service.has_owner_activity(owner)
    with pytest.raises(TerminalError) as caught:
        await spawn
    assert caught.value.code == "OWNER_NOT_LIVE"
    assert [snapshot.session_id for snapshot in service.list(other)] == [kept.session_id]


@pytest.mark.rule("S15")
async def test_failures_are_grouped_after_every_record_was_tried(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    for _ in range(3):
        await service.spawn(owner, REQUEST)
    first, third, rollback = OSError("first"), OSError("third"), OSError("rollback")
    backend.sessions[0].close_gates = [failing(first)]
    backend.sessions[2].close_gates = [failing(third)]
    setup = Gate()
    backend.gates = [setup]
    spawn = asyncio.create_task(service.spawn(owner, REQUEST))
    await setup.reached()
    make = backend.make
    backend.make = lambda: with_gate(make(), failing(rollback))
    disposal = asyncio.ensure_future(owner.dispose())
    await ticks()
    setup.open()
    with pytest.raises(ExceptionGroup) as caught:
        await disposal
    (lifecycle,) = caught.value.exceptions
    assert isinstance(lifecycle, ExceptionGroup)
    assert lifecycle.message == "failed to clean up PTY lifecycle"
    unpublished, closes = lifecycle.exceptions
    assert isinstance(unpublished, ExceptionGroup)
    assert isinstance(closes, ExceptionGroup)
    assert unpublished.message == "failed to roll back unpublished PTY setup"
    assert unpublished.exceptions == (rollback,)
    assert closes.message == "failed to close 2 PTY session(s)"
    assert closes.exceptions == (first, third)
    with pytest.raises(ExceptionGroup):
        await spawn
    assert len(service.list(owner)) == 2
    # The owner is gone, but what it could not close can still be closed, by it or with the service.
    assert await service.kill(owner, service.list(owner)[0].session_id) is True
    await service.dispose()
    assert backend.sessions[2].close_reasons == ["PTY owner disposed", "PTY service disposed"]
    assert not service.has_owner_activity(owner)


@pytest.mark.rule("S15", "S14")
async def test_a_disposal_joins_a_close_in_flight(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    opened = await service.spawn(owner, REQUEST)
    gate, failure = Gate(), OSError("survivors")
    backend.sessions[0].close_gates = [gate]
    kill = asyncio.ensure_future(service.kill(owner, opened.session_id))
    await gate.reached()
    disposal = asyncio.ensure_future(owner.dispose())
    await ticks()
    gate.fail(failure)
    with pytest.raises(OSError, match="survivors"):
        await kill
    with pytest.raises(ExceptionGroup):
        await disposal
    assert backend.sessions[0].close_reasons == ["model request"]


@pytest.mark.rule("S16")
async def test_the_service_ends_for_all_owners(agents: AgentRegistry, owner: Agent, backend: FakeBackend) -> None:
    service = TerminalSessionService(agents)
    service.register_backend(backend)
    other = agents.create("other")
    await service.spawn(owner, REQUEST)
    await service.spawn(other, REQUEST)
    await service.dispose()
    assert [session.close_reasons for session in backend.sessions] == [["PTY service disposed"]] * 2
    assert service.list_backends() == []
    for refused in (lambda: service.register_backend(FakeBackend()),):
        with pytest.raises(TerminalError) as caught:
            refused()
        assert caught.value.code == "SERVICE_DISPOSING"
    with pytest.raises(TerminalError) as spawn:
        await service.spawn(owner, REQUEST)
    assert spawn.value.code == "SERVICE_DISPOSING"
    await service.dispose()
    await owner.dispose()


@pytest.mark.rule("S16")
async def test_what_could_not_be_closed_stays_and_is_tried_again(
    agents: AgentRegistry, owner: Agent, backend: FakeBackend
) -> None:
    service = TerminalSessionService(agents)
    service.register_backend(backend)
    opened = await service.spawn(owner, TerminalSpawnRequest("fake", name="stuck"))
    await service.spawn(owner, REQUEST)
    backend.sessions[0].close_gates = [failing(OSError("once")), failing(OSError("twice"))]
    with pytest.raises(ExceptionGroup) as caught:
        await service.dispose()
    assert caught.value.message == "failed to clean up PTY lifecycle"
    assert [error.message for error in caught.value.exceptions] == ["failed to close 1 PTY session(s)"]  # type: ignore[attr-defined]
    assert service.list_backends() == []
    assert [snapshot.session_id for snapshot in service.list(owner)] == [opened.session_id]
    assert service.read(owner, opened.session_id).text
    assert service.has_owner_activity(owner)
    with pytest.raises(OSError, match="twice"):
        await service.kill(owner, opened.session_id)
    await service.dispose()
    assert service.list(owner) == []
    assert not service.has_owner_activity(owner)
    await service.dispose()
    assert len(backend.sessions[0].close_reasons) == 3
    assert len(backend.sessions[1].close_reasons) == 1


@pytest.mark.rule("S16")
async def test_concurrent_disposals_join(agents: AgentRegistry, owner: Agent, backend: FakeBackend) -> None:
    service = TerminalSessionService(agents)
    service.register_backend(backend)
    await service.spawn(owner, REQUEST)
    gate = Gate()
    backend.sessions[0].close_gates = [gate]
    disposals = [asyncio.ensure_future(service.dispose()) for _ in range(3)]
    await gate.reached()
    disposals[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await disposals[0]
    gate.fail(OSError("survivors"))
    outcomes = await asyncio.gather(*disposals[1:], return_exceptions=True)
    assert outcomes[0] is outcomes[1]
    assert isinstance(outcomes[0], ExceptionGroup)
    await service.dispose()


@pytest.mark.rule("S16")
async def test_leaving_the_block_disposes(agents: AgentRegistry, owner: Agent, backend: FakeBackend) -> None:
    with pytest.raises(LookupError):
        async with TerminalSessionService(agents) as service:
            service.register_backend(backend)
            await service.spawn(owner, REQUEST)
            raise LookupError
    assert backend.sessions[0].close_reasons == ["PTY service disposed"]


@pytest.mark.rule("S16", "S15")
async def test_a_service_that_is_gone_and_clean_is_not_kept_by_its_owners(
    agents: AgentRegistry, owner: Agent, backend: FakeBackend
) -> None:
    service = TerminalSessionService(agents)
    service.register_backend(backend)
    await service.spawn(owner, REQUEST)
    await service.dispose()
    assert not owner.scope._effects
    assert not service._registry.owners


def with_gate(session: object, gate: Gate) -> object:
    session.close_gates = [gate]  # type: ignore[attr-defined]
    return session
