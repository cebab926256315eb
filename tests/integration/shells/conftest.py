"""What the tests of shells share: a home of their own, and the shell by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import Shell, Start

from kai_terminal.shells import ShellOptions
from programs import needs


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home directory; tests put start-up files there."""
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def start(home: Path) -> Start:
    """Makes a shell, by name, with the start-up file `rc`; skips the test where that shell is not installed."""
    names = {
        "bash": ".bashrc",
        "zsh": ".zshrc",
        "fish": ".config/fish/config.fish",
        "nu": ".config/nushell/config.nu",
        "yash": ".yashrc",
    }

    def make(shell: str, rc: str = "", **options: object) -> Shell:
        program = needs(shell)
        if rc:
            file = home / names.get(shell, ".shrc")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(rc)
        if rc and shell not in names:
            options["env"] = {"ENV": str(home / ".shrc")}
        env = options.pop("environment", {})
        assert isinstance(env, dict)
        return Shell(program, home, ShellOptions(**options), env)  # type: ignore[arg-type]

    return make
