"""Rules S1 and S17: which backends there are, and that sessions do not depend on it."""

from __future__ import annotations

import pytest

from fakes import FakeBackend
from kai_terminal import Agent, AgentRegistry, TerminalError, TerminalSessionService, TerminalSpawnRequest


@pytest.mark.rule("S1")
async def test_backends_are_listed_in_registration_order(agents: AgentRegistry) -> None:
    service = TerminalSessionService(agents)
    for backend_type in ["b", "a", "c"]:
        service.register_backend(FakeBackend(backend_type))
    assert service.list_backends() == ["b", "a", "c"]


@pytest.mark.rule("S1")
async def test_a_taken_type_is_refused_and_so_is_an_empty_one(agents: AgentRegistry) -> None:
    service = TerminalSessionService(agents)
    service.register_backend(FakeBackend())
    with pytest.raises(TerminalError) as caught:
        service.register_backend(FakeBackend())
    assert caught.value.code == "DUPLICATE_BACKEND"
    with pytest.raises(ValueError, match="empty"):
        service.register_backend(FakeBackend(""))

    class ByClass(FakeBackend):
        type = "by class"

    for wrong in [None, object(), ByClass]:
        with pytest.raises(TypeError):
            service.register_backend(wrong)  # type: ignore[arg-type]


@pytest.mark.rule("S1")
async def test_a_disposer_removes_exactly_its_own_contribution(agents: AgentRegistry) -> None:
    service = TerminalSessionService(agents)
    backend = FakeBackend()
    first = service.register_backend(backend)
    first()
    service.register_backend(backend)
    first()
    assert service.list_backends() == ["fake"]


@pytest.mark.rule("S17", "S18")
async def test_a_live_session_outlasts_its_backend(service: TerminalSessionService, owner: Agent) -> None:
    unregister = service.register_backend(FakeBackend("other"))
    opened = await service.spawn(owner, TerminalSpawnRequest("other"))
    unregister()
    assert service.list_backends() == ["fake"]
    assert service.read(owner, opened.session_id).text == "page of 500"
    assert await service.kill(owner, opened.session_id)
    with pytest.raises(TerminalError) as caught:
        await service.spawn(owner, TerminalSpawnRequest("other"))
    assert caught.value.code == "NO_BACKEND"
    assert "'fake'" in str(caught.value)


def test_the_service_takes_a_registry() -> None:
    with pytest.raises(TypeError, match="AgentRegistry"):
        TerminalSessionService({})  # type: ignore[arg-type]
