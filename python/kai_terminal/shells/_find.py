"""Which program is the shell, and which dialect it speaks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from ._bash import BashDialect
from ._fish import FishDialect
from ._launch import Dialect
from ._nushell import NushellDialect
from ._plain import PlainDialect
from ._posix import PosixDialect
from ._powershell import PowerShellDialect
from ._zsh import ZshDialect

_ASH = PosixDialect("ash", frozenset({"continuation"}))
_KSH93 = PosixDialect("ksh93")
_DIALECTS: Mapping[str, Dialect] = {
    "bash": BashDialect(),
    "zsh": ZshDialect(),
    "fish": FishDialect(),
    "nu": NushellDialect(),
    "pwsh": PowerShellDialect(),
    "dash": PosixDialect("dash", frozenset({"continuation"})),
    "ash": _ASH,
    "busybox": _ASH,
    "mksh": PosixDialect("mksh"),
    "ksh93": _KSH93,
    "ksh": _KSH93,
    "yash": PosixDialect("yash", frozenset({"continuation"})),
}
_FALLBACKS = ("/bin/bash", "/bin/sh")


def dialect_for(program: str) -> Dialect:
    """The dialect of `program`, by the name of the file that it resolves to: `/bin/sh` is whatever it is a link to."""
    return _DIALECTS.get(Path(program).resolve().name, PlainDialect())


def find_shell(shell: str | None, env: Mapping[str, str]) -> str:
    """The absolute path of the shell to start.

    `shell` is a path, or a name that is searched in the `PATH` of `env`. With `None` it is `SHELL` of `env`, then
    `/bin/bash`, then `/bin/sh`. Raises `FileNotFoundError`, which names what was looked for and where.
    """
    if shell is not None:
        return _program(shell, env)
    for candidate in (env.get("SHELL"), *_FALLBACKS):
        if candidate and _is_program(candidate):
            return os.path.abspath(candidate)
    looked_for = ", ".join(filter(None, (env.get("SHELL") and f"$SHELL ({env['SHELL']})", *_FALLBACKS)))
    message = f"no shell found: none of {looked_for} is an executable file"
    raise FileNotFoundError(message)


def _program(shell: str, env: Mapping[str, str]) -> str:
    if "/" in shell:
        if not _is_program(shell):
            message = f"no shell found: {shell} is not an executable file"
            raise FileNotFoundError(message)
        return os.path.abspath(shell)
    path = env.get("PATH", os.defpath)
    found = shutil.which(shell, path=path) if shell else None
    if found is None:
        message = f"no shell found: {shell!r} is not in PATH ({path})"
        raise FileNotFoundError(message)
    return os.path.abspath(found)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
