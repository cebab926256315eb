"""Wheels, built from the checkout and from an sdist, hold all that is needed and work where there is no Rust.

`make packaging` runs this; building twice in the release profile takes minutes, so `make test` does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from programs import needs

pytestmark = pytest.mark.timeout(1800)

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "kai_terminal"
GUARD = "kai_terminal/_bin/kai-terminal-guard"
BUILT = {"kai_terminal/_core.abi3.so", GUARD}

USE = """
import asyncio, os, shutil
import kai_terminal
from kai_terminal import _core

assert shutil.which("cargo") is None and shutil.which("rustc") is None

async def main():
    async with kai_terminal.open_terminal(shell="bash", startup="clean") as terminal:
        result = await terminal.run("echo works; (exit 3)")
        assert (result.output, result.exit_code) == ("works\\n", 3), result

asyncio.run(main())
guard = str(_core.guard_path())
assert guard.startswith(os.path.dirname(kai_terminal.__file__)), guard
print(kai_terminal.__file__)
"""


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """What the program printed; all of it is in the failure if it did not end with 0."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def package_files() -> set[str]:
    """The files of the Python package that git knows, as they are called in a wheel."""
    listed = run("git", "ls-files", "-z", "--", "python", cwd=ROOT).split("\0")
    return {name.removeprefix("python/") for name in listed if name and (ROOT / name).exists()}


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked sdist."""
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "maturin", "sdist", "--out", folder, cwd=ROOT)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    (source,) = (path for path in folder.iterdir() if path.is_dir())
    return source


@pytest.fixture(scope="session", params=["checkout", "sdist"])
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built as `pip install` builds it."""
    source = ROOT if request.param == "checkout" else request.getfixturevalue("sdist")
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, source, cwd=out)
    (built,) = out.glob("*.whl")
    return Path(built)


def test_an_sdist_carries_every_crate_and_the_locked_versions(sdist: Path) -> None:
    parts = [f":(glob)rust/*/{part}" for part in ("src/**", "Cargo.toml", "build.rs")]
    listed = run("git", "ls-files", "-z", "--", *parts, cwd=ROOT)
    wanted = {name for name in listed.split("\0") if name and (ROOT / name).exists()}
    wanted |= {f"python/{name}" for name in package_files()}
    wanted |= {"Cargo.lock", "Cargo.toml", "pyproject.toml", "README.md", "LICENSE"}
    assert len(wanted) > 100
    assert not sorted(name for name in wanted if not (sdist / name).exists())
    assert (sdist / "Cargo.lock").read_bytes() == (ROOT / "Cargo.lock").read_bytes()


def test_an_sdist_carries_nothing_that_was_built(sdist: Path) -> None:
    built = [path for path in sdist.rglob("*") if path.suffix in {".so", ".pyc", ".whl"} or path.name == "target"]
    assert built == []


def test_a_wheel_holds_the_package_the_module_and_the_guard(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.startswith("kai_terminal/")}
        guard = archive.getinfo(GUARD)
    assert {"kai_terminal/py.typed", "kai_terminal/_core.pyi", "kai_terminal/shells/bash.sh"} <= names
    assert names == package_files() | BUILT
    assert guard.external_attr >> 16 & 0o111 == 0o111
    assert guard.file_size > 10_000


def test_a_wheel_is_for_every_python_from_3_11_on(wheel: Path) -> None:
    assert wheel.name.split("-")[2:4] == ["cp311", "abi3"]
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
        (entries,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("/entry_points.txt"))
        assert any(name.endswith("/licenses/LICENSE") for name in archive.namelist())
    headers = metadata.split("\n\n")[0].splitlines()
    assert "Requires-Python: >=3.11" in headers
    assert not [line for line in headers if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert "kai-terminal=kai_terminal.__main__:main" in entries.replace(" ", "")


def test_a_wheel_works_where_there_is_no_rust(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=tmp_path)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "sh"):
        (programs / name).symlink_to(needs(name))
    env = {"PATH": str(programs), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    used = run(python, "-c", USE, cwd=tmp_path, env=env)
    assert Path(used.strip()).is_relative_to(environment)
    assert os.access(Path(used.strip()).parent / "_bin" / "kai-terminal-guard", os.X_OK)
    # The command is there too, and says what it can do.
    assert "demo" in run(environment / "bin" / "kai-terminal", "--help", cwd=tmp_path, env=env)
