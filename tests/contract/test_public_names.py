"""Section 1 of the contract, name by name and field by field, against the package."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any, get_args

import pytest

import kai_terminal
from kai_terminal import types

CONTRACT = Path(__file__).parents[2] / "docs" / "contract.md"

FIELDS: dict[str, list[str]] = {
    "TerminalSpawnRequest": ["type", "name", "cwd"],
    "TerminalBackendSpawnSpec": ["type", "name", "cwd", "session_id", "owner", "signal"],
    "TerminalSessionSnapshot": ["session_id", "name", "type", "pid", "status"],
    "TerminalSpawnResult": ["session_id", "name", "type", "pid", "status", "motd"],
    "TerminalSendRequest": ["text", "submit", "signal", "timeout", "idle_silence"],
    "TerminalSendRead": ["delta", "truncated"],
    "TerminalSendResult": [
        "viewport",
        "wait_reason",
        "session_status",
        "truncated",
        "evidence",
        "waiting_for",
        "exit_code",
        "exit_codes",
        "command",
        "cwd",
        "output",
        "duration",
        "explanation",
    ],
    "TerminalReadRequest": ["offset", "from_line", "count"],
    "TerminalReadResult": [
        "text",
        "total_lines",
        "line_begin",
        "line_end",
        "first_line",
        "stable_end",
        "truncated",
    ],
    "TerminalSignalResult": ["delivered", "target_pgid"],
}
PROTOCOLS: dict[str, list[str]] = {
    "TerminalBackend": ["spawn", "type"],
    "TerminalBackendSession": ["close", "motd", "pid", "read", "signal", "start_send", "status"],
    "TerminalSendOperation": ["cancel", "done", "read_output", "wait_output"],
}
LITERALS: dict[str, list[str]] = {
    "TerminalWaitReason": ["stdin_read", "inferred_idle", "timeout", "session_exit"],
    "TerminalSignal": ["SIGINT", "SIGTERM", "SIGKILL", "SIGTSTP", "SIGHUP"],
}
FROM_EXTENSION = {"ShellBackend", "Screen"}


def contract_names() -> list[str]:
    section = re.split(r"^## ", CONTRACT.read_text(), flags=re.MULTILINE)[2]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def test_the_table_is_read() -> None:
    assert len(contract_names()) > 25


@pytest.mark.parametrize("name", contract_names())
def test_every_name_of_the_contract_is_exported(name: str) -> None:
    if name.endswith("SubprocessRuntime") and importlib.util.find_spec("kai_terminal.subprocess") is None:
        pytest.skip("the subprocess runtime is a part of its own")
    assert hasattr(kai_terminal, name)
    assert name in kai_terminal.__all__


@pytest.mark.parametrize("name", FIELDS)
def test_the_fields_are_those_of_the_contract(name: str) -> None:
    assert [field.name for field in dataclasses.fields(getattr(kai_terminal, name))] == FIELDS[name]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_protocols_ask_for_no_more_than_the_contract(name: str) -> None:
    protocol = getattr(kai_terminal, name)
    members = [member for member in vars(protocol) if not member.startswith("_")]
    assert sorted(members) == PROTOCOLS[name]
    for method in ("spawn", "signal", "close", "wait_output"):
        if method in members:
            assert inspect.iscoroutinefunction(getattr(protocol, method))


@pytest.mark.parametrize("name", LITERALS)
def test_the_literals_are_those_of_the_contract(name: str) -> None:
    assert list(get_args(getattr(kai_terminal, name))) == LITERALS[name]


def test_statuses_and_ids() -> None:
    assert set(get_args(kai_terminal.TerminalSessionStatus)) == {kai_terminal.Running, kai_terminal.Exited}
    assert [field.name for field in dataclasses.fields(kai_terminal.Exited)] == ["exit_code", "signal"]
    assert kai_terminal.TerminalSessionId("pty-1") == "pty-1"
    assert kai_terminal.TerminalSessionId.__supertype__ is str


def test_defaults_of_the_requests() -> None:
    send = kai_terminal.TerminalSendRequest("x")
    assert (send.submit, send.signal, send.timeout, send.idle_silence) == (True, None, None, None)
    read = kai_terminal.TerminalReadRequest()
    assert (read.offset, read.from_line, read.count) == (None, None, 500)
    spawn = kai_terminal.TerminalSpawnRequest("shell")
    assert (spawn.name, spawn.cwd) == (None, None)


def test_statuses_say_their_kind() -> None:
    assert kai_terminal.Running().kind == "running"
    assert kai_terminal.Exited(exit_code=0, signal=None).kind == "exited"


def test_everything_exported_exists_and_is_documented() -> None:
    for name in kai_terminal.__all__:
        if name in FROM_EXTENSION and importlib.util.find_spec("kai_terminal._core") is None:
            continue
        value: Any = getattr(kai_terminal, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name
    assert kai_terminal.__all__ == sorted(kai_terminal.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchName"):
        _ = kai_terminal.NoSuchName


def test_the_package_is_typed() -> None:
    assert (Path(kai_terminal.__file__).parent / "py.typed").exists()
    assert set(types.__all__) == {name for name in types.__all__ if hasattr(types, name)}


@pytest.mark.rule("A1", "A5", "A6")
def test_the_fixed_spellings() -> None:
    service = kai_terminal.TerminalSessionService
    for verb in ("spawn", "kill", "signal", "press", "mouse", "wait_for", "run", "dispose"):
        assert inspect.iscoroutinefunction(getattr(service, verb)), verb
    for verb in (
        "register_backend",
        "list_backends",
        "list",
        "has_owner_activity",
        "start_send",
        "read",
        "resize",
        "screen",
        "explain",
        "receipt",
    ):
        assert not inspect.iscoroutinefunction(getattr(service, verb)), verb
    assert list(inspect.signature(service.spawn).parameters) == ["self", "owner", "request", "signal"]
    assert inspect.signature(service.kill).parameters["reason"].default == "model request"
