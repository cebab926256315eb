"""Closing: everything that came from the terminal is gone, proven, and told."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

import pytest

from kai_terminal import (
    Agent,
    AgentRegistry,
    Exited,
    Running,
    Terminal,
    TerminalError,
    TerminalSendRequest,
    TerminalSessionService,
    TerminalSpawnRequest,
)
from kai_terminal.backend import ShellBackend, TerminalCloseReceipt
from programs import PROMPT, PYTHON, Gate, Names, bash, how, needs, printed, settled_within, until

DOUBLE_FORK = """
import os, sys
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.execv(sys.argv[1], sys.argv[1:])
"""


async def closed(terminal: Terminal) -> TerminalCloseReceipt:
    receipt = await terminal.close()
    assert isinstance(receipt, TerminalCloseReceipt)
    return receipt


def escapes(names: Names, folder: Path) -> dict[str, str]:
    """Commands that leave the shell's reach, by the names that they run under."""
    fork = folder / "fork.py"
    fork.write_text(DOUBLE_FORK)
    sh = needs("sh")
    stubborn = f"trap '' TERM HUP INT; {names.sleeper('stubborn')} 999; true"
    return {
        "setsid": f"setsid {names.sleeper('setsid')} 999 &",
        "subshell": f'(setsid sh -c "{names.sleeper("subshell")} 999 & true")',
        "forked": f"{PYTHON} {fork} {names.sleeper('forked')} 999",
        "no-environment": f"env -i {needs('setsid')} {names.sleeper('no-environment')} 999 &",
        "job": f"{names.sleeper('job')} 999 &",
        "nohup": f"nohup {names.sleeper('nohup')} 999 >/dev/null 2>&1 &",
        "stubborn": f"env -i {needs('setsid')} {sh} -c {shlex.quote(stubborn)} &",
    }


@pytest.mark.rule("proc-1", "proc-2", "proc-3", "Q1", "B2", "S14")
async def test_nothing_that_left_the_shells_reach_survives(names: Names, tmp_path: Path) -> None:
    async with bash(grace=0.3) as terminal:
        commands = escapes(names, tmp_path)
        for command in commands.values():
            assert how(await terminal.run(command)) == PROMPT
        assert await until(lambda: names.alive() == sorted(commands))
        receipt = await closed(terminal)
        assert names.alive() == []
        assert receipt.killed
        told = " ".join(process.command for process in receipt.processes)
        assert [name for name in commands if name not in told] == []


@pytest.mark.rule("proc-3", "Q1")
async def test_a_stopped_job_does_not_survive(terminal: Terminal, names: Names) -> None:
    operation = terminal.start_send(f"{names.sleeper('stopped')} 999")
    assert await until(lambda: names.alive() == ["stopped"])
    await terminal.signal("SIGTSTP")
    assert how(await operation.done) == PROMPT
    receipt = await closed(terminal)
    assert names.alive() == []
    assert not receipt.killed
    # The shell collects its children, so that nobody else sees how they ended.
    assert [process.ended for process in receipt.processes] in ([None], [Exited(None, "SIGTERM")])


@pytest.mark.rule("proc-12", "Q1")
async def test_a_program_that_saves_on_the_signal_gets_its_grace(terminal: Terminal, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    program = tmp_path / "editor.py"
    program.write_text(
        "import signal, sys, time\n"
        "def save(*_):\n"
        "    time.sleep(1)\n"
        "    open(sys.argv[1], 'w').write('text')\n"
        "    print('saved', flush=True)\n"
        "    sys.exit(3)\n"
        "signal.signal(signal.SIGTERM, save)\n"
        "print('editing', flush=True)\n"
        "while True: signal.pause()\n"
    )
    operation = terminal.start_send(f"{PYTHON} {program} {saved}")
    await printed(operation, "editing")
    receipt = await closed(terminal)
    assert saved.read_text() == "text"
    assert not receipt.killed
    assert [process.ended for process in receipt.processes] in ([None], [Exited(3)])
    assert 1 <= receipt.duration < 2
    assert (await operation.done).wait_reason == "session_exit"


@pytest.mark.rule("Q1")
async def test_an_idle_shell_closes_without_waiting_for_a_grace() -> None:
    async with bash(grace=30) as terminal:
        receipt = await closed(terminal)
        assert (receipt.processes, receipt.killed) == ((), False)
        assert receipt.duration < 5


@pytest.mark.rule("Q1")
async def test_without_a_grace_everything_is_killed_at_once(names: Names) -> None:
    async with bash(grace=0) as terminal:
        await terminal.run(f"(trap '' TERM HUP INT; {names.sleeper('stubborn')} 999; true) &")
        assert await until(lambda: names.alive() == ["stubborn"])
        receipt = await closed(terminal)
        assert names.alive() == []
        assert receipt.killed
        assert receipt.duration < 1


@pytest.mark.rule("Q1", "Q3")
async def test_a_shell_that_ignores_signals_closes(terminal: Terminal) -> None:
    await terminal.run("trap '' TERM HUP INT")
    async with asyncio.timeout(10):
        await closed(terminal)


@pytest.mark.rule("end-11", "B3")
async def test_an_exit_is_told_at_once_though_output_never_ends(terminal: Terminal) -> None:
    result = await terminal.send("trap '' HUP; yes & exit 5")
    assert (result.wait_reason, result.session_status) == ("session_exit", Exited(5))
    assert terminal.status() == Exited(5)
    await closed(terminal)


@pytest.mark.rule("end-11", "B3")
async def test_a_terminal_that_is_closed_and_opened_again_marks_nothing_exited(terminal: Terminal, gate: Gate) -> None:
    program = (
        "import os, sys, fcntl\n"
        "for d in (0, 1, 2): os.close(d)\n"
        f"open('{gate}').read()\n"
        "os.write(os.open('/dev/tty', os.O_WRONLY), b'back\\n')\n"
    )
    async with bash(shell=None, argv=[PYTHON, "-c", program]) as alone:
        operation = alone.start_send("", submit=False)
        assert await settled_within(operation, 0.2) is None
        assert alone.status() == Running()
        await gate.open()
        result = await operation.done
        assert (result.wait_reason, result.session_status) == ("session_exit", Exited(0))
        assert "back" in alone.read().text
    assert terminal.status() == Running()


# Closing, sends and callers.


@pytest.mark.rule("N11")
async def test_a_close_during_a_send_settles_it_as_the_sessions_exit(terminal: Terminal, names: Names) -> None:
    operation = terminal.start_send(f"{names.sleeper('job')} 999", timeout=60)
    assert await until(lambda: names.alive() == ["job"])
    closing = asyncio.ensure_future(terminal.close())
    result = await operation.done
    assert (result.wait_reason, result.evidence) == ("session_exit", "exit")
    assert names.alive() == []
    assert result.session_status != Running()
    await closing


@pytest.mark.rule("N11")
async def test_a_close_right_after_a_send_began(names: Names) -> None:
    path = names.sleeper("job")
    for steps in range(10):
        async with bash() as terminal:
            operation = terminal.start_send(f"{path} 999")
            for _ in range(steps * 3):
                await asyncio.sleep(0)
            await terminal.close()
            assert (await operation.done).wait_reason == "session_exit"
            assert names.alive() == []


@pytest.mark.rule("B2")
async def test_closing_twice_gives_the_same_receipt(terminal: Terminal) -> None:
    first = await terminal.close()
    assert await terminal.close() is first


async def opened(agents: AgentRegistry) -> tuple[TerminalSessionService, Agent]:
    service = TerminalSessionService(agents)
    service.register_backend(ShellBackend(shell="bash", startup="clean", grace=0.3))
    return service, agents.create("owner-of-programs")


@pytest.mark.rule("B2", "S14", "S13")
async def test_a_second_close_joins_the_first(agents: AgentRegistry, names: Names) -> None:
    service, owner = await opened(agents)
    async with service:
        spawned = await service.spawn(owner, TerminalSpawnRequest("shell"))
        stubborn = f"(trap '' TERM HUP INT; {names.sleeper('stubborn')} 999; true) &"
        await service.run(owner, spawned.session_id, stubborn)
        assert await until(lambda: names.alive() == ["stubborn"])
        first = asyncio.ensure_future(service.kill(owner, spawned.session_id))
        await asyncio.sleep(0)
        with pytest.raises(TerminalError) as refused:
            service.start_send(owner, spawned.session_id, TerminalSendRequest("echo late"))
        assert refused.value.code == "SESSION_CLOSING"
        assert await service.kill(owner, spawned.session_id) is False
        assert await first is True
        assert names.alive() == []
        with pytest.raises(TerminalError) as unknown:
            await service.kill(owner, spawned.session_id)
        assert unknown.value.code == "NO_SESSION"
        assert service.receipt(owner, spawned.session_id) is not None


@pytest.mark.rule("S14", "B2")
async def test_cancelling_who_waits_for_a_close_does_not_stop_it(agents: AgentRegistry, names: Names) -> None:
    service, owner = await opened(agents)
    async with service:
        spawned = await service.spawn(owner, TerminalSpawnRequest("shell"))
        await service.run(owner, spawned.session_id, f"(trap '' TERM HUP; {names.sleeper('stubborn')} 999; true) &")
        waiter = asyncio.ensure_future(service.kill(owner, spawned.session_id))
        await asyncio.sleep(0)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert await service.kill(owner, spawned.session_id) is False
        assert names.alive() == []


@pytest.mark.rule("S15", "A1")
async def test_disposing_an_agent_closes_what_it_owns(agents: AgentRegistry, names: Names) -> None:
    service, owner = await opened(agents)
    async with service:
        path = names.sleeper("job")
        for _ in range(3):
            spawned = await service.spawn(owner, TerminalSpawnRequest("shell"))
            await service.run(owner, spawned.session_id, f"setsid {path} 999 &")
        assert await until(lambda: names.alive() == ["job"] * 3)
        await owner.dispose()
        assert names.alive() == []


@pytest.mark.rule("A2")
async def test_leaving_the_block_under_cancellation_waits_for_the_close(names: Names) -> None:
    path = names.sleeper("job")
    inside = asyncio.Event()

    async def work() -> None:
        async with bash() as terminal:
            await terminal.run(f"setsid {path} 999 &")
            await until(lambda: names.alive() == ["job"])
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(work())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert names.alive() == []
