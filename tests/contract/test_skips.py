"""A run says which programs it missed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]

RUN = """
import pytest
from programs import needs

def test_one(): needs("sh")
def test_two(): needs("no-such-program")
@pytest.mark.parametrize("number", [1, 2])
def test_three(number): needs("another-that-is-missing")
def test_four(): pytest.skip("for another reason")
"""


def test_programs_that_are_missing_are_counted(tmp_path: Path) -> None:
    (tmp_path / "test_run.py").write_text(RUN)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-c", os.devnull, "--rootdir", tmp_path, tmp_path],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines.count("no-such-program: 1 skipped") == 1
    assert lines.count("another-that-is-missing: 2 skipped") == 1
    assert sum(line.endswith(" skipped") for line in lines) == 2
    assert "1 passed, 4 skipped" in lines[-1]
