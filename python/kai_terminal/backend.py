"""The backend for shells, and for programs of the caller's own, on this machine."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, cast

from . import _core
from ._crossing import crossing, prepare
from ._shapes import Closed, Exit, Settled
from .environment import terminal_environment
from .errors import TerminalBackendCleanupError, TerminalError, TerminalErrorCode
from .screen import ShellScreen
from .shells import Launch, ShellOptions, dialect_for, find_shell
from .types import (
    Exited,
    Running,
    TerminalBackendSpawnSpec,
    TerminalEvidence,
    TerminalMouseAction,
    TerminalMouseButton,
    TerminalReadRequest,
    TerminalReadResult,
    TerminalSendRead,
    TerminalSendRequest,
    TerminalSendResult,
    TerminalSessionStatus,
    TerminalSignal,
    TerminalSignalResult,
    TerminalWaitingFor,
    TerminalWaitReason,
    check_seconds,
)

__all__ = ["ShellBackend", "ShellSession", "TerminalCloseReceipt", "TerminalReceiptProcess"]


@dataclass(frozen=True, slots=True)
class TerminalReceiptProcess:
    """A process that was still there when the close began, and how it ended where that was seen."""

    pid: int
    command: str
    user: str
    ended: Exited | None


@dataclass(frozen=True, slots=True)
class TerminalCloseReceipt:
    """What a close found and did: the processes besides the top-level one, whether any had to be killed, and how long
    it took in seconds."""

    processes: tuple[TerminalReceiptProcess, ...]
    killed: bool
    duration: float


class ShellBackend:
    """Opens a shell, or the program `argv`, in a terminal of its own; a `TerminalBackend` of type `"shell"`.

    `shell` is a name or a path (`None`: `$SHELL`, else bash, else sh); `argv` is a program instead of a shell. `env` is
    merged over the scrubbed environment, `None` removes a name. Times are in seconds: `startup_timeout` until the shell
    must be ready, `send_timeout` the default limit of a send (`None`: none), `idle_silence` how long output must be
    silent to be taken for idle, `poll_quiet` how long a program that polls must be quiet to be taken for listening (no
    effect yet: polls are not looked at), `grace` how long programs may take to end by themselves at a close.
    `scrollback_lines`, `scrollback_bytes` and `max_output` (bytes of a send's output) bound what is kept.
    `history_expansion` leaves the shell's `!` on; `startup="clean"` leaves out the user's start-up files. `runtime` is
    reserved for another provider of terminals and must be `None`.
    """

    type = "shell"

    def __init__(
        self,
        *,
        shell: str | os.PathLike[str] | None = None,
        argv: Sequence[str | os.PathLike[str]] | None = None,
        env: Mapping[str, str | None] | None = None,
        cols: int = 80,
        rows: int = 24,
        startup_timeout: float = 10.0,
        send_timeout: float | None = None,
        idle_silence: float = 2.0,
        poll_quiet: float = 1.0,
        grace: float = 2.0,
        scrollback_lines: int = 10_000,
        scrollback_bytes: int = 8 * 1024 * 1024,
        max_output: int = 1024 * 1024,
        history_expansion: bool = False,
        startup: Literal["user", "clean"] = "user",
        runtime: None = None,
    ) -> None:
        if shell is not None and argv is not None:
            message = "a terminal runs a shell or a program of yours: give shell or argv, not both"
            raise ValueError(message)
        if argv is not None and (isinstance(argv, (str, bytes)) or not argv):
            message = "argv is the program and its arguments, as a sequence that is not empty"
            raise ValueError(message)
        if startup not in ("user", "clean"):
            message = f"startup is 'user' or 'clean', not {startup!r}"
            raise ValueError(message)
        if runtime is not None:
            message = "another provider of terminals is not supported: leave runtime out"
            raise ValueError(message)
        for name, seconds in (
            ("startup_timeout", startup_timeout),
            ("send_timeout", send_timeout),
            ("idle_silence", idle_silence),
            ("poll_quiet", poll_quiet),
            ("grace", grace),
        ):
            check_seconds(seconds, name)
        for name, least, number in (
            ("scrollback_lines", 0, scrollback_lines),
            ("scrollback_bytes", 0, scrollback_bytes),
            ("max_output", 1, max_output),
        ):
            if number < least:
                message = f"{name} must be at least {least}, not {number}"
                raise ValueError(message)
        _core.check_size(cols, rows)
        self._shell = None if shell is None else os.fspath(shell)
        self._argv = None if argv is None else tuple(os.fspath(part) for part in argv)
        self._env = dict(env or {})
        self._history_expansion = history_expansion
        self._startup: Literal["user", "clean"] = startup
        _check_texts(self._shell, self._argv or (), self._env)
        self._limits: dict[str, Any] = {
            "cols": cols,
            "rows": rows,
            "startup_timeout": startup_timeout,
            "send_timeout": send_timeout,
            "idle_silence": idle_silence,
            "poll_quiet": poll_quiet,
            "grace": grace,
            "scrollback_lines": scrollback_lines,
            "scrollback_bytes": scrollback_bytes,
            "max_output": max_output,
        }

    async def spawn(self, spec: TerminalBackendSpawnSpec) -> ShellSession:
        """Open a session that is ready for input.

        `START_FAILED`, `START_TIMEOUT` and `RESOURCES` say what went wrong and what was printed; nothing is left behind
        then. When `spec.signal` aborts its reason is raised, after cleanup; cancelling is the same. `RuntimeError` on
        an event loop that cannot watch descriptors.
        """
        spec.signal.throw_if_aborted()
        prepare()
        inner = _core.Session.open(self._options(spec))
        try:
            await _unless_aborted(crossing(inner.started), spec)
        except BaseException as error:
            await _roll_back(inner, error)
            raise
        return ShellSession(inner)

    def _options(self, spec: TerminalBackendSpawnSpec) -> dict[str, Any]:
        env = terminal_environment(os.environ, self._env)
        key = secrets.token_hex(16)
        launch = _program(self._argv, env) if self._argv else self._shell_launch(env, key)
        for name, value in launch.env.items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
        startup = "marks" if launch.marks and launch.certain else "immediate" if self._argv else "evidence"
        return {
            "argv": list(launch.argv),
            "arg0": launch.arg0,
            "env": env,
            "cwd": _directory(spec.cwd),
            "descriptors": dict(launch.descriptors),
            "key": key if launch.marks else None,
            "startup": startup,
            **self._limits,
        }

    def _shell_launch(self, env: Mapping[str, str], key: str) -> Launch:
        try:
            program = find_shell(self._shell, env)
        except FileNotFoundError as error:
            raise TerminalError(str(error), TerminalErrorCode.START_FAILED) from error
        shell = ShellOptions(startup=self._startup, history_expansion=self._history_expansion, env=env)
        return dialect_for(program).launch(program, key, shell)


class ShellSession:
    """An open terminal of `ShellBackend`."""

    def __init__(self, inner: _core.Session) -> None:
        self._inner = inner
        self._motd = inner.motd()

    @property
    def motd(self) -> str:
        """What was printed before the first prompt, bounded."""
        return self._motd

    @property
    def pid(self) -> int | None:
        """The top-level process."""
        return self._inner.pid

    def start_send(self, request: TerminalSendRequest) -> ShellSend:
        """Type text; `SEND_ACTIVE`, `SESSION_CLOSING`, `SESSION_EXITED`, `INPUT_REFUSED` before a byte is written."""
        return self._start(request, run=False)

    def start_run(self, request: TerminalSendRequest) -> ShellSend:
        """Run a shell command: a send that silence never settles; `NOT_AT_PROMPT` anywhere but at a prompt."""
        return self._start(request, run=True)

    def _start(self, request: TerminalSendRequest, *, run: bool) -> ShellSend:
        inner = self._inner.start_send(
            request.text, submit=request.submit, run=run, timeout=request.timeout, idle_silence=request.idle_silence
        )
        return ShellSend(inner)

    def read(self, request: TerminalReadRequest) -> TerminalReadResult:
        """A page of the document."""
        if request.from_line is not None:
            return TerminalReadResult(*self._inner.page_from(request.from_line, request.count))
        return TerminalReadResult(*self._inner.page(request.offset or 0, request.count))

    async def signal(self, name: TerminalSignal) -> TerminalSignalResult:
        """Signal the foreground process group; `SIGNAL_DENIED`, `SIGNAL_FAILED`."""
        return TerminalSignalResult(delivered=True, target_pgid=self._inner.signal(name))

    def status(self) -> TerminalSessionStatus:
        """About the top-level process only."""
        return _status(self._inner.status())

    def resize(self, cols: int, rows: int) -> None:
        """Give the terminal this size."""
        self._inner.resize(cols, rows)

    async def press(self, *keys: str) -> None:
        """Type named keys, encoded for the terminal's current mode; `ValueError` for a name that is no key."""
        self._inner.press(list(keys))

    async def mouse(
        self, col: int, row: int, *, button: TerminalMouseButton = "left", action: TerminalMouseAction = "click"
    ) -> None:
        """A mouse event at a cell, counted from 0; nothing is typed where the program has not asked for it."""
        self._inner.mouse(col, row, button, action)

    def screen(self) -> ShellScreen:
        """The screen as it is now."""
        return ShellScreen(self._inner)

    async def close(self, reason: str) -> TerminalCloseReceipt:
        """End everything that came from this terminal; `CLOSE_FAILED` names what survived, and it can be tried again.

        Cancelling the caller does not stop the close.
        """
        del reason  # The service logs it; the guard needs none.
        return _receipt(await crossing(self._inner.close))


class ShellSend:
    """A send under way."""

    __slots__ = ("_inner",)

    def __init__(self, inner: _core.Send) -> None:
        self._inner = inner

    @property
    def done(self) -> Awaitable[TerminalSendResult]:
        """Its result, for any number of callers, also later; a lost terminal is `TRANSPORT_FAILED`."""
        return self._done()

    async def _done(self) -> TerminalSendResult:
        return _result(await crossing(self._inner.done))

    def read_output(self) -> TerminalSendRead:
        """What it produced since the last call."""
        return TerminalSendRead(*self._inner.read_output())

    async def wait_output(self) -> None:
        """Return when there is something unread, or it has settled."""
        await crossing(self._inner.wait_output)

    def cancel(self) -> bool:
        """Drop what was not written, discard what was not read, interrupt the foreground; `False` once settled."""
        return self._inner.cancel()


async def _unless_aborted(work: Awaitable[None], spec: TerminalBackendSpawnSpec) -> None:
    started = asyncio.ensure_future(work)
    aborted = asyncio.ensure_future(spec.signal.wait())
    try:
        await asyncio.wait([started, aborted], return_when=asyncio.FIRST_COMPLETED)
        spec.signal.throw_if_aborted()
        await started
    finally:
        for task in (started, aborted):
            task.cancel()
        await asyncio.gather(started, aborted, return_exceptions=True)


async def _roll_back(inner: _core.Session, error: BaseException) -> None:
    """Close what was started and wait for it, whoever cancels the task meanwhile; the caller raises `error`."""
    closing = asyncio.ensure_future(crossing(inner.close))
    while not closing.done():
        # The caller learns of a cancellation from `error`, which is the first reason.
        with suppress(asyncio.CancelledError):
            await asyncio.wait([closing])
        if closing.cancelled():
            # A loop that ends cancels every task there is, this one of ours too. The close goes on: join it again.
            closing = asyncio.ensure_future(crossing(inner.close))
    failure = closing.exception()
    if failure is not None:
        # pyright takes the arguments for those of a plain group.
        raise TerminalBackendCleanupError(error, failure) from error  # pyright: ignore[reportArgumentType]


def _program(argv: Sequence[str], env: Mapping[str, str]) -> Launch:
    name = argv[0]
    path = env.get("PATH", os.defpath)
    program = os.path.abspath(name) if os.sep in name else shutil.which(name, path=path)
    if program is None:
        message = f"{name} was not found in PATH ({path}): install it or give its path"
        raise TerminalError(message, TerminalErrorCode.START_FAILED)
    return Launch(argv=(program, *argv[1:]), arg0=name)


def _directory(cwd: str | None) -> str:
    directory = os.path.abspath(os.getcwd() if cwd is None else cwd)
    if not os.path.isdir(directory):
        message = f"the working directory {directory} is not a directory: create it or give another one"
        raise TerminalError(message, TerminalErrorCode.START_FAILED)
    return directory


def _check_texts(shell: str | None, argv: Sequence[str], env: Mapping[str, str | None]) -> None:
    """What callers hand in is checked, whatever was declared: `TypeError`, `ValueError`."""
    parts: list[tuple[str, object]] = [] if shell is None else [("shell", shell)]
    parts += (("argv", part) for part in argv)
    for name, value in env.items():
        parts += [("env", name)] if value is None else [("env", name), ("env", value)]
    for what, text in parts:
        if not isinstance(text, str):
            # The value itself may be a secret.
            message = f"{what} is made of str, not {type(text).__name__}: convert it (bytes with os.fsdecode)"
            raise TypeError(message)
        if "\0" in text:
            message = f"{what} must not hold NUL characters: the kernel ends a string there"
            raise ValueError(message)
    for name in env:
        if not name or "=" in name:
            message = f"{name!r} is no name of a variable: it must not be empty or hold '='"
            raise ValueError(message)


def _status(ended: Exit) -> TerminalSessionStatus:
    return Running() if ended is None else Exited(*ended)


def _result(settled: Settled) -> TerminalSendResult:
    codes = settled["exit_codes"]
    return TerminalSendResult(
        settled["viewport"],
        cast(TerminalWaitReason, settled["wait_reason"]),
        _status(settled["status"]),
        settled["truncated"],
        evidence=cast(TerminalEvidence, settled["evidence"]),
        waiting_for=cast("TerminalWaitingFor | None", settled["waiting_for"]),
        exit_code=settled["exit_code"],
        exit_codes=None if codes is None else tuple(codes),
        command=settled["command"],
        cwd=settled["cwd"],
        output=settled["output"],
        duration=settled["duration"],
    )


def _receipt(closed: Closed) -> TerminalCloseReceipt:
    processes, killed, duration, _ = closed
    listed = tuple(
        TerminalReceiptProcess(pid, command, user, None if ended is None else Exited(*ended))
        for pid, command, user, ended in processes
    )
    return TerminalCloseReceipt(listed, killed, duration)
