"""The main job, done on real programs, as a transcript that a stranger can follow.

Every step says what was asked, what came back, by which evidence, and how long it took. The exit code is 0 only if
every step gave the right value.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .agents import Agent, AgentRegistry
from .backend import ShellBackend
from .errors import TerminalError
from .service import TerminalSessionService
from .types import (
    TerminalReadRequest,
    TerminalSendOperation,
    TerminalSendRequest,
    TerminalSendResult,
    TerminalSessionId,
    TerminalSpawnRequest,
)

__all__ = ["demo"]

_DOUBLE_FORK = """
import os, sys
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.execvp("sleep", ["sleep", sys.argv[1]])
"""

_DEADLINE = 20.0
"""How long, in seconds, any step may take before it counts as failed."""


def demo() -> int:
    """Run every step; 0 if each gave the right value, else 1."""
    return asyncio.run(_Demo().run())


class _Demo:
    def __init__(self) -> None:
        self._failures = 0
        agents = AgentRegistry()
        self._service = TerminalSessionService(agents)
        self._service.register_backend(ShellBackend(shell="bash", startup="clean"))
        self._owner: Agent = agents.create("demo")
        self._other: Agent = agents.create("somebody else")
        self._id = TerminalSessionId("")

    async def run(self) -> int:
        steps: list[tuple[str, Callable[[], Awaitable[None]]]] = [
            ("An agent opens bash and runs commands", self._commands),
            ("A program asks for a line", self._question),
            ("A pipe is busy, however quiet it is, and can be cancelled", self._busy),
            ("A password is asked for", self._secret),
            ("Another agent cannot reach the terminal", self._stranger),
            ("Closing leaves nothing behind, whatever was started", self._escapees),
            ("Killing the host leaves nothing behind", self._killed_host),
        ]
        async with self._service:
            for number, (title, step) in enumerate(steps, 1):
                print(f"\n{number}. {title}")
                try:
                    await step()
                except Exception as error:
                    self._check(f"the step ran ({type(error).__name__}: {error})", False)
        print(f"\n{'all as it should be' if not self._failures else f'{self._failures} checks FAILED'}")
        return 1 if self._failures else 0

    async def _commands(self) -> None:
        began = time.monotonic()
        opened = await self._service.spawn(self._owner, TerminalSpawnRequest("shell", name="work", cwd="/"))
        self._id = opened.session_id
        print(f"   opened {opened.session_id} (pid {opened.pid}) in {_ms(time.monotonic() - began)}")
        result = await self._send("echo hello")
        self._check("output is what the command printed, no echo and no prompt", result.output == "hello\n")
        self._check("exit code 0", result.exit_code == 0)
        self._check("exit code 7", (await self._send("(exit 7)")).exit_code == 7)
        self._check("exit code 127", (await self._send("a-command-that-is-not-there")).exit_code == 127)
        self._check("the working directory is known", (await self._send("cd /usr")).cwd == "/usr")

    async def _question(self) -> None:
        result = await self._send("""python3 -c 'print("hi", input("name? "))'""")
        self._check("it is proven that a line is wanted", _how(result) == ("stdin_read", "blocking_read", "line"))
        result = await self._send("Ada")
        self._check("the answer arrived", "hi Ada" in result.viewport)
        self._check("it ended with exit code 0", (result.evidence, result.exit_code) == ("prompt_mark", 0))

    async def _busy(self) -> None:
        operation = self._start("sleep 5 | cat")
        try:
            early: TerminalSendResult | None = await asyncio.wait_for(_awaited(operation), 1.0)
        except TimeoutError:
            early = None
        self._check("after 1 s of silence it is not taken for waiting", early is None)
        self._check("cancel() is accepted", operation.cancel())
        result = await self._shown("cancelled", operation)
        self._check("interrupted: exit code 130", result.exit_code == 130)
        self._check("the next command works", (await self._send("echo next")).output == "next\n")

    async def _secret(self) -> None:
        secret = "correct horse battery"  # noqa: S105 - nobody's
        result = await self._send('read -s -p "Password: " x')
        self._check("a secret is wanted", _how(result) == ("stdin_read", "blocking_read", "secret"))
        result = await self._send(secret, shown="(the secret)")
        seen = f"{result!r} {self._service.read(self._owner, self._id, TerminalReadRequest()).text}"
        self._check("it was taken, and shows up nowhere", result.exit_code == 0 and secret not in seen)
        length = await self._send('echo "${#x}"')
        self._check("the program got it whole", length.output == f"{len(secret)}\n")

    async def _stranger(self) -> None:
        service, other = self._service, self._other

        async def send() -> None:
            await service.start_send(other, self._id, TerminalSendRequest("echo mine")).done

        async def read() -> None:
            service.read(other, self._id, TerminalReadRequest())

        async def interrupt() -> None:
            await service.signal(other, self._id, "SIGINT")

        async def close() -> None:
            await service.kill(other, self._id)

        for verb in (read, send, interrupt, close):
            try:
                await verb()
                code = "accepted"
            except TerminalError as error:
                code = str(error.code)
            self._check(f"{verb.__name__}: {code}", code == "FOREIGN_SESSION")

    async def _escapees(self) -> None:
        with _escapees() as (commands, alive):
            for command in commands:
                await self._send(command)
            await _until(lambda: len(alive()) == len(commands))
            print(f"   running outside the shell's reach: {alive()}")
            self._check("four escapees run", len(alive()) == len(commands))
            began = time.monotonic()
            await self._service.kill(self._owner, self._id)
            print(f"   closed in {_ms(time.monotonic() - began)}")
            self._check("at the close's return not one is left", alive() == [])
            receipt: Any = self._service.receipt(self._owner, self._id)
            print(
                f"   the receipt: {[f'{p.command} (pid {p.pid})' for p in receipt.processes]}, killed={receipt.killed}"
            )

    async def _killed_host(self) -> None:
        with _escapees() as (commands, alive):
            host = await asyncio.create_subprocess_exec(
                sys.executable, "-c", _HOST, *commands, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            try:
                assert host.stdout is not None  # noqa: S101 - it was asked for as a pipe
                ready = await asyncio.wait_for(host.stdout.readline(), _DEADLINE)
                await _until(lambda: len(alive()) == len(commands))
                print(f"   another Python (pid {host.pid}) holds a terminal with {alive()}")
                self._check("four escapees run", ready == b"ready\n" and len(alive()) == len(commands))
            finally:
                began = time.monotonic()
                if host.returncode is None:
                    host.kill()
                await host.wait()
            gone = await _until(lambda: not alive())
            print(f"   {_ms(time.monotonic() - began)} after its SIGKILL: {alive() or 'nothing is left'}")
            self._check("nothing survived it", gone)

    def _start(self, text: str) -> TerminalSendOperation:
        return self._service.start_send(self._owner, self._id, TerminalSendRequest(text, timeout=_DEADLINE))

    async def _send(self, text: str, shown: str | None = None) -> TerminalSendResult:
        return await self._shown(shown or text, self._start(text))

    async def _shown(self, text: str, operation: TerminalSendOperation) -> TerminalSendResult:
        result = await operation.done
        wanted = f" for {result.waiting_for}" if result.waiting_for else ""
        code = "" if result.exit_code is None else f", exit code {result.exit_code}"
        print(f"   > {text}\n     {result.wait_reason} by {result.evidence}{wanted}{code}, {_ms(result.duration or 0)}")
        if result.output:
            print(f"     output {result.output!r}")
        return result

    def _check(self, what: str, right: bool) -> None:
        self._failures += not right
        print(f"   {'ok' if right else 'WRONG'}: {what}")


_HOST = """
import asyncio, sys
import kai_terminal

async def main():
    async with kai_terminal.open_terminal(shell="bash", startup="clean") as terminal:
        for command in sys.argv[1:]:
            await terminal.run(command, timeout=20)
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@contextmanager
def _escapees() -> Generator[tuple[list[str], Callable[[], list[str]]]]:
    """Four commands that leave the shell's reach, and who of them is alive; what is left at the end is killed."""
    # Each sleeps under a name of its own, so that no other sleep on the machine is ever mistaken for it.
    with tempfile.TemporaryDirectory() as folder:
        names = ["setsid", "nohup", "twice-forked", "stubborn"]
        programs = {name: str(Path(folder) / name) for name in names}
        sleep = _program("sleep")
        for path in programs.values():
            Path(path).symlink_to(sleep)
        forker = Path(folder) / "fork.py"
        forker.write_text(_DOUBLE_FORK.replace('execvp("sleep", ["sleep", ', f"execv({sleep!r}, [sys.argv[2], "))
        commands = [
            f"setsid {programs['setsid']} 600 &",
            f"nohup {programs['nohup']} 600 >/dev/null 2>&1 &",
            f"{sys.executable} {forker} 600 {programs['twice-forked']}",
            f"env -i setsid {_program('sh')} -c \"trap '' TERM HUP; {programs['stubborn']} 600; true\" &",
        ]

        def alive() -> list[str]:
            return sorted(name for name, path in programs.items() if _pids(path))

        try:
            yield commands, alive
        finally:
            for path in programs.values():
                for pid in _pids(path):
                    os.kill(pid, signal.SIGKILL)


def _pids(program: str) -> list[int]:
    """The processes that were started under this name, zombies left out (they have no command line)."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                first = (entry / "cmdline").read_bytes().split(b"\0")[0]
            except OSError:
                continue  # It ended meanwhile.
            if first == os.fsencode(program):
                found.append(int(entry.name))
    return found


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        message = f"the demo needs {name} in PATH"
        raise FileNotFoundError(message)
    return path


async def _until(condition: Callable[[], bool]) -> bool:
    """Wait for something outside this process, which sends no event; `False` after the deadline."""
    end = time.monotonic() + _DEADLINE
    while not condition():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.01)
    return True


async def _awaited(operation: TerminalSendOperation) -> TerminalSendResult:
    return await operation.done


def _how(result: TerminalSendResult) -> tuple[str, str | None, str | None]:
    return result.wait_reason, result.evidence, result.waiting_for


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
