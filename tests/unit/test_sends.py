"""Rule S13, and the service's side of N2, N6, N8, N10, N11 and N14."""

from __future__ import annotations

import asyncio
import gc
import logging

import pytest

from fakes import FakeBackend, FakeOperation, FakeSession, Gate, ticks, until
from kai_terminal import (
    AbortController,
    Agent,
    Exited,
    TerminalError,
    TerminalSendOperation,
    TerminalSendRequest,
    TerminalSessionId,
    TerminalSessionService,
    TerminalSpawnRequest,
)
from kai_terminal import _sending as sending

REQUEST = TerminalSendRequest("make")


class Opened:
    """A session with the objects on both sides of it."""

    def __init__(
        self, service: TerminalSessionService, owner: Agent, session_id: TerminalSessionId, session: FakeSession
    ) -> None:
        self.service = service
        self.owner = owner
        self.session_id = session_id
        self.session = session

    def send(self, request: TerminalSendRequest = REQUEST) -> tuple[TerminalSendOperation, FakeOperation]:
        operation = self.service.start_send(self.owner, self.session_id, request)
        return operation, self.session.operations[-1]

    def refused(self) -> str:
        with pytest.raises(TerminalError) as caught:
            self.service.start_send(self.owner, self.session_id, REQUEST)
        return caught.value.code

    def kill(self) -> asyncio.Task[bool]:
        return asyncio.ensure_future(self.service.kill(self.owner, self.session_id))


@pytest.fixture
async def opened(service: TerminalSessionService, owner: Agent, backend: FakeBackend) -> Opened:
    result = await service.spawn(owner, TerminalSpawnRequest("fake"))
    return Opened(service, owner, result.session_id, backend.sessions[-1])


@pytest.mark.rule("S13", "N8")
class TestExclusiveSends:
    async def test_the_slot_is_taken_at_once_and_free_when_the_send_has_settled(self, opened: Opened) -> None:
        operation, inner = opened.send()
        assert opened.refused() == "SEND_ACTIVE"
        await ticks()
        assert opened.refused() == "SEND_ACTIVE"
        expected = inner.settle()
        assert await operation.done is expected
        second, inner = opened.send()
        inner.settle("timeout")
        assert (await second.done).wait_reason == "timeout"

    async def test_a_cancelled_send_keeps_its_slot_until_the_backend_settled(self, opened: Opened) -> None:
        operation, inner = opened.send()
        assert operation.cancel() is True
        await ticks()
        assert opened.refused() == "SEND_ACTIVE"
        inner.settle("inferred_idle")
        await operation.done
        assert operation.cancel() is False
        assert inner.cancels == 1
        opened.send()

    async def test_a_backend_may_stay_busy_a_little_longer(self, opened: Opened) -> None:
        operation, inner = opened.send()
        inner.settle("timeout")
        await operation.done
        busy = TerminalError("still writing", "SEND_ACTIVE")
        opened.session.refuse_send = busy
        with pytest.raises(TerminalError) as caught:
            opened.send()
        assert caught.value is busy
        opened.session.refuse_send = None
        opened.send()

    async def test_a_closing_and_an_exited_session_refuse(self, opened: Opened) -> None:
        opened.session.exit(3)
        assert opened.refused() == "SESSION_EXITED"
        gate = Gate()
        opened.session.close_gates = [gate]
        kill = opened.kill()
        await gate.reached()
        assert opened.refused() == "SESSION_CLOSING"
        gate.open()
        await kill
        assert opened.refused() == "NO_SESSION"

    async def test_a_disposed_service_refuses(self, opened: Opened) -> None:
        gate = Gate()
        opened.session.close_gates = [gate]
        disposal = asyncio.ensure_future(opened.service.dispose())
        await gate.reached()
        assert opened.refused() == "SERVICE_DISPOSING"
        gate.open()
        await disposal
        assert opened.refused() == "SERVICE_DISPOSING"

    async def test_a_send_that_the_backend_refused_takes_no_slot(self, opened: Opened) -> None:
        refusal = TerminalError("4096 of 4095 bytes", "INPUT_REFUSED")
        opened.session.refuse_send = refusal
        with pytest.raises(TerminalError) as caught:
            opened.send()
        assert caught.value is refusal
        opened.session.refuse_send = None
        opened.send()

    async def test_a_failed_send_frees_the_slot(self, opened: Opened) -> None:
        operation, inner = opened.send()
        failure = TerminalError("lost", "TRANSPORT_FAILED")
        inner.fail(failure)
        with pytest.raises(TerminalError) as caught:
            await operation.done
        assert caught.value is failure
        opened.send()


def test_without_a_running_loop_nothing_is_typed(agents: object, backend: FakeBackend) -> None:
    from kai_terminal import AgentRegistry

    registry = AgentRegistry()
    owner = registry.create("owner")
    service = TerminalSessionService(registry)
    service.register_backend(backend)
    opened = asyncio.run(service.spawn(owner, TerminalSpawnRequest("fake")))
    with pytest.raises(RuntimeError, match="no running event loop"):
        service.start_send(owner, opened.session_id, REQUEST)
    assert backend.sessions[0].operations == []
    asyncio.run(service.dispose())


@pytest.mark.rule("host-2", "N2")
class TestTheResult:
    async def test_anybody_may_await_it_and_again(self, opened: Opened) -> None:
        operation, inner = opened.send()
        waiters = [asyncio.ensure_future(operation.done) for _ in range(3)]
        await ticks()
        waiters[0].cancel()
        await ticks()
        assert inner.cancels == 0
        expected = inner.settle("inferred_idle")
        assert await waiters[1] is expected
        assert await waiters[2] is expected
        assert await asyncio.wait_for(operation.done, 1) is expected
        assert await asyncio.gather(operation.done, operation.done) == [expected, expected]
        assert waiters[0].cancelled()

    async def test_a_waiter_that_gives_up_does_not_cancel_the_send(self, opened: Opened) -> None:
        operation, inner = opened.send()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(operation.done, 0.001)
        expected = inner.settle()
        assert await operation.done is expected
        assert inner.cancels == 0

    @pytest.mark.filterwarnings("error")
    async def test_a_failure_that_nobody_awaits_is_not_complained_about_and_can_be_had_later(
        self, opened: Opened, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG, "kai_terminal")
        complaints: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        operation, inner = opened.send()
        inner.fail(OSError("lost"))
        opened.session.operations.clear()
        del inner
        await ticks()
        gc.collect()
        await ticks()
        assert complaints == []
        assert "OSError" in caplog.text
        for _ in range(2):
            with pytest.raises(OSError, match="lost"):
                await operation.done

    async def test_traceback_does_not_grow_with_each_waiter(self, opened: Opened) -> None:
        operation, inner = opened.send()
        inner.fail(OSError("lost"))
        depths: list[int] = []
        for _ in range(5):
            with pytest.raises(OSError, match="lost") as caught:
                await operation.done
            depths.append(len(caught.traceback))
        assert len(set(depths)) == 1

    async def test_done_of_a_backend_may_be_a_fresh_awaitable_each_time(self, opened: Opened) -> None:
        class Fresh(FakeOperation):
            asked = 0

            @property
            def done(self) -> object:  # type: ignore[override]
                self.asked += 1
                return self._wait()

            async def _wait(self) -> object:
                return await self._future

        fresh = Fresh(opened.session, REQUEST)
        opened.session.start_send = lambda request: fresh  # type: ignore[method-assign]
        operation = opened.service.start_send(opened.owner, opened.session_id, REQUEST)
        await ticks()
        expected = fresh.settle()
        assert await operation.done is expected
        assert await operation.done is expected
        assert fresh.asked == 1


@pytest.mark.rule("N6")
class TestTheSignalOfARequest:
    async def test_it_cancels_once(self, opened: Opened) -> None:
        controller = AbortController()
        operation, inner = opened.send(TerminalSendRequest("make", True, controller.signal, 5, 1))
        assert inner.request == TerminalSendRequest("make", True, None, 5, 1)
        controller.abort()
        controller.abort()
        assert inner.cancels == 1
        inner.settle("inferred_idle")
        await operation.done

    async def test_it_cancels_nothing_once_the_send_has_settled(self, opened: Opened) -> None:
        controller = AbortController()
        operation, inner = opened.send(TerminalSendRequest("make", signal=controller.signal))
        inner.settle()
        await operation.done
        controller.abort()
        assert inner.cancels == 0
        assert not controller.signal._callbacks

    async def test_one_that_has_aborted_raises_its_reason_and_types_nothing(self, opened: Opened) -> None:
        controller = AbortController()
        reason = ValueError("mine")
        controller.abort(reason)
        with pytest.raises(ValueError, match="mine") as caught:
            opened.send(TerminalSendRequest("make", signal=controller.signal))
        assert caught.value is reason
        assert opened.session.operations == []
        opened.send()

    async def test_it_may_come_from_another_thread(self, opened: Opened) -> None:
        controller = AbortController()
        operation, inner = opened.send(TerminalSendRequest("make", signal=controller.signal))
        await asyncio.to_thread(controller.abort)
        await until(lambda: inner.cancels)
        inner.settle("inferred_idle")
        await operation.done

    async def test_a_cancel_that_fails_is_logged(self, opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
        controller = AbortController()
        operation, inner = opened.send(TerminalSendRequest("make", signal=controller.signal))

        def broken() -> bool:
            message = "no signal"
            raise OSError(message)

        inner.cancel = broken  # type: ignore[method-assign]
        controller.abort()
        assert "cancelling a send to" in caplog.text
        inner.settle()
        await operation.done


@pytest.mark.rule("N10")
class TestOutput:
    async def test_it_is_the_backends(self, opened: Opened) -> None:
        operation, inner = opened.send()
        waiter = asyncio.ensure_future(operation.wait_output())
        await ticks()
        assert not waiter.done()
        inner.print("hello")
        await waiter
        assert operation.read_output().delta == "hello"
        assert operation.read_output().delta == ""

    async def test_waiting_ends_with_the_send(self, opened: Opened) -> None:
        operation, inner = opened.send()
        waiter = asyncio.ensure_future(operation.wait_output())
        await ticks()
        inner.settle()
        await waiter
        await operation.wait_output()

    async def test_a_reader_in_a_loop_does_not_starve_the_result(self, opened: Opened) -> None:
        """The usual way to follow a send must end, also while its close holds the result back."""
        operation, inner = opened.send()
        gate = Gate()
        opened.session.close_gates = [gate]

        async def follow() -> str:
            text = ""
            done = asyncio.ensure_future(operation.done)
            while not done.done():
                await operation.wait_output()
                text += operation.read_output().delta
            return text

        follower = asyncio.ensure_future(follow())
        await ticks()
        kill = opened.kill()
        await gate.reached()
        inner.print("last words")
        inner.settle("timeout")
        await ticks()
        gate.open()
        await kill
        assert await follower == "last words"


@pytest.mark.rule("N11")
class TestASendDuringAClose:
    async def test_it_settles_as_exit_once_quiescent(self, opened: Opened) -> None:
        operation, inner = opened.send()
        gate = Gate()
        opened.session.close_gates = [gate]
        kill = opened.kill()
        await gate.reached()
        done = asyncio.ensure_future(operation.done)
        inner.settle("stdin_read", "half a line")
        await ticks()
        assert not done.done()
        gate.open()
        await kill
        result = await done
        assert (result.wait_reason, result.viewport) == ("session_exit", "half a line")
        assert result.session_status == Exited(None, "SIGHUP")
        assert result.evidence == "exit"

    async def test_a_result_of_the_backends_that_says_so_is_passed_on_as_it_is(self, opened: Opened) -> None:
        operation, inner = opened.send()
        await opened.kill()
        assert await operation.done is inner.done.result()

    async def test_a_failure_of_the_backends_is_an_exit_too(self, opened: Opened) -> None:
        operation, inner = opened.send()
        gate = Gate()
        opened.session.close_gates = [gate]
        kill = opened.kill()
        await gate.reached()
        inner.print("rest")
        inner.fail(OSError("hung up"))
        gate.open()
        await kill
        result = await operation.done
        assert (result.wait_reason, result.viewport) == ("session_exit", "rest")

    async def test_a_backend_that_never_settles_gets_a_moment_and_no_more(
        self, opened: Opened, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(sending, "LAST_WORD", 0.01)
        opened.session.settles_at_close = False
        operation, inner = opened.send()
        inner.print("rest")
        await opened.kill()
        result = await operation.done
        assert (result.wait_reason, result.viewport) == ("session_exit", "rest")
        assert "'fake' did not settle" in caplog.text

    async def test_a_last_word_after_the_close_counts(self, opened: Opened) -> None:
        opened.session.settles_at_close = False
        operation, inner = opened.send()
        await opened.kill()
        await ticks()
        expected = inner.settle("session_exit", "last word")
        assert await operation.done is expected

    @pytest.mark.parametrize("before", [True, False])
    async def test_if_the_close_fails_it_waits_for_the_retry(self, opened: Opened, before: bool) -> None:
        operation, inner = opened.send()
        gate = Gate()
        opened.session.close_gates = [gate]
        kill = opened.kill()
        await gate.reached()
        if before:
            inner.settle("stdin_read")
        await ticks()
        gate.fail(OSError("survivors"))
        with pytest.raises(OSError, match="survivors"):
            await kill
        if not before:
            inner.settle("stdin_read")
        done = asyncio.ensure_future(operation.done)
        await ticks()
        assert not done.done()
        assert opened.refused() == "SEND_ACTIVE"
        assert operation.cancel() is False
        await opened.kill()
        assert (await done).wait_reason == "session_exit"

    @pytest.mark.parametrize("before", [True, False])
    async def test_if_the_close_fails_and_the_process_has_ended_it_settles(self, opened: Opened, before: bool) -> None:
        operation, inner = opened.send()
        gate = Gate()
        opened.session.close_gates = [gate]
        kill = opened.kill()
        await gate.reached()
        if before:
            inner.settle("stdin_read")
        opened.session.exit(9)
        await ticks()
        gate.fail(OSError("survivors"))
        with pytest.raises(OSError, match="survivors"):
            await kill
        if not before:
            inner.settle("stdin_read")
        result = await operation.done
        assert (result.wait_reason, result.session_status) == ("session_exit", Exited(9, None))

    async def test_a_send_that_settled_before_the_close_is_left_as_it_was(self, opened: Opened) -> None:
        operation, inner = opened.send()
        expected = inner.settle("stdin_read")
        await ticks(1)
        await opened.kill()
        assert await operation.done is expected


@pytest.mark.rule("N14")
async def test_waiting_on_is_a_send_like_any_other(opened: Opened) -> None:
    operation, inner = opened.send(TerminalSendRequest("", submit=False))
    assert (inner.request.text, inner.request.submit) == ("", False)
    assert opened.refused() == "SEND_ACTIVE"
    inner.settle()
    await operation.done


@pytest.mark.rule("host-3")
async def test_no_text_of_a_send_is_logged_or_shown(opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "hunter2"
    operation, inner = opened.send(TerminalSendRequest(secret))
    opened.refused()
    with pytest.raises(TerminalError) as caught:
        opened.send(TerminalSendRequest(secret))
    inner.fail(OSError())
    await ticks()
    opened.session.refuse_send = OSError()
    with pytest.raises(OSError):
        opened.send(TerminalSendRequest(secret))
    opened.session.start_send = lambda request: request  # type: ignore[assignment, method-assign, return-value]
    with pytest.raises(TypeError) as junk:
        opened.send(TerminalSendRequest(secret))
    for text in [caplog.text, repr(caught.value), repr(operation), repr(inner.request), repr(junk.value)]:
        assert secret not in text
