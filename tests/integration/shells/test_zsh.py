"""zsh: frameworks, hooks and options, and that nothing of ours shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import Start


@pytest.mark.rule("shell-16", "A7")
def test_history_expansion_is_off_unless_asked_for(start: Start) -> None:
    with start("zsh") as shell:
        shell.ready()
        assert shell.run('echo "c!!d"').output == "c!!d\n"
    with start("zsh", rc="setopt bang_hist") as shell:
        shell.ready()
        shell.run("true")
        assert shell.run('echo "c!!d"').output == "c!!d\n"
    with start("zsh", history_expansion=True) as shell:
        shell.ready()
        shell.run("true")
        assert shell.run('echo "c!!d"').output == "ctrued\n"


@pytest.mark.rule("shell-17", "out-9")
def test_an_unfinished_line_is_neither_marked_nor_padded(start: Start) -> None:
    with start("zsh") as shell:
        shell.ready()
        assert shell.run("echo -n hi").output == "hi"
        assert shell.run("echo $PROMPT_EOL_MARK[1] | wc -c; echo -n $+PROMPT_EOL_MARK").code == 0
        shell.run("PROMPT_EOL_MARK=mine")
        assert shell.run("echo -n hi").output == "hi"
        assert b"mine" in shell.run("echo -n hi").raw
        shell.run("unsetopt prompt_sp")
        assert shell.run("echo hi").output == "hi\n"
        numbers = [mark.number for mark in shell.marks]
        assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.rule("shell-18")
@pytest.mark.parametrize(
    "line",
    [
        "precmd_functions=()",
        "preexec_functions=()",
        "precmd_functions=(); preexec_functions=()",
        "zle -D zle-line-init; preexec_functions=()",
        "mine() { :; }; zle -N zle-line-init mine; preexec_functions=(mine)",
        "precmd() { PS1='new %# '; true }",
        "PS1='%'",
        "PS2='more '; RPS1=right; setopt prompt_subst",
        "setopt ksh_arrays",
        "setopt nounset",
        "setopt sh_word_split glob_subst ksh_glob",
        "IFS=7",
        "setopt all_export",
        "setopt no_clobber warn_create_global",
    ],
)
def test_marks_survive(start: Start, line: str) -> None:
    with start("zsh") as shell:
        shell.ready()
        shell.run(line)
        shell.run("true")
        result = shell.run("(exit 4)")
        assert (result.code, result.stages, result.output) == (4, (4,), "")
        assert result.kinds == "CEDAB"
        assert shell.run("false | true").stages == (1, 0)
        assert shell.text_of("echo 'a").continuation


@pytest.mark.rule("ready-13")
@pytest.mark.parametrize(
    "rc",
    [
        "autoload -Uz add-zsh-hook; f() { PS1='%~ $ ' }; add-zsh-hook precmd f; add-zsh-hook preexec f",
        "precmd_functions=(); precmd() { print -P '%F{red}two lines' }",
        "zle-line-init() { true }; zle -N zle-line-init",
        "autoload -Uz add-zle-hook-widget; f() { true }; add-zle-hook-widget line-init f",
        "autoload -Uz promptinit; promptinit; prompt adam1",
        "autoload -Uz compinit; compinit -D; bindkey -v",
    ],
)
def test_with_a_prompt_framework(start: Start, rc: str) -> None:
    with start("zsh", rc=rc) as shell:
        shell.ready()
        for code in (3, 0, 4):
            result = shell.run(f"(exit {code})")
            assert (result.code, result.output) == (code, "")


def test_a_widget_of_the_users_still_runs(start: Start) -> None:
    with start("zsh", rc="zle-line-init() { (( ++times )) }; zle -N zle-line-init; times=0") as shell:
        shell.ready()
        shell.run("true")
        assert shell.run("echo $times").output == "2\n"


@pytest.mark.rule("shell-7", "shell-8")
@pytest.mark.parametrize("line", ["setopt xtrace", "trap 'echo E' ZERR", "TRAPZERR() { echo E }"])
def test_the_hooks_do_not_show(start: Start, line: str) -> None:
    with start("zsh") as shell:
        shell.ready()
        shell.run(line)
        result = shell.run("(exit 7)")
        assert result.code == 7
        assert b"_kai" not in result.raw
        assert result.raw.count(b"E\r\n") == (1 if "E" in line else 0)


def test_stages_are_unknown_under_a_debug_trap(start: Start) -> None:
    with start("zsh") as shell:
        shell.ready()
        shell.run("trap true DEBUG")
        result = shell.run("false | true")
        assert (result.code, result.stages) == (0, None)


def test_the_last_argument_is_the_users(start: Start) -> None:
    with start("zsh") as shell:
        shell.ready()
        shell.run("true one last")
        assert shell.run("echo $_").output == "last\n"
        shell.run("true | (exit 3)")
        assert shell.run("echo $? $pipestatus").output == "3 0 3\n"


@pytest.mark.parametrize("text", ["echo 100%; true", "echo 'a\tb'", "echo é漢"])
def test_the_text_of_the_command(start: Start, text: str) -> None:
    with start("zsh") as shell:
        shell.ready()
        # Typed tabs complete; a paste keeps them.
        result = shell.run(f"\x1b[200~{text}\x1b[201~")
        assert result.code == 0
        told = [mark.text for mark in result.marks if mark.text]
        assert told == [text.replace("%", "%25").replace(";", "%3B").replace("\t", "%09")]


@pytest.mark.rule("A7")
def test_start_up_files_and_zdotdir(start: Start, home: Path) -> None:
    dots = home / "dots"
    dots.mkdir()
    (dots / ".zshrc").write_text("mine=dots")
    with start("zsh", rc="mine=home") as shell:
        shell.ready()
        assert shell.run("echo $mine ${ZDOTDIR-none}").output == "home none\n"
    with start("zsh", env={"ZDOTDIR": str(dots)}) as shell:
        shell.ready()
        assert shell.run("echo $mine $ZDOTDIR").output == f"dots {dots}\n"
    with start("zsh", startup="clean") as shell:
        shell.ready()
        assert shell.run("echo ${mine-none}; (exit 7)").code == 7
        assert shell.run("echo ${mine-none}").output == "none\n"
    (home / ".zshenv").write_text(f"ZDOTDIR={dots}\nalias builtin=false print=false emulate=false")
    (home / ".zlogin").write_text("exit 9")
    with start("zsh", login=True) as shell:
        shell.ready()
        result = shell.run("echo $mine; [[ -o login ]]")
        assert (result.code, result.output) == (0, "dots\n")


def test_an_exported_end_mark_does_not_carry_the_key(start: Start) -> None:
    with start("zsh") as shell:
        shell.ready()
        shell.run("export PROMPT_EOL_MARK=x; export _kai_key")
        output = shell.run("env").output
        assert output is not None
        assert shell.key not in output
        assert "PROMPT_EOL_MARK=x" in output
