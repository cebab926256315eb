"""Terminal sessions that a program can hold.

Start with `open_terminal` for one terminal, or with `TerminalSessionService` for the terminals of many owners.
"""

import logging
from typing import Any

from .abort import AbortController, AbortError, AbortSignal
from .agents import Agent, AgentRegistry, AgentScope
from .errors import TerminalBackendCleanupError, TerminalError, TerminalErrorCode
from .service import TerminalSessionService
from .terminal import Terminal, open_terminal
from .types import (
    Exited,
    Running,
    TerminalBackend,
    TerminalBackendSession,
    TerminalBackendSpawnSpec,
    TerminalReadRequest,
    TerminalReadResult,
    TerminalSendOperation,
    TerminalSendRead,
    TerminalSendRequest,
    TerminalSendResult,
    TerminalSessionId,
    TerminalSessionSnapshot,
    TerminalSessionStatus,
    TerminalSignal,
    TerminalSignalResult,
    TerminalSpawnRequest,
    TerminalSpawnResult,
    TerminalWaitReason,
)

__all__ = [
    "AbortController",
    "AbortError",
    "AbortSignal",
    "Agent",
    "AgentRegistry",
    "AgentScope",
    "Exited",
    "Running",
    "Terminal",
    "TerminalBackend",
    "TerminalBackendCleanupError",
    "TerminalBackendSession",
    "TerminalBackendSpawnSpec",
    "TerminalError",
    "TerminalErrorCode",
    "TerminalReadRequest",
    "TerminalReadResult",
    "TerminalSendOperation",
    "TerminalSendRead",
    "TerminalSendRequest",
    "TerminalSendResult",
    "TerminalSessionId",
    "TerminalSessionService",
    "TerminalSessionSnapshot",
    "TerminalSessionStatus",
    "TerminalSignal",
    "TerminalSignalResult",
    "TerminalSpawnRequest",
    "TerminalSpawnResult",
    "TerminalWaitReason",
    "open_terminal",
]

# A library does not print; whoever wants its log configures the logger.
logging.getLogger("kai_terminal").addHandler(logging.NullHandler())

# These need the extension module, which the rest does not.
_FROM_EXTENSION = {"ShellBackend": "backend", "Screen": "_core"}


def __getattr__(name: str) -> Any:
    module = _FROM_EXTENSION.get(name)
    if module is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    return getattr(import_module(f".{module}", __name__), name)
