"""Long runs of what must not race; `make soak` calls it.

Each round opens a terminal, runs commands of random outcome, starts escapees, and ends in one of the ways a session can
end. After all of them nothing may be left: no process, no descriptor, no thread.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import threading

import kai_terminal
from programs import command_line, pids

ESCAPEES = ("setsid sleep {0} &", "nohup sleep {0} >/dev/null 2>&1 &", "(trap '' TERM HUP; sleep {0}) &", "sleep {0} &")


async def one_round(number: int, mark: int) -> None:
    dice = random.Random(number)
    async with kai_terminal.open_terminal(shell="bash", startup="clean", grace=0.2) as terminal:
        for _ in range(dice.randrange(4)):
            code, text = dice.randrange(256), f"{dice.random()}"
            result = await terminal.run(f"echo {text}; (exit {code})", timeout=20)
            assert (result.exit_code, result.output) == (code, f"{text}\n"), result
        for escapee in dice.sample(ESCAPEES, dice.randrange(len(ESCAPEES) + 1)):
            result = await terminal.run(escapee.format(mark), timeout=20)
            assert result.evidence == "prompt_mark", result
        ending = dice.choice(["idle", "cancel", "busy", "exit"])
        if ending == "cancel":
            operation = terminal.start_send("sleep 100 | cat", timeout=20)
            assert operation.cancel()
            assert (await operation.done).evidence == "prompt_mark"
        elif ending == "busy":
            terminal.start_send("sleep 100")
        elif ending == "exit":
            result = await terminal.send("exit 9")
            assert result.session_status == kai_terminal.Exited(9), result


def left(mark: int) -> list[int]:
    return [pid for pid in pids() if command_line(pid)[:2] == ["sleep", str(mark)]]


def held() -> tuple[int, int]:
    return len(os.listdir("/proc/self/fd")), threading.active_count()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    mark = 10**6 + os.getpid()
    await one_round(0, mark)
    before = held()
    for number in range(rounds):
        await one_round(number, mark)
        assert not left(mark), f"round {number} left {left(mark)}"
    assert held() == before, f"descriptors and threads: {before} before, {held()} after"
    print(f"soak: {rounds} rounds, nothing left")


if __name__ == "__main__":
    asyncio.run(main())
