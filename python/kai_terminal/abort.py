"""Telling running work to stop, with a reason.

The shape is that of the web platform's `AbortController`. Nothing here needs a running event loop, and every method may
be called from any thread; callbacks run in the thread that aborts.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import weakref
from collections.abc import Callable, Iterable

from .errors import AbortError

__all__ = ["AbortController", "AbortError", "AbortSignal"]

AbortCallback = Callable[[BaseException], object]

_log = logging.getLogger("kai_terminal")


class AbortSignal:
    """Says whether, and why, work should stop. Made by an `AbortController`, by `any` or by `timeout`."""

    __slots__ = ("__weakref__", "_callbacks", "_dependents", "_listened", "_lock", "_reason", "_sources")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: BaseException | None = None
        self._callbacks: dict[object, AbortCallback] = {}
        # Signals made from this one by `any`. They are held weakly, so that a signal that lives long (a host's own)
        # does not collect every signal ever derived from it; one that somebody listens to is held in `_listened` as
        # well.
        self._dependents: weakref.WeakSet[AbortSignal] | None = None
        self._listened: set[AbortSignal] = set()
        # Of a derived signal: what can abort it, never another derived one (nobody might hold that).
        self._sources: list[weakref.ref[AbortSignal]] = []

    @property
    def aborted(self) -> bool:
        """Whether the abort has happened. It never goes back."""
        return self._reason is not None

    @property
    def reason(self) -> BaseException | None:
        """The exact object that the first abort gave, or `None` before it."""
        return self._reason

    def throw_if_aborted(self) -> None:
        """Raise the reason if the abort has happened."""
        if self._reason is not None:
            raise self._reason

    def add_callback(self, callback: AbortCallback) -> Callable[[], None]:
        """Call `callback(reason)` once at the abort, at once if it has happened; returns a function that removes it.

        A callback that fails is logged and does not keep the others from being called.
        """
        key = object()
        with self._lock:
            reason = self._reason
            if reason is None:
                self._callbacks[key] = callback
                self._keep(True)
        if reason is not None:
            _call(callback, reason)
        return lambda: self._remove(key)

    async def wait(self) -> BaseException:
        """Wait for the abort and return its reason. Cancelling the waiter changes nothing here."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def wake(_reason: BaseException) -> None:
            call_on(loop, _settle, future)

        remove = self.add_callback(wake)
        try:
            if self._reason is None:
                await future
        finally:
            remove()
        if self._reason is None:
            # Only the callback settles the future, and it comes after the reason.
            raise AssertionError
        return self._reason

    @classmethod
    def any(cls, signals: Iterable[AbortSignal]) -> AbortSignal:
        """A signal that aborts with the first of `signals`, with its reason.

        It does not keep them alive, nor they it, unless somebody listens to it.
        """
        sources = list(signals)
        for source in sources:
            if not isinstance(source, AbortSignal):
                message = f"AbortSignal.any takes signals, not {type(source).__name__}"
                raise TypeError(message)
        derived = cls()
        for source in sources:
            if source._reason is not None:
                derived._abort(source._reason)
                break
            for root in source._sources or [weakref.ref(source)]:
                derived._follow(root)
        return derived

    @classmethod
    def timeout(cls, seconds: float) -> AbortSignal:
        """A signal that aborts with a `TimeoutError` after `seconds` (zero or more).

        In a running event loop its timer is the loop's and ends with it; elsewhere a daemon thread keeps the time.
        """
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
            message = f"a timeout is a number of seconds, not {type(seconds).__name__}"
            raise TypeError(message)
        if not math.isfinite(seconds) or seconds < 0:
            message = f"a timeout is a finite number of seconds, zero or more, not {seconds}"
            raise ValueError(message)
        signal = cls()

        def expire() -> None:
            signal._abort(TimeoutError(f"timed out after {seconds:g} s"))

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            timer = threading.Timer(seconds, expire)
            timer.daemon = True
            timer.start()
        else:
            loop.call_later(seconds, expire)
        return signal

    def __repr__(self) -> str:
        state = f"aborted: {type(self._reason).__name__}" if self._reason is not None else "not aborted"
        return f"<AbortSignal {state}>"

    def _abort(self, reason: BaseException) -> None:
        """Take the reason unless there is one, then tell whoever listens."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
            self._keep(False)
            dependents = [] if self._dependents is None else list(self._dependents)
            self._listened.clear()
        for callback in callbacks:
            _call(callback, reason)
        for dependent in dependents:
            dependent._abort(reason)

    def _follow(self, root: weakref.ref[AbortSignal]) -> None:
        source = root()
        if source is None:
            # Whoever could have aborted it is gone.
            return
        self._sources.append(root)
        with source._lock:
            reason = source._reason
            if reason is None:
                if source._dependents is None:
                    source._dependents = weakref.WeakSet()
                source._dependents.add(self)
        if reason is not None:
            self._abort(reason)

    def _remove(self, key: object) -> None:
        with self._lock:
            self._callbacks.pop(key, None)
            if not self._callbacks:
                self._keep(False)

    def _keep(self, wanted: bool) -> None:
        """Let the sources hold this signal while somebody listens to it."""
        for root in self._sources:
            source = root()
            if source is not None:
                if wanted:
                    source._listened.add(self)
                else:
                    source._listened.discard(self)


class AbortController:
    """The side that aborts; hand its `signal` to the work."""

    __slots__ = ("_signal",)

    def __init__(self) -> None:
        self._signal = AbortSignal()

    @property
    def signal(self) -> AbortSignal:
        """The signal that this controller aborts: always the same object."""
        return self._signal

    def abort(self, reason: BaseException | None = None) -> None:
        """Abort with `reason`, an exception instance (`None` makes an `AbortError`). Only the first call counts."""
        if reason is None:
            reason = AbortError("aborted")
        elif not isinstance(reason, BaseException):
            message = f"the reason of an abort is an exception instance, not {type(reason).__name__}"
            raise TypeError(message)
        self._signal._abort(reason)  # pyright: ignore[reportPrivateUsage]


def call_on(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *args: object) -> None:
    """Call in the loop's own thread: at once when that is the caller's, else soon; never once the loop is closed."""
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is loop:
        callback(*args)
        return
    try:
        loop.call_soon_threadsafe(callback, *args)
    except RuntimeError:
        # Closed: whatever waited on it can no longer be woken, nor does it need to be.
        _log.debug("an event loop was closed before it could be told something")


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _call(callback: AbortCallback, reason: BaseException) -> None:
    try:
        callback(reason)
    except Exception:
        _log.exception("a callback of an abort signal failed")
