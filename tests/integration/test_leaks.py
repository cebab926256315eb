"""Opening and closing many times leaves the host as it was."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from pathlib import Path

import pytest

from kai_terminal import AgentRegistry, Exited, Terminal, TerminalError, TerminalSessionService, TerminalSpawnRequest
from kai_terminal.backend import ShellBackend
from programs import bash, children, until


def held() -> tuple[dict[str, str], int, int, set[int]]:
    """What the host holds: descriptors and what they are, threads of the interpreter and of the process, children."""
    gc.collect()
    descriptors: dict[str, str] = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            descriptors[entry.name] = str(entry.readlink())
        except OSError:
            continue  # The one that lists the directory.
    threads = len(list(Path("/proc/self/task").iterdir()))
    return descriptors, threading.active_count(), threads, children()


@pytest.fixture
async def warm() -> None:
    """Once before counting: the runtime, its threads and the loop's port come with the first terminal and stay."""
    async with bash():
        pass


@pytest.mark.rule("proc-8", "B1", "B2")
@pytest.mark.usefixtures("warm")
async def test_a_hundred_terminals_leave_nothing() -> None:
    before = held()
    for number in range(100):
        async with bash() as terminal:
            if number % 10 == 0:
                assert (await terminal.run("echo used")).output == "used\n"
    assert await until(lambda: held() == before, 2), (before, held())


@pytest.mark.rule("proc-8", "B1")
@pytest.mark.usefixtures("warm")
async def test_failing_spawns_leave_nothing(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("no program\n")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bashrc").write_text("exit 3\n")
    before = held()
    for number in range(20):
        options: list[dict[str, object]] = [
            {"shell": "a-shell-that-is-not-there"},
            {"cwd": tmp_path / "nowhere"},
            {"shell": None, "argv": [str(program)]},
            {"startup": "user", "env": {"HOME": str(home)}},
        ]
        with pytest.raises(TerminalError):
            async with bash(**options[number % 4]):
                pass
    assert await until(lambda: held() == before, 2), (before, held())


@pytest.mark.rule("proc-8", "S16")
@pytest.mark.usefixtures("warm")
async def test_many_terminals_at_once_leave_nothing(agents: AgentRegistry) -> None:
    before = held()
    owner = agents.create("owner-of-programs")
    async with TerminalSessionService(agents) as service:
        service.register_backend(ShellBackend(shell="bash", startup="clean"))
        for _ in range(12):
            opened = await service.spawn(owner, TerminalSpawnRequest("shell"))
            await service.run(owner, opened.session_id, "sleep 999 &")
        assert len(os.listdir("/proc/self/fd")) > len(before[0])
    assert await until(lambda: held() == before, 2), (before, held())


@pytest.mark.rule("B3", "end-3")
async def test_a_shell_that_left_a_job_behind_costs_nothing_while_it_is_open(terminal: Terminal) -> None:
    # Nobody has the terminal open any more, and it says so for as long as it exists: that is no reason to be busy.
    await terminal.run("nohup sleep 300 >/dev/null 2>&1 &")
    assert (await terminal.send("exit 9")).session_status == Exited(9)
    before = time.process_time()
    await asyncio.sleep(0.5)
    assert time.process_time() - before < 0.1
