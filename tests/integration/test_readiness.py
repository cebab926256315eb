"""When it is proven that something wants input, and when it is not."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kai_terminal import Terminal
from programs import LINE, PROMPT, PYTHON, SECRET, Gate, bash, how, needs, settled_within

POLLS = pytest.mark.xfail(strict=True, reason="a poll of the terminal is not taken as evidence yet")
CONTINUATION = ("stdin_read", "prompt_mark", "continuation")


# What wants input.


@pytest.mark.rule("ready-3", "N4")
async def test_a_program_that_reads_a_line_wants_one(terminal: Terminal) -> None:
    for command in ('read -p "name? " x', f"""{PYTHON} -c 'input("name? ")'""", "cat"):
        result = await terminal.send(command)
        assert how(result) == LINE
        if command == "cat":
            for line in ("one", "two", "three"):
                result = await terminal.send(line)
                assert how(result) == LINE
                assert result.viewport.split() == [line, line]
            await terminal.press("Ctrl-D")
            assert how(await terminal.send("", submit=False)) == PROMPT
        else:
            assert "name? " in result.viewport
            assert how(await terminal.send("Ada")) == PROMPT


@pytest.mark.rule("ready-4")
async def test_any_descriptor_of_the_terminal_counts(terminal: Terminal) -> None:
    await terminal.send("exec 5</dev/tty")
    assert how(await terminal.send("read -u 5 x")) == LINE
    assert (await terminal.send("five; echo")).exit_code == 0
    assert (await terminal.send("echo $x")).output == "five; echo\n"


@pytest.mark.rule("ready-6")
@pytest.mark.parametrize(
    ("command", "rest", "output"),
    [
        ("cat <<EOF\nabc", "EOF", "abc\n"),
        ("echo \"a 'b", '"', "a 'b\n"),
        ("for i in 1 2; do echo $i", "done", "1\n2\n"),
    ],
)
async def test_the_shell_says_that_it_wants_more(terminal: Terminal, command: str, rest: str, output: str) -> None:
    result = await terminal.send(command)
    assert how(result) == CONTINUATION
    assert result.exit_code is None
    result = await terminal.send(rest)
    assert how(result) == PROMPT
    assert result.output is not None
    assert result.output.strip() == output.strip()


@pytest.mark.rule("ready-8", "host-3")
@pytest.mark.parametrize("command", ["read -s -p 'Secret: ' x", "stty -echo; cat > /dev/null; stty echo"])
async def test_a_read_without_echo_wants_a_secret(terminal: Terminal, command: str) -> None:
    assert how(await terminal.send(command)) == SECRET
    result = await terminal.send("correct horse")
    if result.waiting_for == "secret":
        await terminal.press("Ctrl-D")
        result = await terminal.send("", submit=False)
    assert how(result) == PROMPT
    assert "correct horse" not in f"{result!r} {terminal.read().text}"


@pytest.mark.rule("ready-5", "out-11")
@pytest.mark.parametrize(
    ("program", "command", "leave"),
    [
        ("less", "less /etc/services", "q"),
        pytest.param("vi", "vi -u NONE new", ":q!\r", marks=POLLS),
        pytest.param("sqlite3", "sqlite3", ".quit\r", marks=POLLS),
        pytest.param("gdb", "gdb -q -nx", "quit\r", marks=POLLS),
    ],
)
async def test_an_interactive_program_wants_keys(
    terminal: Terminal, tmp_path: Path, program: str, command: str, leave: str
) -> None:
    needs(program)
    await terminal.send(f"cd {tmp_path}")
    result = await terminal.send(command, idle_silence=1.5)
    assert (result.wait_reason, result.waiting_for) == ("stdin_read", "keys")
    assert result.exit_code is None
    result = await terminal.send(leave, submit=False)
    assert how(result) == PROMPT
    assert result.exit_code == 0


@POLLS
@pytest.mark.rule("ready-5")
async def test_a_python_prompt_wants_input(terminal: Terminal) -> None:
    result = await terminal.send(f"{PYTHON} -q", idle_silence=1.5)
    assert result.wait_reason == "stdin_read"
    result = await terminal.send("1 + 1")
    assert result.wait_reason == "stdin_read"
    assert "2" in result.viewport.split()
    assert result.output is None
    assert result.exit_code is None
    result = await terminal.send("exit(3)")
    assert (how(result), result.exit_code) == (PROMPT, 3)


# What does not.


@pytest.mark.rule("ready-7")
async def test_a_program_blocked_on_the_network_is_busy(terminal: Terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = f'import socket; socket.create_connection(("127.0.0.1", {port})).recv(1)'
        operation = terminal.start_send(f"{PYTHON} -c '{program}'", idle_silence=60)
        assert await settled_within(operation, 0.5) is None
        connection, _ = server.accept()
        with connection:
            assert await settled_within(operation, 0.2) is None
        assert how(await operation.done) == PROMPT


@pytest.mark.rule("ready-7")
@pytest.mark.parametrize("command", ["stty raw; sleep 0.7; stty sane", "sh -c 'stty -echo; sleep 0.7; stty echo'"])
async def test_a_program_that_sleeps_in_any_mode_is_busy(terminal: Terminal, command: str) -> None:
    operation = terminal.start_send(command, idle_silence=60)
    assert await settled_within(operation, 0.4) is None
    assert how(await operation.done) == PROMPT


@pytest.mark.rule("ready-9", "N5", "shell-22")
async def test_a_mark_that_is_printed_is_never_the_shells(terminal: Terminal, tmp_path: Path, gate: Gate) -> None:
    marks = tmp_path / "marks"
    marks.write_text("\x1b]133;D;0\x07\x1b]133;A\x07$ \x1b]133;B\x07")
    for command in ("printf '\\033]133;D;0\\007\\033]133;A\\007$ \\033]133;B\\007'", f"cat {marks}"):
        operation = terminal.start_send(f"{command}; read < {gate}; (exit 7)", idle_silence=60)
        assert await settled_within(operation, 0.2) is None
        await gate.open()
        result = await operation.done
        assert (how(result), result.exit_code) == (PROMPT, 7)


@pytest.mark.rule("ready-10", "shell-1", "shell-2")
@pytest.mark.parametrize(
    "setting",
    [
        "PS1='> '",
        "PS1=''",
        "PS1='\\[\\e[31m\\]\\n\\[\\e[0m\\]\\$ '",
        "PROMPT_COMMAND='PS1=x'",
        "unset PROMPT_COMMAND",
    ],
)
async def test_a_prompt_of_the_users_is_recognised(terminal: Terminal, setting: str) -> None:
    assert how(await terminal.send(setting)) == PROMPT
    for command, code in (("(exit 7)", 7), ("echo out", 0)):
        result = await terminal.send(command)
        assert (how(result), result.exit_code) == (PROMPT, code)
    assert result.output == "out\n"


@pytest.mark.rule("ready-12", "N4", "N12")
async def test_the_first_command_is_never_settled_by_the_first_prompt() -> None:
    for number in range(50):
        async with bash() as terminal:
            result = await terminal.send(f"(echo {number}; exit 9)")
            assert (how(result), result.exit_code, result.output) == (PROMPT, 9, f"{number}\n")


@pytest.mark.rule("ready-17")
async def test_a_terminal_in_the_terminal_is_followed_or_unknown(terminal: Terminal) -> None:
    needs("script")
    operation = terminal.start_send("script -qc 'sleep 1.5' /dev/null", idle_silence=60)
    result = await settled_within(operation, 1.3)
    assert result is None or result.wait_reason == "inferred_idle"
    result = await operation.done
    if result.wait_reason == "inferred_idle":
        result = await terminal.send("", submit=False, idle_silence=60)
    assert how(result) == PROMPT


@pytest.mark.rule("shell-13")
@pytest.mark.parametrize("text", ["", "# c"])
async def test_no_command_has_no_exit_code(terminal: Terminal, text: str) -> None:
    await terminal.send("false")
    result = await terminal.send(text)
    assert (how(result), result.exit_code, result.exit_codes) == (PROMPT, None, None)


@pytest.mark.rule("shell-13")
async def test_a_syntax_error_comes_back_to_the_prompt(terminal: Terminal) -> None:
    result = await terminal.send("fi")
    assert how(result) == PROMPT
    assert result.exit_code is None
    assert "syntax error" in result.viewport


@pytest.mark.rule("shell-14")
async def test_an_interrupt_of_half_a_line_is_no_command(terminal: Terminal) -> None:
    await terminal.send("false")
    await terminal.send("echo half", submit=False, idle_silence=0.2)
    await terminal.press("Ctrl-C")
    result = await terminal.send("", submit=False)
    assert how(result) == PROMPT
    assert result.exit_code is None
    assert (await terminal.run("echo whole")).output == "whole\n"
