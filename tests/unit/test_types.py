"""The vocabulary: what a request may hold, and that no secret shows."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import pytest

import kai_terminal
from kai_terminal import (
    AbortSignal,
    Exited,
    Running,
    TerminalReadRequest,
    TerminalSendRequest,
    TerminalSendResult,
    TerminalSpawnRequest,
)


@pytest.mark.rule("N1", "in-6")
def test_nul_is_refused_and_everything_else_is_taken() -> None:
    with pytest.raises(ValueError, match="NUL"):
        TerminalSendRequest(text="a\0b")
    for text in ["", "a;", "!~\t\x1b", "é", "漢字", "👨‍👩‍👧"]:
        assert TerminalSendRequest(text=text).text == text


@pytest.mark.rule("host-3")
def test_the_text_of_a_send_shows_nowhere() -> None:
    secret = "hunter2"
    assert secret not in repr(TerminalSendRequest(text=secret))
    for text in [secret + "\0", secret + "\ud800"]:
        with pytest.raises(ValueError) as caught:
            TerminalSendRequest(text=text)
        assert secret not in repr(caught.value)
        assert caught.value.__context__ is None
    with pytest.raises(TypeError) as refused:
        TerminalSendRequest(text=secret.encode())  # type: ignore[arg-type]
    assert secret not in str(refused.value)


@pytest.mark.rule("A7")
@pytest.mark.parametrize("name", ["timeout", "idle_silence"])
def test_times_are_finite_seconds(name: str) -> None:
    for good in [None, 0, 0.5, 3]:
        TerminalSendRequest("", **{name: good})  # type: ignore[arg-type]
    for bad in [-1, float("nan"), float("inf")]:
        with pytest.raises(ValueError, match=name):
            TerminalSendRequest("", **{name: bad})  # type: ignore[arg-type]
    for wrong in ["1", True]:
        with pytest.raises(TypeError, match=name):
            TerminalSendRequest("", **{name: wrong})  # type: ignore[arg-type]


def test_a_send_takes_a_bool_and_a_signal() -> None:
    TerminalSendRequest("", signal=AbortSignal())
    with pytest.raises(TypeError, match="submit"):
        TerminalSendRequest("", submit=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="signal"):
        TerminalSendRequest("", signal="SIGINT")  # type: ignore[arg-type]


@pytest.mark.rule("R2", "R5")
def test_a_read_is_paged_from_one_end() -> None:
    request = TerminalReadRequest()
    assert (request.offset, request.from_line, request.count) == (None, None, 500)
    TerminalReadRequest(offset=0)
    TerminalReadRequest(from_line=0, count=1)
    for bad in [{"offset": -1}, {"from_line": -1}, {"count": 0}, {"count": -1}, {"offset": 0, "from_line": 0}]:
        with pytest.raises(ValueError):
            TerminalReadRequest(**bad)
    for wrong in [{"offset": 1.0}, {"from_line": "1"}, {"count": None}, {"count": True}]:
        with pytest.raises(TypeError):
            TerminalReadRequest(**wrong)  # type: ignore[arg-type]


def test_a_spawn_takes_paths() -> None:
    assert TerminalSpawnRequest("shell", cwd=Path("/srv")).cwd == Path("/srv")
    for wrong in [{"type": 1}, {"type": "shell", "name": 1}, {"type": "shell", "cwd": 1}, {"type": "a", "cwd": b"/"}]:
        with pytest.raises(TypeError):
            TerminalSpawnRequest(**wrong)  # type: ignore[arg-type]
    for bad in ["", "/a\0b"]:
        with pytest.raises(ValueError):
            TerminalSpawnRequest("shell", cwd=bad)


def test_statuses_say_what_they_are() -> None:
    assert Running().kind == "running"
    assert Exited(7, None).kind == "exited"
    assert Exited(None, "SIGKILL").signal == "SIGKILL"
    assert Running() == Running()


def test_the_extensions_of_a_result_are_none_unless_known() -> None:
    result = TerminalSendResult("text", "timeout", Running(), False)
    extensions = [field.name for field in dataclasses.fields(result)][4:]
    assert extensions == [
        "evidence",
        "waiting_for",
        "exit_code",
        "exit_codes",
        "command",
        "cwd",
        "output",
        "duration",
        "explanation",
    ]
    assert all(getattr(result, name) is None for name in extensions)
    with pytest.raises(TypeError):
        TerminalSendResult("text", "timeout", Running(), False, "silence")  # type: ignore[misc]


def test_values_are_frozen_slotted_and_can_be_pickled() -> None:
    values = [value for value in vars(kai_terminal).values() if dataclasses.is_dataclass(value)]
    assert len(values) >= 10
    for value in values:
        assert value.__dataclass_params__.frozen, value  # type: ignore[union-attr]
        assert "__slots__" in vars(value), value
    result = TerminalSendResult("text", "timeout", Exited(1, None), False, evidence="deadline")
    assert pickle.loads(pickle.dumps(result)) == result
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.viewport = ""  # type: ignore[misc]
