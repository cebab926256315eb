"""Which shell is found, which dialect it speaks, and what a launch says."""

from __future__ import annotations

from pathlib import Path

import pytest

from kai_terminal.shells import ShellOptions, dialect_for, find_shell

KEY = "0123456789abcdef" * 2


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/true\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.rule("A7")
def test_a_name_is_searched_in_the_path_of_the_given_environment(tmp_path: Path) -> None:
    found = program(tmp_path / "bin" / "mysh")
    assert find_shell("mysh", {"PATH": f"/nowhere:{tmp_path / 'bin'}"}) == found
    assert find_shell(found, {}) == found


@pytest.mark.rule("A7")
def test_without_a_shell_it_is_the_users(tmp_path: Path) -> None:
    found = program(tmp_path / "mysh")
    assert find_shell(None, {"SHELL": found}) == found
    assert find_shell(None, {"SHELL": str(tmp_path / "gone")}) in ("/bin/bash", "/bin/sh")
    assert find_shell(None, {}) in ("/bin/bash", "/bin/sh")


@pytest.mark.rule("end-9")
@pytest.mark.parametrize("shell", ["no-such-shell", "/nowhere/no-such-shell"])
def test_a_missing_shell_is_named_with_where_it_was_looked_for(shell: str) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        find_shell(shell, {"PATH": "/one:/two"})
    assert shell in str(raised.value)
    assert "/" in shell or "/one:/two" in str(raised.value)


@pytest.mark.rule("end-9")
def test_a_directory_or_a_plain_file_is_no_shell(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("")
    for path in (tmp_path, tmp_path / "text"):
        with pytest.raises(FileNotFoundError):
            find_shell(str(path), {})


@pytest.mark.rule("end-10")
def test_the_dialect_is_that_of_the_file_behind_the_link(tmp_path: Path) -> None:
    program(tmp_path / "bash")
    (tmp_path / "sh").symlink_to("bash")
    assert dialect_for(str(tmp_path / "sh")).name == "bash"


@pytest.mark.rule("end-10")
def test_of_an_unknown_shell_nothing_is_promised() -> None:
    launch = dialect_for("/opt/oddsh").launch("/opt/oddsh", KEY, ShellOptions(login=True))
    assert (launch.argv, launch.arg0) == (("/opt/oddsh",), "-oddsh")
    assert not launch.marks
    assert launch.reports == frozenset()
    assert not launch.descriptors


@pytest.mark.rule("N5")
@pytest.mark.parametrize("key", ["", "0" * 31, "0" * 33, "g" * 32, "0" * 31 + "\n", "٣" * 32])
def test_only_hexadecimal_keys_get_into_shell_text(key: str) -> None:
    with pytest.raises(ValueError, match="32 hexadecimal"):
        dialect_for("/bin/bash").launch("/bin/bash", key, ShellOptions())


@pytest.mark.rule("N5")
@pytest.mark.parametrize(
    "name", ["bash", "zsh", "dash", "ash", "busybox", "mksh", "ksh93", "ksh", "yash", "fish", "nu", "pwsh"]
)
@pytest.mark.parametrize("login", [False, True])
def test_the_key_is_on_a_descriptor_only(name: str, login: bool) -> None:
    launch = dialect_for(f"/opt/{name}").launch(f"/opt/{name}", KEY, ShellOptions(login=login))
    assert launch.marks
    assert KEY not in repr(launch)
    assert KEY not in repr((launch.argv, launch.arg0, launch.env))
    assert sum(content.count(KEY.encode()) for content in launch.descriptors.values()) == 1
    assert all(len(content) < 60_000 for content in launch.descriptors.values())


@pytest.mark.rule("end-10", "A7")
def test_powershell_reads_login_first_and_its_profiles_unless_clean() -> None:
    dialect = dialect_for("/opt/pwsh")
    assert dialect.name == "powershell"
    argv = dialect.launch("/opt/pwsh", KEY, ShellOptions(login=True, startup="clean")).argv
    assert argv[:5] == ("/opt/pwsh", "-Login", "-NoProfile", "-NoExit", "-Command")
    assert dialect.launch("/opt/pwsh", KEY, ShellOptions()).argv[1] == "-NoExit"
