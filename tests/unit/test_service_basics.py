"""The ordinary way through the service."""

from __future__ import annotations

import pytest

from fakes import FakeBackend
from kai_terminal import (
    Agent,
    AgentRegistry,
    Running,
    TerminalError,
    TerminalReadRequest,
    TerminalSendRequest,
    TerminalSessionService,
    TerminalSpawnRequest,
)


@pytest.mark.rule("S2", "S4", "S14")
async def test_open_send_read_signal_close(agents: AgentRegistry, backend: FakeBackend) -> None:
    owner = agents.create("reviewer")
    async with TerminalSessionService(agents) as service:
        service.register_backend(backend)
        opened = await service.spawn(owner, TerminalSpawnRequest(type="fake", name="build", cwd="/srv"))
        assert (opened.name, opened.type, opened.pid, opened.motd) == ("build", "fake", 4242, "welcome")
        assert opened.status == Running()
        assert backend.specs[0].cwd == "/srv"
        assert backend.specs[0].owner is owner
        assert backend.specs[0].session_id == opened.session_id
        operation = service.start_send(owner, opened.session_id, TerminalSendRequest(text="make"))
        expected = backend.sessions[0].operations[0].settle()
        assert await operation.done is expected
        assert await operation.done is expected
        page = service.read(owner, opened.session_id, TerminalReadRequest(count=50))
        assert page.text == "page of 50"
        assert (await service.signal(owner, opened.session_id, "SIGINT")).target_pgid == 4243
        assert await service.kill(owner, opened.session_id) is True
        assert service.list(owner) == []
        with pytest.raises(TerminalError) as caught:
            service.read(owner, opened.session_id)
        assert caught.value.code == "NO_SESSION"


@pytest.mark.rule("S15")
async def test_disposing_the_owner_closes_what_it_owns(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    await service.spawn(owner, TerminalSpawnRequest("fake"))
    await service.spawn(owner, TerminalSpawnRequest("fake"))
    await owner.dispose()
    assert [session.close_reasons for session in backend.sessions] == [["PTY owner disposed"]] * 2
    assert not service.has_owner_activity(owner)
