"""Terminal sessions that a program can hold.

Start with `open_terminal` for one terminal, or with `TerminalSessionService` for the terminals of many owners.
"""

import logging

from .abort import AbortController, AbortError, AbortSignal
from .agents import Agent, AgentRegistry, AgentScope
from .backend import ShellBackend, TerminalCloseReceipt
from .errors import TerminalBackendCleanupError, TerminalError, TerminalErrorCode
from .screen import Screen
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
    "Screen",
    "ShellBackend",
    "Terminal",
    "TerminalBackend",
    "TerminalBackendCleanupError",
    "TerminalBackendSession",
    "TerminalBackendSpawnSpec",
    "TerminalCloseReceipt",
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
