"""What the tests on real programs share: a bash without the user's files, gates that programs wait at, who is alive."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kai_terminal import TerminalSendOperation, TerminalSendResult, open_terminal
from kai_terminal.terminal import OpenTerminal

PYTHON = sys.executable
"""The interpreter that runs the tests; what `python3` names on a machine may be a script that takes its time."""


def bash(**options: Any) -> OpenTerminal:
    """A bash without the user's start-up files, in which no send can last for ever."""
    return open_terminal(**{"shell": "bash", "startup": "clean", "send_timeout": 20.0, **options})


MISSING = "not installed: "
"""How the reason of a skip begins that is for want of a program; the summary of a run counts them by it."""


def needs(program: str) -> str:
    """The path of a program; the test is skipped where it is not installed."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{MISSING}{program}")
    return path


def how(result: TerminalSendResult) -> tuple[str, str | None, str | None]:
    """What settled a send."""
    return result.wait_reason, result.evidence, result.waiting_for


PROMPT = ("stdin_read", "prompt_mark", "shell_prompt")
LINE = ("stdin_read", "blocking_read", "line")
SECRET = ("stdin_read", "blocking_read", "secret")


class Gate:
    """A fifo that a program waits at until the test opens it: `read < {gate}` in a shell."""

    def __init__(self, folder: Path, name: str = "gate") -> None:
        self.path = folder / name
        os.mkfifo(self.path)

    def __str__(self) -> str:
        return str(self.path)

    async def open(self) -> None:
        """Let the program go on, once it is there."""
        # Opening a fifo to write without blocking is refused for as long as nobody reads.
        descriptor = -1

        def reached() -> bool:
            nonlocal descriptor
            try:
                descriptor = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                return False
            return True

        assert await until(reached), "the program never came to the gate"
        os.write(descriptor, b"\n")
        os.close(descriptor)


async def until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Wait for something outside this process, which sends no event; `False` after the deadline."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.005)
    return True


async def settled_within(operation: TerminalSendOperation, seconds: float) -> TerminalSendResult | None:
    """The result if it comes in this time. The operation goes on otherwise."""

    async def result() -> TerminalSendResult:
        return await operation.done

    try:
        return await asyncio.wait_for(result(), seconds)
    except TimeoutError:
        return None


async def printed(operation: TerminalSendOperation, text: str) -> None:
    """Return once the send has printed this. Its deltas are consumed."""
    seen = ""
    while text not in seen:
        await operation.wait_output()
        delta = operation.read_output().delta
        assert delta or await settled_within(operation, 0) is None, f"ended without printing {text!r}: {seen!r}"
        seen += delta


class Names:
    """Programs that sleep under names of their own, so that no other process is ever taken for one of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def sleeper(self, name: str) -> str:
        """The path of a `sleep` under this name."""
        path = self._folder / name
        path.symlink_to(needs("sleep"))
        return str(path)

    def alive(self) -> list[str]:
        """The names under which something runs."""
        return sorted(Path(first).name for _, first in self._running())

    def end_all(self) -> None:
        """Kill what a failed test left."""
        for pid, _ in self._running():
            os.kill(pid, signal.SIGKILL)

    def _running(self) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        for pid in pids():
            words = command_line(pid)
            if words and words[0].startswith(f"{self._folder}/"):
                found.append((pid, words[0]))
        return found


def pids() -> list[int]:
    """Every process on the machine."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def command_line(pid: int) -> list[str]:
    """Its arguments; nothing for a zombie or a process that is gone."""
    try:
        return os.fsdecode((Path("/proc") / str(pid) / "cmdline").read_bytes()).split("\0")[:-1]
    except OSError:
        return []


def children(parent: int | None = None) -> set[int]:
    """The direct children of a process (this one), zombies too."""
    parent = os.getpid() if parent is None else parent
    found: set[int] = set()
    for pid in pids():
        try:
            fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.add(pid)
    return found
