"""nushell: hooks, and prompts that are drawn again at every key."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from harness import Result, Start

# What nushell itself writes around a command's output and a screen does not show: modes, the title, the directory.
_UNSEEN = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


def shown(result: Result) -> str:
    assert result.output is not None
    return _UNSEEN.sub("", result.output)


def paste(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


@pytest.mark.rule("N5", "end-1", "end-7", "out-9", "end-10", "ready-11")
@pytest.mark.parametrize(
    ("line", "code", "output"),
    [
        ("true", 0, None),
        ("^false", 1, ""),
        ("^sh -c 'exit 7'", 7, ""),
        # Not 127: nushell has a status of its own for it.
        ("no-such-command", 1, None),
        ("^sh -c 'kill -9 $$'", -9, None),
        ("^false | ignore; ^true", 0, None),
        ("^echo hi # comment", 0, "hi\n"),
        ("^echo hi;", 0, "hi\n"),
        ("^printf hello", 0, "hello"),
        ("^printf '$ '", 0, "$ "),
        ("let x =", 1, None),
    ],
)
def test_a_command_is_reported(start: Start, line: str, code: int, output: str | None) -> None:
    with start("nu") as shell:
        shell.ready()
        result = shell.run(line)
        assert result.code == code
        assert result.kinds == "CDAB"
        assert output is None or shown(result) == output
        assert shell.run("^sh -c 'exit 4'").code == 4
        numbers = [mark.number for mark in shell.marks]
        assert numbers == list(range(1, len(numbers) + 1))
        assert not shell.foreign


@pytest.mark.rule("shell-13")
@pytest.mark.parametrize("line", ["", "# c", "  ", paste("# c\n\n# d")])
def test_no_command_no_code(start: Start, line: str) -> None:
    with start("nu") as shell:
        shell.ready()
        assert shell.run("^false").code == 1
        assert shell.run(line).code is None
        assert shell.run("^sh -c 'exit 3'").code == 3


@pytest.mark.rule("shell-14")
def test_an_interrupt_of_half_a_line_is_no_command(start: Start) -> None:
    with start("nu") as shell:
        shell.ready()
        shell.write("half")
        # Drawn again for each key.
        shell.wait(lambda: len(shell.redrawn) >= 4, "echo")
        assert shell.run("", end="\x03").code is None
        assert shell.run("^sh -c 'exit 5'").code == 5


@pytest.mark.rule("ready-6")
def test_a_command_of_several_lines_is_one(start: Start) -> None:
    with start("nu") as shell:
        shell.ready()
        result = shell.run(paste("if true {\n  ^sh -c 'echo a; exit 6'\n}"))
        assert (result.code, result.kinds, shown(result)) == (6, "CDAB", "a\n")
        shell.write("if true {\r")
        shell.shown("::: ")
        result = shell.run("^sh -c 'exit 5' }")
        assert (result.code, result.kinds) == (5, "CDAB")


@pytest.mark.rule("shell-15", "end-5")
def test_two_lines_typed_ahead_both_run(start: Start) -> None:
    with start("nu") as shell:
        shell.ready()
        result = shell.run("^echo a\r^sh -c 'echo b; exit 6'", prompts=2)
        assert result.code == 6
        assert "b\n" in shown(result)


@pytest.mark.rule("ready-10")
@pytest.mark.parametrize(
    "line",
    [
        "$env.PROMPT_INDICATOR = 'new> '",
        "$env.PROMPT_INDICATOR = {|| 'new> ' }",
        "$env.PROMPT_INDICATOR = ''",
        "hide-env PROMPT_INDICATOR",
        "$env.PROMPT_COMMAND = {|| $'(char nl)two> ' }",
        "let old = $env.PROMPT_INDICATOR; $env.PROMPT_INDICATOR = {|| $'v(do $old)' }",
        "$env.TRANSIENT_PROMPT_COMMAND = 't'; $env.TRANSIENT_PROMPT_INDICATOR = 'u'",
        "$env.config.edit_mode = 'vi'",
        "$env.config.hooks.pre_prompt = ($env.config.hooks.pre_prompt | append {|| ^false; print mine })",
        "$env.config.hooks.pre_execution = ($env.config.hooks.pre_execution | append {|| print mine })",
    ],
)
@pytest.mark.parametrize("when", ["start-up", "later"])
def test_any_prompt_is_recognised(start: Start, when: str, line: str) -> None:
    if "do $old" in line and when == "start-up":
        line = line.replace("$env.PROMPT_INDICATOR;", "'> ';").replace("(do $old)", "($old)")
    with start("nu", rc=line + "\n" if when == "start-up" else "") as shell:
        shell.ready()
        if when == "later":
            shell.run(line)
        for code in (7, 0):
            result = shell.run(f"^sh -c 'exit {code}'")
            assert (result.code, result.kinds) == (code, "CDAB")


@pytest.mark.rule("shell-5")
def test_the_prompt_and_the_next_command_see_the_status(start: Start) -> None:
    with start("nu", rc="$env.PROMPT_COMMAND = {|| $'<($env.LAST_EXIT_CODE)>' }\n") as shell:
        shell.ready()
        assert "<7>" in _UNSEEN.sub("", shell.run("^sh -c 'exit 7'").text)
        assert shown(shell.run("print $env.LAST_EXIT_CODE")) == "7\n"


@pytest.mark.rule("N12", "ready-12")
@pytest.mark.timeout(180)
def test_the_first_command_200_times(start: Start) -> None:
    for _ in range(200):
        with start("nu") as shell:
            result = shell.run("^sh -c 'exit 9'", prompts=2)
            assert result.code == 9
            assert result.kinds.startswith("AB")


@pytest.mark.rule("A7")
@pytest.mark.parametrize("directory", ["with blank", "ä漢", "semi;colon", "$(false)", "100%", "back\\slash"])
def test_the_working_directory_is_told(start: Start, home: Path, directory: str) -> None:
    (home / directory).mkdir()
    (home / "a\nb").mkdir()
    with start("nu") as shell:
        assert shell.ready().cwd == str(home)
        assert shell.run(f"cd '{directory}'").cwd == str(home / directory)
        result = shell.run(r'cd "../a\nb"')
        assert (result.code, result.cwd) == (0, None)


@pytest.mark.rule("shell-26", "shell-10", "N5")
def test_the_key_is_not_to_be_found(start: Start) -> None:
    with start("nu") as shell:
        shell.ready()
        for look in (
            "^env",
            "open --raw $'/proc/($nu.pid)/environ'",
            "open --raw $'/proc/($nu.pid)/cmdline'",
            "$env | table --expand --width 1000",
            "$env.config.hooks.pre_prompt | each {|hook| view source $hook }",
            "$env.config | to nuon --serialize",
            "view source $env.PROMPT_INDICATOR",
            "scope variables | table --expand --width 1000",
        ):
            result = shell.run(look)
            assert result.code == 0, look
            assert shell.key not in result.text, look
        # What the pipes held has been read.
        assert shell.run("^cat /dev/fd/62 /dev/fd/63").code == 0
        assert shell.key not in shell.run("true").text
        # Nothing of ours is among a child's variables.
        assert "__kai" not in shown(shell.run("^env"))


@pytest.mark.rule("shell-11")
def test_a_shell_inside_shows_nothing_and_its_code(start: Start) -> None:
    with start("nu", rc="$env.config.show_banner = false\n") as shell:
        shell.ready()
        shell.write(f"^'{shell.program}' -n\r")
        # Its own marks carry no key.
        shell.wait(lambda: shell.foreign > 0, "prompt of the shell inside")
        result = shell.run("exit 6")
        assert result.code == 6
        assert result.kinds == "CDAB"


@pytest.mark.rule("A7")
def test_start_up(start: Start) -> None:
    with start("nu", rc="const mine = 'yes'\n$env.mine = 'env'\n", login=True) as shell:
        shell.ready()
        assert shown(shell.run("print $mine $env.mine $nu.is-login")) == "yes\nenv\ntrue\n"
    with start("nu", startup="clean") as shell:
        shell.ready()
        assert shown(shell.run("print ($env.mine? | default no)")) == "no\n"
        assert shell.run("^sh -c 'exit 7'").code == 7


def test_the_text_of_the_command(start: Start) -> None:
    with start("nu") as shell:
        shell.ready()
        line = "print 'a;b' 100% é # c"
        told = [mark.text for mark in shell.run(line).marks if mark.text]
        assert [unquote(text) for text in told] == [line]
        assert ";" not in told[0]
        long = shell.run(paste(f"print '{'x' * 5000}'"))
        assert [mark.text for mark in long.marks if mark.kind == "C"] == [None]


@pytest.mark.rule("end-2")
@pytest.mark.parametrize(("line", "code"), [("exit 5", 5), ("exec true", 0), ("^kill -9 $nu.pid", -9)])
def test_the_end_of_the_shell(start: Start, line: str, code: int) -> None:
    with start("nu") as shell:
        shell.ready()
        assert shell.until_exit(line) == code
