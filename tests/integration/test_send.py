"""What a send types, when it ends, and what it brings back."""

from __future__ import annotations

from pathlib import Path

import pytest

from kai_terminal import Exited, Running, Terminal, TerminalError, TerminalSendRequest
from kai_terminal.shells import dialect_for
from programs import LINE, PROMPT, PYTHON, Gate, Names, bash, how, needs, settled_within, until

RAW_READER = """
import os, sys, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, sys.argv[1].encode().decode("unicode_escape").encode() + b"ready\\r\\n")
got = b""
while not got.endswith(b"\\r"):
    got += os.read(0, 65536)
termios.tcsetattr(0, termios.TCSANOW, before)
os.write(1, b"\\x1b[?2004l" + got.hex().encode() + b"\\n")
"""


@pytest.fixture
def raw_reader(tmp_path: Path) -> str:
    """A command that reads keys up to Enter in raw mode and prints them in hexadecimal."""
    (tmp_path / "raw.py").write_text(RAW_READER)
    return f"{PYTHON} {tmp_path / 'raw.py'}"


async def typed(terminal: Terminal, command: str, text: str, *, submit: bool = True) -> bytes:
    """What the program got."""
    assert (await terminal.send(command)).waiting_for == "keys"
    result = await terminal.send(text, submit=submit)
    assert result.exit_code == 0
    return bytes.fromhex(result.viewport.split()[0])


# How commands end.


@pytest.mark.rule("end-1")
@pytest.mark.parametrize(
    ("command", "code"),
    [("true", 0), ("false", 1), ("(exit 7)", 7), ("(kill -9 $BASHPID)", 137), ("a-command-that-is-not-there", 127)],
)
async def test_the_exit_code_is_the_shells(terminal: Terminal, command: str, code: int) -> None:
    result = await terminal.send(command)
    assert how(result) == PROMPT
    assert result.exit_code == code
    assert result.session_status == Running()


@pytest.mark.rule("end-2", "N2", "N3", "B3")
@pytest.mark.parametrize(
    ("commands", "status"),
    [
        (["exit 5"], Exited(5)),
        (["exec true"], Exited(0)),
        (["kill -9 $$"], Exited(None, "SIGKILL")),
        (["set -e", "false"], Exited(1)),
    ],
)
async def test_the_end_of_the_shell_settles_at_once(terminal: Terminal, commands: list[str], status: Exited) -> None:
    for command in commands:
        result = await terminal.send(command)
    assert (result.wait_reason, result.evidence, result.session_status) == ("session_exit", "exit", status)
    assert terminal.status() == status
    assert result.duration is not None
    assert result.duration < 2


@pytest.mark.rule("end-3", "B3")
async def test_a_background_job_does_not_hold_the_shells_exit(terminal: Terminal, names: Names) -> None:
    result = await terminal.send(f"{names.sleeper('job')} 300 & exit 1")
    assert (result.wait_reason, result.session_status) == ("session_exit", Exited(1))
    assert await until(lambda: names.alive() == ["job"])
    await terminal.close()
    assert names.alive() == []


@pytest.mark.rule("end-4")
async def test_the_stages_of_a_pipeline_are_told(terminal: Terminal) -> None:
    result = await terminal.send("false | tail -1")
    assert (result.exit_code, result.exit_codes) == (0, (1, 0))


@pytest.mark.rule("end-5", "shell-15")
async def test_two_lines_both_run(terminal: Terminal) -> None:
    result = await terminal.send("echo a\n(echo b; exit 3)")
    assert result.exit_code == 3
    assert result.output is not None
    assert result.output.split() == ["a", "b"]
    after = await terminal.send("echo c")
    assert after.output == "c\n"


@pytest.mark.rule("end-6")
async def test_a_heredoc_and_a_command_after_it_both_run(terminal: Terminal) -> None:
    result = await terminal.send(f"{PYTHON} - <<'E'\nprint('fir' + 'st')\nE\necho sec''ond")
    assert result.exit_code == 0
    assert "first" in result.viewport
    assert "second" in result.viewport
    page = terminal.read().text
    assert page.index("first") < page.index("second")


@pytest.mark.rule("end-7", "in-6")
@pytest.mark.parametrize(
    ("command", "output"),
    [("echo hi # comment", "hi\n"), ("echo hi;", "hi\n"), ("echo 'a;b&c\\'", "a;b&c\\\n"), ('echo "c!!d" ~', "c!!d")],
)
async def test_a_command_is_passed_as_typed(terminal: Terminal, command: str, output: str) -> None:
    result = await terminal.send(command)
    assert how(result) == PROMPT
    assert result.output is not None
    assert result.output.startswith(output)


@pytest.mark.rule("end-7", "ready-6")
async def test_a_line_that_ends_in_a_backslash_is_continued(terminal: Terminal) -> None:
    result = await terminal.send("echo a\\")
    assert how(result) == ("stdin_read", "prompt_mark", "continuation")
    result = await terminal.send("b")
    assert result.output == "ab\n"


@pytest.mark.rule("end-8")
async def test_background_jobs_give_the_shell_back(terminal: Terminal, names: Names) -> None:
    for command in (
        f"{names.sleeper('job')} 300 &",
        f"nohup {names.sleeper('nohup')} 300 >/dev/null 2>&1 &",
    ):
        result = await terminal.send(command)
        assert how(result) == PROMPT
        assert result.exit_code == 0
    assert await until(lambda: names.alive() == ["job", "nohup"])
    await terminal.close()
    assert names.alive() == []


# Reasons.


@pytest.mark.rule("N2", "N14")
async def test_a_deadline_is_a_timeout_and_the_command_runs_on(terminal: Terminal, gate: Gate) -> None:
    result = await terminal.send(f"read < {gate}; echo do''ne", timeout=0.1)
    assert (result.wait_reason, result.evidence, result.exit_code) == ("timeout", "deadline", None)
    waiting = terminal.start_send("", submit=False)
    assert await settled_within(waiting, 0.1) is None
    await gate.open()
    result = await waiting.done
    assert how(result) == PROMPT
    assert (result.exit_code, result.output) == (0, "done\n")


@pytest.mark.rule("N2")
async def test_silence_is_inferred_and_nothing_more(terminal: Terminal, gate: Gate) -> None:
    result = await terminal.send(f"echo one; read < {gate}; echo two", idle_silence=0.2)
    assert (result.wait_reason, result.evidence, result.waiting_for) == ("inferred_idle", "silence", None)
    assert "one" in result.viewport
    await gate.open()
    result = await terminal.send("", submit=False)
    assert how(result) == PROMPT


@pytest.mark.rule("N14")
async def test_waiting_on_at_a_prompt_settles_at_once(terminal: Terminal) -> None:
    await terminal.send("true")
    result = await terminal.send("", submit=False)
    assert how(result) == PROMPT
    assert result.exit_code is None


@pytest.mark.rule("N14", "N2")
async def test_waiting_on_after_the_exit_is_refused_or_settled_as_exit(terminal: Terminal, gate: Gate) -> None:
    await terminal.send(f"read < {gate}; exit 4", timeout=0.1)
    waiting = terminal.start_send("", submit=False)
    await gate.open()
    result = await waiting.done
    assert (result.wait_reason, result.session_status) == ("session_exit", Exited(4))


# What is typed.


@pytest.mark.rule("N1")
async def test_without_submit_nothing_is_added(terminal: Terminal, raw_reader: str) -> None:
    assert await typed(terminal, f"{raw_reader} ''", "ab\x01\x1b\tc\n;\r", submit=False) == b"ab\x01\x1b\tc\n;\r"


@pytest.mark.rule("N1", "in-6")
async def test_text_arrives_as_sent(terminal: Terminal, raw_reader: str) -> None:
    text = "a;b!c~\t\x1bé漢字👨‍👩‍👧;"
    assert await typed(terminal, f"{raw_reader} ''", text) == f"{text}\r".encode()


@pytest.mark.rule("N1")
def test_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        TerminalSendRequest("a\0b")


@pytest.mark.rule("N1", "in-5")
async def test_multi_line_text_is_pasted_where_it_is_asked_for(terminal: Terminal, raw_reader: str) -> None:
    got = await typed(terminal, f"{raw_reader} '\\x1b[?2004h'", "one\ttwo\nthree")
    assert got.replace(b"\n", b"\r") == b"\x1b[200~one\ttwo\rthree\x1b[201~\r"


@pytest.mark.rule("N1", "in-5")
@pytest.mark.parametrize("text", ["a\nb\x1b[201~c", "a\nb\x03c"])
async def test_control_characters_are_never_pasted(terminal: Terminal, raw_reader: str, text: str) -> None:
    assert await typed(terminal, f"{raw_reader} '\\x1b[?2004h'", text) == f"{text}\r".encode()


@pytest.mark.rule("N1", "in-5")
async def test_one_line_is_typed_not_pasted(terminal: Terminal, raw_reader: str) -> None:
    assert await typed(terminal, f"{raw_reader} '\\x1b[?2004h'", "abc") == b"abc\r"


@pytest.mark.rule("in-5", "end-5")
async def test_lines_at_a_prompt_that_takes_pastes_all_run(terminal: Terminal) -> None:
    await terminal.send("bind 'set enable-bracketed-paste on'")
    result = await terminal.send("for i in 1 2; do\n\techo n$i\ndone")
    assert result.output is not None
    assert result.output.split() == ["n1", "n2"]


@pytest.mark.rule("N13", "in-1")
async def test_a_line_that_the_kernel_would_cut_is_refused(terminal: Terminal, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    assert how(await terminal.send(f"cat > {taken}")) == LINE
    with pytest.raises(TerminalError) as refused:
        terminal.start_send("x" * 5000)
    assert refused.value.code == "INPUT_REFUSED"
    assert "5000" in str(refused.value)
    assert "4095" in str(refused.value)
    await terminal.press("Ctrl-D")
    assert (await terminal.send("", submit=False)).exit_code == 0
    assert taken.read_bytes() == b""


@pytest.mark.rule("N13", "in-2")
async def test_a_long_line_at_the_prompt_arrives_whole(terminal: Terminal) -> None:
    result = await terminal.send(f"echo {'a' * 20_000} | wc -c")
    assert (result.exit_code, result.output) == (0, "20001\n")


@pytest.mark.rule("N13", "in-3")
async def test_a_megabyte_of_lines_arrives_to_the_byte(terminal: Terminal, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    assert how(await terminal.send(f"cat > {taken}")) == LINE
    text = "\n".join(f"{number:07d} {'abcdefgh' * 7}" for number in range(1_000_000 // 65))
    assert how(await terminal.send(text)) == LINE
    await terminal.press("Ctrl-D")
    assert (await terminal.send("", submit=False)).exit_code == 0
    assert taken.read_text() == f"{text}\n"


@pytest.mark.rule("N4")
async def test_half_a_line_leaves_the_old_wait_as_proof(terminal: Terminal) -> None:
    assert how(await terminal.send("cat")) == LINE
    assert how(await terminal.send("ab", submit=False)) == LINE
    result = await terminal.send("c")
    assert how(result) == LINE
    assert "abc" in terminal.read().text.splitlines()


# Deltas.


@pytest.mark.rule("N10")
async def test_lines_are_delivered_once_and_rewritten_ones_again(terminal: Terminal, tmp_path: Path) -> None:
    gate, last = Gate(tmp_path), Gate(tmp_path, "last")
    operation = terminal.start_send(f"echo li''ne; printf '10%%'; read < {gate}; printf '\\r20%%'; read < {last}; echo")
    seen = ""
    while not seen.endswith("10%"):
        await operation.wait_output()
        seen += operation.read_output().delta
    assert "line\n10%" in seen
    await gate.open()
    await operation.wait_output()
    assert operation.read_output().delta == "\r20%"
    assert operation.read_output().delta == ""
    await last.open()
    result = await operation.done
    rest = operation.read_output().delta
    assert "line" not in rest + result.viewport
    assert result.output == "line\n20%\n"


@pytest.mark.rule("N10")
async def test_wait_output_returns_when_the_send_has_settled(terminal: Terminal) -> None:
    operation = terminal.start_send("true")
    await operation.done
    operation.read_output()
    await operation.wait_output()
    assert operation.read_output().delta == ""
    assert operation.cancel() is False


@pytest.mark.rule("N10", "out-7")
async def test_a_delta_keeps_the_newest_and_says_that_it_lost() -> None:
    async with bash(max_output=4096) as terminal:
        operation = terminal.start_send("seq 20000")
        result = await operation.done
        assert result.truncated
        assert "20000" in result.viewport
        assert len(result.viewport.encode()) <= 4096 + 256
        assert result.output is not None
        assert result.output.endswith("19999\n20000\n")


# Output.


@pytest.mark.rule("out-1", "R4")
async def test_a_counter_that_rewrites_itself_is_one_line(terminal: Terminal) -> None:
    result = await terminal.send("for i in $(seq 100); do printf '\\r%d%%' $i; done; echo")
    assert result.output == "100%\n"


@pytest.mark.rule("out-2")
@pytest.mark.parametrize("start", ["P", "_", "^", "X"])
async def test_control_strings_neither_leak_nor_eat(terminal: Terminal, start: str) -> None:
    result = await terminal.send(f"printf 'a\\033{start}q#0~~\\033\\\\b\\n'")
    assert result.output == "ab\n"


@pytest.mark.rule("out-2")
async def test_a_hundred_kilobytes_of_title_do_not_leak(terminal: Terminal) -> None:
    result = await terminal.send("printf 'a\\033]0;'; head -c 100000 /dev/zero | tr '\\0' x; printf '\\007b\\n'")
    assert result.output == "ab\n"


@pytest.mark.rule("out-3", "R4")
async def test_a_wrapped_line_is_one_line(terminal: Terminal) -> None:
    result = await terminal.send("printf '%0300d\\n' 7")
    assert result.output == f"{'0' * 299}7\n"
    assert f"{'0' * 299}7" in terminal.read().text.splitlines()


@pytest.mark.rule("out-4", "R3")
async def test_a_character_cut_in_two_is_one_character(terminal: Terminal, gate: Gate) -> None:
    operation = terminal.start_send(f"printf '\\xf0\\x9f'; read < {gate}; printf '\\x98\\x80\\n'")
    await gate.open()
    assert (await operation.done).output == "😀\n"


@pytest.mark.rule("out-4")
async def test_bad_bytes_are_replaced_one_by_one(terminal: Terminal) -> None:
    result = await terminal.send("printf 'a\\xffb\\xf0\\x9fc\\n'")
    assert result.output == "a\ufffdb\ufffdc\n"


@pytest.mark.rule("out-6", "B3")
async def test_the_tail_before_an_exit_is_not_lost(terminal: Terminal) -> None:
    result = await terminal.send("head -c 20000 /dev/zero | tr '\\0' x; exit")
    assert result.wait_reason == "session_exit"
    assert "x" * 20_000 in terminal.read().text


@pytest.mark.rule("out-8", "R1", "R2", "R5")
async def test_pages_of_a_long_output_are_right() -> None:
    async with bash(scrollback_lines=1000) as terminal:
        result = await terminal.send("seq 50000")
        assert result.exit_code == 0
        newest = terminal.read(count=3)
        assert newest.text.splitlines()[:2] == ["49999", "50000"]
        assert (newest.line_begin, newest.line_end) == (0, 3)
        older = terminal.read(offset=newest.line_end, count=2)
        assert older.text.splitlines() == ["49997", "49998"]
        assert 1000 <= newest.total_lines <= 1024
        oldest = terminal.read(offset=newest.total_lines - 1, count=10)
        assert len(oldest.text.splitlines()) == 1
        past = terminal.read(offset=newest.total_lines + 5)
        assert (past.text, past.line_begin, past.line_end) == ("", newest.total_lines + 5, newest.total_lines + 5)
        gone = terminal.read(from_line=0, count=1)
        assert gone.truncated
        assert gone.first_line > 40_000
        assert terminal.read(from_line=newest.first_line, count=2).text.splitlines() == ["49999", "50000"]


@pytest.mark.rule("out-9")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_output_without_a_line_end_is_exact(shell: str) -> None:
    if dialect_for(needs(shell)).name != shell:
        pytest.skip(f"needs a dialect for {shell}")
    async with bash(shell=shell) as terminal:
        result = await terminal.send("printf hello")
        assert result.output == "hello"


@pytest.mark.rule("out-10")
async def test_mode_switches_are_no_text(terminal: Terminal) -> None:
    await terminal.send("bind 'set enable-bracketed-paste on'")
    result = await terminal.send("echo x")
    text = f"{result.viewport}{result.output}{terminal.read().text}"
    assert "2004" not in text
    assert "\x1b" not in text
