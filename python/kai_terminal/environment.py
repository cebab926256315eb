"""The environment of a child: the parent's, scrubbed, then what a terminal needs (rules P8 and B5)."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["scrubbed", "terminal_environment"]

_CREDENTIAL = re.compile("KEY|PASSWORD|SECRET|TOKEN", re.IGNORECASE)

_OTHER_TERMINALS = re.compile(
    r"""COLUMNS|LINES                                  # a size that is not ours
      |  TERM_PROGRAM(_VERSION)?|TERMCAP|TERMINFO      # another terminal about itself
      |  (ALACRITTY|GHOSTTY|GNOME_TERMINAL|ITERM|KITTY|KONSOLE|VTE|WEZTERM|WT|ZELLIJ)_\w+
      |  TMUX(_PANE)?|STY|WINDOW|WINDOWID|LC_TERMINAL(_VERSION)?|COLORFGBG
      |  (DOMTERM|INSIDE_EMACS|TERMINAL_EMULATOR|TERM_FEATURES|TERM_SESSION_ID|TILIX_ID)
      |  (TERMINATOR|VSCODE|WARP|XTERM)_\w+
      |  (SSH|GPG)_TTY                                 # the device of another terminal""",
    re.VERBOSE,
)


def scrubbed(parent: Mapping[str, str], changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """`parent` without credential-shaped names and this package's own variables; then `changes`, `None` removes.

    The names are matched in any case against `*KEY*`, `*PASSWORD*`, `*SECRET*` and `*TOKEN*`.
    """
    kept = {
        name: value
        for name, value in parent.items()
        if not _CREDENTIAL.search(name) and not name.startswith("KAI_TERMINAL")
    }
    return _merged(kept, changes)


def terminal_environment(parent: Mapping[str, str], changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The scrubbed environment with `TERM` and `COLORTERM` of this terminal and a UTF-8 locale where none is set.

    What other terminals said about themselves, and their size, is left out. `changes` win, as in `scrubbed`.
    """
    env = {name: value for name, value in scrubbed(parent).items() if not _OTHER_TERMINALS.fullmatch(name)}
    env["TERM"] = "xterm-256color"
    env["COLORTERM"] = "truecolor"
    if not any(env.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG")):
        env["LANG"] = "C.UTF-8"
    return _merged(env, changes)


def _merged(env: dict[str, str], changes: Mapping[str, str | None] | None) -> dict[str, str]:
    for name, value in (changes or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env
