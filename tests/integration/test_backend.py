"""`ShellBackend` without a service: what it opens, what it refuses, and that a failure leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from kai_terminal import (
    AbortController,
    AbortSignal,
    AgentRegistry,
    Exited,
    TerminalBackendCleanupError,
    TerminalBackendSpawnSpec,
    TerminalError,
    TerminalSendRequest,
    TerminalSessionId,
)
from kai_terminal.backend import ShellBackend, ShellSession
from kai_terminal.environment import terminal_environment
from programs import Names, bash, children, needs, until


def spec(aborting: AbortSignal | None = None) -> TerminalBackendSpawnSpec:
    owner = AgentRegistry().create("owner-of-programs")
    aborting = aborting or AbortController().signal
    return TerminalBackendSpawnSpec("shell", session_id=TerminalSessionId("pty-1"), owner=owner, signal=aborting)


async def opened(**options: object) -> ShellSession:
    return await ShellBackend(**{"shell": "bash", "startup": "clean", **options}).spawn(spec())  # type: ignore[arg-type]


class Slow:
    """A home whose start-up file never returns."""

    def __init__(self, home: Path, names: Names) -> None:
        (home / ".bashrc").write_text(f"{names.sleeper('start-up')} 999\n")
        self.names = names
        self.backend = ShellBackend(shell="bash", env={"HOME": str(home)})

    async def reached(self) -> None:
        assert await until(lambda: self.names.alive() == ["start-up"])


@pytest.fixture
def slow(tmp_path: Path, names: Names) -> Slow:
    return Slow(tmp_path, names)


@pytest.mark.rule("S8", "B1")
async def test_an_abort_raises_its_own_reason_after_everything_is_gone(slow: Slow) -> None:
    controller = AbortController()
    opening = asyncio.ensure_future(slow.backend.spawn(spec(controller.signal)))
    await slow.reached()
    reason = KeyError("mine")
    controller.abort(reason)
    with pytest.raises(KeyError) as error:
        await opening
    assert error.value is reason
    assert slow.names.alive() == []


@pytest.mark.rule("S8", "B1")
async def test_an_abort_from_before_starts_nothing(slow: Slow) -> None:
    controller = AbortController()
    reason = KeyError("mine")
    controller.abort(reason)
    before = children()
    with pytest.raises(KeyError) as error:
        await slow.backend.spawn(spec(controller.signal))
    assert error.value is reason
    assert children() == before


@pytest.mark.rule("S8", "B1")
async def test_cancelling_again_and_again_does_not_cut_the_cleanup_short(slow: Slow) -> None:
    opening = asyncio.ensure_future(slow.backend.spawn(spec()))
    await slow.reached()
    while not opening.done():
        opening.cancel()
        await asyncio.sleep(0)
    assert opening.cancelled()
    assert slow.names.alive() == []


@pytest.mark.rule("S11", "B1")
async def test_a_cleanup_that_fails_is_raised_with_what_it_was_for(slow: Slow) -> None:
    before = children()
    opening = asyncio.ensure_future(slow.backend.spawn(spec()))
    await slow.reached()
    (guard,) = children() - before
    os.kill(guard, signal.SIGKILL)
    with pytest.raises(TerminalBackendCleanupError) as error:
        await opening
    assert isinstance(error.value.spawn_error, TerminalError)
    assert isinstance(error.value.cleanup_error, TerminalError)
    assert (error.value.spawn_error.code, error.value.cleanup_error.code) == ("TRANSPORT_FAILED", "CLOSE_FAILED")


@pytest.mark.rule("B2", "Q1")
async def test_a_close_is_joined_and_told_again(names: Names) -> None:
    session = await opened()
    left = names.sleeper("left")
    operation = session.start_send(TerminalSendRequest(f"trap '' TERM HUP; {left} 999 &"))
    await operation.done
    assert await until(lambda: names.alive() == ["left"])
    first, second = await asyncio.gather(session.close("one"), session.close("two"))
    assert first == second == await session.close("three")
    assert names.alive() == []
    (process,) = first.processes
    assert process.command == "left"
    assert process.user
    assert process.ended == Exited(None, "SIGKILL")
    assert first.killed
    assert first.duration > 0


@pytest.mark.rule("P1", "P8", "B5")
async def test_a_program_is_searched_in_the_path_that_it_will_have(tmp_path: Path) -> None:
    program = tmp_path / "a-program-of-ours"
    program.write_text(f"#!{needs('sh')}\necho found\n")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    async with bash(shell=None, argv=[program.name], env={"PATH": path}) as terminal:
        assert await until(lambda: terminal.status() == Exited(0))
        assert terminal.read().text.split() == ["found"]
    with pytest.raises(TerminalError) as error:
        async with bash(shell=None, argv=[program.name]):
            pass
    assert error.value.code == "START_FAILED"


@pytest.mark.rule("N12")
async def test_a_program_is_told_the_name_that_it_was_called_by() -> None:
    async with bash(shell=None, argv=["sh", "-c", 'tr "\\0" "\\n" < /proc/$$/cmdline']) as terminal:
        assert await until(lambda: isinstance(terminal.status(), Exited))
        assert terminal.read().text.splitlines()[0] == "sh"


@pytest.mark.rule("A7", "P3")
@pytest.mark.parametrize(
    "options",
    [{"env": {"NAME": 7}}, {"env": {b"NAME": "a"}}, {"shell": None, "argv": [b"cat"]}, {"shell": b"bash"}],
)
def test_what_is_no_text_is_refused_and_never_quoted(options: dict[str, object]) -> None:
    with pytest.raises(TypeError) as error:
        bash(**options)
    assert "is made of str" in str(error.value)
    assert "7" not in str(error.value)


@pytest.mark.rule("A7", "P3", "N1")
async def test_a_shell_or_a_directory_with_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="shell must not hold NUL"):
        bash(shell="ba\0sh")
    with pytest.raises(ValueError, match="cwd must not hold NUL"):
        async with bash(cwd="/a\0b"):
            pass


@pytest.mark.rule("A7", "N2")
@pytest.mark.parametrize("seconds", [1e10, 1e19, 1e300])
async def test_a_time_that_no_clock_reaches_is_for_ever(seconds: float) -> None:
    forever = dict.fromkeys(("startup_timeout", "send_timeout", "idle_silence", "poll_quiet"), seconds)
    async with bash(**forever) as terminal:
        result = await terminal.send("sleep 0.1; echo a", timeout=seconds, idle_silence=seconds)
        assert (result.output, result.evidence) == ("a\n", "prompt_mark")


@pytest.mark.rule("R2", "R5", "A7")
async def test_numbers_beyond_any_document_are_as_far_as_it_goes() -> None:
    beyond = 2**70
    async with bash(scrollback_lines=beyond, scrollback_bytes=beyond, max_output=beyond) as terminal:
        assert (await terminal.run("echo a")).output == "a\n"
        assert terminal.read(beyond).text == ""
        assert terminal.read(from_line=beyond).text == ""
        assert "a" in terminal.read(count=beyond).text.split()


@pytest.mark.rule("A2", "A5")
@pytest.mark.parametrize("cell", [(80, 0), (0, 24), (2**70, 0)])
async def test_a_cell_that_the_terminal_does_not_have_is_refused(cell: tuple[int, int]) -> None:
    async with bash() as terminal:
        with pytest.raises(ValueError, match="there is no cell"):
            await terminal.mouse(*cell)


@pytest.mark.rule("B5", "P8")
def test_what_belongs_to_another_terminal_is_left_out() -> None:
    others = ["SSH_TTY", "GPG_TTY", "TERM_PROGRAM", "VTE_VERSION", "XTERM_VERSION", "INSIDE_EMACS", "WT_SESSION", "STY"]
    kept = {"PATH": "/bin", "SSH_CONNECTION": "here", "XTERMINAL": "no terminal's", "LINESPACING": "2"}
    env = terminal_environment({**dict.fromkeys(others, "x"), **kept, "LC_ALL": "C.UTF-8"}, {"SSH_TTY": "explicit"})
    added = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8", "SSH_TTY": "explicit"}
    assert env == {**kept, **added}
