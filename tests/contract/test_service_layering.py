"""Rule S18: the service and what it stands on are bookkeeping, with no terminal mechanics within their reach."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kai_terminal

PACKAGE = Path(kai_terminal.__file__).parent
LOWER_TO_UPPER = [
    ["errors"],
    ["abort"],
    ["_completion"],
    ["agents", "types"],
    ["_protocol", "_checks"],
    ["_closing"],
    ["_sending"],
    ["_registry"],
    ["_spawning"],
    ["_disposal"],
    ["service"],
    ["terminal"],
]
MECHANICS = {"ctypes", "fcntl", "mmap", "os", "pty", "select", "signal", "socket", "subprocess", "termios", "tty"}
# `os` for paths: of a request, and of what `open_terminal` is given.
ALLOWED = {"types": {"os"}, "_spawning": {"os"}, "terminal": {"os"}}


def imports(name: str) -> list[tuple[int, str]]:
    """What a module imports when it runs, not for types alone: the level (0 is absolute) and the module."""
    found: list[tuple[int, str]] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            found.extend((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or ""))
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse((PACKAGE / f"{name}.py").read_text()))
    return found


@pytest.mark.rule("S18")
@pytest.mark.parametrize("rank", range(len(LOWER_TO_UPPER)))
def test_no_module_imports_one_above_it(rank: int) -> None:
    below = {name for names in LOWER_TO_UPPER[:rank] for name in names}
    for name in LOWER_TO_UPPER[rank]:
        for level, module in imports(name):
            if level:
                assert module in below, f"{name} imports {module}, which is not below it"
            else:
                assert module.split(".")[0] not in MECHANICS - ALLOWED.get(name, set()), f"{name} imports {module}"
