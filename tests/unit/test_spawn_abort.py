"""Rules S8 to S11: aborting a spawn, from either side, at every point of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from fakes import FakeBackend, FakeSession, Gate, ticks, until
from kai_terminal import (
    AbortController,
    AbortError,
    Agent,
    TerminalBackendCleanupError,
    TerminalBackendSpawnSpec,
    TerminalError,
    TerminalSessionService,
    TerminalSpawnRequest,
    TerminalSpawnResult,
)

REQUEST = TerminalSpawnRequest("fake", name="build")


class Pending:
    """A spawn that stands at the gate of its backend's setup."""

    def __init__(self, service: TerminalSessionService, owner: Agent, backend: FakeBackend) -> None:
        self.service = service
        self.owner = owner
        self.backend = backend
        self.gate = Gate()
        self.controller = AbortController()
        self.reason = ValueError("the caller's")
        backend.gates = [self.gate]
        self.task: asyncio.Task[TerminalSpawnResult] = asyncio.ensure_future(
            service.spawn(owner, REQUEST, self.controller.signal)
        )

    def fail_the_rollback(self, error: BaseException) -> None:
        """Whatever the setup returns will fail to close once."""

        def make() -> FakeSession:
            session = FakeSession()
            gate = Gate()
            gate.fail(error)
            session.close_gates = [gate]
            return session

        self.backend.make = make

    def hold_the_rollback(self) -> Gate:
        gate = Gate()

        def make() -> FakeSession:
            session = FakeSession()
            session.close_gates = [gate]
            return session

        self.backend.make = make
        return gate

    async def outcome(self) -> BaseException:
        with pytest.raises(BaseException) as caught:
            await self.task
        return caught.value

    @property
    def spec(self) -> TerminalBackendSpawnSpec:
        return self.backend.specs[-1]


@pytest.fixture
async def pending(service: TerminalSessionService, owner: Agent, backend: FakeBackend) -> Pending:
    pending = Pending(service, owner, backend)
    await pending.gate.reached()
    return pending


@pytest.mark.rule("S8")
class TestTheCallersSignal:
    async def test_reason_comes_out_though_the_backend_raised_its_own(self, pending: Pending) -> None:
        pending.controller.abort(pending.reason)
        assert pending.spec.signal.reason is pending.reason
        pending.gate.fail(OSError("the backend's"))
        assert await pending.outcome() is pending.reason
        assert not pending.service.has_owner_activity(pending.owner)

    async def test_reason_comes_out_after_a_returned_session_was_closed(self, pending: Pending) -> None:
        closing = pending.hold_the_rollback()
        pending.controller.abort(pending.reason)
        pending.gate.open()
        await closing.reached()
        assert not pending.task.done()
        assert pending.service.list(pending.owner) == []
        assert pending.service.has_owner_activity(pending.owner)
        closing.open()
        assert await pending.outcome() is pending.reason
        assert pending.backend.sessions[0].close_reasons == ["PTY spawn rolled back"]
        assert not pending.service.has_owner_activity(pending.owner)

    async def test_reason_comes_out_though_the_backend_could_not_clean_up(self, pending: Pending) -> None:
        pending.controller.abort(pending.reason)
        pending.gate.fail(TerminalBackendCleanupError(OSError(), KeyError("left")))
        assert await pending.outcome() is pending.reason
        with pytest.raises(ExceptionGroup):
            await pending.owner.dispose()

    async def test_reason_comes_out_though_it_came_after_the_backend_had_settled(self, pending: Pending) -> None:
        """The setup is over, but the task of the caller has not run yet: it is not published any more."""
        pending.gate.open()
        await until(lambda: pending.backend.sessions)
        pending.controller.abort(pending.reason)
        assert await pending.outcome() is pending.reason
        assert pending.backend.sessions[0].close_reasons == ["PTY spawn rolled back"]

    @pytest.mark.parametrize("reason", [KeyboardInterrupt(), asyncio.CancelledError(), SystemExit(3)])
    async def test_reason_may_be_any_exception(
        self, service: TerminalSessionService, owner: Agent, backend: FakeBackend, reason: BaseException
    ) -> None:
        async def spawn() -> BaseException:
            try:
                await service.spawn(owner, REQUEST, controller.signal)
            except BaseException as error:
                return error
            raise AssertionError

        controller = AbortController()
        gate = Gate()
        backend.gates = [gate]
        backend.heeds_signal = True
        task = asyncio.create_task(spawn())
        await gate.reached()
        controller.abort(reason)
        assert await task is reason

    async def test_an_abort_after_the_publication_changes_nothing(self, pending: Pending) -> None:
        pending.gate.open()
        opened = await pending.task
        pending.controller.abort(pending.reason)
        await ticks()
        assert not pending.spec.signal.aborted
        assert [snapshot.session_id for snapshot in pending.service.list(pending.owner)] == [opened.session_id]


@pytest.mark.rule("S8")
class TestCancellingTheTask:
    async def test_it_aborts_the_signal_and_waits_for_the_rollback(self, pending: Pending) -> None:
        closing = pending.hold_the_rollback()
        pending.task.cancel("why")
        await ticks()
        assert isinstance(pending.spec.signal.reason, AbortError)
        pending.gate.open()
        await closing.reached()
        assert not pending.task.done()
        closing.open()
        error = await pending.outcome()
        assert isinstance(error, asyncio.CancelledError)
        assert error.args == ("why",)
        assert pending.task.cancelled()
        assert pending.task.cancelling() == 1

    async def test_further_cancels_are_absorbed_and_stay_counted(self, pending: Pending) -> None:
        closing = pending.hold_the_rollback()
        for _ in range(3):
            pending.task.cancel()
            await ticks()
        pending.gate.open()
        await closing.reached()
        pending.task.cancel()
        await ticks()
        assert not pending.task.done()
        closing.open()
        assert isinstance(await pending.outcome(), asyncio.CancelledError)
        assert pending.task.cancelling() == 4

    async def test_a_cancel_in_the_step_of_the_publication_rolls_back(self, pending: Pending) -> None:
        """The result is there and the task about to resume: a session must not be left that nobody knows of."""
        pending.gate.open()
        await until(lambda: pending.backend.sessions)
        assert not pending.task.done()
        pending.task.cancel()
        assert isinstance(await pending.outcome(), asyncio.CancelledError)
        assert pending.service.list(pending.owner) == []
        assert pending.backend.sessions[0].close_reasons == ["PTY spawn rolled back"]

    async def test_a_cancel_at_every_step_leaves_nothing_or_a_result(
        self, service: TerminalSessionService, owner: Agent, backend: FakeBackend
    ) -> None:
        for steps in range(12):
            task = asyncio.create_task(service.spawn(owner, TerminalSpawnRequest("fake")))
            await ticks(steps)
            task.cancel()
            try:
                opened = await task
            except asyncio.CancelledError:
                assert service.list(owner) == []
                assert all(session.close_reasons for session in backend.sessions)
            else:
                assert [snapshot.session_id for snapshot in service.list(owner)] == [opened.session_id]
                await service.kill(owner, opened.session_id)
            assert not service.has_owner_activity(owner)

    async def test_timeout_becomes_a_timeout_error(
        self, service: TerminalSessionService, owner: Agent, backend: FakeBackend
    ) -> None:
        backend.gates = [Gate()]
        backend.heeds_signal = True
        task = asyncio.current_task()
        assert task is not None
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await service.spawn(owner, REQUEST)
        assert task.cancelling() == 0
        assert not service.has_owner_activity(owner)

    async def test_a_task_group_ends_with_the_failure_that_cancelled_the_spawn(
        self, service: TerminalSessionService, owner: Agent, backend: FakeBackend
    ) -> None:
        gate = Gate()
        backend.gates = [gate]
        backend.heeds_signal = True

        async def fail() -> None:
            await gate.reached()
            message = "sibling"
            raise LookupError(message)

        with pytest.raises(ExceptionGroup) as caught:
            async with asyncio.TaskGroup() as group:
                group.create_task(service.spawn(owner, REQUEST))
                group.create_task(fail())
        assert [type(error) for error in caught.value.exceptions] == [LookupError]
        assert not service.has_owner_activity(owner)

    async def test_the_first_of_signal_and_cancel_counts(self, pending: Pending) -> None:
        pending.controller.abort(pending.reason)
        pending.task.cancel()
        await ticks()
        pending.gate.open()
        assert await pending.outcome() is pending.reason

    async def test_a_cancel_before_a_signal_counts(self, pending: Pending) -> None:
        pending.task.cancel()
        await ticks()
        pending.controller.abort(pending.reason)
        pending.gate.open()
        assert isinstance(await pending.outcome(), asyncio.CancelledError)


@pytest.mark.rule("S8")
async def test_a_coroutine_that_is_thrown_away_leaves_nothing(
    service: TerminalSessionService, owner: Agent, backend: FakeBackend
) -> None:
    gate = Gate()
    backend.gates = [gate]
    coroutine = service.spawn(owner, REQUEST)
    coroutine.send(None)
    await gate.reached()
    coroutine.close()
    gate.open()
    await until(lambda: not service.has_owner_activity(owner))
    assert backend.sessions[0].close_reasons == ["PTY spawn rolled back"]


@pytest.mark.rule("S9", "S7")
@pytest.mark.parametrize("how", ["signal", "cancel"])
@pytest.mark.parametrize("who", ["owner", "service"])
async def test_a_cleanup_failure_behind_an_abort_is_kept_and_reported_once(
    pending: Pending, how: str, who: str
) -> None:
    failure = OSError("cannot close")
    pending.fail_the_rollback(failure)
    if how == "signal":
        pending.controller.abort(pending.reason)
    else:
        pending.task.cancel()
        await ticks()
    pending.gate.open()
    error = await pending.outcome()
    assert error is pending.reason or isinstance(error, asyncio.CancelledError)
    assert pending.service.has_owner_activity(pending.owner)
    dispose: Callable[[], object] = pending.owner.dispose if who == "owner" else pending.service.dispose
    with pytest.raises(ExceptionGroup) as caught:
        await dispose()  # type: ignore[misc]
    lifecycle = caught.value.exceptions[0] if who == "owner" else caught.value
    assert isinstance(lifecycle, ExceptionGroup)
    assert lifecycle.message == "failed to clean up PTY lifecycle"
    (rollback,) = lifecycle.exceptions
    assert isinstance(rollback, ExceptionGroup)
    assert rollback.message == "failed to roll back unpublished PTY setup"
    assert rollback.exceptions == (failure,)
    assert not pending.service.has_owner_activity(pending.owner)
    await pending.service.dispose()


@pytest.mark.rule("S10")
@pytest.mark.parametrize(("who", "code"), [("owner", "OWNER_NOT_LIVE"), ("service", "SERVICE_DISPOSING")])
class TestALifecycleAbort:
    async def test_the_disposal_waits_for_backend_and_rollback(self, pending: Pending, who: str, code: str) -> None:
        closing = pending.hold_the_rollback()
        disposal = asyncio.ensure_future(getattr(pending, who).dispose())
        await ticks()
        reason = pending.spec.signal.reason
        assert isinstance(reason, TerminalError)
        assert reason.code == code
        pending.gate.open()
        await closing.reached()
        assert not disposal.done()
        closing.open()
        await disposal
        assert await pending.outcome() is reason
        assert pending.backend.sessions[0].close_reasons == ["PTY spawn rolled back"]

    async def test_an_error_of_the_backend_does_not_hide_it(self, pending: Pending, who: str, code: str) -> None:
        disposal = asyncio.ensure_future(getattr(pending, who).dispose())
        await ticks()
        pending.gate.fail(OSError("the backend's"))
        await disposal
        error = await pending.outcome()
        assert error is pending.spec.signal.reason
        assert isinstance(error, TerminalError)
        assert error.code == code

    @pytest.mark.rule("S8")
    async def test_the_callers_reason_wins_and_the_disposal_reports(
        self, pending: Pending, who: str, code: str
    ) -> None:
        failure = OSError("cannot close")
        pending.fail_the_rollback(failure)
        disposal = asyncio.ensure_future(getattr(pending, who).dispose())
        await ticks()
        assert isinstance(pending.spec.signal.reason, TerminalError)
        assert pending.spec.signal.reason.code == code
        pending.controller.abort(pending.reason)
        pending.gate.open()
        assert await pending.outcome() is pending.reason
        with pytest.raises(ExceptionGroup) as caught:
            await disposal
        assert leaves(caught.value) == [failure]
        assert not pending.service.has_owner_activity(pending.owner)

    @pytest.mark.rule("S11")
    async def test_a_failed_rollback_is_raised_by_both(self, pending: Pending, who: str, code: str) -> None:
        failure = OSError("cannot close")
        pending.fail_the_rollback(failure)
        disposal = asyncio.ensure_future(getattr(pending, who).dispose())
        await ticks()
        pending.gate.open()
        error = await pending.outcome()
        assert isinstance(error, ExceptionGroup)
        assert error.message == "PTY spawn and rollback both failed"
        assert error.exceptions == (pending.spec.signal.reason, failure)
        assert error.exceptions[0].code == code  # type: ignore[attr-defined]
        with pytest.raises(ExceptionGroup) as caught:
            await disposal
        assert leaves(caught.value) == [failure]
        assert not pending.service.has_owner_activity(pending.owner)

    @pytest.mark.rule("S11")
    async def test_a_backend_that_could_not_clean_up_is_raised_by_both(
        self, pending: Pending, who: str, code: str
    ) -> None:
        disposal = asyncio.ensure_future(getattr(pending, who).dispose())
        await ticks()
        cleanup_error = asyncio.CancelledError()
        pending.gate.fail(TerminalBackendCleanupError(OSError("setup"), cleanup_error))
        error = await pending.outcome()
        assert isinstance(error, ExceptionGroup)
        assert error.message == "PTY spawn and rollback both failed"
        first, second = error.exceptions
        assert first is pending.spec.signal.reason
        assert first.code == code  # type: ignore[attr-defined]
        assert second.__cause__ is cleanup_error
        with pytest.raises(ExceptionGroup) as caught:
            await disposal
        assert [leaf.__cause__ for leaf in leaves(caught.value)] == [cleanup_error]


@pytest.mark.rule("S11", "S7")
async def test_a_backend_that_could_not_clean_up_is_raised_as_it_is_and_reported_to_the_disposal(
    pending: Pending,
) -> None:
    failure = TerminalBackendCleanupError(OSError("setup"), KeyError("left"))
    pending.gate.fail(failure)
    assert await pending.outcome() is failure
    assert pending.service.has_owner_activity(pending.owner)
    with pytest.raises(ExceptionGroup) as caught:
        await pending.service.dispose()
    assert leaves(caught.value) == [failure.cleanup_error]


@pytest.mark.rule("S10")
async def test_owner_and_service_disposed_together_both_wait_and_both_report(pending: Pending) -> None:
    failure = OSError("cannot close")
    pending.fail_the_rollback(failure)
    disposals = [asyncio.ensure_future(pending.owner.dispose()), asyncio.ensure_future(pending.service.dispose())]
    await ticks()
    pending.gate.open()
    outcomes = await asyncio.gather(*disposals, return_exceptions=True)
    for outcome in outcomes:
        assert isinstance(outcome, ExceptionGroup)
        assert leaves(outcome) == [failure]
    assert isinstance(await pending.outcome(), ExceptionGroup)
    await pending.service.dispose()


@pytest.mark.rule("S10", "S15")
async def test_an_owner_that_began_to_end_publishes_nothing_while_an_effect_before_ours_runs(
    pending: Pending,
) -> None:
    slow = Gate()
    pending.owner.scope.effect(slow.pass_through)
    disposal = asyncio.ensure_future(pending.owner.dispose())
    await slow.reached()
    pending.gate.open()
    error = await pending.outcome()
    assert isinstance(error, TerminalError)
    assert error.code == "OWNER_NOT_LIVE"
    assert pending.service.list(pending.owner) == []
    slow.open()
    await disposal


def leaves(error: BaseException) -> list[BaseException]:
    """What a group holds in the end."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for member in error.exceptions for leaf in leaves(member)]
    return [error]
