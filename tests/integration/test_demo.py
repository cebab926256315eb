"""The demo is right where everything works, and says so where it does not."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from kai_terminal import __main__, demo
from programs import needs


@pytest.mark.rule("S6", "Q1", "Q4", "N2", "N6")
async def test_the_demo_does_the_main_job() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kai_terminal", "demo", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    transcript = out.decode()
    assert (process.returncode, err) == (0, b""), transcript
    assert re.findall(r"^(\d+)\. ", transcript, re.MULTILINE) == list("1234567")
    assert "WRONG" not in transcript
    assert transcript.endswith("\nall as it should be\n")
    assert "output 'hello\\n'" in transcript
    assert transcript.count("FOREIGN_SESSION") == 4
    assert "correct horse" not in transcript


def test_the_demo_fails_where_a_step_gives_the_wrong_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = tmp_path / "bash"
    shell.write_text(f"#!{needs('sh')}\nexit 3\n")
    shell.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(demo, "_DEADLINE", 2.0)
    assert __main__.main(["demo"]) == 1
    transcript = capsys.readouterr().out
    assert transcript.count("\n   WRONG: ") >= 7
    assert transcript.endswith("checks FAILED\n")


def test_without_a_command_the_usage_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        __main__.main([])
    assert end.value.code == 2
    assert "demo" in capsys.readouterr().err
