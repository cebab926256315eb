"""What callers hand in, looked at before anything is done with it. Values are not quoted: text may be a secret."""

from __future__ import annotations

import re
from typing import get_args

from .types import TerminalMouseAction, TerminalMouseButton, TerminalSignal


def check_type(value: object, kind: type, what: str) -> None:
    """Refuse another type: `what` says what is wanted, as the start of a sentence."""
    if not isinstance(value, kind):
        message = f"{what}, not {type(value).__name__}"
        raise TypeError(message)


def check_signal_name(name: object) -> None:
    """Refuse what is not one of the signals that a terminal takes."""
    if name not in SIGNALS:
        message = f"signal takes one of {', '.join(SIGNALS)}, not {name!r}"
        raise ValueError(message)


def check_size(cols: object, rows: object) -> None:
    """Refuse what is not the size of a terminal."""
    for name, value in (("cols", cols), ("rows", rows)):
        _check_int(value, name)
        if not isinstance(value, int) or not 1 <= value <= MAX_SIZE:
            message = f"{name} must be from 1 to {MAX_SIZE}, not {value}"
            raise ValueError(message)


def check_keys(keys: tuple[object, ...]) -> None:
    """Refuse what cannot be the name of a key; which names there are is the backend's affair."""
    if not keys:
        message = "press takes at least one key, such as 'Ctrl-D'"
        raise ValueError(message)
    for key in keys:
        check_type(key, str, "a key is named by a string such as 'Ctrl-D'")


def check_mouse(col: object, row: object, button: object, action: object) -> None:
    """Refuse what is not a mouse event at a cell."""
    for name, value in (("col", col), ("row", row)):
        _check_int(value, name)
        if not isinstance(value, int) or value < 0:
            message = f"{name} must be zero or more, not {value}"
            raise ValueError(message)
    for name, value, known in (("button", button, BUTTONS), ("action", action, ACTIONS)):
        if value not in known:
            message = f"{name} must be one of {', '.join(known)}, not {value!r}"
            raise ValueError(message)


def check_pattern(pattern: object) -> None:
    """Refuse what is neither text nor a compiled pattern of text."""
    kind = type(pattern).__name__
    text: object = getattr(pattern, "pattern", pattern)
    if not isinstance(pattern, (str, re.Pattern)) or not isinstance(text, str):
        message = f"wait_for takes text or a compiled pattern of text, not {kind}"
        raise TypeError(message)
    if not text:
        message = "wait_for takes text that is not empty: the empty one is everywhere"
        raise ValueError(message)


def _check_int(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        message = f"{name} must be int, not {type(value).__name__}"
        raise TypeError(message)


SIGNALS: tuple[str, ...] = get_args(TerminalSignal)
BUTTONS: tuple[str, ...] = get_args(TerminalMouseButton)
ACTIONS: tuple[str, ...] = get_args(TerminalMouseAction)
MAX_SIZE = 65_535
