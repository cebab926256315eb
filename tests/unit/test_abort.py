"""Rule A6: aborting, with and without an event loop."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import pytest

from kai_terminal import AbortController, AbortError, AbortSignal

pytestmark = pytest.mark.rule("A6")


def test_the_first_reason_stays_and_is_the_same_object() -> None:
    controller = AbortController()
    first = ValueError("first")
    controller.abort(first)
    controller.abort(ValueError("second"))
    assert controller.signal.aborted
    assert controller.signal.reason is first
    with pytest.raises(ValueError, match="first") as caught:
        controller.signal.throw_if_aborted()
    assert caught.value is first


def test_no_reason_makes_an_abort_error() -> None:
    controller = AbortController()
    assert not controller.signal.aborted
    controller.signal.throw_if_aborted()
    controller.abort()
    assert isinstance(controller.signal.reason, AbortError)


@pytest.mark.parametrize("reason", ["text", ValueError, 0])
def test_a_reason_is_an_exception_instance(reason: object) -> None:
    controller = AbortController()
    with pytest.raises(TypeError, match="exception instance"):
        controller.abort(reason)  # type: ignore[arg-type]
    assert not controller.signal.aborted


def test_callbacks_are_called_once_with_the_reason_and_can_be_removed() -> None:
    controller = AbortController()
    calls: list[tuple[str, BaseException]] = []
    controller.signal.add_callback(lambda reason: calls.append(("kept", reason)))
    remove = controller.signal.add_callback(lambda reason: calls.append(("removed", reason)))
    remove()
    remove()
    reason = ValueError()
    controller.abort(reason)
    controller.abort()
    assert calls == [("kept", reason)]
    controller.signal.add_callback(lambda reason: calls.append(("late", reason)))
    assert calls == [("kept", reason), ("late", reason)]


def test_a_failing_callback_is_logged_and_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    controller = AbortController()
    calls: list[BaseException] = []

    def fail(_reason: BaseException) -> None:
        message = "callback broke"
        raise RuntimeError(message)

    controller.signal.add_callback(fail)
    controller.signal.add_callback(calls.append)
    controller.abort()
    assert calls == [controller.signal.reason]
    assert "a callback of an abort signal failed" in caplog.text


def test_a_callback_may_add_and_remove_callbacks() -> None:
    controller = AbortController()
    calls: list[str] = []
    removes = [controller.signal.add_callback(lambda _: calls.append("second"))]

    def first(_reason: BaseException) -> None:
        removes[0]()
        controller.signal.add_callback(lambda _: calls.append("added"))

    controller.signal.add_callback(first)
    controller.abort()
    assert "added" in calls


async def test_wait_returns_the_reason_to_everybody() -> None:
    controller = AbortController()
    waiters = [asyncio.create_task(controller.signal.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    waiters[0].cancel()
    reason = ValueError()
    controller.abort(reason)
    assert await waiters[1] is reason
    assert await waiters[2] is reason
    assert await controller.signal.wait() is reason
    with pytest.raises(asyncio.CancelledError):
        await waiters[0]
    assert not controller.signal._callbacks


async def test_abort_from_another_thread_wakes_the_loop() -> None:
    controller = AbortController()
    reason = ValueError()
    thread = threading.Thread(target=controller.abort, args=(reason,))
    waiter = asyncio.create_task(controller.signal.wait())
    await asyncio.sleep(0)
    thread.start()
    assert await waiter is reason
    thread.join()


def test_concurrent_aborts_agree_on_one_reason() -> None:
    for _ in range(50):
        controller = AbortController()
        seen: list[BaseException] = []
        controller.signal.add_callback(seen.append)
        reasons = [ValueError(number) for number in range(4)]
        barrier = threading.Barrier(4)

        def abort(reason: BaseException, barrier: threading.Barrier, controller: AbortController) -> None:
            barrier.wait()
            controller.abort(reason)

        threads = [threading.Thread(target=abort, args=(reason, barrier, controller)) for reason in reasons]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [controller.signal.reason]


def test_any_follows_the_first_source() -> None:
    first, second = AbortController(), AbortController()
    either = AbortSignal.any([first.signal, second.signal])
    seen: list[BaseException] = []
    either.add_callback(seen.append)
    reason = ValueError()
    second.abort(reason)
    first.abort()
    assert either.reason is reason
    assert seen == [reason]


def test_any_of_an_aborted_source_is_aborted() -> None:
    first, second = AbortController(), AbortController()
    second.abort()
    assert AbortSignal.any([first.signal, second.signal]).reason is second.signal.reason
    assert not AbortSignal.any([]).aborted
    with pytest.raises(TypeError):
        AbortSignal.any([first])  # type: ignore[list-item]


def test_any_of_any_works_though_nobody_holds_the_middle_one() -> None:
    controller = AbortController()
    seen: list[BaseException] = []
    AbortSignal.any([AbortSignal.any([controller.signal])]).add_callback(seen.append)
    gc.collect()
    controller.abort()
    assert seen == [controller.signal.reason]


def test_a_derived_signal_keeps_no_source_alive_and_no_source_keeps_it() -> None:
    controller = AbortController()
    source = weakref.ref(controller.signal)
    derived = AbortSignal.any([controller.signal])
    derived.add_callback(lambda _: None)
    del controller
    gc.collect()
    assert source() is None
    long_lived = AbortController()
    target = weakref.ref(AbortSignal.any([long_lived.signal]))
    gc.collect()
    assert target() is None
    listened = AbortSignal.any([long_lived.signal])
    remove = listened.add_callback(lambda _: None)
    target = weakref.ref(listened)
    del listened
    gc.collect()
    assert target() is not None
    remove()
    del remove
    gc.collect()
    assert target() is None


async def test_timeout_in_a_loop() -> None:
    signal = AbortSignal.timeout(0.01)
    assert not signal.aborted
    assert isinstance(await signal.wait(), TimeoutError)


def test_timeout_without_a_loop() -> None:
    done = threading.Event()
    signal = AbortSignal.timeout(0.01)
    signal.add_callback(lambda _: done.set())
    assert done.wait(5)
    assert isinstance(signal.reason, TimeoutError)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_a_timeout_is_finite_and_not_negative(seconds: float) -> None:
    with pytest.raises(ValueError, match="finite number of seconds"):
        AbortSignal.timeout(seconds)


@pytest.mark.parametrize("seconds", ["1", True, None])
def test_a_timeout_is_a_number(seconds: object) -> None:
    with pytest.raises(TypeError):
        AbortSignal.timeout(seconds)  # type: ignore[arg-type]
