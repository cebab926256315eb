"""The Python half of the boundary: a port for each event loop, and one coroutine that awaits what comes out of it."""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import weakref
from collections.abc import Callable
from importlib.resources import files
from typing import TypeVar

from . import _core

__all__ = ["crossing", "prepare"]

T = TypeVar("T")

SHUTDOWN_MS = 500
"""How long the runtime may take to stop when the interpreter exits."""

_ports: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _core.Port] = weakref.WeakKeyDictionary()

# While the interpreter is whole: later its thread would find nothing to stand on.
atexit.register(_core.shutdown, SHUTDOWN_MS)

_guard = files("kai_terminal") / "_bin" / "kai-terminal-guard"
if os.access(str(_guard), os.X_OK):
    _core.configure_guard(str(_guard))


def prepare() -> None:
    """Make ready to cross, before anything is started that could then not be awaited.

    `RuntimeError` on a loop that cannot watch a descriptor; `FORKED`.
    """
    _port(asyncio.get_running_loop())


async def crossing(
    verb: Callable[[_core.Port, asyncio.AbstractEventLoop], tuple[asyncio.Future[T], _core.Ask]],
) -> T:
    """Start a verb of `_core` and await its end. Cancelling drops the waiter; what it waits for goes on.

    `RuntimeError` as for `prepare`.
    """
    loop = asyncio.get_running_loop()
    port = _port(loop)
    future, ask = verb(port, loop)
    try:
        return await future
    except BaseException:
        # Cancelled, or the coroutine is closed; after a failure there is nothing left to let go.
        port.cancel(ask)
        raise


def _port(loop: asyncio.AbstractEventLoop) -> _core.Port:
    port = _ports.get(loop)
    if port is not None:
        return port
    for closed in [known for known in list(_ports) if known.is_closed()]:
        # Its futures hold the loop: without this neither would ever go.
        _ports.pop(closed).abandon()
    port = _core.Port()
    try:
        loop.add_reader(port.fileno(), port.drain)
    except NotImplementedError as error:
        message = f"{type(loop).__name__} cannot watch a descriptor: use a selector event loop, or uvloop"
        raise RuntimeError(message) from error
    _ports[loop] = port
    return port


def _forget_after_fork() -> None:
    """A forked copy has the loops' futures, but nobody who will ever settle them."""
    for port in list(_ports.values()):
        port.abandon()
    _ports.clear()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget_after_fork)
