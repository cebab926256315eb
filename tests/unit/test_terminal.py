"""Rule A2: the short way in, over a fake backend."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

import kai_terminal
from fakes import FakeBackend, FakeOperation, FakeSession, Gate, ticks
from kai_terminal import Exited, Running, Terminal, TerminalError, TerminalSendRequest, terminal

pytestmark = pytest.mark.rule("A2")


class Session(FakeSession):
    """A session whose sends settle at once unless told otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.at_once = True
        self.pressed: list[str] = []
        self.sizes: list[tuple[int, int]] = []

    def start_send(self, request: TerminalSendRequest) -> FakeOperation:
        operation = super().start_send(request)
        if self.at_once:
            operation.settle("inferred_idle", "sent")
        return operation

    def start_run(self, request: TerminalSendRequest) -> FakeOperation:
        operation = super().start_send(request)
        if self.at_once:
            operation.settle("stdin_read", "ran")
        return operation

    async def press(self, *keys: str) -> None:
        self.pressed += keys

    async def mouse(self, col: int, row: int, *, button: str, action: str) -> None:
        self.pressed.append(f"{action} {button} {col},{row}")

    def resize(self, cols: int, rows: int) -> None:
        self.sizes.append((cols, rows))

    def screen(self) -> str:
        return "screen"

    def explain(self) -> str:
        return "because"

    async def wait_for(self, pattern: object, timeout: float | None) -> str:
        return f"{pattern} within {timeout}"


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch, backend: FakeBackend) -> dict[str, Any]:
    """What the backend was made with; the backend is the fake."""
    seen: dict[str, Any] = {}

    def make(**given: Any) -> FakeBackend:
        seen.update(given)
        return backend

    backend.make = Session
    monkeypatch.setattr(terminal, "_make_backend", make)
    return seen


def session_of(backend: FakeBackend) -> Session:
    session = backend.sessions[0]
    assert isinstance(session, Session)
    return session


@pytest.mark.rule("A7")
async def test_the_options_reach_the_backend_and_have_the_documented_defaults(
    options: dict[str, Any], backend: FakeBackend
) -> None:
    async with kai_terminal.open_terminal(shell="bash", cwd="/srv", env={"A": "b", "C": None}, cols=100, rows=30):
        assert backend.specs[0].cwd == "/srv"
    assert options == {
        "shell": "bash",
        "argv": None,
        "env": {"A": "b", "C": None},
        "cols": 100,
        "rows": 30,
        "startup_timeout": 10.0,
        "send_timeout": None,
        "idle_silence": 2.0,
        "poll_quiet": 1.0,
        "grace": 2.0,
        "scrollback_lines": 10_000,
        "scrollback_bytes": 8 * 1024 * 1024,
        "max_output": 1024 * 1024,
        "history_expansion": False,
        "startup": "user",
        "runtime": None,
    }


async def test_everything_a_person_does(options: dict[str, Any], backend: FakeBackend) -> None:
    async with kai_terminal.open_terminal() as one:
        session = session_of(backend)
        assert isinstance(one, Terminal)
        assert (one.pid, one.motd, one.session_id) == (4242, "welcome", backend.specs[0].session_id)
        assert one.status() == Running()
        assert (await one.run("make", timeout=60)).viewport == "ran"
        assert (await one.send("python3")).viewport == "sent"
        operation = one.start_send("import time", submit=False, timeout=1, idle_silence=2)
        assert (await operation.done).viewport == "sent"
        assert [inner.request for inner in session.operations] == [
            TerminalSendRequest("make", timeout=60),
            TerminalSendRequest("python3"),
            TerminalSendRequest("import time", False, None, 1, 2),
        ]
        await one.press("Ctrl-D", "Up")
        await one.mouse(3, 4, action="move")
        one.resize(cols=100, rows=30)
        assert one.screen() == "screen"  # type: ignore[comparison-overlap]
        assert one.explain() == "because"
        assert await one.wait_for("Listening on", timeout=30) == "Listening on within 30"
        assert one.read(count=50).text == "page of 50"
        assert (await one.signal("SIGINT")).delivered
        assert (session.pressed, session.sizes) == (["Ctrl-D", "Up", "move left 3,4"], [(100, 30)])
        session.receipt = receipt = object()
        assert await one.close() is receipt
        assert await one.close() is receipt
        with pytest.raises(TerminalError) as caught:
            await one.send("late")
        assert caught.value.code == "NO_SESSION"
    assert session.close_reasons == ["terminal closed"]
    assert await one.close() is receipt


async def test_leaving_the_block_closes(options: dict[str, Any], backend: FakeBackend) -> None:
    with pytest.raises(LookupError):
        async with kai_terminal.open_terminal() as one:
            session_of(backend).receipt = "receipt"
            raise LookupError
    assert session_of(backend).current == Exited(None, "SIGHUP")
    assert await one.close() == "receipt"


async def test_leaving_waits_for_the_close_also_under_cancellation_and_then_reraises(
    options: dict[str, Any], backend: FakeBackend
) -> None:
    gate = Gate()
    inside = asyncio.Event()

    async def use() -> None:
        async with kai_terminal.open_terminal():
            session_of(backend).close_gates = [gate]
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(use())
    await inside.wait()
    task.cancel("first")
    await gate.reached()
    for _ in range(3):
        task.cancel("further")
        await ticks()
        assert not task.done()
    gate.open()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert session_of(backend).close_reasons == ["PTY service disposed"]


async def test_a_cancellation_while_leaving_is_raised_after_the_close(
    options: dict[str, Any], backend: FakeBackend
) -> None:
    gate = Gate()

    async def use() -> None:
        async with kai_terminal.open_terminal():
            session_of(backend).close_gates = [gate]

    task = asyncio.create_task(use())
    await ticks(30)
    await gate.reached()
    task.cancel()
    await ticks()
    assert not task.done()
    gate.open()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_timeout_around_the_block_works(options: dict[str, Any], backend: FakeBackend) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01), kai_terminal.open_terminal():
            await asyncio.Event().wait()
    assert session_of(backend).close_reasons


async def test_a_close_that_fails_is_raised_and_can_be_tried_again(
    options: dict[str, Any], backend: FakeBackend
) -> None:
    gate = Gate()
    gate.fail(OSError("survivors"))
    with pytest.raises(ExceptionGroup, match="failed to clean up PTY lifecycle"):
        async with kai_terminal.open_terminal() as one:
            session_of(backend).close_gates = [gate]
    assert await one.close() is None
    assert session_of(backend).close_reasons == ["PTY service disposed", "terminal closed"]


async def test_cancelling_close_does_not_stop_it(options: dict[str, Any], backend: FakeBackend) -> None:
    gate = Gate()
    async with kai_terminal.open_terminal() as one:
        session_of(backend).receipt = "receipt"
        session_of(backend).close_gates = [gate]
        close = asyncio.create_task(one.close())
        await gate.reached()
        close.cancel()
        with pytest.raises(asyncio.CancelledError):
            await close
        gate.open()
        await ticks()
        assert await one.close() == "receipt"
    assert session_of(backend).close_reasons == ["terminal closed"]


@pytest.mark.parametrize("verb", ["run", "send"])
async def test_cancelling_whoever_awaits_a_send_that_nobody_else_holds_cancels_the_send(
    options: dict[str, Any], backend: FakeBackend, verb: str
) -> None:
    async with kai_terminal.open_terminal() as one:
        session = session_of(backend)
        session.at_once = False
        task = asyncio.create_task(getattr(one, verb)("sleep 9"))
        await ticks()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert session.operations[0].cancels == 1
        with pytest.raises(TerminalError) as caught:
            one.start_send("next")
        assert caught.value.code == "SEND_ACTIVE"
        session.operations[0].settle("stdin_read")
        await ticks()
        one.start_send("next")


async def test_a_failed_opening_leaves_nothing(options: dict[str, Any], backend: FakeBackend) -> None:
    gate = Gate()
    gate.fail(TerminalError("no such shell", "START_FAILED"))
    backend.gates = [gate]
    with pytest.raises(TerminalError, match="no such shell"):
        async with kai_terminal.open_terminal():
            pass
    assert backend.sessions == []


async def test_misuse_is_told(options: dict[str, Any], backend: FakeBackend) -> None:
    opening = kai_terminal.open_terminal()
    async with opening:
        with pytest.raises(RuntimeError, match="has been opened"):
            async with opening:
                pass


@pytest.mark.rule("A7")
def test_every_public_verb_says_what_its_defaults_are() -> None:
    """Each parameter with a default in seconds is named in the docstring."""
    for owner in (Terminal, kai_terminal.TerminalSessionService, terminal):
        for name, function in inspect.getmembers(owner, inspect.isfunction):
            if name.startswith("_") or function.__module__ not in (terminal.__name__, "kai_terminal.service"):
                continue
            document = inspect.getdoc(function)
            assert document, name
            for parameter in inspect.signature(function).parameters.values():
                if parameter.name in ("timeout", "idle_silence", "startup_timeout", "grace", "poll_quiet"):
                    assert f"`{parameter.name}`" in document or f"`{parameter.name}` seconds" in document, name
