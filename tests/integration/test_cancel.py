"""What is busy is called busy, and can be cancelled without a byte going astray."""

from __future__ import annotations

import asyncio

import pytest

from kai_terminal import AbortController, AbortError, Exited, Terminal, TerminalError
from programs import PROMPT, PYTHON, Gate, bash, how, printed, settled_within, until

STARTED = """sh -c "echo star''ted; exec sleep 60\""""
"""Says so and then sleeps, as one process: an interrupt that reaches bash while it starts one is lost on it."""


async def back_at_the_prompt(terminal: Terminal) -> None:
    """The shell runs commands as if nothing had been."""
    result = await terminal.send("stty sane; echo ne''xt")
    if result.output is None:
        # The send before ended by silence, so that its own end comes out here.
        result = await terminal.send("echo next")
    assert how(result) == PROMPT
    assert result.output == "next\n"


# What is busy.


@pytest.mark.rule("ready-1", "N2")
@pytest.mark.parametrize(
    "command", ["sleep 60 | cat", "(sleep 60; echo done) 2>&1 | tail -3", "sleep 60 | tee /dev/null"]
)
async def test_a_pipe_is_busy_however_silent(terminal: Terminal, command: str) -> None:
    result = await terminal.send(command, idle_silence=0.3)
    assert (result.wait_reason, result.evidence) == ("inferred_idle", "silence")
    waiting = terminal.start_send("", submit=False, idle_silence=60)
    assert await settled_within(waiting, 0.3) is None
    assert waiting.cancel()
    result = await waiting.done
    assert how(result) == PROMPT
    assert result.exit_code is not None
    await back_at_the_prompt(terminal)


@pytest.mark.rule("ready-2")
async def test_a_quiet_command_is_idle_for_a_short_wait_and_done_for_a_long_one(terminal: Terminal) -> None:
    result = await terminal.send("sleep 0.6; echo en''d", idle_silence=0.1)
    assert (result.wait_reason, result.evidence) == ("inferred_idle", "silence")
    result = await terminal.send("", submit=False, idle_silence=10)
    assert (how(result), result.output) == (PROMPT, "end\n")
    result = await terminal.send("sleep 0.6; echo end", idle_silence=10)
    assert (how(result), result.output) == (PROMPT, "end\n")
    assert result.duration is not None
    assert 0.6 <= result.duration < 5


@pytest.mark.rule("A3", "ready-2")
async def test_silence_never_settles_a_run() -> None:
    async with bash(idle_silence=0.1) as terminal:
        result = await terminal.run("sleep 0.6; echo end")
        assert (how(result), result.output) == (PROMPT, "end\n")


@pytest.mark.rule("ready-15")
async def test_a_program_that_prints_now_and_then_gives_one_result(terminal: Terminal) -> None:
    program = "import time; [print(i, flush=True) or time.sleep(.2) for i in range(5)]"
    result = await terminal.send(f"{PYTHON} -c '{program}'", idle_silence=1.0)
    assert (how(result), result.output) == (PROMPT, "0\n1\n2\n3\n4\n")


@pytest.mark.rule("ready-16")
async def test_a_server_is_idle_with_its_banner_and_can_be_waited_on(terminal: Terminal, gate: Gate) -> None:
    result = await terminal.send(f"echo Listen''ing; read < {gate}; echo re''quest; sleep 60", idle_silence=0.3)
    assert (result.wait_reason, result.evidence) == ("inferred_idle", "silence")
    assert "Listening" in result.viewport
    waiting = terminal.start_send("", submit=False, idle_silence=0.5)
    await gate.open()
    result = await waiting.done
    assert (result.wait_reason, result.evidence) == ("inferred_idle", "silence")
    assert "request" in result.viewport
    await terminal.signal("SIGINT")
    result = await terminal.send("", submit=False)
    assert (how(result), result.exit_code) == (PROMPT, 130)


@pytest.mark.rule("ready-11", "N5")
@pytest.mark.parametrize("text", ["$ ", "> ", ">>> ", "dsh> ", "Password:", "root@host:/# ", "(Pdb) "])
async def test_text_that_looks_like_a_prompt_is_text(terminal: Terminal, gate: Gate, text: str) -> None:
    operation = terminal.start_send(f"printf '{text}'; read < {gate}; echo go''es on", idle_silence=60)
    assert await settled_within(operation, 0.2) is None
    await gate.open()
    result = await operation.done
    assert (how(result), result.output) == (PROMPT, f"{text}goes on\n")


# Cancelling.


@pytest.mark.rule("N6")
async def test_cancel_interrupts_and_the_next_command_is_clean(terminal: Terminal) -> None:
    operation = terminal.start_send(f"{STARTED}; echo never")
    await printed(operation, "started")
    assert operation.cancel()
    result = await operation.done
    assert (how(result), result.exit_code) == (PROMPT, 130)
    assert operation.cancel() is False
    await back_at_the_prompt(terminal)


@pytest.mark.rule("N6")
async def test_the_signal_of_the_request_cancels(terminal: Terminal) -> None:
    controller = AbortController()
    operation = terminal.start_send(STARTED, signal=controller.signal)
    await printed(operation, "started")
    controller.abort()
    result = await operation.done
    assert (how(result), result.exit_code) == (PROMPT, 130)
    with pytest.raises(AbortError):
        terminal.start_send("echo never", signal=controller.signal)
    await back_at_the_prompt(terminal)


@pytest.mark.rule("N6", "N7", "N8")
async def test_cancel_at_any_moment_leaves_the_shell_clean() -> None:
    async with bash(idle_silence=0.2) as terminal:
        await cancel_at_many_moments(terminal)


async def cancel_at_many_moments(terminal: Terminal) -> None:
    for steps in range(25):
        operation = terminal.start_send(f"sleep 60; echo never {'x' * 200 * steps}")
        for _ in range(steps):
            await asyncio.sleep(0)
        if steps % 2:
            await operation.wait_output()
        assert operation.cancel()
        result = await operation.done
        while how(result) != PROMPT:
            # bash was starting the program, and no interrupt reaches that from a terminal either.
            assert how(result) == ("inferred_idle", "silence", None)
            waiting = terminal.start_send("", submit=False)
            assert waiting.cancel()
            result = await waiting.done
        result = await terminal.run("echo ne''xt")
        assert result.output == "next\n"


# A race: now and then all of them arrive, so that it cannot be strict.
@pytest.mark.rule("N6")
async def test_cancel_between_two_programs_of_a_list_is_not_lost() -> None:
    async with bash(idle_silence=0.3) as terminal:
        for _ in range(25):
            operation = terminal.start_send("echo star''ted; sleep 60")
            await printed(operation, "started")
            assert operation.cancel()
            assert how(await operation.done) == PROMPT


@pytest.mark.rule("N8", "S13")
async def test_the_slot_is_kept_until_the_cancelled_send_has_settled(terminal: Terminal, gate: Gate) -> None:
    operation = terminal.start_send(f"trap '' INT; echo star''ted; read < {gate}; trap - INT")
    await printed(operation, "started")
    assert operation.cancel()
    assert await settled_within(operation, 0.2) is None
    with pytest.raises(TerminalError) as refused:
        terminal.start_send("echo second")
    assert refused.value.code == "SEND_ACTIVE"
    await gate.open()
    assert how(await operation.done) == PROMPT
    await back_at_the_prompt(terminal)


@pytest.mark.rule("N9")
async def test_the_deadline_stays_armed_while_a_cancellation_waits(terminal: Terminal) -> None:
    operation = terminal.start_send("trap '' INT; echo star''ted; sleep 60", timeout=0.6)
    await printed(operation, "started")
    assert operation.cancel()
    result = await operation.done
    assert (result.wait_reason, result.evidence) == ("timeout", "deadline")


@pytest.mark.rule("proc-7", "N6")
async def test_a_program_in_raw_mode_gets_a_real_signal(terminal: Terminal) -> None:
    program = 'import tty, time; tty.setraw(0); print("star" + "ted", flush=True); time.sleep(60)'
    operation = terminal.start_send(f"{PYTHON} -c '{program}' 2>/dev/null")
    await printed(operation, "started")
    assert operation.cancel()
    result = await operation.done
    assert (how(result), result.exit_code) == (PROMPT, 130)
    await back_at_the_prompt(terminal)


@pytest.mark.rule("proc-7")
async def test_a_typed_interrupt_is_a_key(terminal: Terminal) -> None:
    operation = terminal.start_send(STARTED)
    await printed(operation, "started")
    await terminal.press("Ctrl-C")
    result = await operation.done
    assert (how(result), result.exit_code) == (PROMPT, 130)


@pytest.mark.rule("in-4", "N6", "N8")
async def test_input_that_finds_no_room_waits_and_is_gone_after_cancel(terminal: Terminal) -> None:
    await terminal.send("stty raw; echo ra''w; sleep 60", idle_silence=0.2)
    operation = terminal.start_send("echo astray;" * 5000, idle_silence=60)
    assert await settled_within(operation, 0.2) is None
    async with bash() as other:
        assert (await other.run("echo other")).output == "other\n"
    assert operation.cancel()
    await operation.done
    await back_at_the_prompt(terminal)
    assert "astray" not in (await terminal.send("history")).viewport


@pytest.mark.rule("in-4", "N8", "N11")
async def test_closing_is_the_way_out_of_a_write_that_never_ends(terminal: Terminal) -> None:
    await terminal.send("stty raw; trap '' INT; sleep 60", idle_silence=0.2)
    operation = terminal.start_send("x" * 65_536, idle_silence=60)
    assert operation.cancel()
    assert await settled_within(operation, 0.2) is None
    await terminal.close()
    assert (await operation.done).wait_reason == "session_exit"


@pytest.mark.rule("in-4", "N2", "N8")
async def test_a_deadline_ends_the_wait_for_room(terminal: Terminal) -> None:
    await terminal.send("stty raw; sleep 60", idle_silence=0.2)
    result = await terminal.send("echo astray;" * 5000, timeout=0.3, idle_silence=60)
    assert (result.wait_reason, result.evidence) == ("timeout", "deadline")
    with pytest.raises(TerminalError) as refused:
        terminal.start_send("echo second")
    assert refused.value.code == "SEND_ACTIVE"


@pytest.mark.rule("A3", "N6")
async def test_cancelling_the_task_that_runs_a_command_cancels_the_command(terminal: Terminal) -> None:
    task = asyncio.ensure_future(terminal.run(STARTED))
    assert await until(lambda: "started" in terminal.read().text)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    while True:
        try:
            result = await terminal.send("", submit=False)
            break
        except TerminalError as error:
            assert error.code == "SEND_ACTIVE"  # noqa: PT017 - it is tried until the slot is free
            await asyncio.sleep(0.01)
    assert result.waiting_for == "shell_prompt"
    await back_at_the_prompt(terminal)


# Deadlines.


@pytest.mark.rule("N2", "A7")
async def test_the_terminals_own_deadline_holds_where_a_send_has_none() -> None:
    async with bash(send_timeout=0.2) as terminal:
        result = await terminal.send("sleep 60")
        assert (result.wait_reason, result.evidence) == ("timeout", "deadline")
        assert result.duration is not None
        assert 0.2 <= result.duration < 2


@pytest.mark.rule("N2")
async def test_a_deadline_of_zero_expires_at_once(terminal: Terminal) -> None:
    result = await terminal.send("sleep 60", timeout=0)
    assert result.wait_reason == "timeout"


@pytest.mark.rule("N2", "N3")
async def test_an_exit_before_the_deadline_wins(terminal: Terminal) -> None:
    result = await terminal.send("exit 3", timeout=10)
    assert (result.wait_reason, result.session_status) == ("session_exit", Exited(3))
