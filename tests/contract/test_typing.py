"""A program against the public types, as the strictest checkers see it: a ten-line backend fits, mistakes are found."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
    from typing import assert_type

    from kai_terminal import (
        AgentRegistry,
        Exited,
        Running,
        TerminalBackend,
        TerminalBackendSession,
        TerminalBackendSpawnSpec,
        TerminalReadRequest,
        TerminalReadResult,
        TerminalSendOperation,
        TerminalSendRequest,
        TerminalSendResult,
        TerminalSessionService,
        TerminalSessionStatus,
        TerminalSignal,
        TerminalSignalResult,
        TerminalSpawnRequest,
        open_terminal,
    )


    class Session:
        motd, pid = "", None

        def start_send(self, request: TerminalSendRequest) -> TerminalSendOperation: raise NotImplementedError
        def read(self, request: TerminalReadRequest) -> TerminalReadResult: raise NotImplementedError
        async def signal(self, name: TerminalSignal) -> TerminalSignalResult: raise NotImplementedError
        def status(self) -> TerminalSessionStatus: return Running()
        async def close(self, reason: str) -> None: ...


    class Backend:
        type = "tiny"
        async def spawn(self, spec: TerminalBackendSpawnSpec) -> Session: return Session()


    def fits(backend: TerminalBackend, session: TerminalBackendSession) -> None: ...


    fits(Backend(), Session())


    async def main() -> int | None:
        agents = AgentRegistry()
        agent = agents.create("reviewer")
        async with TerminalSessionService(agents) as service:
            unregister = service.register_backend(Backend())
            opened = await service.spawn(agent, TerminalSpawnRequest(type="tiny", cwd="/srv"))
            operation = service.start_send(agent, opened.session_id, TerminalSendRequest(text="make -j2"))
            assert_type(await operation.done, TerminalSendResult)
            assert_type(await service.kill(agent, opened.session_id), bool)
            unregister()
        async with open_terminal(shell="bash") as terminal:
            status = terminal.status()
            if status.kind == "exited":
                assert_type(status, Exited)
                return status.exit_code
            assert_type(status, Running)
            result = await terminal.run("pytest -q", timeout=60)
            return result.exit_code
"""
MISTAKES = """
    from kai_terminal import TerminalSendRequest, TerminalSendResult, TerminalSignalResult, Running, TerminalReadRequest

    TerminalSendRequest(text=b"bytes")  # mistake
    TerminalSendResult("", "finished", Running(), False)  # mistake
    TerminalSignalResult(False, 1)  # mistake
    TerminalReadRequest(lines=5)  # mistake
    TerminalSendRequest("x").text = "y"  # mistake
"""


def check(tool: list[str], program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(program))
    command = [sys.executable, "-m", *tool, str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


TOOLS = [
    pytest.param(["mypy", "--strict", "--config-file=", "--no-error-summary"], id="mypy"),
    pytest.param(["pyright"], id="pyright"),
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_small_backend_and_a_small_program_fit(tool: list[str], tmp_path: Path) -> None:
    pytest.importorskip(tool[0])
    done = check(tool, "# pyright: strict\n" + textwrap.dedent(PROGRAM), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(300)
@pytest.mark.parametrize("tool", TOOLS)
def test_mistakes_are_found(tool: list[str], tmp_path: Path) -> None:
    pytest.importorskip(tool[0])
    done = check(tool, MISTAKES, tmp_path)
    lines = textwrap.dedent(MISTAKES).splitlines()
    for number, line in enumerate(lines, 1):
        if line.endswith("# mistake"):
            assert f"program.py:{number}:" in done.stdout, f"{line!r} was not found:\n{done.stdout}{done.stderr}"
