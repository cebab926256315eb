"""dash, busybox ash, mksh, ksh93, yash: what an ENV file and PS1 alone can do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness import Start

from programs import needs

_THROUGH_ENV = ["dash", "busybox", "mksh", "ksh93"]
_each = pytest.mark.parametrize("name", [*_THROUGH_ENV, "yash"])
_each_through_env = pytest.mark.parametrize("name", _THROUGH_ENV)


@pytest.mark.rule("end-10", "A7")
@_each_through_env
def test_the_users_files_are_read(start: Start, home: Path, name: str) -> None:
    (home / "env").write_text("mine=env")
    (home / ".profile").write_text(f"profile=yes; ENV={home / 'env'}")
    with start(name, env={"ENV": str(home / "env")}) as shell:
        shell.ready()
        assert f"=env {home / 'env'}=" in shell.run("echo =$mine${profile-} $ENV=").text
    with start(name, login=True) as shell:
        shell.ready()
        assert f"=env yes {home / 'env'}=" in shell.run("echo =$mine $profile $ENV=").text
    with start(name, startup="clean", env={"ENV": str(home / "env")}) as shell:
        shell.ready()
        assert "=none=" in shell.run("echo =${mine-none}=").text


@pytest.mark.rule("end-10")
@_each_through_env
def test_without_env_a_shell_reads_its_own_file(start: Start, home: Path, name: str) -> None:
    (home / ".mkshrc").write_text("mine=mksh")
    (home / ".kshrc").write_text("mine=ksh93")
    with start(name) as shell:
        shell.ready()
        own = name if name in ("mksh", "ksh93") else "none"
        assert f"={own} none=" in shell.run("echo =${mine-none} ${ENV-none}=").text


@pytest.mark.rule("shell-10", "N5")
@_each
def test_the_key_is_not_exported_even_if_its_name_was(start: Start, name: str) -> None:
    with start(name, environment={"kai_key": "x", "kai_a": "x", "kai_n": "x"}, rc="set -a") as shell:
        shell.ready()
        shell.run("PS2=x; true")
        assert shell.key not in shell.run("env; cat /proc/$$/environ").text
        assert shell.run("(exit 7)").code == 7


@pytest.mark.rule("shell-11")
@_each
def test_a_shell_inside_shows_nothing_and_its_code(start: Start, name: str) -> None:
    with start(name, rc="PS1='> '") as shell:
        shell.ready()
        program = f"{shell.program} sh" if name == "busybox" else shell.program
        # A child of the same kind, with our prompt strings in its environment.
        shell.write(f"export PS1 PS2; echo be''gin; {program} -i\r")
        shell.shown("begin\r\n")
        shell.shown("> ")
        shell.write("echo in-$((1+1))side; exit 6\r")
        shell.shown("in-2side")
        result = shell.run("", end="")
        assert result.code == 6
        assert result.text.count("\x1b]133") == 0
        assert result.kinds == "AB"


@pytest.mark.rule("shell-6", "shell-9")
@_each
@pytest.mark.parametrize("rc", ["set -u", "set -f", "IFS=", "IFS=7", "PS1='!# '", "unset PS1 PS2"])
def test_options_in_the_start_up_file(start: Start, name: str, rc: str) -> None:
    with start(name, rc=rc) as shell:
        shell.ready()
        result = shell.run("(exit 7)")
        assert (result.code, result.kinds) == (7, "AB")
        assert shell.run("unset PWD; (exit 3)").code == 3


@pytest.mark.rule("N5")
@_each
@pytest.mark.parametrize("directory", ["a!b", "1!2"])
def test_a_directory_that_a_prompt_could_change_is_right_or_unknown(
    start: Start, home: Path, name: str, directory: str
) -> None:
    (home / directory).mkdir()
    with start(name) as shell:
        shell.ready()
        told = shell.run(f"cd '{directory}'").cwd
        assert told == (None if name == "ksh93" else str(home / directory))


@pytest.mark.rule("end-10", "A7")
def test_yash_has_files_of_its_own(start: Start, home: Path) -> None:
    (home / ".yash_profile").write_text("profile=yes")
    with start("yash", rc="mine=rc", env={"ENV": "/caller"}) as shell:
        shell.ready()
        assert "=rc none /caller=" in shell.run("echo =$mine ${profile-none} $ENV=").text
    with start("yash", login=True) as shell:
        shell.ready()
        assert "=rc yes=" in shell.run("echo =$mine $profile=").text
    with start("yash", startup="clean") as shell:
        shell.ready()
        assert "=none=" in shell.run("echo =${mine-none}=").text
        assert shell.run("(exit 7)").code == 7


@pytest.mark.rule("ready-10")
def test_yash_without_a_file_has_a_prompt_of_its_own(start: Start, home: Path) -> None:
    with start("yash") as shell:
        shell.ready()
        # Its common settings use the variables that go before PS1 and PS2.
        assert "=set set=" in shell.run("echo =${YASH_PS1+set} ${YASH_PS2+set}=").text
        assert shell.run("(exit 7)").code == 7
        assert shell.text_of("echo 'a").continuation


@pytest.mark.rule("end-10", "ready-6")
def test_yash_called_sh(start: Start, home: Path, tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to(needs("yash"))
    (home / "env").write_text("mine=env; PS1='!# '")
    with start(str(tmp_path / "sh"), env={"ENV": str(home / "env")}) as shell:
        assert shell.ready().cwd == str(home)
        assert f"=env {home / 'env'}=" in shell.run("echo =$mine $ENV=").text
        assert re.search("posixlycorrect +on", shell.run("set -o").text)
        assert shell.run("(exit 7)").code == 7
        (home / "1!2").mkdir()
        assert shell.run("cd '1!2'").cwd is None
        assert shell.text_of("echo 'a").continuation
