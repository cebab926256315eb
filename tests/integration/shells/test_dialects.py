"""What every dialect with marks does alike. The dialect is a parameter, and so is what it can know."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import Start

_HOOKED = ["bash", "zsh"]
_PROMPT_ONLY = ["dash", "busybox", "mksh", "ksh93", "yash"]
_SHELLS = _HOOKED + _PROMPT_ONLY
_WITH_SECONDARY_PROMPT = [*_HOOKED, "dash", "busybox", "yash"]


@dataclass(frozen=True, slots=True)
class Case:
    """A command line and what must be reported, as far as the shell can know it."""

    id: str
    line: str
    code: int | None
    output: str | None = ""
    stages: tuple[int, ...] | None = None


_CASES = [
    Case("end-1", "true", 0),
    Case("end-1", "false", 1),
    Case("end-1", "(exit 7)", 7),
    Case("end-1", "sh -c 'kill -9 $$'", 137, None),
    Case("end-1", "no-such-command 2>/dev/null", 127, None),
    Case("end-4", "false | tail -1", 0, stages=(1, 0)),
    Case("end-7", "echo hi # comment", 0, None),
    Case("end-7", "echo hi;", 0, "hi\n"),
    Case("end-8", "sleep 300 >/dev/null 2>&1 &", 0, None),
    Case("out-9", "printf hello", 0, "hello"),
    Case("ready-11", "printf '$ '", 0, "$ "),
    Case("ready-11", "printf '%s\\n' '> ' Password:", 0, "> \nPassword:\n"),
]


@pytest.mark.rule("N5", "end-1", "end-4", "end-7", "end-8", "out-9", "out-10", "ready-11")
@pytest.mark.parametrize("case", _CASES, ids=lambda case: f"{case.id}:{case.line}")
@pytest.mark.parametrize("name", _SHELLS)
def test_a_command_is_reported(start: Start, name: str, case: Case) -> None:
    with start(name) as shell:
        shell.ready()
        result = shell.run(case.line)
        # Two have a form of their own for signals.
        signals = {"ksh93": 256, "yash": 384} if "kill -9" in case.line else {}
        assert result.code == (signals[name] + 9 if name in signals else case.code)
        if "command_start" in shell.launch.reports and case.output is not None:
            assert result.output == case.output
        if "exit_codes" in shell.launch.reports and case.stages is not None:
            assert result.stages == case.stages
        # Nothing of it is left for the next.
        assert shell.run("(exit 4)").code == 4


@pytest.mark.rule("shell-13")
@pytest.mark.parametrize("line", ["", "# c", "fi"])
@pytest.mark.parametrize("name", _HOOKED)
def test_no_command_no_code(start: Start, name: str, line: str) -> None:
    with start(name, rc="setopt interactive_comments" if name == "zsh" else "") as shell:
        shell.ready()
        assert shell.run("false").code == 1
        assert shell.run(line).code is None
        assert shell.run("(exit 3)").code == 3


@pytest.mark.rule("shell-14")
@pytest.mark.parametrize("name", _SHELLS)
def test_an_interrupt_of_half_a_line_is_no_command(start: Start, name: str) -> None:
    with start(name) as shell:
        shell.ready()
        shell.write("half a li")
        shell.shown("half a li")
        shell.until_reading()
        code = shell.run("", end="\x03").code
        assert code is None or name in _PROMPT_ONLY
        assert shell.run("(exit 5)").code == 5


@pytest.mark.rule("ready-6")
@pytest.mark.parametrize(
    "lines", [("cat <<EOF", "abc", "EOF"), ("echo \"a 'b", 'c"'), ("for i in 1; do", "echo", "done")]
)
@pytest.mark.parametrize("name", _WITH_SECONDARY_PROMPT)
def test_a_secondary_prompt_is_told(start: Start, name: str, lines: tuple[str, ...]) -> None:
    with start(name) as shell:
        shell.ready()
        for line in lines[:-1]:
            result = shell.text_of(line)
            assert result.continuation
            assert result.code is None
        assert shell.run(lines[-1]).code == 0


@pytest.mark.rule("shell-15", "end-5")
@pytest.mark.parametrize("name", _SHELLS)
def test_two_lines_typed_ahead_both_run(start: Start, name: str) -> None:
    with start(name) as shell:
        shell.ready()
        first = shell.run("echo a\r(echo b; exit 6)", prompts=2)
        assert first.code == 6
        if "command_start" in shell.launch.reports:
            assert first.output is not None
            assert first.output.replace("\x1b[?2004h", "") == "a\nb\n"


@pytest.mark.rule("N5")
@pytest.mark.parametrize("name", _SHELLS)
def test_numbers_have_no_gaps(start: Start, name: str) -> None:
    with start(name) as shell:
        shell.ready()
        for line in ("true", "", "false | true", "fi", "printf x"):
            shell.run(line)
        numbers = [mark.number for mark in shell.marks]
        assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.rule("end-2")
@pytest.mark.parametrize(
    ("line", "code"), [("exit 5", 5), ("exec true", 0), ("kill -9 $$", -9), ("set -e\rfalse", 1)], ids=lambda v: str(v)
)
@pytest.mark.parametrize("name", _SHELLS)
def test_the_end_of_the_shell(start: Start, name: str, line: str, code: int) -> None:
    with start(name) as shell:
        shell.ready()
        assert shell.until_exit(line) == code


@pytest.mark.rule("N12", "ready-12")
@pytest.mark.parametrize("name", _SHELLS)
def test_the_first_command_200_times(start: Start, name: str) -> None:
    for _ in range(200):
        with start(name) as shell:
            # Typed before the shell reads: the start-up prompt must not be taken for this command's.
            result = shell.run("(exit 9)", prompts=2)
            assert result.code == 9
            assert result.kinds.startswith("AB")


@pytest.mark.rule("A7")
@pytest.mark.parametrize(
    "directory", ["plain", "with blank", "ä漢", "semi;colon", "$(false)`false`", "100%", "back\\slash"]
)
@pytest.mark.parametrize("name", _SHELLS)
def test_the_working_directory_is_told(start: Start, home: Path, name: str, directory: str) -> None:
    (home / directory).mkdir()
    with start(name) as shell:
        assert shell.ready().cwd == str(home)
        result = shell.run(f"cd '{directory}'")
        # Two would take the backslash for the beginning of an escape: not known, then.
        assert result.cwd == (None if name in ("busybox", "yash") and "\\" in directory else str(home / directory))


@pytest.mark.rule("N5")
@pytest.mark.parametrize("name", _SHELLS)
def test_a_directory_with_control_characters_is_not_known(start: Start, home: Path, name: str) -> None:
    (home / "x").mkdir()
    (home / "x" / "a\x07\x1b]133;B\x07b").mkdir()
    with start(name) as shell:
        shell.ready()
        result = shell.run("cd x; cd *")
        assert (result.code, result.cwd) == (0, None)
        assert shell.run("cd ..").cwd == str(home / "x")


@pytest.mark.rule("shell-10", "N5")
@pytest.mark.parametrize("name", _SHELLS)
def test_the_key_is_not_to_be_found(start: Start, name: str) -> None:
    with start(name) as shell:
        shell.ready()
        assert shell.key not in repr(shell.launch)
        shell.run("set -a")
        looks = ["env", "tr '\\0' '\\n' </proc/$$/environ", "tr '\\0' ' ' </proc/$$/cmdline", "ls -l /proc/$$/fd"]
        looks += ["typeset -f", 'echo "$PS1$PS2"', "trap", "alias", "export -p"]
        for look in looks:
            assert shell.key not in shell.run(look).text, look


@pytest.mark.rule("ready-9", "shell-22")
@pytest.mark.parametrize("name", _SHELLS)
def test_marks_of_others_are_told_apart(start: Start, name: str) -> None:
    with start(name) as shell:
        shell.ready()
        result = shell.run("printf '\\033]133;D;0\\007\\033]133;A;k=%032d;n=999\\007' 0; (exit 3)")
        assert result.code == 3
        assert shell.foreign == 2


@pytest.mark.rule("ready-10")
@pytest.mark.parametrize("prompt", ["> ", "", "one\ntwo $ ", "\\[\\e[1;32m\\]\\w\\[\\e[0m\\]\\n$ "])
@pytest.mark.parametrize(
    ("name", "when"), [*((name, "start-up") for name in _SHELLS), *((name, "later") for name in _HOOKED)]
)
def test_any_prompt_is_recognised(start: Start, name: str, when: str, prompt: str) -> None:
    assignment = f"PS1='{prompt}'"
    with start(name, rc=assignment if when == "start-up" else "") as shell:
        shell.ready()
        if when == "later":
            shell.run(assignment.replace("\n", "'$'\\n''"))
        result = shell.run("(exit 7)")
        assert result.code == 7
        assert result.kinds.endswith("AB")
