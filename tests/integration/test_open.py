"""Opening: what a terminal is like at first, and what is said when there cannot be one."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

from kai_terminal import (
    Agent,
    AgentRegistry,
    Exited,
    Terminal,
    TerminalError,
    TerminalSessionService,
    TerminalSpawnRequest,
)
from kai_terminal.backend import ShellBackend
from kai_terminal.shells import Launch, ShellOptions, dialect_for
from programs import LINE, PROMPT, PYTHON, Names, bash, how, needs


async def refused(**options: object) -> TerminalError:
    """The error that opening raises."""
    with pytest.raises(TerminalError) as error:
        async with bash(**options):
            pass
    return error.value


# A shell whose marks were never seen.


class Untried:
    """bash, as a dialect that nobody has run; with or without the text that makes it emit marks."""

    name = "untried"

    def __init__(self, marking: bool) -> None:
        self._marking = marking

    def launch(self, program: str, key: str, options: ShellOptions) -> Launch:
        launch = dialect_for(program).launch(program, key, options)
        argv = launch.argv if self._marking else (program, "--norc", "-i")
        return dataclasses.replace(launch, argv=argv, certain=False)


@pytest.mark.rule("N12")
@pytest.mark.parametrize("marking", [True, False])
async def test_an_untried_dialect_opens_with_or_without_its_marks(
    monkeypatch: pytest.MonkeyPatch, marking: bool
) -> None:
    monkeypatch.setattr("kai_terminal.backend.dialect_for", lambda _program: Untried(marking))
    async with bash(idle_silence=0.3) as terminal:
        result = await terminal.send("echo hi")
        assert "\nhi\n" in result.viewport
        assert result.output == ("hi\n" if marking else None)
        assert result.exit_code == (0 if marking else None)


# What cannot be opened.


@pytest.mark.rule("end-9", "B1")
@pytest.mark.parametrize("shell", ["a-shell-that-is-not-there", "/nowhere/bash"])
async def test_a_missing_shell_is_named(shell: str) -> None:
    error = await refused(shell=shell)
    assert error.code == "START_FAILED"
    assert shell in str(error)


@pytest.mark.rule("end-9", "B1")
async def test_a_missing_program_is_named() -> None:
    error = await refused(shell=None, argv=["a-program-that-is-not-there"])
    assert error.code == "START_FAILED"
    assert "a-program-that-is-not-there" in str(error)


@pytest.mark.rule("end-9", "B1")
async def test_a_program_that_cannot_run_is_an_error_with_the_cause(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("no program\n")
    error = await refused(shell=None, argv=[str(program)])
    assert error.code == "START_FAILED"
    assert "ermission" in str(error)


@pytest.mark.rule("end-9")
async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    error = await refused(cwd=tmp_path / "nowhere")
    assert error.code == "START_FAILED"
    assert str(tmp_path / "nowhere") in str(error)


@pytest.mark.rule("end-9", "N12", "B1")
async def test_a_shell_that_exits_in_its_start_up_file_says_what_it_printed(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("echo the reason\nexit 3\n")
    error = await refused(startup="user", env={"HOME": str(tmp_path)})
    assert error.code == "START_FAILED"
    assert "the reason" in str(error)
    assert "3" in str(error)


@pytest.mark.rule("end-9", "N12", "B1")
async def test_a_start_up_file_that_never_returns_is_a_timeout(tmp_path: Path, names: Names) -> None:
    (tmp_path / ".bashrc").write_text(f"echo the reason\n{names.sleeper('start-up')} 999\n")
    async with asyncio.timeout(5):
        error = await refused(startup="user", env={"HOME": str(tmp_path)}, startup_timeout=0.5)
    assert error.code == "START_TIMEOUT"
    assert "the reason" in str(error)
    assert names.alive() == []


@pytest.mark.rule("N12")
async def test_a_start_up_file_that_asks_is_no_prompt(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("read -p 'name? ' x\n")
    error = await refused(startup="user", env={"HOME": str(tmp_path)}, startup_timeout=0.5)
    assert error.code == "START_TIMEOUT"
    assert "name?" in str(error)


@pytest.mark.rule("A7", "P3")
@pytest.mark.parametrize("size", [(0, 24), (80, 0), (70_000, 24), (80, 70_000), (-1, 24)])
async def test_a_size_that_cannot_be_is_refused(terminal: Terminal, size: tuple[int, int]) -> None:
    with pytest.raises(ValueError):
        bash(cols=size[0], rows=size[1])
    with pytest.raises(ValueError):
        terminal.resize(*size)
    assert (await terminal.run("stty size")).output == "24 80\n"


@pytest.mark.rule("P3", "N1")
async def test_nul_is_refused_everywhere(terminal: Terminal) -> None:
    for options in (
        {"shell": None, "argv": ["echo", "a\0b"]},
        {"env": {"NAME": "a\0b"}},
        {"env": {"NA\0ME": "a"}},
        {"env": {"": "a"}},
        {"env": {"A=B": "a"}},
    ):
        with pytest.raises(ValueError):
            bash(**options)
    with pytest.raises(ValueError):
        terminal.start_send("a\0b")
    with pytest.raises(ValueError):
        await terminal.run("a\0b")


@pytest.mark.rule("A7")
@pytest.mark.parametrize(
    "options",
    [
        {"shell": "bash", "argv": ["bash"]},
        {"shell": None, "argv": []},
        {"startup": "other"},
        {"grace": -1},
        {"idle_silence": float("nan")},
        {"max_output": 0},
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        bash(**options)


@pytest.mark.rule("S8", "B1")
async def test_cancelling_an_opening_leaves_nothing(tmp_path: Path, names: Names, agents: AgentRegistry) -> None:
    (tmp_path / ".bashrc").write_text(f"{names.sleeper('start-up')} 999\n")
    owner: Agent = agents.create("owner-of-programs")
    async with TerminalSessionService(agents) as service:
        service.register_backend(ShellBackend(shell="bash", env={"HOME": str(tmp_path)}))
        for delay in (0.0, 0.02, 0.2):
            opening = asyncio.ensure_future(service.spawn(owner, TerminalSpawnRequest("shell")))
            await asyncio.sleep(delay)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            assert names.alive() == []
            assert not service.has_owner_activity(owner)
            assert service.list(owner) == []


# A program instead of a shell.


@pytest.mark.rule("N12", "A2")
async def test_a_program_of_ones_own_is_the_terminals() -> None:
    async with bash(shell=None, argv=[PYTHON, "-c", 'print("hi", input("name? "))']) as terminal:
        assert how(await terminal.send("", submit=False)) == LINE
        result = await terminal.send("Ada")
        assert (result.wait_reason, result.session_status) == ("session_exit", Exited(0))
        assert "hi Ada" in terminal.read().text
        assert result.exit_code is None


@pytest.mark.rule("A3")
async def test_a_program_has_no_prompt_to_run_at() -> None:
    async with bash(shell=None, argv=["cat"]) as terminal:
        with pytest.raises(TerminalError) as error:
            await terminal.run("echo no")
        assert error.value.code == "NOT_AT_PROMPT"
        assert "no" not in terminal.read().text


@pytest.mark.rule("N12", "B3")
async def test_a_program_that_ends_at_once_is_an_open_terminal_that_has_exited() -> None:
    async with bash(shell=None, argv=["echo", "done"]) as terminal:
        operation_needed = terminal.status() != Exited(0)
        if operation_needed:
            try:
                await terminal.send("", submit=False)
            except TerminalError as error:
                assert error.code == "SESSION_EXITED"  # noqa: PT017 - it may end before or after the send
        assert terminal.status() == Exited(0)
        assert terminal.read().text.split() == ["done"]


# The environment.


@pytest.mark.rule("B5", "P8")
async def test_the_environment_is_a_terminals_and_holds_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "my_password", "Secret_Thing", "GH_TOKEN", "KAI_TERMINAL_OWN", "LINES", "COLUMNS", "TMUX"):
        monkeypatch.setenv(name, "left over")
    monkeypatch.setenv("PLAIN", "kept")
    async with bash(env={"EXPLICIT_TOKEN": "given", "PLAIN": None, "OTHER": "new"}) as terminal:
        listed = (await terminal.run("env")).output
        assert listed is not None
        assert "left over" not in listed
        env = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
        assert (env["TERM"], env["COLORTERM"]) == ("xterm-256color", "truecolor")
        assert (env["EXPLICIT_TOKEN"], env["OTHER"]) == ("given", "new")
        assert "PLAIN" not in env
        assert {"LINES", "COLUMNS", "TMUX"} & set(env) == set()
        assert not [name for name in env if "kai" in name.lower()]


@pytest.mark.rule("out-15", "B5")
async def test_without_a_locale_it_is_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANG", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    async with bash() as terminal:
        assert (await terminal.run("echo é")).output == "é\n"
        assert (await terminal.run("locale charmap")).output == "UTF-8\n"
        assert "iutf8" in str((await terminal.run("stty -a")).output).replace("-iutf8", "off").split()


@pytest.mark.rule("proc-6", "B5")
async def test_signals_and_limits_are_as_at_a_login(terminal: Terminal) -> None:
    status = (await terminal.run("grep -E '^Sig(Blk|Ign)' /proc/self/status")).output
    assert status is not None
    masks = {line.split(":")[0]: int(line.split()[1], 16) for line in status.splitlines()}
    assert masks == {"SigBlk": 0, "SigIgn": 0}


@pytest.mark.rule("N12")
async def test_what_was_printed_before_the_prompt_is_the_motd(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("echo welcome\n")
    async with bash(startup="user", env={"HOME": str(tmp_path)}, cwd=tmp_path) as terminal:
        assert terminal.motd == "welcome\n"
        assert (await terminal.run("pwd")).output == f"{tmp_path}\n"


# Size, clearing, questions.


@pytest.mark.rule("out-13")
async def test_everybody_agrees_on_a_new_size(terminal: Terminal) -> None:
    needs("tput")
    terminal.resize(cols=100, rows=30)
    assert (await terminal.run("stty size")).output == "30 100\n"
    assert (await terminal.run("tput cols")).output == "100\n"
    size = await terminal.run(f"{PYTHON} -c 'import shutil; print(*shutil.get_terminal_size())'")
    assert size.output == "100 30\n"
    assert (await terminal.run("printf '%0100d' 7")).exit_code == 0
    assert len(terminal.screen().rows()) == 30


@pytest.mark.rule("out-13")
async def test_a_program_in_the_foreground_is_told_of_the_new_size(terminal: Terminal) -> None:
    program = (
        "import os, signal; "
        "signal.signal(signal.SIGWINCH, lambda *_: print(*os.get_terminal_size(), flush=True)); "
        'print("rea" + "dy", flush=True); input()'
    )
    assert how(await terminal.send(f"{PYTHON} -c '{program}'")) == LINE
    terminal.resize(cols=50, rows=10)
    waiting = terminal.start_send("", submit=False)
    result = await waiting.done
    result = await terminal.send("")
    assert how(result) == PROMPT
    assert "50 10" in terminal.read().text


@pytest.mark.rule("out-14")
async def test_clearing_clears_as_on_a_terminal(terminal: Terminal) -> None:
    await terminal.run("seq 100")
    assert (await terminal.run("printf '\\033[3J'")).exit_code == 0
    kept = terminal.read().text.splitlines()
    assert "1" not in kept
    assert "100" in kept
    await terminal.run("printf '\\033[H\\033[2J'")
    rows = terminal.screen().rows()
    assert "100" not in rows
    await terminal.run("echo after")
    assert "after" in terminal.screen().rows()


@pytest.mark.rule("out-14")
async def test_the_clear_key_keeps_the_prompt(terminal: Terminal) -> None:
    await terminal.run("echo before")
    await terminal.press("Ctrl-L")
    assert how(await terminal.send("", submit=False, idle_silence=0.5)) == PROMPT
    result = await terminal.run("echo after")
    assert result.output == "after\n"
    rows = terminal.screen().rows()
    assert "before" not in rows
    assert "after" in rows


@pytest.mark.rule("query-1")
async def test_a_question_for_the_cursor_is_answered(terminal: Terminal) -> None:
    await terminal.run("stty -echo")
    result = await terminal.run("printf '\\033[5;7H\\033[6n'; read -rsd R x; printf '\\n%q\\n' \"$x\"")
    assert result.output is not None
    assert "'\\E[5;7'" in result.output


@pytest.mark.rule("query-2")
async def test_a_question_for_the_attributes_is_answered_once(terminal: Terminal) -> None:
    await terminal.run("stty -echo")
    result = await terminal.run(
        "stty -echo; printf '\\033[c'; read -rd c x; printf '%q\\n' \"$x\"; read -rt 0.1 y; echo \"<$y>\"; stty echo"
    )
    assert result.output is not None
    assert result.output.startswith("$'\\E[?")
    assert result.output.endswith("<>\n")
