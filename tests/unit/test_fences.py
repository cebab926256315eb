"""Rule S6 and case host-1: every operation is fenced by the identity of the owner; rule A5: what a backend may lack."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import pytest

from fakes import FakeBackend, FakeOperation, FakeSession, Gate
from kai_terminal import (
    Agent,
    AgentRegistry,
    TerminalError,
    TerminalSendRequest,
    TerminalSessionId,
    TerminalSessionService,
    TerminalSpawnRequest,
)

REQUEST = TerminalSpawnRequest("full", name="same name")

Verb = Callable[[TerminalSessionService, Agent, TerminalSessionId], object]

VERBS: dict[str, Verb] = {
    "start_send": lambda s, o, i: s.start_send(o, i, TerminalSendRequest("text")),
    "start_run": lambda s, o, i: s.start_run(o, i, TerminalSendRequest("text")),
    "run": lambda s, o, i: s.run(o, i, "text"),
    "read": lambda s, o, i: s.read(o, i),
    "status": lambda s, o, i: s.status(o, i),
    "signal": lambda s, o, i: s.signal(o, i, "SIGINT"),
    "press": lambda s, o, i: s.press(o, i, "Ctrl-D"),
    "mouse": lambda s, o, i: s.mouse(o, i, 3, 4),
    "resize": lambda s, o, i: s.resize(o, i, 100, 30),
    "screen": lambda s, o, i: s.screen(o, i),
    "explain": lambda s, o, i: s.explain(o, i),
    "wait_for": lambda s, o, i: s.wait_for(o, i, "text", 1),
    "receipt": lambda s, o, i: s.receipt(o, i),
    "kill": lambda s, o, i: s.kill(o, i),
}
OPTIONAL = ["start_run", "run", "press", "mouse", "resize", "screen", "explain", "wait_for"]
TYPING = ["start_send", "start_run", "run", "press", "mouse", "resize"]


class FullSession(FakeSession):
    """A session with everything that is optional."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[object, ...]] = []

    def start_run(self, request: TerminalSendRequest) -> FakeOperation:
        self.calls.append(("start_run", request))
        operation = self.start_send(request)
        operation.settle()
        return operation

    async def press(self, *keys: str) -> None:
        self.calls.append(("press", *keys))

    async def mouse(self, col: int, row: int, *, button: str, action: str) -> None:
        self.calls.append(("mouse", col, row, button, action))

    def resize(self, cols: int, rows: int) -> None:
        self.calls.append(("resize", cols, rows))

    def screen(self) -> str:
        return "the screen"

    def explain(self) -> str:
        return "because"

    async def wait_for(self, pattern: str | re.Pattern[str], timeout: float | None) -> str:
        self.calls.append(("wait_for", pattern, timeout))
        return "found"


@pytest.fixture
def full(service: TerminalSessionService) -> FakeBackend:
    backend = FakeBackend("full")
    backend.make = FullSession
    service.register_backend(backend)
    return backend


async def code_of(verb: Verb, service: TerminalSessionService, owner: Agent, session_id: TerminalSessionId) -> str:
    with pytest.raises(TerminalError) as caught:
        result = verb(service, owner, session_id)
        if isinstance(result, Awaitable):
            await result
    return caught.value.code


@pytest.mark.rule("S6", "host-1", "A5")
@pytest.mark.parametrize("verb", VERBS)
async def test_another_owner_gets_nowhere(
    service: TerminalSessionService, agents: AgentRegistry, owner: Agent, full: FakeBackend, verb: str
) -> None:
    """Same id as the registry sees it, same session name, right session id: none of it opens the door."""
    other = agents.create("other")
    theirs = await service.spawn(other, REQUEST)
    await service.spawn(owner, REQUEST)
    twin = AgentRegistry().create("other")
    before = len(full.sessions[0].operations)
    for stranger in (owner, twin):
        assert await code_of(VERBS[verb], service, stranger, theirs.session_id) == "FOREIGN_SESSION"
    assert len(full.sessions[0].operations) == before
    assert full.sessions[0].close_reasons == []
    assert [snapshot.session_id for snapshot in service.list(other)] == [theirs.session_id]
    assert service.list(twin) == []


@pytest.mark.rule("S6", "host-1", "A5")
@pytest.mark.parametrize("verb", VERBS)
async def test_an_unknown_and_a_closed_id_are_no_session(
    service: TerminalSessionService, owner: Agent, full: FakeBackend, verb: str
) -> None:
    opened = await service.spawn(owner, REQUEST)
    await service.kill(owner, opened.session_id)
    for guess in (opened.session_id, TerminalSessionId("pty-0"), TerminalSessionId(""), TerminalSessionId("same name")):
        assert await code_of(VERBS[verb], service, owner, guess) == "NO_SESSION"


@pytest.mark.parametrize("verb", VERBS)
async def test_wrong_types_are_named(
    service: TerminalSessionService, owner: Agent, full: FakeBackend, verb: str
) -> None:
    opened = await service.spawn(owner, REQUEST)
    for stranger, session_id in [("owner", opened.session_id), (None, opened.session_id), (owner, 1), (owner, None)]:
        with pytest.raises(TypeError):
            result = VERBS[verb](service, stranger, session_id)  # type: ignore[arg-type]
            if isinstance(result, Awaitable):
                await result
    for query in (service.list, service.has_owner_activity):
        with pytest.raises(TypeError):
            query("owner")  # type: ignore[operator]


@pytest.mark.rule("A5")
@pytest.mark.parametrize("verb", OPTIONAL)
async def test_what_a_backend_lacks_is_unsupported(service: TerminalSessionService, owner: Agent, verb: str) -> None:
    opened = await service.spawn(owner, TerminalSpawnRequest("fake"))
    assert await code_of(VERBS[verb], service, owner, opened.session_id) == "UNSUPPORTED"


@pytest.mark.rule("A5", "S13")
@pytest.mark.parametrize("verb", TYPING)
async def test_nothing_is_typed_into_what_closes_or_has_ended(
    service: TerminalSessionService, owner: Agent, full: FakeBackend, verb: str
) -> None:
    opened = await service.spawn(owner, REQUEST)
    session = full.sessions[0]
    session.exit(0)
    assert await code_of(VERBS[verb], service, owner, opened.session_id) == "SESSION_EXITED"
    gate = Gate()
    session.close_gates = [gate]
    kill = service.kill(owner, opened.session_id)
    try:
        kill.send(None)
        assert await code_of(VERBS[verb], service, owner, opened.session_id) == "SESSION_CLOSING"
    finally:
        kill.close()
        gate.open()
    assert await service.kill(owner, opened.session_id) is False


@pytest.mark.rule("A5", "A3")
async def test_the_verbs_reach_the_backend(service: TerminalSessionService, owner: Agent, full: FakeBackend) -> None:
    opened = await service.spawn(owner, REQUEST)
    session = full.sessions[0]
    assert isinstance(session, FullSession)
    i = opened.session_id
    await service.press(owner, i, "Ctrl-D", "Up")
    await service.mouse(owner, i, 3, 4, button="right", action="press")
    service.resize(owner, i, 100, 30)
    pattern = re.compile("a+")
    assert await service.wait_for(owner, i, pattern, 2.5) == "found"
    assert service.screen(owner, i) == "the screen"
    assert service.explain(owner, i) == "because"
    assert (await service.run(owner, i, "make", timeout=5)).wait_reason == "stdin_read"
    request = TerminalSendRequest("make", timeout=6)
    await service.run(owner, i, request)
    assert session.calls == [
        ("press", "Ctrl-D", "Up"),
        ("mouse", 3, 4, "right", "press"),
        ("resize", 100, 30),
        ("wait_for", pattern, 2.5),
        ("start_run", TerminalSendRequest("make", timeout=5)),
        ("start_run", request),
    ]


@pytest.mark.rule("A5", "A7")
async def test_arguments_are_checked_before_the_backend_sees_them(
    service: TerminalSessionService, owner: Agent, full: FakeBackend
) -> None:
    opened = await service.spawn(owner, REQUEST)
    i = opened.session_id
    for cols, rows in [(0, 24), (80, -1), (65_536, 24)]:
        with pytest.raises(ValueError):
            service.resize(owner, i, cols, rows)
    with pytest.raises(TypeError):
        service.resize(owner, i, 80.0, 24)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        await service.press(owner, i)
    with pytest.raises(TypeError):
        await service.press(owner, i, 27)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        await service.mouse(owner, i, -1, 0)
    with pytest.raises(ValueError):
        await service.mouse(owner, i, 0, 0, button="back")  # type: ignore[arg-type]
    for pattern in (b"text", re.compile(b"text"), None):
        with pytest.raises(TypeError):
            await service.wait_for(owner, i, pattern)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        await service.wait_for(owner, i, "text", -1)
    with pytest.raises(ValueError):
        await service.wait_for(owner, i, "")
    for name in ("SIGUSR1", "INT", 2, None):
        with pytest.raises(ValueError, match="SIGINT"):
            await service.signal(owner, i, name)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        service.read(owner, i, 50)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        service.start_send(owner, i, "text")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        await service.run(owner, i, TerminalSendRequest("text"), timeout=1)
    session = full.sessions[0]
    assert isinstance(session, FullSession)
    assert (session.calls, session.signals, session.operations) == ([], [], [])


@pytest.mark.rule("A5")
class TestReceipts:
    async def test_one_is_kept_until_the_owner_is_disposed(
        self, service: TerminalSessionService, agents: AgentRegistry, owner: Agent, backend: FakeBackend
    ) -> None:
        opened = await service.spawn(owner, TerminalSpawnRequest("fake"))
        assert service.receipt(owner, opened.session_id) is None
        receipt = backend.sessions[0].receipt = object()
        await service.kill(owner, opened.session_id)
        assert service.receipt(owner, opened.session_id) is receipt
        assert not service.has_owner_activity(owner)
        with pytest.raises(TerminalError) as caught:
            service.receipt(agents.create("other"), opened.session_id)
        assert caught.value.code == "FOREIGN_SESSION"
        await owner.dispose()
        with pytest.raises(TerminalError) as gone:
            service.receipt(owner, opened.session_id)
        assert gone.value.code == "NO_SESSION"
        assert not service._registry.owners
        assert not service._registry.receipts

    async def test_it_outlasts_the_service(
        self, service: TerminalSessionService, owner: Agent, backend: FakeBackend
    ) -> None:
        opened = await service.spawn(owner, TerminalSpawnRequest("fake"))
        receipt = backend.sessions[0].receipt = object()
        await service.dispose()
        assert service.receipt(owner, opened.session_id) is receipt
        await owner.dispose()
        assert not service._registry.receipts

    async def test_a_failed_close_has_none(
        self, service: TerminalSessionService, owner: Agent, backend: FakeBackend
    ) -> None:
        opened = await service.spawn(owner, TerminalSpawnRequest("fake"))
        gate = Gate()
        gate.fail(OSError())
        backend.sessions[0].close_gates = [gate]
        backend.sessions[0].receipt = "receipt"
        with pytest.raises(OSError):
            await service.kill(owner, opened.session_id)
        assert service.receipt(owner, opened.session_id) is None
        await service.kill(owner, opened.session_id)
        assert service.receipt(owner, opened.session_id) == "receipt"
