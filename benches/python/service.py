"""What the service itself costs, in units of the floor: one asyncio task, created and awaited.

    python benches/python/service.py            the table
    python benches/python/service.py --check    exit with 1 where a ratio is over its budget

The backend is a fake that does nothing, so that what is left is the service. Each figure is the best of many
short rounds, which alternate with rounds of the floor: other load on the machine can only make them worse.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

from kai_terminal import (
    Agent,
    AgentRegistry,
    Exited,
    Running,
    TerminalBackendSpawnSpec,
    TerminalReadRequest,
    TerminalReadResult,
    TerminalSendRead,
    TerminalSendRequest,
    TerminalSendResult,
    TerminalSessionService,
    TerminalSignal,
    TerminalSignalResult,
    TerminalSpawnRequest,
)

ROUNDS = 60
OPERATIONS = 200
RESULT = TerminalSendResult("", "stdin_read", Running(), False)
SPAWN = TerminalSpawnRequest("fake")
SEND = TerminalSendRequest("text")


class Operation:
    """A send that has settled before anybody asks."""

    @property
    def done(self) -> Awaitable[TerminalSendResult]:
        return self._done()

    async def _done(self) -> TerminalSendResult:
        return RESULT

    def read_output(self) -> TerminalSendRead:
        return TerminalSendRead("", False)

    async def wait_output(self) -> None:
        return None

    def cancel(self) -> bool:
        return False


class Session:
    """A session that does nothing."""

    motd = ""
    pid = None

    def start_send(self, request: TerminalSendRequest) -> Operation:
        return Operation()

    def read(self, request: TerminalReadRequest) -> TerminalReadResult:
        return TerminalReadResult("", 0, 0, 0, 0, 0, False)

    async def signal(self, name: TerminalSignal) -> TerminalSignalResult:
        return TerminalSignalResult(True, 1)

    def status(self) -> Running | Exited:
        return Running()

    async def close(self, reason: str) -> None:
        return None


class Backend:
    """A backend that does nothing."""

    type = "fake"

    async def spawn(self, spec: TerminalBackendSpawnSpec) -> Session:
        return Session()


async def measure(work: Callable[[], Awaitable[object]], operations: int) -> float:
    """Seconds for each operation, in one round."""
    begin = time.perf_counter()
    for _ in range(operations):
        await work()
    return (time.perf_counter() - begin) / operations


async def floor() -> None:
    await asyncio.get_running_loop().create_task(nothing())


async def nothing() -> None:
    return None


async def compare(work: Callable[[], Awaitable[object]], operations: int = OPERATIONS) -> tuple[float, float]:
    """The best round of the work, and its ratio to the best of the rounds of the floor between them."""
    base = taken = float("inf")
    for _ in range(ROUNDS):
        base = min(base, await measure(floor, OPERATIONS))
        taken = min(taken, await measure(work, operations))
    return taken, taken / base


class Bench:
    """A service with a number of sessions that belong to somebody else, and an owner with ten."""

    def __init__(self) -> None:
        self.agents = AgentRegistry()
        self.service = TerminalSessionService(self.agents)
        self.service.register_backend(Backend())
        self.owner = self.agents.create("owner")

    async def fill(self, sessions: int) -> None:
        crowd = self.agents.create("crowd")
        for _ in range(sessions):
            await self.service.spawn(crowd, SPAWN)
        opened = [await self.service.spawn(self.owner, SPAWN) for _ in range(10)]
        self.session_id = opened[0].session_id

    async def spawn_and_kill(self) -> None:
        opened = await self.service.spawn(self.owner, SPAWN)
        await self.service.kill(self.owner, opened.session_id)

    async def send(self) -> None:
        await self.service.start_send(self.owner, self.session_id, SEND).done

    async def list(self) -> None:
        self.service.list(self.owner)


async def list_of(bench: Bench, count: int) -> tuple[float, float]:
    owner: Agent = bench.agents.create(f"owner of {count}")
    for _ in range(count):
        await bench.service.spawn(owner, SPAWN)

    async def work() -> None:
        bench.service.list(owner)

    return await compare(work, max(10, OPERATIONS // count))


async def run() -> bool:
    print(f"{'':34}{'µs':>10}{'of floor':>10}{'budget':>10}")
    base, _ = await compare(floor)
    print(f"{'a task, created and awaited':34}{base * 1e6:10.2f}{1:10.2f}")
    good = True
    for sessions in (10, 10_000):
        bench = Bench()
        await bench.fill(sessions)
        for name, work, budget in (("spawn and kill", bench.spawn_and_kill, 6.0), ("send and done", bench.send, 3.0)):
            taken, ratio = await compare(work)
            good = good and ratio <= budget
            print(f"{f'{name}, beside {sessions:,}':34}{taken * 1e6:10.2f}{ratio:10.2f}{budget:10.1f}")
        taken, ratio = await compare(bench.list)
        print(f"{f'list of 10, beside {sessions:,}':34}{taken * 1e6:10.2f}{ratio:10.2f}")
    for count in (100, 1_000):
        taken, ratio = await list_of(bench, count)
        print(f"{f'list of {count:,}, for each':34}{taken / count * 1e6:10.2f}{ratio / count:10.2f}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail where a ratio is over its budget")
    check = parser.parse_args().check
    good = asyncio.run(run())
    return 0 if good or not check else 1


if __name__ == "__main__":
    sys.exit(main())
