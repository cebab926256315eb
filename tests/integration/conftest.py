"""Every test here runs real programs, and has to leave nothing of them behind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kai_terminal import Terminal
from programs import Gate, Names, bash, children


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """The host has no child after the test that it had not before."""
    before = children()
    yield
    left = children() - before
    assert not left, f"processes left behind: {left}"


@pytest.fixture
async def terminal() -> AsyncIterator[Terminal]:
    async with bash() as terminal:
        yield terminal


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


@pytest.fixture
def names(tmp_path: Path) -> Iterator[Names]:
    folder = tmp_path / "names"
    folder.mkdir()
    names = Names(folder)
    yield names
    names.end_all()
