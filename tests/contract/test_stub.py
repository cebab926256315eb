"""The stub of the extension module says what the module has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy.stubtest", reason="needs mypy")


@pytest.mark.timeout(180)
def test_the_stub_is_that_of_the_module() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "kai_terminal._core"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
