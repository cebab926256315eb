"""fish: events, a prompt function that users replace, and one edit buffer for a whole command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness import Result, Start

# What fish itself writes around a command's output and a screen does not show: modes, the title, colours.
_UNSEEN = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07]*\x07|\x1b\(B")


def shown(result: Result) -> str:
    assert result.output is not None
    return _UNSEEN.sub("", result.output).lstrip("\r")


@pytest.mark.rule("N5", "end-1", "end-4", "end-7", "end-8", "out-9", "end-10", "ready-13")
@pytest.mark.parametrize(
    ("line", "code", "stages", "output"),
    [
        ("true", 0, (0,), ""),
        ("false", 1, (1,), ""),
        ("sh -c 'exit 7'", 7, (7,), ""),
        ("sh -c 'kill -9 $$'; true", 0, (0,), None),
        ("no-such-command", 127, (127,), None),
        ("false | true", 0, (1, 0), ""),
        ("echo hi # comment", 0, (0,), "hi\n"),
        ("echo hi;", 0, (0,), "hi\n"),
        ("printf hello", 0, (0,), "hello"),
        ("sleep 300 >/dev/null 2>&1 &", 0, None, None),
    ],
)
def test_a_command_is_reported(
    start: Start, line: str, code: int, stages: tuple[int, ...] | None, output: str | None
) -> None:
    with start("fish") as shell:
        shell.ready()
        result = shell.run(line)
        assert result.code == code
        assert stages is None or result.stages == stages
        assert output is None or shown(result) == output
        assert shell.run("sh -c 'exit 4'").code == 4
        numbers = [mark.number for mark in shell.marks]
        assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.rule("shell-13")
@pytest.mark.parametrize("line", ["", "# c", "  "])
def test_no_command_no_code(start: Start, line: str) -> None:
    with start("fish") as shell:
        shell.ready()
        assert shell.run("false").code == 1
        assert shell.run(line).code is None
        assert shell.run("sh -c 'exit 3'").code == 3


@pytest.mark.rule("shell-19")
@pytest.mark.parametrize("line", ["cat <<X", "end", "echo )", "begin; end end\rtrue"])
def test_a_rejected_line_is_no_command_and_leaves_nothing(start: Start, line: str) -> None:
    with start("fish") as shell:
        shell.ready()
        result = shell.run(line.partition("\r")[0])
        assert (result.code, result.kinds) == (None, "AB")
        assert "fish: " in result.text
        assert shell.run("true").code == 0
        # The next line may have been typed already.
        result = shell.run(f"{line}\rsh -c 'echo clean; exit 3'", prompts=2 + line.count("\r"))
        assert result.code == 3
        assert shown(result).endswith("clean\n")


@pytest.mark.rule("shell-14")
def test_an_interrupt_of_half_a_line_is_no_command(start: Start) -> None:
    with start("fish") as shell:
        shell.ready()
        for _ in range(3):
            shell.write("half")
            shell.shown("half")
            result = shell.interrupt()
            assert (result.code, result.kinds) == (None, "AB")
        assert shell.run("sh -c 'exit 5'").code == 5


@pytest.mark.rule("ready-6")
@pytest.mark.parametrize(
    "lines", [("begin", "echo", "end"), ("echo \"a 'b", 'c"'), ("true \\", "b"), ("begin; # c", "true \\", "b", "end")]
)
@pytest.mark.parametrize("first", ["true", "fish_vi_key_bindings", "fish_vi_key_bindings; fish_default_key_bindings"])
def test_an_unfinished_command_is_told(start: Start, first: str, lines: tuple[str, ...]) -> None:
    with start("fish") as shell:
        shell.ready()
        shell.run(first)
        for line in lines[:-1]:
            result = shell.text_of(line)
            assert (result.kinds, result.continuation, result.code) == ("P", True, None)
        result = shell.run(lines[-1])
        assert (result.code, result.kinds) == (0, "CDAB")
        shell.text_of(lines[0])
        assert shell.interrupt().kinds == "AB"
        assert shell.run("sh -c 'exit 6'").code == 6


@pytest.mark.rule("ready-6")
@pytest.mark.parametrize("line", ["true # c\\", "true \\\\", "true 'a\\\\'", "\x1b[200~begin\ntrue\nend\x1b[201~"])
def test_a_finished_command_is_never_told_to_be_unfinished(start: Start, line: str) -> None:
    with start("fish") as shell:
        shell.ready()
        result = shell.run(line)
        assert (result.code, result.kinds) == (0, "CDAB")


@pytest.mark.rule("ready-6")
def test_the_users_own_enter_is_left_alone(start: Start) -> None:
    rc = "function mine; set -g times (math $times + 1); commandline -f execute; end; bind \\r mine\n"
    with start("fish", rc=rc) as shell:
        shell.ready()
        assert shown(shell.run("echo $times")) == "1\n"
        assert shell.run("begin\rend").kinds == "CDAB"


@pytest.mark.rule("shell-15", "end-5")
def test_two_lines_typed_ahead_both_run(start: Start) -> None:
    with start("fish") as shell:
        shell.ready()
        result = shell.run("echo a\rsh -c 'echo b; exit 6'", prompts=2)
        assert result.code == 6
        assert "b\n" in shown(result)


@pytest.mark.rule("ready-10")
@pytest.mark.parametrize(
    "line",
    [
        "function fish_prompt; end",
        "function fish_prompt; echo '> '; end",
        "function fish_prompt; printf 'one\\ntwo> '; end",
        "function fish_right_prompt; echo right; end",
        "functions -e fish_prompt",
        "functions -c fish_prompt old; function fish_prompt; old; echo -n '(venv)'; end",
        "fish_vi_key_bindings",
    ],
)
@pytest.mark.parametrize("when", ["start-up", "later"])
def test_any_prompt_is_recognised(start: Start, when: str, line: str) -> None:
    with start("fish", rc=line + "\n" if when == "start-up" else "") as shell:
        shell.ready()
        if when == "later":
            shell.run(line)
        for code in (7, 0):
            result = shell.run(f"sh -c 'exit {code}'")
            assert (result.code, result.kinds) == (code, "CDAB")


@pytest.mark.rule("ready-10")
def test_a_copy_of_the_prompt_that_comes_back(start: Start) -> None:
    with start("fish") as shell:
        shell.ready()
        for _ in range(2):
            shell.run("functions -c fish_prompt old; function fish_prompt; old; echo -n '(venv)'; end")
            result = shell.run("sh -c 'exit 7'")
            assert (result.code, result.kinds) == (7, "CDAB")
            assert result.text.endswith("(venv)")
            shell.run("functions -e fish_prompt; functions -c old fish_prompt; functions -e old")
            result = shell.run("sh -c 'exit 6'")
            assert (result.code, result.kinds) == (6, "CDAB")
            assert "(venv)" not in result.text


@pytest.mark.rule("shell-5")
def test_the_prompt_and_the_next_command_see_the_status(start: Start) -> None:
    with start("fish", rc='function fish_prompt; echo "<$status|$pipestatus>"; end\n') as shell:
        shell.ready()
        assert "<0|1 0>" in shell.run("false | true").text
        assert shown(shell.run("echo $status $pipestatus")) == "0 1 0\n"


@pytest.mark.rule("N12", "ready-12")
def test_the_first_command_200_times(start: Start) -> None:
    for _ in range(200):
        with start("fish") as shell:
            result = shell.run("sh -c 'exit 9'", prompts=2)
            assert result.code == 9
            assert result.kinds.startswith("AB")


@pytest.mark.rule("A7")
@pytest.mark.parametrize("directory", ["with blank", "ä漢", "semi;colon", "$(false)", "100%", "back\\slash"])
def test_the_working_directory_is_told(start: Start, home: Path, directory: str) -> None:
    (home / directory).mkdir()
    with start("fish") as shell:
        assert shell.ready().cwd == str(home)
        escaped = directory.replace("\\", "\\\\")
        assert shell.run(f"cd '{escaped}'").cwd == str(home / directory)


@pytest.mark.rule("shell-10", "N5")
def test_the_key_is_not_to_be_found(start: Start) -> None:
    with start("fish", environment={"__kai_key": "x", "__kai_n": "x"}) as shell:
        shell.ready()
        for look in (
            "env",
            "cat /proc/$fish_pid/environ /proc/$fish_pid/cmdline",
            "functions (functions -an)",
            "set -x",
        ):
            assert shell.key not in shell.run(look).text, look
        # What the pipes held has been read.
        assert shell.run("cat </dev/fd/62 </dev/fd/63").code == 0
        assert shell.key not in shell.run("true").text


@pytest.mark.rule("A7")
def test_start_up(start: Start) -> None:
    with start("fish", rc="set -g mine yes\n", login=True) as shell:
        shell.ready()
        assert shown(shell.run("echo $mine; status is-login; and echo login")) == "yes\nlogin\n"
    with start("fish", startup="clean") as shell:
        shell.ready()
        assert shown(shell.run('echo "no$mine"')) == "no\n"
        assert shell.run("sh -c 'exit 7'").code == 7


def test_the_text_of_the_command(start: Start) -> None:
    with start("fish") as shell:
        shell.ready()
        told = [mark.text for mark in shell.run("echo 100%; true é").marks if mark.text]
        assert told == ["echo%20100%25%3B%20true%20%C3%A9"]


@pytest.mark.rule("end-2")
@pytest.mark.parametrize(("line", "code"), [("exit 5", 5), ("exec true", 0), ("kill -9 $fish_pid", -9)])
def test_the_end_of_the_shell(start: Start, line: str, code: int) -> None:
    with start("fish") as shell:
        shell.ready()
        assert shell.until_exit(line) == code
