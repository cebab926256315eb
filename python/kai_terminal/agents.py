"""Owners of terminals: who they are, whether they live, and what must be undone when they end."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable

from ._completion import Completion, background, cancelled_from_outside, stranded
from .errors import TerminalError, TerminalErrorCode, as_exception

__all__ = ["Agent", "AgentRegistry", "AgentScope"]

_log = logging.getLogger("kai_terminal")

Dispose = Callable[[], object]


class AgentScope:
    """What is to be undone when its agent ends, in reverse order of registration."""

    __slots__ = ("_closed", "_effects")

    def __init__(self) -> None:
        self._closed = False
        self._effects: dict[object, Dispose] = {}

    def effect(self, dispose: Dispose) -> Callable[[], None]:
        """Run `dispose` (plain or async, no arguments) once when the agent ends; returns a function that removes it.

        Last registered, first run, one after the other. Once the disposal has begun this raises `OWNER_NOT_LIVE`.
        """
        if not callable(dispose):
            message = f"an effect is a callable without arguments, not {type(dispose).__name__}"
            raise TypeError(message)
        if self._closed:
            message = "the agent is being disposed or gone: nothing can be registered with its scope any more"
            raise TerminalError(message, TerminalErrorCode.OWNER_NOT_LIVE)
        key = object()
        self._effects[key] = dispose
        return lambda: self._detach(key)

    def _detach(self, key: object) -> None:
        self._effects.pop(key, None)

    def _close(self) -> None:
        self._closed = True

    async def _run(self) -> list[Exception]:
        """Run every effect, whatever the others did; returns what failed, in the order it ran."""
        failures: list[Exception] = []
        while self._effects:
            _, dispose = self._effects.popitem()
            try:
                outcome = dispose()
                if inspect.isawaitable(outcome):
                    await outcome
            except asyncio.CancelledError as error:
                if cancelled_from_outside():
                    # The loop is being shut down. What is left stays registered: a later disposal goes on from here.
                    raise
                failures.append(as_exception(error))
            except Exception as error:
                failures.append(error)
        return failures


class Agent:
    """An owner of terminals. Compared by identity, never by its id. Made by `AgentRegistry.create`."""

    __slots__ = ("__weakref__", "_disposal", "_disposer", "_id", "_registry", "_scope")

    def __init__(self, agent_id: str, registry: AgentRegistry) -> None:
        self._id = agent_id
        self._registry = registry
        self._scope = AgentScope()
        self._disposal: Completion[None] | None = None
        self._disposer: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        """Its id: unique among the agents that are live in one registry, and free again once it is not."""
        return self._id

    @property
    def scope(self) -> AgentScope:
        """What is undone when this agent ends."""
        return self._scope

    async def dispose(self) -> None:
        """End this agent: it is no longer live, then its effects run, last registered first.

        Failures are raised as one `ExceptionGroup` after all effects ran. A second call joins the first and ends as it
        did. Cancelling whoever awaits this does not stop the disposal.
        """
        disposal = self._disposal
        if disposal is None or (not disposal.settled and stranded(self._disposer)):
            self._registry._forget(self)  # pyright: ignore[reportPrivateUsage]
            self._scope._close()  # pyright: ignore[reportPrivateUsage]
            disposal = self._disposal = Completion()
            self._disposer = background(self._dispose(disposal))
        elif self._disposer is not None and self._disposer is asyncio.current_task():
            message = f"an effect of agent {self._id!r} waits for the disposal that runs it: this could never end"
            raise RuntimeError(message)
        await disposal

    async def _dispose(self, disposal: Completion[None]) -> None:
        try:
            failures = await self._scope._run()  # pyright: ignore[reportPrivateUsage]
        except BaseException as error:
            # Shut down half way: let a later call go on with the effects that are left.
            self._disposal = self._disposer = None
            disposal.fail(as_exception(error))
            raise
        self._disposer = None
        if failures:
            if not disposal.fail(ExceptionGroup(f"failed to dispose agent {self._id!r}", failures)):
                _log.warning(
                    "disposing agent %r failed, and nobody waited for it: %d failure(s)", self._id, len(failures)
                )
        else:
            disposal.succeed(None)

    def __repr__(self) -> str:
        return f"<Agent {self._id!r}>"


class AgentRegistry:
    """Which exact object is live under an id."""

    __slots__ = ("_agents", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._agents: dict[str, Agent] = {}

    def create(self, agent_id: str) -> Agent:
        """A new live agent. `ValueError` while another is live under that id, or when the id is empty."""
        if not isinstance(agent_id, str):
            message = f"the id of an agent is a string, not {type(agent_id).__name__}"
            raise TypeError(message)
        if not agent_id:
            message = "the id of an agent must not be empty"
            raise ValueError(message)
        with self._lock:
            if agent_id in self._agents:
                message = f"an agent with the id {agent_id!r} is live: dispose it first, or choose another id"
                raise ValueError(message)
            agent = self._agents[agent_id] = Agent(agent_id, self)
        return agent

    def get(self, agent_id: str) -> Agent | None:
        """The agent that is live under this id, or `None`. An agent is not live from the moment its disposal begins."""
        return self._agents.get(agent_id)

    def _forget(self, agent: Agent) -> None:
        with self._lock:
            if self._agents.get(agent.id) is agent:
                del self._agents[agent.id]
