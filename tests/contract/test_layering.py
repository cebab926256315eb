"""The arrows between the layers run one way.

State decides, sys touches, session moves, the binding translates, the service authorises.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUST = ROOT / "rust"
PYTHON = ROOT / "python" / "kai_terminal"
CORE = RUST / "kai-terminal" / "src"

# Where a Rust file may not reach, by the folder it lives in: patterns that must not stand in its `use` lines or paths.
FORBIDDEN_IN_RUST: dict[Path, tuple[str, ...]] = {
    RUST / "kai-terminal-screen" / "src": (
        r"\bkai_terminal\b",
        r"\btokio\b",
        r"\blibc\b",
        r"\brustix\b",
        r"\bpyo3\b",
        r"\bstd::(fs|net|process|time)\b",
    ),
    RUST / "kai-terminal-guard" / "src": (r"\bkai_terminal\b", r"\btokio\b", r"\brustix\b", r"\bpyo3\b"),
    CORE / "state": (
        r"\bcrate::session\b",
        r"\bsys::(linux|portable)\b",
        r"\btokio\b",
        r"\blibc\b",
        r"\brustix\b",
        r"\bInstant::now\b",
        r"\bpyo3\b",
    ),
    CORE / "sys": (r"\bcrate::(session|state)\b", r"\btokio\b", r"\bpyo3\b", r"\bkai_terminal_screen\b"),
    CORE / "session": (r"\bpyo3\b", r"\brustix\b"),
}

# What may import the extension module and what stands on it.
ABOVE_THE_SERVICE = {"_core", "_crossing", "_shapes", "backend", "demo", "shells", "environment", "screen", "__main__"}
SERVICE = {
    "_checks",
    "_closing",
    "_completion",
    "_disposal",
    "_protocol",
    "_registry",
    "_sending",
    "_spawning",
    "abort",
    "agents",
    "errors",
    "service",
    "types",
}


def rust_arrows(source: str, forbidden: tuple[str, ...]) -> Iterator[str]:
    """The lines outside tests and comments that reach where they must not."""
    code = source.split("#[cfg(test)]\nmod tests")[0]
    for line in code.splitlines():
        bare = re.sub(r"//.*", "", line)
        if any(re.search(pattern, bare) for pattern in forbidden):
            yield line.strip()


def python_arrows(source: str) -> Iterator[str]:
    """The modules of this package that a module imports, also those it imports only for type checkers."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            if node.module:
                yield node.module.split(".")[0]
            else:
                yield from (name.name for name in node.names)


@pytest.mark.parametrize("folder", FORBIDDEN_IN_RUST, ids=lambda folder: str(folder.relative_to(RUST)))
def test_no_rust_file_reaches_back(folder: Path) -> None:
    files = sorted(folder.rglob("*.rs"))
    assert files, f"{folder} holds no Rust"
    wrong = {
        str(file.relative_to(ROOT)): arrows
        for file in files
        if (arrows := list(rust_arrows(file.read_text(), FORBIDDEN_IN_RUST[folder])))
    }
    assert not wrong


def test_only_the_binding_names_pyo3() -> None:
    naming = {manifest.parent.name for manifest in RUST.glob("*/Cargo.toml") if "pyo3" in manifest.read_text()}
    assert naming == {"kai-terminal-py"}


@pytest.mark.rule("S18")
@pytest.mark.parametrize("module", sorted(SERVICE))
def test_the_service_knows_no_terminal(module: str) -> None:
    assert ABOVE_THE_SERVICE.isdisjoint(python_arrows((PYTHON / f"{module}.py").read_text()))


def test_every_module_has_a_place_in_the_layers() -> None:
    modules = {path.stem for path in PYTHON.glob("*.py")} - {"__init__", "terminal"}
    assert modules == (SERVICE | ABOVE_THE_SERVICE) - {"_core", "shells"}


@pytest.mark.parametrize("path", sorted((PYTHON / "shells").glob("*.py")), ids=lambda path: path.stem)
def test_the_shells_stand_alone(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level < 2, f"{path.name} imports {node.module} from above"
            assert not (node.module or "").startswith("kai_terminal."), f"{path.name} imports {node.module}"


def test_a_backward_arrow_is_caught() -> None:
    forbidden = FORBIDDEN_IN_RUST[CORE / "state"]
    assert list(rust_arrows("use tokio::time;\n// tokio in a comment\n", forbidden)) == ["use tokio::time;"]
    assert list(rust_arrows("let now = Instant::now();", forbidden)) == ["let now = Instant::now();"]
    assert list(python_arrows("from ._core import Session\nfrom . import backend\n")) == ["_core", "backend"]
