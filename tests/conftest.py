"""What every test has: warnings are errors, nothing lasts longer than the timeout, and nothing is left on the loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from fakes import FakeBackend
from kai_terminal import Agent, AgentRegistry, TerminalSessionService
from programs import MISSING


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end which programs were missing, and how many tests that cost: no test is left out silently."""
    missing: Counter[str] = Counter()
    for report in terminalreporter.getreports("skipped"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if MISSING in reason:
            missing[reason.split(MISSING)[1]] += 1
    if missing:
        terminalreporter.section("programs that are not installed (tests/programs.txt)")
        for program, count in sorted(missing.items()):
            terminalreporter.write_line(f"{program}: {count} skipped")


@pytest.fixture
def agents() -> AgentRegistry:
    return AgentRegistry()


@pytest.fixture
def owner(agents: AgentRegistry) -> Agent:
    return agents.create("owner")


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
async def service(agents: AgentRegistry, backend: FakeBackend) -> AsyncIterator[TerminalSessionService]:
    """A service with the fake backend. When the test is over, no task of the service's may be left."""
    service = TerminalSessionService(agents)
    service.register_backend(backend)
    yield service
    await service.dispose()
    for _ in range(3):
        await asyncio.sleep(0)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"the service left tasks behind: {left}"
