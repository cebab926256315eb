"""The arrows between the layers run one way.

State decides, sys touches, session moves, the binding translates, the service authorises. What a file reaches is read
from its `use` and `import` lines and from the paths in its code; docs/architecture.md draws the layers.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUST = ROOT / "rust"
PYTHON = ROOT / "python" / "kai_terminal"

# ---- Rust ----

DEPENDENCIES = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
CRATES = {name.replace("-", "_") for name in DEPENDENCIES}
WORLD = r"std::(env|fs|net|os|process|thread)\b"
CLOCK = r"std::time::(Instant|SystemTime)::now\b"


@dataclass(frozen=True)
class Layer:
    """Which crates of the workspace's list the files of a folder may name, and which paths they may not."""

    crates: frozenset[str]
    forbidden: tuple[str, ...] = ()
    deep: bool = True


def layer(*crates: str, forbidden: tuple[str, ...] = (), deep: bool = True) -> Layer:
    return Layer(frozenset(crates), forbidden, deep)


RUST_LAYERS = {
    "kai-terminal-screen/src": layer(
        "memchr", "unicode_segmentation", "unicode_width", "vte", forbidden=(WORLD, r"std::time\b")
    ),
    "kai-terminal-guard/src": layer(),
    # Of `sys` the state knows the plain data types, which start with a capital, and nothing that touches anything.
    "kai-terminal/src/state": layer(
        "kai_terminal_screen", forbidden=(r"crate::session\b", r"crate::sys(::(?![A-Z])|$)", WORLD, CLOCK)
    ),
    "kai-terminal/src/sys": layer("libc", "rustix", "thiserror", forbidden=(r"crate::(session|state)\b",)),
    # A provider opens the terminal; all that follows goes through the seam.
    "kai-terminal/src/session": layer(
        "kai_terminal_screen", "libc", "tokio", "tracing", forbidden=(r"crate::sys::(linux|portable)(?!::open$)",)
    ),
    "kai-terminal/src": layer("kai_terminal_screen", "thiserror", deep=False),
    "kai-terminal-py/src": layer("kai_terminal", "pyo3", "rustix", "tokio"),
}


def rust_code(source: str) -> str:
    """The source without comments, the contents of strings, and the tests at its end."""
    kept = re.sub(r'//[^\n]*|"(?:\\.|[^"\\])*"', '""', source)
    return re.split(r"#\[cfg\(test\)\]\s*mod tests\b", kept)[0]


def use_tree(tree: str, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The name that each leaf of a `use` brings in, and its path: `a::{b, c as d}` is (b, a::b) and (d, a::c)."""
    depth, begin = 0, 0
    for index, char in enumerate(tree + ","):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char != "," or depth:
            continue
        part, begin = tree[begin:index].strip(), index + 1
        head, brace, rest = part.partition("{")
        if brace:
            yield from use_tree(rest.rpartition("}")[0], prefix + head.strip())
        elif part:
            path, _, alias = part.partition(" as ")
            path = (prefix + path.strip()).removesuffix("::self")
            yield alias.strip() or path.rpartition("::")[2], path


def absolute(path: str, module: tuple[str, ...]) -> str:
    """The path from the root of the crate, where it is relative to the module."""
    parts = path.split("::")
    if parts[0] not in ("self", "super"):
        return path
    here = list(module)
    while parts and parts[0] in ("self", "super"):
        # Inside a module within a file the root may be passed: that module's own name is not known here.
        if parts.pop(0) == "super" and here:
            here.pop()
    return "::".join(["crate", *here, *parts])


def rust_paths(source: str, module: tuple[str, ...]) -> set[str]:
    """Every path that the code of a module names, with imported names and relative ones spelled out."""
    code = rust_code(source)
    names: dict[str, str] = {}
    found: set[str] = set()
    for tree in re.findall(r"\buse\s+([^;]+);", code):
        for name, path in use_tree(re.sub(r"\s+", " ", tree)):
            names[name] = absolute(path, module)
            found.add(names[name])
    code = re.sub(r"\buse\s+[^;]+;", "", code)
    for path in re.findall(r"(?<![\w:])(?:::)?(\w+(?:::\w+)+)", code):
        first, _, rest = path.partition("::")
        found.add(f"{names[first]}::{rest}" if first in names else absolute(path, module))
    return found


def rust_arrows(source: str, module: tuple[str, ...], rules: Layer) -> list[str]:
    """The paths of a module that its layer may not reach."""
    strangers = CRATES - rules.crates
    return sorted(
        path
        for path in rust_paths(source, module)
        if path.split("::")[0] in strangers or any(re.match(pattern, path) for pattern in rules.forbidden)
    )


def rust_module(file: Path, crate: Path) -> tuple[str, ...]:
    parts = file.relative_to(crate).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


@pytest.mark.parametrize("folder", RUST_LAYERS)
def test_no_rust_file_reaches_back(folder: str) -> None:
    rules = RUST_LAYERS[folder]
    crate = RUST / folder.split("/")[0] / "src"
    files = sorted((RUST / folder).rglob("*.rs") if rules.deep else (RUST / folder).glob("*.rs"))
    files = [file for file in files if "tests" not in rust_module(file, crate)]
    assert files, f"{folder} holds no Rust"
    wrong = {
        str(file.relative_to(ROOT)): arrows
        for file in files
        if (arrows := rust_arrows(file.read_text(), rust_module(file, crate), rules))
    }
    assert not wrong


def test_every_rust_file_has_a_layer() -> None:
    def has_layer(file: Path) -> bool:
        folders = [RUST / folder for folder, rules in RUST_LAYERS.items() if rules.deep]
        folders_alone = [RUST / folder for folder, rules in RUST_LAYERS.items() if not rules.deep]
        return any(file.is_relative_to(folder) for folder in folders) or file.parent in folders_alone

    assert [str(file) for file in RUST.glob("*/src/**/*.rs") if not has_layer(file)] == []


def named_by(crate: str) -> set[str]:
    """The crates of ours whose manifest asks for this one."""
    found: set[str] = set()
    for manifest in RUST.glob("*/Cargo.toml"):
        asked = tomllib.loads(manifest.read_text())
        if crate in {**asked.get("dependencies", {}), **asked.get("dev-dependencies", {})}:
            found.add(manifest.parent.name)
    return found


def test_only_the_binding_names_pyo3_and_the_screen_stands_alone() -> None:
    assert named_by("pyo3") == {"kai-terminal-py"}
    assert named_by("tokio") == {"kai-terminal", "kai-terminal-py"}
    screen = tomllib.loads((RUST / "kai-terminal-screen" / "Cargo.toml").read_text())
    assert not [name for name in screen["dependencies"] if name.startswith("kai-terminal")]
    guard = tomllib.loads((RUST / "kai-terminal-guard" / "Cargo.toml").read_text())
    assert not guard.get("dependencies")


@pytest.mark.parametrize(
    ("code", "arrows"),
    [
        ("use tokio::time;\n// use tokio::net;\n", ["tokio::time"]),
        ("pub(crate) use crate::{book::Book, session::{Session, driver as d}};", ["crate::session::Session"]),
        ("use super::super::session::Session;", ["crate::session::Session"]),
        ("use crate::sys::{Modes, linux::{self, pty}};", ["crate::sys::linux", "crate::sys::linux::pty"]),
        ("use crate::sys;\nfn f() { sys::open(1) }", ["crate::sys", "crate::sys::open"]),
        ("fn f() { ::libc::getpid(); }", ["libc::getpid"]),
        ('fn f() { rustix::fs::open("use tokio::x;") }', ["rustix::fs::open"]),
        ("use std::time::{self, Instant};\nfn f() { Instant::now() }", ["std::time::Instant::now"]),
        ("use std::{io::Read, fs};", ["std::fs"]),
        ("use crate::sys::{Modes, Thread};\nuse super::marks::Key;\nuse std::time::Instant;", []),
        ("fn f() {}\n#[cfg(test)]\nmod tests {\n use tokio::time;\n}", []),
    ],
)
def test_a_backward_arrow_in_rust_is_caught(code: str, arrows: list[str]) -> None:
    found = rust_arrows(code, ("state", "session"), RUST_LAYERS["kai-terminal/src/state"])
    assert [path for path in found if path != "crate::session::driver"] == arrows


# ---- Python ----

# The service and what it stands on, lower to upper; a module imports from the rows before its own alone.
SERVICE = [
    {"errors"},
    {"abort"},
    {"_completion"},
    {"agents", "types"},
    {"_protocol", "_checks"},
    {"_closing"},
    {"_sending"},
    {"_registry"},
    {"_spawning"},
    {"_disposal"},
    {"service"},
    {"terminal"},
]
# What knows terminals: the extension module, the backend on it, and the shells.
MECHANICAL = {"_core", "_crossing", "_shapes", "backend", "environment", "screen", "shells"}
# What stands on both.
ABOVE = {"__init__", "__main__", "demo"}
SYSTEM = {"ctypes", "fcntl", "mmap", "os", "pty", "select", "signal", "socket", "subprocess", "termios", "tty"}
# `os` for paths: of a request, and of what `open_terminal` is given.
ALLOWED = {"types": {"os"}, "_spawning": {"os"}, "terminal": {"os"}}


def python_imports(source: str, *, for_types: bool = True) -> Iterator[str]:
    """The modules that a module imports: ours as `.name`, others by their first name.

    Those that it imports for type checkers alone are left out where `for_types` is false.
    """
    ours = "kai_terminal"

    def visit(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not for_types:
            return
        if isinstance(node, ast.Import):
            for alias in node.names:
                first, _, rest = alias.name.partition(".")
                yield f".{rest.split('.')[0]}" if first == ours else first
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".")
            if node.level == 0 and module[0] != ours:
                yield module[0]
            elif inner := module[1:] if node.level == 0 else [part for part in module if part]:
                yield f"{'.' * max(node.level, 1)}{inner[0]}"
            else:
                yield from (f"{'.' * max(node.level, 1)}{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            yield from visit(child)

    return visit(ast.parse(source))


def read(module: str) -> str:
    return (PYTHON / f"{module}.py").read_text()


def service_arrows(source: str, rank: int) -> list[str]:
    """What a module of the service at this rank imports and may not."""
    below = {f".{name}" for names in SERVICE[:rank] for name in names}
    return [name for name in python_imports(source, for_types=False) if name.startswith(".") and name not in below]


@pytest.mark.rule("S18")
@pytest.mark.parametrize(("rank", "module"), [(rank, name) for rank, names in enumerate(SERVICE) for name in names])
def test_no_module_of_the_service_reaches_back(rank: int, module: str) -> None:
    assert not service_arrows(read(module), rank)
    everything = set(python_imports(read(module)))
    assert not {f".{name}" for name in MECHANICAL | ABOVE} & everything, "not for types either"
    assert not (SYSTEM - ALLOWED.get(module, set())) & everything
    # `open_terminal` makes the backend of a shell by name, when it is called. Nobody else may go round this test.
    assert "importlib" not in everything or module == "terminal"


def test_every_module_has_a_place_in_the_layers() -> None:
    modules = {path.stem for path in PYTHON.glob("*.py")} | {"_core", "shells"}
    assert modules == {name for names in SERVICE for name in names} | MECHANICAL | ABOVE


@pytest.mark.parametrize("path", sorted((PYTHON / "shells").glob("*.py")), ids=lambda path: path.stem)
def test_the_shells_stand_alone(path: Path) -> None:
    inside = {f".{other.stem}" for other in (PYTHON / "shells").glob("*.py")}
    ours = {name for name in python_imports(path.read_text()) if name.startswith(".")}
    assert not ours - inside


@pytest.mark.parametrize("module", sorted(MECHANICAL - {"_core", "shells"}))
def test_the_backend_knows_no_owners(module: str) -> None:
    owners = {"_registry", "_sending", "_spawning", "_closing", "_disposal", "agents", "service", "terminal"}
    assert not {f".{name}" for name in owners | ABOVE} & set(python_imports(read(module)))


def test_a_backward_arrow_in_python_is_caught() -> None:
    reaching = """
from ._core import Session
from . import backend
import kai_terminal.shells
from kai_terminal._crossing import crossing
if TYPE_CHECKING:
    from .service import TerminalSessionService
def f():
    from .errors import TerminalError
"""
    rank = next(rank for rank, names in enumerate(SERVICE) if "_closing" in names)
    assert service_arrows(reaching, rank) == ["._core", ".backend", ".shells", "._crossing"]
    assert ".service" in set(python_imports(reaching))
    assert list(python_imports("from ..types import Exited\nfrom kai_terminal import _core")) == ["..types", "._core"]
