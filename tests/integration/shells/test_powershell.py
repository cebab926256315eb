"""PowerShell, where it is installed: prompt and reading function."""

from __future__ import annotations

import pytest
from harness import Start


@pytest.mark.rule("N5", "end-1", "end-10", "shell-13")
@pytest.mark.parametrize(
    ("line", "code", "kinds"),
    [
        ("$null", 0, "CDAB"),
        ("sh -c 'exit 7'", 7, "CDAB"),
        ("Get-Item /no/such/file", 1, "CDAB"),
        ("sh -c 'exit 7'; Get-Item /no/such/file", 1, "CDAB"),
        ("", None, "AB"),
        ("# c", None, "AB"),
        ("1 +* 1", None, "AB"),
    ],
)
def test_a_command_is_reported(start: Start, line: str, code: int | None, kinds: str) -> None:
    with start("pwsh") as shell:
        shell.ready()
        result = shell.run(line)
        assert (result.code, result.kinds) == (code, kinds)
        assert shell.run("sh -c 'exit 4'").code == 4
        assert shell.run("function prompt { 'new> ' }").code is None
        assert shell.run("sh -c 'exit 5'").code == 5


@pytest.mark.rule("shell-10", "N5")
def test_the_key_is_not_to_be_found(start: Start) -> None:
    with start("pwsh") as shell:
        shell.ready()
        for look in ("env", "$function:prompt", "Get-Variable | Out-String", "Get-Content /proc/$PID/environ"):
            assert shell.key not in shell.run(look).text, look
