"""Rule A1: agents, their registry and their scope."""

from __future__ import annotations

import asyncio

import pytest

from fakes import Gate, ticks
from kai_terminal import AbortError, Agent, AgentRegistry, TerminalError

pytestmark = pytest.mark.rule("A1")


async def test_the_registry_gives_the_exact_live_object(agents: AgentRegistry) -> None:
    agent = agents.create("reviewer")
    assert agent.id == "reviewer"
    assert agents.get("reviewer") is agent
    assert agents.get("nobody") is None
    with pytest.raises(ValueError, match="'reviewer' is live"):
        agents.create("reviewer")


@pytest.mark.parametrize(("agent_id", "error"), [("", ValueError), (7, TypeError), (None, TypeError)])
def test_an_id_is_text(agents: AgentRegistry, agent_id: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        agents.create(agent_id)  # type: ignore[arg-type]


async def test_an_agent_is_not_live_from_the_moment_its_disposal_begins(agents: AgentRegistry) -> None:
    agent = agents.create("reviewer")
    gate = Gate()
    agent.scope.effect(gate.pass_through)
    disposal = asyncio.create_task(agent.dispose())
    await gate.reached()
    assert agents.get("reviewer") is None
    successor = agents.create("reviewer")
    gate.open()
    await disposal
    assert agents.get("reviewer") is successor


async def test_effects_run_once_last_registered_first(owner: Agent) -> None:
    order: list[str] = []

    async def last() -> None:
        await asyncio.sleep(0)
        order.append("last")

    owner.scope.effect(lambda: order.append("first"))
    detach = owner.scope.effect(lambda: order.append("detached"))
    owner.scope.effect(last)
    detach()
    detach()
    await owner.dispose()
    await owner.dispose()
    assert order == ["last", "first"]


async def test_failures_are_grouped_after_all_effects_ran(owner: Agent) -> None:
    order: list[str] = []
    early, late = ValueError("early"), ValueError("late")

    def fail() -> None:
        order.append("plain")
        raise early

    async def fail_later() -> None:
        order.append("async")
        raise late

    async def fail_cancelled() -> None:
        raise asyncio.CancelledError

    owner.scope.effect(fail)
    owner.scope.effect(lambda: order.append("good"))
    owner.scope.effect(fail_cancelled)
    owner.scope.effect(fail_later)
    with pytest.raises(ExceptionGroup) as caught:
        await owner.dispose()
    assert order == ["async", "good", "plain"]
    first, second, third = caught.value.exceptions
    assert first is late
    assert third is early
    assert isinstance(second, AbortError)
    assert isinstance(second.__cause__, asyncio.CancelledError)


async def test_concurrent_and_later_calls_join_the_first_and_end_as_it_did(owner: Agent) -> None:
    gate = Gate()
    owner.scope.effect(gate.pass_through)
    disposals = [asyncio.create_task(owner.dispose()) for _ in range(3)]
    await gate.reached()
    gate.fail(ValueError("broken"))
    outcomes = await asyncio.gather(*disposals, return_exceptions=True)
    assert gate.arrivals == 1
    assert len({id(outcome) for outcome in outcomes}) == 1
    with pytest.raises(ExceptionGroup) as caught:
        await owner.dispose()
    assert caught.value is outcomes[0]


async def test_cancelling_whoever_awaits_a_disposal_does_not_stop_it(owner: Agent) -> None:
    gate = Gate()
    finished: list[str] = []
    owner.scope.effect(lambda: finished.append("rest"))
    owner.scope.effect(gate.pass_through)
    disposal = asyncio.create_task(owner.dispose())
    await gate.reached()
    disposal.cancel()
    with pytest.raises(asyncio.CancelledError):
        await disposal
    gate.open()
    await owner.dispose()
    assert finished == ["rest"]


async def test_nothing_can_be_registered_once_the_disposal_has_begun(owner: Agent) -> None:
    refused: list[BaseException] = []

    def register() -> None:
        with pytest.raises(TerminalError) as caught:
            owner.scope.effect(lambda: None)
        refused.append(caught.value)

    owner.scope.effect(register)
    await owner.dispose()
    assert [error.code for error in refused if isinstance(error, TerminalError)] == ["OWNER_NOT_LIVE"]


async def test_an_effect_that_waits_for_its_own_disposal_is_told_so(owner: Agent) -> None:
    owner.scope.effect(owner.dispose)
    with pytest.raises(ExceptionGroup) as caught:
        await owner.dispose()
    assert isinstance(caught.value.exceptions[0], RuntimeError)


def test_an_effect_is_callable(owner: Agent) -> None:
    with pytest.raises(TypeError):
        owner.scope.effect(None)  # type: ignore[arg-type]


def test_a_loop_that_ends_during_a_disposal_leaves_the_rest_for_a_later_call(agents: AgentRegistry) -> None:
    agent = agents.create("owner")
    finished: list[str] = []
    stuck = 0

    async def hang() -> None:
        nonlocal stuck
        stuck += 1
        await asyncio.Event().wait()

    async def begin() -> None:
        asyncio.ensure_future(agent.dispose()).add_done_callback(lambda task: task.cancelled() or task.exception())
        await ticks()

    agent.scope.effect(lambda: finished.append("rest"))
    agent.scope.effect(hang)
    asyncio.run(begin())
    asyncio.run(agent.dispose())
    assert stuck == 1
    assert finished == ["rest"]
