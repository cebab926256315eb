"""Rules S2 to S7 and S12: opening, without aborts."""

from __future__ import annotations

import asyncio

import pytest

from fakes import FakeBackend, Gate, ticks
from kai_terminal import (
    AbortController,
    Agent,
    AgentRegistry,
    Exited,
    TerminalError,
    TerminalSessionId,
    TerminalSessionService,
    TerminalSpawnRequest,
)

REQUEST = TerminalSpawnRequest("fake")


@pytest.mark.rule("S2", "S7", "S12")
async def test_nothing_sees_a_session_before_its_setup_succeeded(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    gate = Gate()
    backend.gates = [gate]
    assert not service.has_owner_activity(owner)
    spawn = asyncio.create_task(service.spawn(owner, REQUEST))
    await gate.reached()
    session_id = backend.specs[0].session_id
    assert service.list(owner) == []
    assert service.has_owner_activity(owner)
    with pytest.raises(TerminalError) as caught:
        service.read(owner, session_id)
    assert caught.value.code == "NO_SESSION"
    gate.open()
    opened = await spawn
    assert opened.session_id == session_id
    assert [snapshot.session_id for snapshot in service.list(owner)] == [session_id]


@pytest.mark.rule("S7")
async def test_activity_has_no_gap_at_publication_and_ends_with_the_close(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    setup, closing = Gate(), Gate()
    backend.gates = [setup]
    spawn = asyncio.create_task(service.spawn(owner, REQUEST))
    await setup.reached()
    setup.open()
    while not spawn.done():
        assert service.has_owner_activity(owner)
        await asyncio.sleep(0)
    backend.sessions[0].close_gates = [closing]
    kill = asyncio.create_task(service.kill(owner, spawn.result().session_id))
    await closing.reached()
    assert service.has_owner_activity(owner)
    closing.open()
    await kill
    assert not service.has_owner_activity(owner)


@pytest.mark.rule("S3")
async def test_the_checks_come_in_their_order(agents: AgentRegistry, owner: Agent, backend: FakeBackend) -> None:
    """Everything is wrong at once; each repair uncovers the next complaint."""
    service = TerminalSessionService(agents)
    controller = AbortController()
    reason = ValueError("caller")
    controller.abort(reason)
    stranger = AgentRegistry().create("owner")

    with pytest.raises(ValueError, match="caller") as aborted:
        await service.spawn(stranger, TerminalSpawnRequest("nothing", name=""), controller.signal)
    assert aborted.value is reason
    with pytest.raises(TerminalError) as not_live:
        await service.spawn(stranger, TerminalSpawnRequest("nothing", name=""))
    assert not_live.value.code == "OWNER_NOT_LIVE"
    with pytest.raises(TerminalError) as unknown:
        await service.spawn(owner, TerminalSpawnRequest("nothing", name=""))
    assert unknown.value.code == "NO_BACKEND"
    service.register_backend(backend)
    with pytest.raises(ValueError, match="name"):
        await service.spawn(owner, TerminalSpawnRequest("fake", name=""))
    await service.spawn(owner, TerminalSpawnRequest("fake", name="build"))
    with pytest.raises(TerminalError) as duplicate:
        await service.spawn(owner, TerminalSpawnRequest("fake", name="build"))
    assert duplicate.value.code == "DUPLICATE_NAME"
    await service.dispose()
    with pytest.raises(TerminalError) as disposing:
        await service.spawn(stranger, TerminalSpawnRequest("nothing", name=""), controller.signal)
    assert disposing.value.code == "SERVICE_DISPOSING"
    assert len(backend.specs) == 1


@pytest.mark.rule("S3")
async def test_a_disposed_owner_is_not_live_even_when_its_id_is(
    service: TerminalSessionService, agents: AgentRegistry, owner: Agent
) -> None:
    await owner.dispose()
    agents.create("owner")
    with pytest.raises(TerminalError) as caught:
        await service.spawn(owner, REQUEST)
    assert caught.value.code == "OWNER_NOT_LIVE"


@pytest.mark.rule("S4")
async def test_ids_are_never_used_again_in_this_process(agents: AgentRegistry) -> None:
    seen: list[TerminalSessionId] = []
    for _ in range(2):
        async with TerminalSessionService(agents) as service:
            service.register_backend(FakeBackend())
            owner = agents.create("owner")
            for _ in range(3):
                opened = await service.spawn(owner, REQUEST)
                seen.append(opened.session_id)
                await service.kill(owner, opened.session_id)
            await owner.dispose()
    assert len(set(seen)) == 6
    assert all(session_id.startswith("pty-") for session_id in seen)


@pytest.mark.rule("S3", "S5")
async def test_a_name_is_taken_from_acceptance_to_the_close(
    service: TerminalSessionService, agents: AgentRegistry, owner: Agent, backend: FakeBackend
) -> None:
    request = TerminalSpawnRequest("fake", name="build")
    setup, closing = Gate(), Gate()
    backend.gates = [setup]
    spawn = asyncio.create_task(service.spawn(owner, request))
    await setup.reached()

    async def refused() -> None:
        with pytest.raises(TerminalError) as caught:
            await service.spawn(owner, request)
        assert caught.value.code == "DUPLICATE_NAME"

    await refused()
    other = await service.spawn(agents.create("other"), request)
    assert other.name == "build"
    setup.open()
    opened = await spawn
    await refused()
    backend.sessions[-1].close_gates = [closing]
    kill = asyncio.create_task(service.kill(owner, opened.session_id))
    await closing.reached()
    await refused()
    closing.open()
    await kill
    assert (await service.spawn(owner, request)).name == "build"


@pytest.mark.rule("S5")
async def test_a_name_is_no_key(service: TerminalSessionService, owner: Agent) -> None:
    await service.spawn(owner, TerminalSpawnRequest("fake", name="build"))
    with pytest.raises(TerminalError) as caught:
        service.read(owner, TerminalSessionId("build"))
    assert caught.value.code == "NO_SESSION"


@pytest.mark.rule("S6")
async def test_sessions_are_listed_in_the_order_of_their_publication(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    gates = [Gate(), Gate(), Gate()]
    backend.gates = list(gates)
    spawns = [asyncio.create_task(service.spawn(owner, TerminalSpawnRequest("fake", name=name))) for name in "abc"]
    await ticks()
    for index in (1, 2, 0):
        gates[index].open()
        await spawns[index]
    assert [snapshot.name for snapshot in service.list(owner)] == ["b", "c", "a"]


@pytest.mark.rule("S6")
async def test_an_exited_session_stays_listed_and_readable(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    opened = await service.spawn(owner, REQUEST)
    backend.sessions[0].exit(5)
    assert [snapshot.status for snapshot in service.list(owner)] == [Exited(5, None)]
    assert service.status(owner, opened.session_id) == Exited(5, None)
    assert service.read(owner, opened.session_id).text
    assert await service.kill(owner, opened.session_id)


@pytest.mark.rule("S12")
async def test_a_backend_failure_is_raised_as_it_is_and_releases_everything(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    gate = Gate()
    backend.gates = [gate]
    spawn = asyncio.create_task(service.spawn(owner, TerminalSpawnRequest("fake", name="build")))
    await gate.reached()
    failure = OSError("no pty")
    gate.fail(failure)
    with pytest.raises(OSError, match="no pty") as caught:
        await spawn
    assert caught.value is failure
    assert not service.has_owner_activity(owner)
    assert (await service.spawn(owner, TerminalSpawnRequest("fake", name="build"))).name == "build"


@pytest.mark.rule("S12")
async def test_a_backend_that_is_cancelled_inside_does_not_look_like_a_cancelled_caller(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    gate = Gate()
    backend.gates = [gate]
    spawn = asyncio.create_task(service.spawn(owner, REQUEST))
    await gate.reached()
    inner = asyncio.CancelledError()
    gate.fail(inner)
    with pytest.raises(Exception) as caught:
        await spawn
    assert caught.value.__cause__ is inner


async def test_wrong_types_are_refused_before_anything_happens(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    for arguments in [("owner", REQUEST), (owner, "fake"), (owner, REQUEST, "signal"), (None, REQUEST)]:
        with pytest.raises(TypeError):
            await service.spawn(*arguments)  # type: ignore[arg-type]
    assert backend.specs == []
    assert not service.has_owner_activity(owner)
