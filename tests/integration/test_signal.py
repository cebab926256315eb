"""Signals reach the foreground process group, and job control works as at a terminal."""

from __future__ import annotations

import pytest

from kai_terminal import Terminal, TerminalError
from programs import PROMPT, how


@pytest.mark.rule("K1")
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGKILL", 137), ("SIGHUP", 129)])
async def test_a_signal_ends_the_foreground_command(terminal: Terminal, name: str, code: int) -> None:
    operation = terminal.start_send("cat")
    assert (await operation.done).evidence == "blocking_read"
    sent = await terminal.signal(name)  # type: ignore[arg-type]
    assert sent.delivered
    assert sent.target_pgid != terminal.pid
    result = await terminal.send("", submit=False)
    assert (how(result), result.exit_code) == (PROMPT, code)


@pytest.mark.rule("K2")
async def test_a_kill_of_the_shell_itself_is_refused(terminal: Terminal) -> None:
    with pytest.raises(TerminalError, match="close the session") as refusal:
        await terminal.signal("SIGKILL")
    assert refusal.value.code == "SIGNAL_DENIED"
    assert (await terminal.run("echo alive")).output == "alive\n"


@pytest.mark.rule("proc-10", "K1")
async def test_a_stopped_job_can_be_continued(terminal: Terminal) -> None:
    assert (await terminal.send("cat")).evidence == "blocking_read"
    await terminal.signal("SIGTSTP")
    stopped = await terminal.send("", submit=False)
    assert how(stopped) == PROMPT
    assert "Stopped" in (await terminal.run("jobs")).output  # type: ignore[operator]
    assert (await terminal.send("fg")).evidence == "blocking_read"
    echoed = await terminal.send("back again")
    assert echoed.viewport == "back again\nback again\n"
    await terminal.press("Ctrl-D")
    ended = await terminal.send("", submit=False)
    assert (how(ended), ended.exit_code) == (PROMPT, 0)
    # In one line: at a prompt bash tells of an ended job and forgets it.
    assert (await terminal.run("sleep 300 & kill %1; wait %1")).exit_code == 143
