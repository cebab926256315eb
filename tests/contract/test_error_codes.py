"""The documented codes and the enumerated ones are the same."""

from __future__ import annotations

import re
from pathlib import Path

from kai_terminal import TerminalErrorCode, _core

ERRORS = Path(__file__).parents[2] / "docs" / "errors.md"


def documented() -> dict[str, list[str]]:
    rows = [line.split("|")[1:-1] for line in ERRORS.read_text().splitlines() if re.match(r"\| `[A-Z_]+` \|", line)]
    return {cells[0].strip().strip("`"): [cell.strip() for cell in cells[1:]] for cells in rows}


def test_every_code_is_documented_and_every_documented_code_exists() -> None:
    assert list(documented()) == [code.value for code in TerminalErrorCode]


def test_every_code_says_what_happened_and_what_to_do() -> None:
    for code, cells in documented().items():
        assert len(cells) == 2, code
        assert all(len(cell) > 20 for cell in cells), code


def test_the_contracts_codes_come_first() -> None:
    contract = (Path(__file__).parents[2] / "docs" / "contract.md").read_text()
    row = next(line for line in contract.splitlines() if line.startswith("| `TerminalErrorCode`"))
    named = re.findall(r"[A-Z]+(?:_[A-Z]+)+", row)
    assert [code.value for code in TerminalErrorCode][: len(named)] == named


def test_what_the_core_raises_is_among_them() -> None:
    codes = _core.error_codes()
    assert codes
    assert len(set(codes)) == len(codes)
    assert set(codes) <= {code.value for code in TerminalErrorCode}
