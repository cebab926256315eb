"""One service over several event loops, one after the other, and several loops at once (case host-2)."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from fakes import FakeBackend, FakeOperation, FakeSession, Gate, ticks
from kai_terminal import (
    AbortController,
    Agent,
    AgentRegistry,
    TerminalError,
    TerminalSendRequest,
    TerminalSendResult,
    TerminalSessionService,
    TerminalSpawnRequest,
)

pytestmark = pytest.mark.rule("host-2")

REQUEST = TerminalSpawnRequest("fake")
TESTS = Path(__file__).parent.parent

Runner = Callable[[Coroutine[Any, Any, Any]], Any]


def abandon(work: Coroutine[Any, Any, Any]) -> Any:
    """Run on a loop that is then closed without the courtesy of cancelling what is on it."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


def eager(work: Coroutine[Any, Any, Any]) -> Any:
    """On a loop whose tasks begin to run where they are made (Python 3.12 and later)."""
    with asyncio.Runner() as runner:
        runner.get_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]
        return runner.run(work)


RUNNERS = [
    pytest.param(asyncio.run, id="asyncio"),
    pytest.param(uvloop.run, id="uvloop"),
    pytest.param(abandon, id="abandoned"),
    *([pytest.param(eager, id="eager")] if hasattr(asyncio, "eager_task_factory") else []),
]


class Host:
    """A service that is made outside of any loop."""

    def __init__(self) -> None:
        self.agents = AgentRegistry()
        self.owner: Agent = self.agents.create("owner")
        self.backend = FakeBackend()
        self.service = TerminalSessionService(self.agents)
        self.service.register_backend(self.backend)

    async def spawn(self) -> None:
        self.opened = await self.service.spawn(self.owner, REQUEST)
        self.session = self.backend.sessions[-1]

    async def kill(self) -> bool:
        return await self.service.kill(self.owner, self.opened.session_id)


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.mark.parametrize("run", RUNNERS)
def test_a_session_outlasts_its_loop(host: Host, run: Runner) -> None:
    run(host.spawn())

    async def use() -> None:
        operation = host.service.start_send(host.owner, host.opened.session_id, TerminalSendRequest("x"))
        expected = host.session.operations[-1].settle()
        assert await operation.done is expected

    run(use())
    assert run(host.kill()) is True
    run(host.service.dispose())
    run(host.owner.dispose())


class Durable(FakeOperation):
    """As the operations of a backend that does its work elsewhere: it settles whatever becomes of the loop."""

    def __init__(self, session: FakeSession, request: TerminalSendRequest) -> None:
        super().__init__(session, request)
        self.result: TerminalSendResult | None = None

    @property
    def done(self) -> Coroutine[Any, Any, TerminalSendResult]:  # type: ignore[override]
        return self._wait()

    async def _wait(self) -> TerminalSendResult:
        if self.result is None:
            await asyncio.Event().wait()
        assert self.result is not None
        return self.result


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("run", RUNNERS)
def test_a_send_outlasts_its_loop(host: Host, run: Runner) -> None:
    run(host.spawn())
    session = host.session
    inner: list[Durable] = []

    def start_send(request: TerminalSendRequest) -> Durable:
        inner.append(Durable(session, request))
        return inner[-1]

    session.start_send = start_send  # type: ignore[method-assign, assignment]
    controller = AbortController()

    async def begin() -> Any:
        request = TerminalSendRequest("x", signal=controller.signal)
        operation = host.service.start_send(host.owner, host.opened.session_id, request)
        await ticks()
        return operation

    operation = run(begin())
    gc.collect()
    controller.abort()
    assert inner[0].cancels == 1

    async def still_active() -> None:
        with pytest.raises(TerminalError) as caught:
            host.service.start_send(host.owner, host.opened.session_id, TerminalSendRequest("x"))
        assert caught.value.code == "SEND_ACTIVE"

    run(still_active())
    inner[0].result = TerminalSendResult("", "timeout", session.status(), False)

    async def result() -> TerminalSendResult:
        value: TerminalSendResult = await operation.done
        return value

    assert run(result()) is inner[0].result
    assert run(result()) is inner[0].result

    async def again() -> None:
        host.service.start_send(host.owner, host.opened.session_id, TerminalSendRequest("x"))

    run(again())
    session.operations.clear()
    run(host.service.dispose())
    gc.collect()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("run", RUNNERS)
def test_a_close_in_flight_does_not_hang_the_next_loop(host: Host, run: Runner) -> None:
    run(host.spawn())
    first = Gate()
    host.session.close_gates = [first]

    async def begin() -> None:
        task = asyncio.ensure_future(host.kill())
        await first.reached()
        task.cancel()
        await ticks()

    run(begin())
    gc.collect()
    if run is abandon:
        assert run(host.kill()) is False
    else:
        # The loop's end cancelled the close once; it was joined again, and ended before the loop did.
        assert host.service.list(host.owner) == []
    assert host.session.close_reasons == ["model request"] * 2
    run(host.service.dispose())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("run", RUNNERS)
def test_a_spawn_in_flight_does_not_hang_the_next_loop(host: Host, run: Runner) -> None:
    gate = Gate()
    host.backend.gates = [gate]

    async def begin() -> asyncio.Task[Any]:
        task = asyncio.ensure_future(host.service.spawn(host.owner, REQUEST))
        await gate.reached()
        return task

    task = run(begin())
    del task
    gc.collect()
    if run is abandon and host.service.has_owner_activity(host.owner):
        with pytest.raises(ExceptionGroup, match="failed to clean up PTY lifecycle"):
            run(host.service.dispose())
    else:
        run(host.service.dispose())
    assert not host.service.has_owner_activity(host.owner)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("run", RUNNERS)
def test_a_disposal_in_flight_does_not_hang_the_next_loop(host: Host, run: Runner) -> None:
    run(host.spawn())
    gate = Gate()
    host.session.close_gates = [gate]

    async def begin() -> None:
        task = asyncio.ensure_future(host.service.dispose())
        await gate.reached()
        task.cancel()
        await ticks()

    run(begin())
    gc.collect()
    run(host.service.dispose())
    assert host.service.list(host.owner) == []


def test_each_thread_may_have_a_loop_and_a_service(agents: AgentRegistry) -> None:
    """Owners of one registry, ids of one process."""
    ids: list[str] = []
    errors: list[BaseException] = []

    async def work(number: int) -> None:
        owner = agents.create(f"owner {number}")
        async with TerminalSessionService(agents) as service:
            service.register_backend(FakeBackend())
            opened = await asyncio.gather(*(service.spawn(owner, REQUEST) for _ in range(25)))
            ids.extend(result.session_id for result in opened)
            await asyncio.gather(*(service.kill(owner, result.session_id) for result in opened))
            await owner.dispose()

    def thread(number: int) -> None:
        try:
            (uvloop.run if number % 2 else asyncio.run)(work(number))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=thread, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert errors == []
    assert len(set(ids)) == 100


def test_a_result_can_be_awaited_from_another_thread(host: Host) -> None:
    """The service is for one thread; what it hands out may be awaited elsewhere."""

    async def main() -> None:
        await host.spawn()
        operation = host.service.start_send(host.owner, host.opened.session_id, TerminalSendRequest("x"))
        await ticks()
        waiting = threading.Event()

        async def elsewhere() -> TerminalSendResult:
            asyncio.get_running_loop().call_soon(waiting.set)
            return await operation.done

        other = asyncio.create_task(asyncio.to_thread(asyncio.run, elsewhere()))
        await asyncio.to_thread(waiting.wait)
        expected = host.session.operations[0].settle()
        assert await other is expected
        await host.kill()

    asyncio.run(main())


@pytest.mark.parametrize("end", ["pass", "sys.exit(0)", "raise KeyboardInterrupt", "loop.stop()"])
def test_an_interpreter_that_ends_with_everything_open_says_nothing(end: str) -> None:
    program = f"""
        import asyncio, sys
        from fakes import FakeBackend, Gate, ticks
        from kai_terminal import *

        async def main():
            global keep
            agents = AgentRegistry()
            owner = agents.create("owner")
            service = TerminalSessionService(agents)
            backend = FakeBackend()
            service.register_backend(backend)
            opened = await service.spawn(owner, TerminalSpawnRequest("fake"))
            operation = service.start_send(owner, opened.session_id, TerminalSendRequest("x"))
            second = await service.spawn(owner, TerminalSpawnRequest("fake"))
            backend.sessions[1].close_gates = [Gate(), Gate()]
            close = asyncio.ensure_future(service.kill(owner, second.session_id))
            keep = service, owner, operation
            await ticks()
            close.cancel()
            await ticks()
            {end}

        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(main())
        except (KeyboardInterrupt, RuntimeError):
            pass
        finally:
            loop.close()
    """
    command = [sys.executable, "-X", "dev", "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=TESTS, check=False)
    assert (done.returncode, done.stderr) == (0, "")
