"""What a dialect is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType
from typing import Literal, Protocol

#: What a shell can be able to report. `command_start` says that the start of a command's output is marked.
Report = Literal["exit_code", "exit_codes", "cwd", "command", "continuation", "command_start"]

_KEY_DIGITS = 32


@dataclass(frozen=True, slots=True)
class ShellOptions:
    """How the caller wants the shell.

    `startup="clean"` leaves out the user's own start-up files (a file that the shell reads for every user, where it
    cannot be told not to, is read). `env` is the environment that the shell would have without us, or as much of it as
    is known: a dialect that has to occupy a variable (`ENV`, `ZDOTDIR`) looks the value up there and gives it back.
    """

    startup: Literal["user", "clean"] = "user"
    history_expansion: bool = False
    login: bool = False
    env: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a shell.

    - `argv`: the absolute path of the program first.
    - `arg0`: `argv[0]` as the program sees it, where it differs.
    - `env`: merged over the terminal's environment; `None` removes a name.
    - `descriptors`: the bytes that the shell finds on a descriptor: each a pipe of its own, filled and closed at the
      writing end before the shell starts. Less than 60 kB together with nothing read: a Linux pipe takes 64 KiB.
    - `marks`: whether this launch emits marks.
    - `certain`: whether that was seen on the real program; where it was not, its start must not wait for a mark alone.
    - `reports`: what can be known; what is not in it stays `None`.
    """

    argv: tuple[str, ...]
    arg0: str | None = None
    env: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    # The key is among these bytes, so they stay out of `repr`.
    descriptors: Mapping[int, bytes] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    marks: bool = False
    certain: bool = True
    reports: frozenset[Report] = frozenset()


class Dialect(Protocol):
    """One kind of shell."""

    @property
    def name(self) -> str:
        """The dialect's name, for people."""
        ...

    def launch(self, program: str, key: str, options: ShellOptions) -> Launch:
        """How to start `program` (an absolute path) so that its marks carry `key` (32 hexadecimal digits).

        Raises `ValueError` for a key of another form.
        """
        ...


def checked_key(key: str) -> str:
    """`key`, if it has the form that every dialect relies on: it is put into shell text unquoted."""
    if len(key) != _KEY_DIGITS or not all(digit in "0123456789abcdefABCDEF" for digit in key):
        message = "the key of a session's marks is 32 hexadecimal digits"
        raise ValueError(message)
    return key


def start_up_text(name: str) -> bytes:
    """The text of the start-up file `name`, which is part of this package."""
    return files("kai_terminal.shells").joinpath(name).read_bytes()


def fields(*values: str) -> bytes:
    """`values`, each ended by NUL, which none of them can contain in an environment or a key."""
    return b"".join(value.encode("utf-8", "surrogateescape") + b"\0" for value in values)
