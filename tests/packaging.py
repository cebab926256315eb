"""Builds a wheel from the checkout and one from an sdist, and uses each in a clean environment without Rust.

`make packaging` runs it. It prints a line a check and exits 1 at the first that is wrong.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

IN_THE_WHEEL = (
    "kai_terminal/_bin/kai-terminal-guard",
    "kai_terminal/_core.pyi",
    "kai_terminal/py.typed",
    "kai_terminal/shells/bash.sh",
)
IN_THE_SDIST = (
    "Cargo.lock",
    "rust/kai-terminal-guard/src/main.rs",
    "rust/kai-terminal-screen/src/lib.rs",
    "rust/kai-terminal/build.rs",
    "rust/kai-terminal-py/src/lib.rs",
    "python/kai_terminal/service.py",
)

USE = """
import asyncio, kai_terminal
async def main():
    async with kai_terminal.open_terminal(shell="bash", startup="clean") as terminal:
        result = await terminal.run("echo works; (exit 3)")
        assert (result.output, result.exit_code) == ("works\\n", 3), result
asyncio.run(main())
from kai_terminal import _core
assert "_bin" in str(_core.guard_path()), _core.guard_path()
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        from_checkout = build_wheel(ROOT, work / "checkout")
        check_wheel(from_checkout)
        use_without_rust(from_checkout, work / "use-checkout")
        run(sys.executable, "-m", "maturin", "sdist", "--out", str(work / "sdist"), cwd=ROOT)
        (sdist,) = (work / "sdist").glob("*.tar.gz")
        source = unpack(sdist, work / "unpacked")
        from_sdist = build_wheel(source, work / "from-sdist")
        check_wheel(from_sdist)
        use_without_rust(from_sdist, work / "use-sdist")
    print("packaging: all as it should be")


def build_wheel(source: Path, out: Path) -> Path:
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(out),
        str(source),
        cwd=out.parent,
    )
    (wheel,) = out.glob("*.whl")
    print(f"built {wheel.name} from {'the checkout' if source == ROOT else 'the sdist'}")
    return wheel


def check_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        missing = [name for name in IN_THE_WHEEL if name not in names]
        assert not missing, f"the wheel lacks {missing}: {names}"
        guard = archive.getinfo(IN_THE_WHEEL[0])
        assert guard.external_attr >> 16 & 0o111, "the guard in the wheel is not executable"


def unpack(sdist: Path, into: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(into, filter="data")
    (source,) = into.iterdir()
    missing = [name for name in IN_THE_SDIST if not (source / name).exists()]
    assert not missing, f"the sdist lacks {missing}"
    return source


def use_without_rust(wheel: Path, folder: Path) -> None:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(str(python), "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel), cwd=folder)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
    run(str(python), "-c", USE, cwd=folder, env=env)
    print("used in a clean environment without Rust")


def run(*command: str, cwd: Path, env: dict[str, str] | None = None) -> None:
    cwd.mkdir(parents=True, exist_ok=True)
    subprocess.run(command, cwd=cwd, env=env or dict(os.environ), check=True)


if __name__ == "__main__":
    main()
