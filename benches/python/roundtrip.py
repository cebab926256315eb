"""What the main job costs, beside pexpect and a bare pty loop, in one run.

    python benches/python/roundtrip.py [--rounds N]

Prints medians in milliseconds and their ratio to the bare loop: the round trip of `true` in bash, opening until ready,
closing an idle shell; and how long importing the package takes. pexpect runs without its 50 ms `delaybeforesend`; both
others look for a numbered prompt. Machines are noisy: compare the ratios of one run, not the times of two.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import pty
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import kai_terminal

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/", "PS1": "@@\\#@@", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
BASH = ["/bin/bash", "--norc", "-i"]


class Bare:
    """os.read and os.write on a pty, and nothing else."""

    name = "bare pty"

    def open(self) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(BASH[0], BASH, ENVIRONMENT)
        self.prompt = 1
        self._until_prompt()

    def _until_prompt(self) -> None:
        wanted, seen = b"@@%d@@" % self.prompt, b""
        while wanted not in seen:
            seen += os.read(self.fd, 65536)

    def send(self) -> None:
        self.prompt += 1
        os.write(self.fd, b"true\r")
        self._until_prompt()

    def close(self) -> None:
        os.kill(self.pid, signal.SIGHUP)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


class Pexpect:
    name = "pexpect"

    def open(self) -> None:
        import pexpect

        self.child = pexpect.spawn(BASH[0], BASH[1:], env=ENVIRONMENT, encoding="utf-8")
        self.child.delaybeforesend = None
        self.prompt = 1
        self.child.expect_exact("@@1@@")

    def send(self) -> None:
        self.prompt += 1
        self.child.sendline("true")
        self.child.expect_exact(f"@@{self.prompt}@@")

    def close(self) -> None:
        self.child.close()


class Kai:
    name = "kai-terminal"

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop

    def open(self) -> None:
        self.entered = kai_terminal.open_terminal(shell="bash", startup="clean", cwd="/")
        self.terminal = self.loop.run_until_complete(self.entered.__aenter__())

    def send(self) -> None:
        result = self.loop.run_until_complete(self.terminal.run("true"))
        assert result.exit_code == 0

    def close(self) -> None:
        self.loop.run_until_complete(self.terminal.close())


def timed(action: Callable[[], None]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def measure(peers: list[Bare | Pexpect | Kai], rounds: int) -> dict[str, dict[str, float]]:
    """Each round takes every peer in turn, so that a slow moment of the machine meets them all."""
    times: dict[str, dict[str, list[float]]] = {peer.name: {"open": [], "true": [], "close": []} for peer in peers}
    for _ in range(rounds):
        for peer in peers:
            own = times[peer.name]
            own["open"].append(timed(peer.open))
            own["true"].extend([timed(peer.send) for _ in range(20)][5:])
            own["close"].append(timed(peer.close))
    return {name: {what: statistics.median(all_) for what, all_ in own.items()} for name, own in times.items()}


def import_time(module: str) -> float:
    program = f"import time; t = time.perf_counter(); import {module}; print((time.perf_counter() - t) * 1000)"
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, check=True) for _ in range(7)]
    return statistics.median(float(run.stdout) for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    loop = asyncio.new_event_loop()
    medians = measure([Bare(), Pexpect(), Kai(loop)], rounds)
    loop.close()
    print(f"{'median ms (ratio to bare)':28}" + "".join(f"{what:>18}" for what in ("open", "true", "close")))
    for name, own in medians.items():
        cells = [f"{own[what]:.3f} ({own[what] / medians['bare pty'][what]:.2f})" for what in ("open", "true", "close")]
        print(f"{name:28}" + "".join(f"{cell:>18}" for cell in cells))
    print(f"import: kai_terminal {import_time('kai_terminal'):.0f} ms, pexpect {import_time('pexpect'):.0f} ms")


if __name__ == "__main__":
    main()
