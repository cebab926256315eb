"""bash: what its users do to prompts, traps and options, and that they see nothing of the hooks."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import Start

# Lines, one after the other; then `(exit 7)` must be reported, twice, with all its marks.
_REPLACEMENTS = {
    "shell-1": ("PROMPT_COMMAND='PS1=x'",),
    "shell-2": ("unset PROMPT_COMMAND", "true", "PS1='new> '"),
    "array": ("PROMPT_COMMAND=(true)", "true"),
    "appended": ("PROMPT_COMMAND+='; true'",),
    "the-long-way": ('PROMPT_COMMAND="$PROMPT_COMMAND; true"',),
    "in-front": ('PROMPT_COMMAND="true; $PROMPT_COMMAND"',),
    "ps0": ("PS0='starting\\n'",),
    "ps0-unset": ("unset PS0",),
    "ps2": ("PS2='more '",),
    "saved-and-restored": ('old=$PS1; PS1="(venv) $PS1"', "PS1=$old; unset old"),
    "functions-and-aliases": ("builtin_printf() { :; }; alias printf=false local=false return=false",),
    "noclobber": ("set -C",),
    "nounset": ("set -u",),
    "nounset-without-variables": ("set -u; unset PWD PS2",),
    "posix": ("set -o posix",),
    "ifs": ("IFS=7",),
    "glob-options": ("shopt -s nocasematch extglob nullglob failglob; set -f",),
    "ps1-unset": ("unset PS1",),
    "stdout-moved": ("exec 3>&1",),
}


@pytest.mark.rule("shell-1", "shell-2", "shell-6", "ready-10")
@pytest.mark.parametrize("lines", _REPLACEMENTS.values(), ids=_REPLACEMENTS.keys())
def test_marks_survive(start: Start, lines: tuple[str, ...]) -> None:
    with start("bash") as shell:
        shell.ready()
        for line in lines:
            shell.run(line)
        for _ in range(2):
            result = shell.run("(exit 7)")
            assert (result.code, result.stages) == (7, (7,))
            assert result.kinds == "CDAB"
            # What the user's PS0 prints comes before the command's start.
            assert result.output == ""
        assert shell.run("false | true").stages == (1, 0)


@pytest.mark.rule("shell-3")
def test_one_prompt_is_lost_at_most_where_everything_is_replaced(start: Start) -> None:
    with start("bash") as shell:
        shell.ready()
        # The prompt after this line carries nothing, so what comes back first is the next one's.
        shell.write("PROMPT_COMMAND=(true 'PS1=q')\r")
        shell.shown("q")
        result = shell.run("(exit 7)")
        assert result.code == 7
        assert result.kinds == "CCAB"
        result = shell.run("(exit 8)")
        assert (result.code, result.kinds) == (8, "CDAB")


@pytest.mark.rule("shell-5")
def test_prompt_commands_see_the_status(start: Start) -> None:
    with start("bash", rc="PROMPT_COMMAND='echo $? ${PIPESTATUS[*]} $_'") as shell:
        shell.ready()
        result = shell.run("false | true")
        assert result.output == ""
        assert result.raw.count(b"\x070 1 0 ") == 1, result.raw
        assert b"\x073 3 last\r\n" in shell.run("sh -c 'exit 3' last").raw


@pytest.mark.rule("shell-5")
@pytest.mark.parametrize("how", ["PROMPT_COMMAND+='; seen=$?'", 'PROMPT_COMMAND="$PROMPT_COMMAND; seen=\\$?"'])
def test_what_is_appended_sees_the_status(start: Start, how: str) -> None:
    with start("bash") as shell:
        shell.ready()
        shell.run(how)
        shell.run("(exit 7)")
        assert shell.run("echo $seen").output == "7\n"


@pytest.mark.rule("shell-5")
def test_the_next_command_sees_status_stages_and_last_argument(start: Start) -> None:
    with start("bash") as shell:
        shell.ready()
        shell.run("true one last")
        assert shell.run("echo $_").output == "last\n"
        shell.run("true | (exit 3)")
        assert shell.run("echo $? ${PIPESTATUS[*]}").output == "3 0 3\n"


@pytest.mark.rule("shell-7")
def test_the_trace_is_the_users_own(start: Start) -> None:
    with start("bash") as shell:
        shell.ready()
        shell.run("set -x")
        result = shell.run("true")
        assert result.output == "+ true\n"
        assert result.raw.count(b"+ ") == 1


@pytest.mark.rule("shell-8")
@pytest.mark.parametrize("option", ["", "set -E; ", "set -o functrace; "])
def test_an_error_trap_runs_once(start: Start, option: str) -> None:
    with start("bash") as shell:
        shell.ready()
        assert shell.run(option + "trap 'echo E' ERR").code == 0
        result = shell.run("(exit 7)")
        assert result.code == 7
        assert result.raw.count(b"E\r\n") == 1


@pytest.mark.rule("shell-8")
def test_a_debug_trap_shows_nothing_of_the_hooks(start: Start) -> None:
    with start("bash") as shell:
        shell.ready()
        shell.run("trap 'echo \"<$BASH_COMMAND>\"' DEBUG")
        result = shell.run("true word")
        assert result.output == "<true word>\n"
        assert result.raw.count(b"<") == 1


@pytest.mark.rule("shell-9")
def test_without_ifs(start: Start) -> None:
    with start("bash") as shell:
        shell.ready()
        shell.run("IFS=")
        assert shell.run("false | true").stages == (1, 0)


@pytest.mark.rule("shell-6")
@pytest.mark.parametrize(
    "rc",
    [
        "set -u",
        "set -a",
        "set -f",
        "set -C",
        "set -x",
        "shopt -s nocasematch",
        "set -o posix",
        "trap : DEBUG; set -T",
    ],
)
def test_options_in_the_start_up_file(start: Start, rc: str) -> None:
    with start("bash", rc=rc + "\n") as shell:
        shell.ready()
        result = shell.run("(exit 7)")
        assert (result.code, result.kinds) == (7, "CDAB")


@pytest.mark.rule("end-2")
def test_errexit_is_not_set_off_by_the_hooks(start: Start) -> None:
    with start("bash", rc="set -eE; trap 'echo E' ERR") as shell:
        shell.ready()
        for line in (
            "true",
            "",
            "PS1='> '",
            "unset PROMPT_COMMAND",
            "true",
            "shopt -u promptvars",
            "shopt -s promptvars",
        ):
            assert b"E\r\n" not in shell.run(line).raw
        assert shell.until_exit("false") == 1


@pytest.mark.rule("shell-10")
def test_nothing_of_ours_is_exported(start: Start) -> None:
    with start("bash", rc="set -a", environment={"SHELLOPTS": "allexport"}) as shell:
        shell.ready()
        shell.run("PROMPT_COMMAND=()")
        shell.run("true")
        assert shell.run("env | grep -e ^__kai -e ^BASH_FUNC -e '133;'").code == 1
        # Not even for someone who asks for it.
        shell.run("export ${!__kai@}")
        assert shell.run(f"env | grep {shell.key[:16]}''{shell.key[16:]}").code == 1


@pytest.mark.rule("shell-11")
def test_a_bash_inside_shows_nothing_and_its_code(start: Start) -> None:
    with start("bash") as shell:
        shell.ready()
        shell.run("PROMPT_COMMAND='unset -v nothing'; PS1='> '")
        shell.run("export PS1 PS0 PS2 PROMPT_COMMAND")
        shell.write("bash --norc\r")
        shell.shown("> ")
        shell.write("echo in-$((1+1))side; exit 6\r")
        result = shell.run("", end="")
        assert result.code == 6
        assert result.output is not None
        assert "in-2side" in result.output
        assert "kai" not in result.output
        assert "not found" not in result.output


@pytest.mark.rule("shell-13")
def test_a_failed_history_expansion_is_no_command(start: Start) -> None:
    with start("bash", history_expansion=True) as shell:
        shell.ready()
        shell.run("false")
        assert shell.run("!nothing-like-it").code is None


@pytest.mark.rule("A7", "in-6")
def test_history_expansion_is_off_unless_asked_for(start: Start) -> None:
    with start("bash", rc="set -H") as shell:
        shell.ready()
        assert shell.run('echo "c!!d!"').output == "c!!d!\n"


# Does what bash-preexec does, in the same places: an installer in PROMPT_COMMAND that rewrites element 0 at the first
# prompt, a DEBUG trap that is armed by the last element and told by BASH_COMMAND whether the prompt runs.
_PREEXEC = r"""
__bp_install_string=$'trap - DEBUG\n__bp_install'
__bp_install() {
  if [[ "${PROMPT_COMMAND[*]:-}" == *"__bp_precmd_invoke_cmd"* ]]; then return 1; fi
  trap '__bp_preexec_invoke_exec "$_"' DEBUG
  local existing="${PROMPT_COMMAND:-}"
  existing="${existing//$__bp_install_string/:}"
  PROMPT_COMMAND='__bp_precmd_invoke_cmd'
  PROMPT_COMMAND+=${existing:+$'\n'$existing}
  PROMPT_COMMAND+=('__bp_interactive_mode')
  __bp_precmd_invoke_cmd
  __bp_interactive_mode
}
__bp_interactive_mode() { __bp_mode=on; }
__bp_precmd_invoke_cmd() { local r=$?; precmd $r; return $r; }
__bp_in_prompt_command() {
  local IFS=$'\n;' all one
  read -rd '' -a all <<<"${PROMPT_COMMAND[*]:-}"
  for one in "${all[@]}"; do [[ $one == "$1" ]] && return 0; done
  return 1
}
__bp_preexec_invoke_exec() {
  [[ -t 1 ]] || return 0
  [[ -n ${__bp_mode:-} ]] || return 0
  [[ $BASH_SUBSHELL -ne 0 ]] || __bp_mode=
  if __bp_in_prompt_command "$BASH_COMMAND"; then __bp_mode=; return 0; fi
  preexec "$BASH_COMMAND"
}
precmd() { echo "precmd:$1"; }
preexec() { echo "preexec:$1"; }
PROMPT_COMMAND=$__bp_install_string
"""


@pytest.mark.rule("shell-12")
def test_beside_bash_preexec(start: Start) -> None:
    with start("bash", rc=_PREEXEC) as shell:
        shell.ready()
        for line, code in (("true", 0), ("sh -c 'exit 7'", 7), ("echo x | cat", 0), ("sh -c 'exit 3'", 3)):
            result = shell.run(line)
            assert result.code == code
            assert result.raw.count(b"preexec:") == 1
            assert result.raw.count(b"precmd:%d\r\n" % code) == 1
            result = shell.run("")
            assert result.code is None
            assert b"preexec:" not in result.raw
            assert result.raw.count(b"precmd:") == 1


def test_prompts_that_cannot_carry_marks(start: Start) -> None:
    with start("bash") as shell:
        shell.ready()
        result = shell.run("shopt -u promptvars")
        assert b"__kai" not in result.raw
        result = shell.run("(exit 7)")
        assert (result.code, result.kinds) == (None, "AB")
        assert b"__kai" not in result.raw
        shell.run("shopt -s promptvars")
        assert shell.run("(exit 7)").code == 7


@pytest.mark.parametrize("what", ["PS1", "PS2", "PS0", "PROMPT_COMMAND", "PS1 PS2 PS0"])
@pytest.mark.parametrize("when", ["start-up", "later"])
def test_read_only_variables(start: Start, what: str, when: str) -> None:
    with start("bash", rc=f"PS1='$ ' PS0=; readonly {what}" if when == "start-up" else "") as shell:
        shell.ready()
        if when == "later":
            shell.run(f"readonly {what}")
        for _ in range(2):
            result = shell.run("echo out; (exit 7)")
            # Unknown where no mark could be put; never another code.
            lost = when == "start-up" and "PS0" in what
            assert result.code == (None if lost else 7)
            assert b"out\r\n" in result.raw
            assert b"readonly variable" not in result.raw


def test_the_users_file_and_a_clean_start(start: Start, home: Path) -> None:
    with start("bash", rc="mine=yes; declare here=too; alias e=echo") as shell:
        shell.ready()
        assert shell.run("e $mine $here").output == "yes too\n"
    with start("bash", startup="clean") as shell:
        shell.ready()
        assert shell.run("echo ${mine-no}").output == "no\n"


@pytest.mark.parametrize("name", [".bash_profile", ".bash_login", ".profile"])
def test_a_login_shell_reads_the_login_files(start: Start, home: Path, name: str) -> None:
    (home / name).write_text(f"mine={name}\n")
    with start("bash", rc="mine=rc", login=True, env={"ENV": "/caller"}) as shell:
        shell.ready()
        assert shell.run("echo $mine $ENV").output == f"{name} /caller\n"
        assert shell.run("shopt -q login_shell && [[ ! -o posix ]] && ! shopt -q inherit_errexit").code == 0
        assert shell.run("echo $HISTFILE ${POSIXLY_CORRECT-none}").output == f"{home}/.bash_history none\n"
        assert shell.run("(exit 7)").code == 7


def test_bash_called_sh(start: Start, home: Path, tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to("/bin/bash")
    (home / "env").write_text("mine=env")
    with start(str(tmp_path / "sh"), env={"ENV": str(home / "env")}) as shell:
        shell.ready()
        assert shell.run("echo $mine; [ -o posix ]; (exit 7)").output == "env\n"
        assert shell.run("[ -o posix ]").code == 0
        result = shell.run("(exit 7)")
        assert (result.code, result.kinds) == (7, "CDAB")


@pytest.mark.rule("end-9")
def test_a_start_up_file_that_exits(start: Start) -> None:
    with start("bash", rc="echo why; exit 3") as shell:
        assert shell.until_exit("") == 3
        assert b"why" in shell.raw


@pytest.mark.rule("end-5")
def test_a_paste_of_two_commands(start: Start) -> None:
    with start("bash") as shell:
        shell.ready()
        result = shell.run("\x1b[200~echo a\n(echo b; exit 6)\x1b[201~")
        assert (result.code, result.output) == (6, "a\nb\n")


@pytest.mark.rule("N5")
def test_a_redrawn_prompt_repeats_its_numbers(start: Start) -> None:
    with start("bash") as shell:
        shell.ready()
        shell.write("\x0c")
        shell.wait(lambda: len(shell.redrawn) == 2, "prompt that is drawn again")
        assert [mark.number for mark in shell.redrawn] == [1, 2]
        assert [mark.number for mark in shell.run("true").marks] == [3, 4, 5, 6]


@pytest.mark.rule("ready-12")
def test_typed_ahead_200_times(start: Start) -> None:
    with start("bash") as shell:
        shell.ready()
        for round_ in range(200):
            code = round_ % 100
            result = shell.run(f"sh -c 'exit {code}'\rtrue\r(exit {code})", prompts=3)
            assert result.code == code
        numbers = [mark.number for mark in shell.marks]
        assert numbers == list(range(1, len(numbers) + 1))
