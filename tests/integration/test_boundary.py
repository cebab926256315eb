"""Between Rust and an event loop: nothing is lost, nothing is left waiting, and no loop disturbs another."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kai_terminal import (
    AbortController,
    AgentRegistry,
    TerminalBackendSpawnSpec,
    TerminalSendRequest,
    TerminalSessionId,
    _core,
    _crossing,
)
from kai_terminal.backend import ShellBackend, ShellSession
from programs import Gate, bash, children, interpreter, until

pytestmark = pytest.mark.rule("host-2")


def spec() -> TerminalBackendSpawnSpec:
    owner = AgentRegistry().create("owner-of-programs")
    return TerminalBackendSpawnSpec(
        "shell", session_id=TerminalSessionId("pty-1"), owner=owner, signal=AbortController().signal
    )


async def opened() -> ShellSession:
    return await ShellBackend(shell="bash", startup="clean").spawn(spec())


async def test_a_cancelled_waiter_is_let_go_and_the_work_goes_on(gate: Gate) -> None:
    session = await opened()
    try:
        operation = session.start_send(TerminalSendRequest(f"read < {gate}; echo done"))
        port = _crossing._ports[asyncio.get_running_loop()]
        waiting = asyncio.ensure_future(operation.done)
        await asyncio.sleep(0)
        assert port.pending == 1
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert port.pending == 0
        await gate.open()
        assert (await operation.done).output == "done\n"
    finally:
        await session.close("the test is over")


async def test_a_coroutine_that_is_closed_leaves_nothing_behind() -> None:
    session = await opened()
    try:
        port = _crossing._ports[asyncio.get_running_loop()]
        waiting = session.start_send(TerminalSendRequest("sleep 9"))._done()
        waiting.send(None)
        assert port.pending == 1
        waiting.close()
        assert port.pending == 0
    finally:
        await session.close("the test is over")


async def test_a_future_that_cannot_be_settled_does_not_hold_up_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def done(self) -> bool:
            message = "broken"
            raise RuntimeError(message)

    complaints: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    session = await opened()
    loop = asyncio.get_running_loop()
    good: asyncio.Future[Any] = loop.create_future()
    port = _core.Port()
    asks = [
        session._inner.close(port, SimpleNamespace(create_future=lambda future=future: future))  # type: ignore[arg-type]
        for future in (Broken(), good)
    ]
    await session.close("the test is over")

    def settled() -> bool:
        port.drain()
        return good.done()

    assert await until(settled)
    assert port.pending == 0
    assert [str(complaint.exc_value) for complaint in complaints] == ["broken"]
    assert len(asks) == 2


def test_a_loop_that_cannot_watch_descriptors_is_refused_before_anything_is_started() -> None:
    class Proactor(asyncio.SelectorEventLoop):
        def add_reader(self, *_: object) -> None:
            raise NotImplementedError

    async def main() -> None:
        before = children()
        with pytest.raises(RuntimeError, match="Proactor cannot watch a descriptor: use a selector event loop"):
            await opened()
        assert children() == before

    with asyncio.Runner(loop_factory=Proactor) as runner:
        runner.run(main())


def test_loops_of_several_threads_have_ports_of_their_own() -> None:
    outputs: dict[int, str | None] = {}

    async def main(number: int) -> None:
        async with bash() as terminal:
            for _ in range(5):
                outputs[number] = (await terminal.run(f"echo {number}")).output

    threads = [threading.Thread(target=lambda number=number: asyncio.run(main(number))) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {number: f"{number}\n" for number in range(4)}


@pytest.mark.rule("proc-8")
def test_closed_loops_with_something_in_flight_leave_no_descriptor() -> None:
    def abandoned() -> None:
        """A loop that is closed without the courtesy of cancelling what is on it."""

        async def main() -> None:
            session = await opened()
            waiting = session.start_send(TerminalSendRequest("sleep 9"))._done()
            waiting.send(None)
            kept.append(waiting)
            await session.close("the test is over")

        kept: list[Any] = []
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        loop.close()
        kept.pop().close()

    def held() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    abandoned()
    before = held()
    for _ in range(10):
        abandoned()
    assert held() == before


@pytest.mark.rule("host-5")
async def test_a_forked_copy_does_not_take_the_wake_ups_of_its_original() -> None:
    program = """
    import asyncio, os, select
    import kai_terminal
    from kai_terminal import _crossing

    async def main():
        async with kai_terminal.open_terminal(shell="bash", startup="clean") as terminal:
            operation = terminal.start_send("true")
            port = _crossing._ports[asyncio.get_running_loop()]
            waiting = asyncio.ensure_future(operation.wait_output())
            await asyncio.sleep(0)
            if (pid := os.fork()) == 0:
                select.select([port.fileno()], [], [])
                port.drain()
                os._exit(0)
            os.waitpid(pid, 0)
            await waiting
            print((await operation.done).exit_code)

    asyncio.run(main())
    """
    run = await interpreter(program, warnings=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "0\n", "")


@pytest.mark.rule("host-5")
async def test_a_forked_copy_is_told_before_it_watches_anything() -> None:
    program = """
    import asyncio, os, sys
    import kai_terminal
    from kai_terminal import TerminalError, _core

    async def main():
        async with kai_terminal.open_terminal(shell="bash", startup="clean"):
            pass

    asyncio.run(main())
    if (pid := os.fork()) == 0:
        try:
            _core.Port()
        except TerminalError as error:
            print(error.code, flush=True)
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """
    run = await interpreter(program, warnings=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "FORKED\n0\n", "")


async def test_whoever_waits_when_the_runtime_stops_is_told() -> None:
    program = """
    import asyncio, os
    import kai_terminal
    from kai_terminal import TerminalError, _core
    from kai_terminal.backend import ShellBackend

    async def code(work):
        try:
            await work
        except TerminalError as error:
            return str(error.code)

    async def main():
        global terminal
        terminal = await kai_terminal.open_terminal(shell="bash", startup="clean").__aenter__()
        operation = terminal.start_send("sleep 99")
        waiting = asyncio.ensure_future(code(operation.done))
        while not operation.read_output().delta:
            await asyncio.sleep(0.01)
        _core.shutdown(500)
        print(await waiting, await code(terminal.close()))
        _core.shutdown(500)

    asyncio.run(main())
    """
    run = await interpreter(program)
    assert (run.returncode, run.stdout, run.stderr) == (0, "SHUT_DOWN SHUT_DOWN\n", "")


@pytest.mark.rule("B1", "S8")
@pytest.mark.parametrize("moment", ["opening", "cleanup"])
async def test_a_loop_that_ends_waits_until_nothing_is_left_of_an_opening(tmp_path: Path, moment: str) -> None:
    (tmp_path / ".bashrc").write_text("trap '' TERM HUP; echo here > $HOME/here; sleep 999\n")
    program = """
    import asyncio, os, sys
    from pathlib import Path
    import kai_terminal

    async def opening():
        async with kai_terminal.open_terminal(shell="bash", env={"HOME": sys.argv[1]}, grace=0.3):
            pass

    async def main():
        global task
        task = asyncio.create_task(opening())
        while not os.path.exists(f"{sys.argv[1]}/here"):
            await asyncio.sleep(0.01)
        if sys.argv[2] == "cleanup":
            task.cancel()
            for _ in range(20):
                await asyncio.sleep(0)

    asyncio.run(main())
    print(Path("/proc/thread-self/children").read_text().split(), task.cancelled())
    """
    run = await interpreter(program, str(tmp_path), moment)
    assert (run.returncode, run.stdout, run.stderr) == (0, "[] True\n", "")
