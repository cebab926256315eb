"""A backend whose every step a test holds in its hands: named gates instead of sleeps.

`backend.gates` and `session.close_gates` stop one call each, in order, until the test opens the gate or makes it fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kai_terminal import (
    Exited,
    Running,
    TerminalBackendSpawnSpec,
    TerminalReadRequest,
    TerminalReadResult,
    TerminalSendRead,
    TerminalSendRequest,
    TerminalSendResult,
    TerminalSessionStatus,
    TerminalSignal,
    TerminalSignalResult,
    TerminalWaitReason,
)


class Gate:
    """A controlled point: whoever comes waits until the test opens it, or makes it fail."""

    def __init__(self) -> None:
        self.arrivals = 0
        self.passed = False
        self._arrived = asyncio.Event()
        self._opened = asyncio.Event()
        self._error: BaseException | None = None

    def open(self) -> None:
        self._opened.set()

    def fail(self, error: BaseException) -> None:
        self._error = error
        self._opened.set()

    async def reached(self) -> None:
        """Wait until somebody stands at the gate."""
        await self._arrived.wait()

    async def pass_through(self) -> None:
        self.arrivals += 1
        self._arrived.set()
        await self._opened.wait()
        self.passed = True
        if self._error is not None:
            raise self._error


class FakeOperation:
    """A send that settles when the test says so."""

    def __init__(self, session: FakeSession, request: TerminalSendRequest) -> None:
        self.request = request
        self.cancels = 0
        self.unread = ""
        self.reads = 0
        self._session = session
        self._future: asyncio.Future[TerminalSendResult] = asyncio.get_running_loop().create_future()
        self._news = asyncio.Event()

    @property
    def done(self) -> asyncio.Future[TerminalSendResult]:
        return self._future

    def settle(self, wait_reason: TerminalWaitReason = "stdin_read", viewport: str = "") -> TerminalSendResult:
        result = TerminalSendResult(viewport, wait_reason, self._session.status(), False)
        self._future.set_result(result)
        self._news.set()
        return result

    def fail(self, error: BaseException) -> None:
        self._future.set_exception(error)
        self._news.set()

    def print(self, text: str) -> None:
        self.unread += text
        self._news.set()

    def read_output(self) -> TerminalSendRead:
        self.reads += 1
        delta, self.unread = self.unread, ""
        if not self._future.done():
            self._news.clear()
        return TerminalSendRead(delta, False)

    async def wait_output(self) -> None:
        await self._news.wait()

    def cancel(self) -> bool:
        self.cancels += 1
        return not self._future.done()


class FakeSession:
    """A session with a gate at its close."""

    def __init__(self, pid: int | None = 4242, motd: str = "welcome") -> None:
        self.motd = motd
        self.pid = pid
        self.current: TerminalSessionStatus = Running()
        self.close_gates: list[Gate] = []
        self.close_reasons: list[str] = []
        self.receipt: object = None
        self.operations: list[FakeOperation] = []
        self.signals: list[str] = []
        self.settles_at_close = True
        self.refuse_send: BaseException | None = None

    def start_send(self, request: TerminalSendRequest) -> FakeOperation:
        if self.refuse_send is not None:
            raise self.refuse_send
        self.operations.append(FakeOperation(self, request))
        return self.operations[-1]

    def read(self, request: TerminalReadRequest) -> TerminalReadResult:
        return TerminalReadResult(f"page of {request.count}", 1, 0, 1, 0, 0, False)

    async def signal(self, name: TerminalSignal) -> TerminalSignalResult:
        self.signals.append(name)
        return TerminalSignalResult(True, 4243)

    def status(self) -> TerminalSessionStatus:
        return self.current

    async def close(self, reason: str) -> object:
        self.close_reasons.append(reason)
        if self.close_gates:
            await self.close_gates.pop(0).pass_through()
        self.current = Exited(None, "SIGHUP")
        for operation in self.operations:
            if self.settles_at_close and not operation.done.done():
                operation.settle("session_exit")
        return self.receipt

    def exit(self, code: int = 0) -> None:
        self.current = Exited(code, None)


class FakeBackend:
    """A backend with a gate at its setup."""

    def __init__(self, backend_type: str = "fake") -> None:
        self.type = backend_type
        self.gates: list[Gate] = []
        self.specs: list[TerminalBackendSpawnSpec] = []
        self.sessions: list[FakeSession] = []
        self.make: Callable[[], FakeSession] = FakeSession
        self.heeds_signal = False

    async def spawn(self, spec: TerminalBackendSpawnSpec) -> FakeSession:
        self.specs.append(spec)
        if self.gates:
            gate = self.gates.pop(0)
            if self.heeds_signal:
                spec.signal.add_callback(gate.fail)
            await gate.pass_through()
        self.sessions.append(self.make())
        return self.sessions[-1]


async def ticks(count: int = 10) -> None:
    """Let everything that is ready run: for showing that something does *not* happen."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object]) -> None:
    """Let what is ready run until the condition holds, and not one step longer."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0)
    message = "this did not come about by anything that was ready to run"
    raise AssertionError(message)
