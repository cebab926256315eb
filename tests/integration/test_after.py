"""After the end: of a terminal, of the service, of the loop, of the interpreter, of the host; and in a forked copy."""

from __future__ import annotations

import asyncio
import shlex
import signal
import subprocess
from collections.abc import Awaitable, Callable

import pytest

from kai_terminal import (
    Agent,
    AgentRegistry,
    Terminal,
    TerminalError,
    TerminalReadRequest,
    TerminalSendRequest,
    TerminalSessionId,
    TerminalSessionService,
    TerminalSpawnRequest,
)
from kai_terminal.backend import ShellBackend
from programs import PYTHON, Names, bash, children, interpreter, needs, until


async def code_of(call: Callable[[], object]) -> str:
    """The code of the error that a verb raises, now or when it is awaited."""
    with pytest.raises(TerminalError) as error:
        outcome = call()
        if isinstance(outcome, Awaitable):
            await outcome
    return str(error.value.code)


def verbs(terminal: Terminal) -> list[Callable[[], object]]:
    return [
        lambda: terminal.start_send("echo late"),
        lambda: terminal.send("echo late"),
        lambda: terminal.run("echo late"),
        lambda: terminal.press("Enter"),
        lambda: terminal.mouse(0, 0),
        lambda: terminal.resize(80, 24),
        lambda: terminal.read(),
        lambda: terminal.screen(),
        lambda: terminal.status(),
        lambda: terminal.signal("SIGINT"),
    ]


@pytest.mark.rule("S6", "S14")
async def test_every_verb_after_the_close_says_that_there_is_no_session() -> None:
    async with bash() as terminal:
        operation = terminal.start_send("echo last")
        result = await operation.done
        await terminal.close()
        for verb in verbs(terminal):
            assert await code_of(verb) in ("NO_SESSION", "SERVICE_DISPOSING")
    for verb in verbs(terminal):
        assert await code_of(verb) in ("NO_SESSION", "SERVICE_DISPOSING")
    # What was handed out goes on working.
    assert await operation.done == result
    assert operation.cancel() is False
    assert operation.read_output().delta == ""
    await operation.wait_output()
    assert await terminal.close() is not None


@pytest.mark.rule("S16")
async def test_a_disposed_service_refuses_work(agents: AgentRegistry) -> None:
    owner: Agent = agents.create("owner-of-programs")
    service = TerminalSessionService(agents)
    service.register_backend(ShellBackend(shell="bash", startup="clean"))
    opened = await service.spawn(owner, TerminalSpawnRequest("shell"))
    await service.dispose()
    assert await code_of(lambda: service.spawn(owner, TerminalSpawnRequest("shell"))) == "SERVICE_DISPOSING"
    send = TerminalSendRequest("echo late")
    assert await code_of(lambda: service.start_send(owner, opened.session_id, send)) == "SERVICE_DISPOSING"
    assert await code_of(lambda: service.register_backend(ShellBackend())) == "SERVICE_DISPOSING"
    assert await code_of(lambda: service.read(owner, opened.session_id, TerminalReadRequest())) == "NO_SESSION"
    assert await code_of(lambda: service.kill(owner, opened.session_id)) == "NO_SESSION"
    assert service.list(owner) == []
    await service.dispose()


@pytest.mark.rule("S6", "host-1")
async def test_another_owner_and_a_guessed_id_reach_nothing(agents: AgentRegistry) -> None:
    owner, other = agents.create("owner-of-programs"), agents.create("other")
    async with TerminalSessionService(agents) as service:
        service.register_backend(ShellBackend(shell="bash", startup="clean"))
        opened = await service.spawn(owner, TerminalSpawnRequest("shell", name="same"))
        mine = await service.spawn(other, TerminalSpawnRequest("shell", name="same"))
        assert await code_of(lambda: service.run(other, opened.session_id, "echo no")) == "FOREIGN_SESSION"
        assert await code_of(lambda: service.read(other, opened.session_id)) == "FOREIGN_SESSION"
        assert await code_of(lambda: service.kill(other, opened.session_id)) == "FOREIGN_SESSION"
        assert await code_of(lambda: service.signal(other, opened.session_id, "SIGINT")) == "FOREIGN_SESSION"
        guessed = TerminalSessionId("pty-999999")
        assert await code_of(lambda: service.read(owner, guessed)) == "NO_SESSION"
        assert [snapshot.session_id for snapshot in service.list(other)] == [mine.session_id]
        assert (await service.run(owner, opened.session_id, "echo yes")).output == "yes\n"


# A session that has exited is still there.


@pytest.mark.rule("S13", "S6")
async def test_an_exited_terminal_can_be_read_but_not_typed_into(terminal: Terminal) -> None:
    await terminal.send("echo last words; exit 3")
    assert "last words" in terminal.read().text
    assert "last words" in terminal.screen().text
    for verb in (
        lambda: terminal.start_send("echo late"),
        lambda: terminal.run("echo late"),
        lambda: terminal.press("Enter"),
        lambda: terminal.signal("SIGINT"),
        lambda: terminal.resize(100, 30),
    ):
        assert await code_of(verb) == "SESSION_EXITED"


# Other processes and interpreters.


@pytest.mark.rule("host-5", "Q4")
async def test_a_forked_copy_of_the_host_is_refused_and_harms_nothing(terminal: Terminal) -> None:
    program = """
    import asyncio, gc, os, sys
    import kai_terminal
    from kai_terminal import TerminalError

    async def use(terminal, operation):
        codes = []
        for verb in (
            lambda: idle.start_send("echo stolen"),
            lambda: terminal.read(),
            lambda: terminal.screen(),
            lambda: terminal.resize(100, 30),
            lambda: terminal.status(),
            lambda: operation.read_output(),
            lambda: operation.cancel(),
            lambda: operation.wait_output(),
            lambda: terminal.press("Enter"),
            lambda: terminal.close(),
            opening,
        ):
            try:
                outcome = verb()
                if asyncio.iscoroutine(outcome):
                    await outcome
                codes.append("accepted")
            except TerminalError as error:
                codes.append(str(error.code))
        return codes

    async def opening():
        async with kai_terminal.open_terminal(shell="bash", startup="clean"):
            pass

    def child(terminal, operation):
        os.write(write, ",".join(asyncio.run(use(terminal, operation))).encode())
        del terminal, operation
        gc.collect()
        sys.exit(0)

    async def answers(operation):
        result = await operation.done
        print(result.output.strip(), (await idle.run("stty size")).output.strip())
        await block.__aexit__(None, None, None)
        await other_block.__aexit__(None, None, None)

    loop = asyncio.new_event_loop()
    block = kai_terminal.open_terminal(shell="bash", startup="clean")
    terminal = loop.run_until_complete(block.__aenter__())

    other_block = kai_terminal.open_terminal(shell="bash", startup="clean")
    idle = loop.run_until_complete(other_block.__aenter__())

    async def begin():
        return terminal.start_send("sleep 0.5; echo mine")

    operation = loop.run_until_complete(begin())
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        child(terminal, operation)
    os.close(write)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), os.read(read, 4096).decode())
    loop.run_until_complete(answers(operation))
    loop.close()
    """
    run = await interpreter(program, warnings=False)
    lines = run.stdout.splitlines()
    assert (run.returncode, run.stderr) == (0, "")
    assert lines == [f"0 {','.join(['FORKED'] * 11)}", "mine 24 80"]


@pytest.mark.rule("host-2")
async def test_one_loop_after_another() -> None:
    program = """
    import asyncio
    import kai_terminal

    async def main(number):
        async with kai_terminal.open_terminal(shell="bash", startup="clean") as terminal:
            print((await terminal.run(f"echo {number}")).output.strip())

    for number in range(3):
        asyncio.run(main(number))
    """
    run = await interpreter(program)
    assert (run.returncode, run.stdout.split(), run.stderr) == (0, ["0", "1", "2"], "")


EXIT_WITH_A_SEND_IN_FLIGHT = """
import asyncio, sys
import kai_terminal

async def main():
    global terminal, operation
    terminal = await kai_terminal.open_terminal(shell="bash", startup="clean").__aenter__()
    await terminal.run(sys.argv[1])
    operation = terminal.start_send(sys.argv[2])
    await operation.wait_output()
    if sys.argv[3] == "exit":
        sys.exit(0)

asyncio.run(main())
"""


@pytest.mark.rule("host-2", "Q4")
@pytest.mark.parametrize("way", ["return", "exit"])
async def test_the_interpreter_exits_in_silence_with_a_terminal_open(names: Names, way: str) -> None:
    escapee = f"setsid {names.sleeper('escapee')} 999 &"
    running = f"{names.sleeper('running')} 999"
    for _ in range(10):
        run = await interpreter(EXIT_WITH_A_SEND_IN_FLIGHT, escapee, running, way)
        assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
        assert await until(lambda: names.alive() == [])


HOST = """
import asyncio, sys
import kai_terminal

async def main():
    async with kai_terminal.open_terminal(shell="bash", startup="clean") as terminal:
        for command in sys.argv[1:]:
            await terminal.run(command, timeout=20)
        operation = terminal.start_send("cat")
        await operation.done
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.rule("proc-5", "Q4")
@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
async def test_nothing_survives_the_hosts_death(names: Names, death: signal.Signals) -> None:
    stubborn = f"trap '' TERM HUP INT; {names.sleeper('stubborn')} 999; true"
    commands = [
        f"setsid {names.sleeper('setsid')} 999 &",
        f"nohup {names.sleeper('nohup')} 999 >/dev/null 2>&1 &",
        f"env -i {needs('setsid')} {needs('sh')} -c {shlex.quote(stubborn)} &",
    ]
    host = await asyncio.create_subprocess_exec(
        PYTHON, "-c", HOST, *commands, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert host.stdout is not None
        assert await asyncio.wait_for(host.stdout.readline(), 20) == b"ready\n"
        assert await until(lambda: names.alive() == ["nohup", "setsid", "stubborn"])
        host.send_signal(death)
        await host.wait()
        assert await until(lambda: names.alive() == [])
    finally:
        if host.returncode is None:
            host.kill()
            await host.wait()


@pytest.mark.rule("Q4")
async def test_the_test_itself_has_no_children_left(terminal: Terminal) -> None:
    # What the other tests of this file rely on: an open terminal is visible as a child, and a closed one is not.
    before = children()
    async with bash():
        assert len(children()) > len(before)
    assert children() == before
