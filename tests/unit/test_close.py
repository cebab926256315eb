"""Rule S14: killing a session, once, together, and again."""

from __future__ import annotations

import asyncio

import pytest

from fakes import FakeBackend, FakeSession, Gate, ticks
from kai_terminal import AbortError, Agent, TerminalError, TerminalSessionService, TerminalSpawnRequest
from kai_terminal.types import TerminalSessionId

pytestmark = pytest.mark.rule("S14", "B2")


class Closing:
    """A session whose close stands at a gate."""

    def __init__(self, service: TerminalSessionService, owner: Agent, session_id: TerminalSessionId) -> None:
        self.service = service
        self.owner = owner
        self.session_id = session_id

    def kill(self, reason: str | None = None) -> asyncio.Task[bool]:
        arguments = () if reason is None else (reason,)
        return asyncio.ensure_future(self.service.kill(self.owner, self.session_id, *arguments))

    def listed(self) -> bool:
        return self.session_id in [snapshot.session_id for snapshot in self.service.list(self.owner)]


@pytest.fixture
async def closing(service: TerminalSessionService, owner: Agent) -> Closing:
    opened = await service.spawn(owner, TerminalSpawnRequest("fake"))
    return Closing(service, owner, opened.session_id)


@pytest.fixture
def session(closing: Closing, backend: FakeBackend) -> FakeSession:
    return backend.sessions[0]


async def test_true_for_the_close_it_made_false_for_one_it_joined(closing: Closing, session: FakeSession) -> None:
    gate = Gate()
    session.close_gates = [gate]
    first, second = closing.kill("first"), closing.kill("second")
    await gate.reached()
    third = closing.kill()
    await ticks()
    assert closing.listed()
    gate.open()
    assert [await first, await second, await third] == [True, False, False]
    assert session.close_reasons == ["first"]
    assert not closing.listed()
    with pytest.raises(TerminalError) as caught:
        await closing.kill()
    assert caught.value.code == "NO_SESSION"


async def test_the_reason_is_the_models_unless_given(closing: Closing, session: FakeSession) -> None:
    await closing.kill()
    assert session.close_reasons == ["model request"]


async def test_a_failed_close_leaves_the_session_and_can_be_tried_again(closing: Closing, session: FakeSession) -> None:
    gate, failure = Gate(), OSError("survivors")
    session.close_gates = [gate]
    first, joined = closing.kill(), closing.kill()
    await gate.reached()
    gate.fail(failure)
    for kill in (first, joined):
        with pytest.raises(OSError, match="survivors") as caught:
            await kill
        assert caught.value is failure
    assert closing.listed()
    assert closing.service.has_owner_activity(closing.owner)
    assert await closing.kill() is True
    assert not closing.service.has_owner_activity(closing.owner)


async def test_cancelling_whoever_awaits_does_not_stop_the_close(closing: Closing, session: FakeSession) -> None:
    gate = Gate()
    session.close_gates = [gate]
    kill = closing.kill()
    await gate.reached()
    kill.cancel()
    with pytest.raises(asyncio.CancelledError):
        await kill
    assert closing.listed()
    later = closing.kill()
    await ticks()
    assert not later.done()
    assert session.close_reasons == ["model request"]
    gate.open()
    assert await later is False


async def test_a_failure_nobody_waits_for_is_logged_and_fences_nothing(
    closing: Closing, session: FakeSession, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    session.close_gates = [gate]
    kill = closing.kill()
    await gate.reached()
    kill.cancel()
    gate.fail(OSError("survivors"))
    await ticks()
    assert f"closing {closing.session_id} failed: OSError" in caplog.text
    assert await closing.kill() is True


async def test_a_close_that_is_cancelled_inside_does_not_look_like_a_cancelled_caller(
    closing: Closing, session: FakeSession
) -> None:
    gate, inner = Gate(), asyncio.CancelledError()
    session.close_gates = [gate]
    kill = closing.kill()
    await gate.reached()
    gate.fail(inner)
    with pytest.raises(AbortError) as caught:
        await kill
    assert caught.value.__cause__ is inner
    assert closing.listed()


async def test_an_older_failed_attempt_never_clears_a_newer_fence(closing: Closing, session: FakeSession) -> None:
    """Two attempts at once come from the loss of the first one's loop; the fence is the newer one's all the same."""
    from kai_terminal._closing import CloseAttempt, _handle_failure

    gate = Gate()
    session.close_gates = [gate]
    kill = closing.kill()
    await gate.reached()
    record = closing.service._registry.sessions[closing.session_id]
    _handle_failure(record, CloseAttempt(), OSError("old"))
    assert record.closing is not None
    gate.open()
    assert await kill is True


async def test_a_session_closes_while_it_is_being_used(closing: Closing, session: FakeSession) -> None:
    """Reading and listing go on until the close has succeeded."""
    gate = Gate()
    session.close_gates = [gate]
    kill = closing.kill()
    await gate.reached()
    assert closing.service.read(closing.owner, closing.session_id).text
    assert (await closing.service.signal(closing.owner, closing.session_id, "SIGTERM")).delivered
    gate.open()
    await kill


async def test_the_reason_is_text(closing: Closing, session: FakeSession) -> None:
    with pytest.raises(TypeError):
        await closing.service.kill(closing.owner, closing.session_id, 7)  # type: ignore[arg-type]
    assert session.close_reasons == []
