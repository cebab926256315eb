"""The short way in: one terminal for one `async with` block, with an owner and a service of its own behind it."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import TracebackType
from typing import Any, Literal

from .abort import AbortSignal
from .agents import Agent, AgentRegistry
from .errors import TerminalError, TerminalErrorCode
from .service import TerminalSessionService, finish_or_cancel
from .types import (
    TerminalBackend,
    TerminalMouseAction,
    TerminalMouseButton,
    TerminalReadRequest,
    TerminalReadResult,
    TerminalReceipt,
    TerminalScreen,
    TerminalSendOperation,
    TerminalSendRequest,
    TerminalSendResult,
    TerminalSessionId,
    TerminalSessionStatus,
    TerminalSignal,
    TerminalSignalResult,
    TerminalSpawnRequest,
    TerminalSpawnResult,
)

__all__ = ["OpenTerminal", "Terminal", "open_terminal"]


def open_terminal(
    *,
    shell: str | os.PathLike[str] | None = None,
    argv: Sequence[str | os.PathLike[str]] | None = None,
    cwd: str | os.PathLike[str] | None = None,
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
    runtime: object | None = None,
) -> OpenTerminal:
    """A terminal for an `async with` block: a shell (by default the user's own), or a program of yours (`argv`).

    `env` is merged over the scrubbed environment, `None` removes a name. Times are in seconds: `startup_timeout` for
    the shell to be ready, `send_timeout` for a send (`None`: it never expires), `idle_silence` until output counts as
    idle, `poll_quiet` until a program that polls counts as listening, `grace` for programs to end by themselves at the
    close. `scrollback_lines`, `scrollback_bytes` and `max_output` (bytes of a send's output) bound what is kept.
    `history_expansion` leaves the shell's `!` as it is, `startup="clean"` leaves out the user's start-up files, and
    `runtime` is handed to the backend (`None`: its own).

    Leaving the block closes the terminal and waits until nothing of it is left, also under cancellation.
    """
    backend = _make_backend(
        shell=shell,
        argv=argv,
        env=env,
        cols=cols,
        rows=rows,
        startup_timeout=startup_timeout,
        send_timeout=send_timeout,
        idle_silence=idle_silence,
        poll_quiet=poll_quiet,
        grace=grace,
        scrollback_lines=scrollback_lines,
        scrollback_bytes=scrollback_bytes,
        max_output=max_output,
        history_expansion=history_expansion,
        startup=startup,
        runtime=runtime,
    )
    return OpenTerminal(backend, cwd)


class OpenTerminal:
    """What `open_terminal` returns: enter it once."""

    __slots__ = ("_backend", "_cwd", "_terminal")

    def __init__(self, backend: TerminalBackend, cwd: str | os.PathLike[str] | None) -> None:
        self._backend = backend
        self._cwd = cwd
        self._terminal: Terminal | None = None

    async def __aenter__(self) -> Terminal:
        if self._terminal is not None:
            message = "this terminal has been opened: call open_terminal again for another one"
            raise RuntimeError(message)
        agents = AgentRegistry()
        agent = agents.create("terminal")
        service = TerminalSessionService(agents)
        service.register_backend(self._backend)
        request = TerminalSpawnRequest(self._backend.type, cwd=self._cwd)
        opened = await service.spawn(agent, request)
        self._terminal = Terminal(service, agent, opened)
        return self._terminal

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._terminal is not None:
            await self._terminal._finish()  # pyright: ignore[reportPrivateUsage]


class Terminal:
    """An open terminal. Its verbs are those of `TerminalSessionService`, without an owner and an id to name."""

    __slots__ = ("_agent", "_closed", "_motd", "_pid", "_receipt", "_service", "_session_id")

    def __init__(self, service: TerminalSessionService, agent: Agent, opened: TerminalSpawnResult) -> None:
        self._service = service
        self._agent = agent
        self._session_id = opened.session_id
        self._pid = opened.pid
        self._motd = opened.motd
        self._closed = False
        self._receipt: TerminalReceipt = None

    @property
    def session_id(self) -> TerminalSessionId:
        """Its id."""
        return self._session_id

    @property
    def pid(self) -> int | None:
        """The top-level process."""
        return self._pid

    @property
    def motd(self) -> str:
        """What was printed before the first prompt, bounded."""
        return self._motd

    def status(self) -> TerminalSessionStatus:
        """Whether the top-level process runs, and how it ended."""
        return self._service.status(self._agent, self._session_id)

    async def run(
        self, text: str, *, timeout: float | None = None, signal: AbortSignal | None = None
    ) -> TerminalSendResult:
        """Run a shell command to its end, to `timeout` (seconds; `None`: the terminal's `send_timeout`), or to where it
        is proven to want input.

        `NOT_AT_PROMPT`, with nothing typed, unless a shell's prompt is up. Cancelling the task that awaits this cancels
        the command.
        """
        return await self._service.run(self._agent, self._session_id, text, timeout=timeout, signal=signal)

    async def send(
        self,
        text: str,
        *,
        submit: bool = True,
        timeout: float | None = None,
        idle_silence: float | None = None,
        signal: AbortSignal | None = None,
    ) -> TerminalSendResult:
        """Type text, and Enter if `submit`; return when the program wants input, falls silent, ends, or time is up.

        `timeout` and `idle_silence` are in seconds (`None`: as the terminal was opened). Cancelling the task that
        awaits this cancels the send.
        """
        return await finish_or_cancel(
            self.start_send(text, submit=submit, timeout=timeout, idle_silence=idle_silence, signal=signal)
        )

    def start_send(
        self,
        text: str,
        *,
        submit: bool = True,
        timeout: float | None = None,
        idle_silence: float | None = None,
        signal: AbortSignal | None = None,
    ) -> TerminalSendOperation:
        """As `send`, but returns the operation: for its output while it runs, and to cancel it.

        `timeout` and `idle_silence` are in seconds (`None`: as the terminal was opened).
        """
        request = TerminalSendRequest(text, submit, signal, timeout, idle_silence)
        return self._service.start_send(self._agent, self._session_id, request)

    async def press(self, *keys: str) -> None:
        """Type named keys (`"Ctrl-D"`, `"Up"`), encoded for the terminal's current mode."""
        await self._service.press(self._agent, self._session_id, *keys)

    async def mouse(
        self, col: int, row: int, *, button: TerminalMouseButton = "left", action: TerminalMouseAction = "click"
    ) -> None:
        """A mouse event at a cell, counted from 0."""
        await self._service.mouse(self._agent, self._session_id, col, row, button=button, action=action)

    def screen(self) -> TerminalScreen:
        """What a person would see now."""
        return self._service.screen(self._agent, self._session_id)

    def explain(self) -> str:
        """The evidence at this moment for the terminal being busy or ready, for a person."""
        return self._service.explain(self._agent, self._session_id)

    async def wait_for(self, pattern: str | re.Pattern[str], timeout: float | None = None) -> str:
        """Wait for text or a pattern in what is printed from now on, or is already unread; returns what matched.

        `TimeoutError` after `timeout` seconds (`None`: never).
        """
        return await self._service.wait_for(self._agent, self._session_id, pattern, timeout)

    def resize(self, cols: int, rows: int) -> None:
        """Give the terminal this size."""
        self._service.resize(self._agent, self._session_id, cols, rows)

    def read(self, offset: int | None = None, from_line: int | None = None, count: int = 500) -> TerminalReadResult:
        """A page of what was printed: backwards from the newest line, or forwards from an absolute line."""
        return self._service.read(self._agent, self._session_id, TerminalReadRequest(offset, from_line, count))

    async def signal(self, name: TerminalSignal) -> TerminalSignalResult:
        """Signal the foreground process group."""
        return await self._service.signal(self._agent, self._session_id, name)

    async def close(self) -> TerminalReceipt:
        """End everything that came from this terminal; returns the receipt, the same one when called again.

        If the close fails this raises, and can be called again. Cancelling whoever awaits this does not stop the close.
        """
        if not self._closed:
            try:
                await self._service.kill(self._agent, self._session_id, "terminal closed")
            except TerminalError as error:
                # A close that went on after the task that awaited it was cancelled may have finished meanwhile.
                if error.code is not TerminalErrorCode.NO_SESSION:
                    raise
            self._keep_receipt()
        return self._receipt

    def _keep_receipt(self) -> None:
        self._closed = True
        try:
            self._receipt = self._service.receipt(self._agent, self._session_id)
        except TerminalError:
            # A backend without receipts: the closed session is simply unknown now.
            self._receipt = None

    async def _finish(self) -> None:
        """Close and wait for it, whatever happens to the task that waits; then let the cancellation through."""
        disposal = asyncio.ensure_future(self._service.dispose())
        cancelled: asyncio.CancelledError | None = None
        while not disposal.done():
            try:
                await asyncio.wait([disposal])
            except asyncio.CancelledError as error:
                cancelled = error
        disposal.result()
        self._keep_receipt()
        if cancelled is not None:
            raise cancelled


def _make_backend(**options: Any) -> TerminalBackend:
    """The backend behind `open_terminal`; imported only here, because it needs the extension module."""
    backend: TerminalBackend = import_module(".backend", __package__).ShellBackend(**options)
    return backend
