"""Errors: codes, groups, and what survives being pickled."""

from __future__ import annotations

import asyncio
import copy
import pickle

import pytest

from kai_terminal import AbortError, TerminalBackendCleanupError, TerminalError, TerminalErrorCode
from kai_terminal.errors import as_exception


def test_a_code_equals_its_name() -> None:
    error = TerminalError("gone", TerminalErrorCode.NO_SESSION)
    assert error.code == "NO_SESSION"
    assert error.code is TerminalErrorCode.NO_SESSION
    assert TerminalError("gone", "NO_SESSION").code is TerminalErrorCode.NO_SESSION
    assert str(error) == "gone"
    with pytest.raises(ValueError):
        TerminalError("gone", "NO_SUCH_CODE")


def test_errors_can_be_copied_and_pickled() -> None:
    for again in (copy.copy, lambda error: pickle.loads(pickle.dumps(error))):
        error = again(TerminalError("gone", "NO_SESSION"))
        assert (str(error), error.code) == ("gone", "NO_SESSION")
        group = again(TerminalBackendCleanupError(ValueError("spawn"), KeyError("cleanup")))
        assert isinstance(group.spawn_error, ValueError)
        assert isinstance(group.cleanup_error, KeyError)


@pytest.mark.rule("S11")
def test_a_cleanup_error_holds_the_exact_objects() -> None:
    spawn_error, cleanup_error = ValueError(), asyncio.CancelledError()
    error = TerminalBackendCleanupError(spawn_error, cleanup_error)
    assert isinstance(error, ExceptionGroup)
    assert error.spawn_error is spawn_error
    assert error.cleanup_error is cleanup_error
    first, second = error.exceptions
    assert first is spawn_error
    assert isinstance(second, AbortError)
    assert second.__cause__ is cleanup_error
    matched, rest = error.split(ValueError)
    assert isinstance(matched, ExceptionGroup)
    assert isinstance(rest, ExceptionGroup)
    assert matched.exceptions == (spawn_error,)
    with pytest.raises(TypeError):
        TerminalBackendCleanupError("text", ValueError())  # type: ignore[arg-type]


def test_what_a_group_cannot_hold_gets_a_stand_in() -> None:
    error = ValueError()
    assert as_exception(error) is error
    interrupt = KeyboardInterrupt()
    stand_in = as_exception(interrupt)
    assert isinstance(stand_in, AbortError)
    assert stand_in.__cause__ is interrupt
