"""Restarts what has failed by itself, if the operator asks for it (``connectd.restart.*``).

Off unless ``connectd.restart.attempts.max`` is set: Kafka Connect leaves a failed task FAILED until
somebody acts, and clients rely on it. When it is on, each connector instance and each task that
fails is restarted after a wait, which doubles from failure to failure. One that then runs for long
enough is healthy again, and its failures are forgotten; one that has used up its attempts stays
FAILED. A restart, a new config or a new task set by anybody else begins the count anew.

The status stays FAILED, with its trace, until the new life runs; the last line of the trace says
what is going to happen::

    HEALTHY --failed--> WAITING --due--> STARTING --begun--> PROVING --steady--> HEALTHY
                           ^                                   |
                           +------------- failed --------------+---exhausted--> GIVEN_UP
    any --begun, except from STARTING--> HEALTHY

State: the machines and timers by connector or task, of the event loop. The worker tells what
happens, and restarts what is due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

import structlog

from connectd.aio.backoff import Backoff
from connectd.errors import InvariantError
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State

_log = structlog.get_logger(__name__)

Item = str | ConnectorTaskId
"""A connector's name stands for its instance."""


@dataclass(frozen=True)
class RestartPolicy:
    """How often and when failed connectors and tasks are restarted; never, as it is made.

    ``steady_s`` is how long one must run until its failures are forgotten.
    """

    attempts_max: int = 0
    backoff: Backoff = field(default_factory=lambda: Backoff(initial_s=10.0, max_s=600.0))
    steady_s: float = 600.0

    @property
    def is_on(self) -> bool:
        """Whether anything is restarted at all."""
        return self.attempts_max > 0


class Phase(Enum):
    """What is going on with one connector or task."""

    HEALTHY = "healthy"
    WAITING = "waiting"  # FAILED, until the wait is over
    STARTING = "starting"  # a new life is ordered
    PROVING = "proving"  # it has begun, and may fail again
    GIVEN_UP = "given up"  # FAILED, and no attempt is left


class Event(Enum):
    """What happens to it."""

    FAILED = "failed"
    EXHAUSTED = "exhausted"  # failed, and no attempt is left
    DUE = "due"
    BEGUN = "begun"  # a life begins
    STEADY = "steady"


_P, _E = Phase, Event

TRANSITIONS: dict[tuple[Phase, Event], Phase] = {
    (_P.HEALTHY, _E.FAILED): _P.WAITING,
    (_P.HEALTHY, _E.BEGUN): _P.HEALTHY,
    (_P.WAITING, _E.FAILED): _P.WAITING,  # a second input of the same task
    (_P.WAITING, _E.DUE): _P.STARTING,
    (_P.WAITING, _E.BEGUN): _P.HEALTHY,
    (_P.STARTING, _E.FAILED): _P.STARTING,  # the old life, while it ends
    (_P.STARTING, _E.EXHAUSTED): _P.STARTING,
    (_P.STARTING, _E.BEGUN): _P.PROVING,
    (_P.PROVING, _E.FAILED): _P.WAITING,
    (_P.PROVING, _E.EXHAUSTED): _P.GIVEN_UP,
    (_P.PROVING, _E.BEGUN): _P.HEALTHY,
    (_P.PROVING, _E.STEADY): _P.HEALTHY,
    (_P.GIVEN_UP, _E.FAILED): _P.GIVEN_UP,
    (_P.GIVEN_UP, _E.EXHAUSTED): _P.GIVEN_UP,
    (_P.GIVEN_UP, _E.BEGUN): _P.HEALTHY,
}


@dataclass(frozen=True)
class Recovery:
    """One machine: its phase, and how many restarts there were since it was last healthy."""

    phase: Phase = Phase.HEALTHY
    attempts: int = 0


def next_recovery(recovery: Recovery, event: Event) -> Recovery:
    """The machine after an event.

    Raises:
        InvariantError: the event cannot happen in that phase.
    """
    try:
        phase = TRANSITIONS[recovery.phase, event]
    except KeyError:
        raise InvariantError(
            f"{event.name} cannot happen to something {recovery.phase.name}"
        ) from None
    if phase is Phase.HEALTHY:
        return Recovery()
    if event is Event.DUE:
        return Recovery(phase, recovery.attempts + 1)
    return replace(recovery, phase=phase)


class AutoRestart:
    """Runs the machines of one worker. ``restart`` begins a new life of an item, if it runs here.

    Without a policy that is on, it does nothing and remembers nothing.
    """

    def __init__(self, policy: RestartPolicy, restart: Callable[[Item], None]) -> None:
        self._policy = policy
        self._restart = restart
        self._recoveries: dict[Item, Recovery] = {}
        self._timers: dict[Item, asyncio.TimerHandle] = {}

    # -- what the worker tells ------------------------------------------------------------------

    def on_begun(self, item: Item) -> bool:
        """A life begins. True if it is one of ours: the failure stays in sight until it runs."""
        recovery = self._recoveries.get(item)
        if recovery is None:
            return False
        self._advance(item, Event.BEGUN)
        return recovery.phase is Phase.STARTING

    def on_state(self, item: Item, state: State) -> str | None:
        """A life shows a state; of a failure, a sentence about what comes next."""
        if not self._policy.is_on:
            return None
        if state is State.FAILED:
            return self._on_failed(item)
        if state is State.STOPPED:
            self.forget(item)
        elif state is State.RUNNING and self._phase(item) is Phase.PROVING:
            self._set_timer(item, self._policy.steady_s, Event.STEADY)
        return None

    def forget(self, item: Item) -> None:
        """What does not run here any more; a connector takes its tasks along."""
        gone = [
            each
            for each in self._recoveries
            if each == item or (isinstance(each, ConnectorTaskId) and each.connector == item)
        ]
        for each in gone:
            self._forget_one(each)

    def close(self) -> None:
        """Restart nothing any more."""
        for item in list(self._recoveries):
            self.forget(item)

    def statistics(self) -> Mapping[Item, Recovery]:
        """What is not healthy, by connector or task."""
        return dict(self._recoveries)

    # -- the machines ---------------------------------------------------------------------------

    def _phase(self, item: Item) -> Phase:
        return self._recoveries.get(item, Recovery()).phase

    def _advance(self, item: Item, event: Event) -> Recovery:
        recovery = next_recovery(self._recoveries.get(item, Recovery()), event)
        if recovery.phase is Phase.HEALTHY:
            self._forget_one(item)
        else:
            self._recoveries[item] = recovery
        return recovery

    def _forget_one(self, item: Item) -> None:
        self._cancel_timer(item)
        self._recoveries.pop(item, None)

    def _on_failed(self, item: Item) -> str | None:
        policy = self._policy
        before = self._recoveries.get(item, Recovery())
        is_exhausted = before.attempts >= policy.attempts_max
        recovery = self._advance(item, Event.EXHAUSTED if is_exhausted else Event.FAILED)
        if recovery == before:
            return None
        if recovery.phase is Phase.GIVEN_UP:
            self._cancel_timer(item)
            _log.error("given up restarting", subject=str(item), restarts=before.attempts)
            return f"Given up after {before.attempts} restarts (connectd.restart.attempts.max)."
        attempt = recovery.attempts + 1
        wait_s = policy.backoff.wait_s(attempt)
        self._set_timer(item, wait_s, Event.DUE)
        _log.info(
            "failed: will be restarted",
            subject=str(item),
            attempt=attempt,
            attempts_max=policy.attempts_max,
            wait_s=round(wait_s, 1),
        )
        return f"Restart {attempt} of {policy.attempts_max} follows in {wait_s:.1f} s."

    def _set_timer(self, item: Item, wait_s: float, event: Event) -> None:
        self._cancel_timer(item)
        loop = asyncio.get_running_loop()
        self._timers[item] = loop.call_later(wait_s, self._on_timer, item, event)

    def _cancel_timer(self, item: Item) -> None:
        timer = self._timers.pop(item, None)
        if timer is not None:
            timer.cancel()

    def _on_timer(self, item: Item, event: Event) -> None:
        del self._timers[item]
        recovery = self._advance(item, event)
        if event is Event.STEADY:
            _log.info("runs steadily again", subject=str(item))
            return
        _log.info("restarting what has failed", subject=str(item), attempt=recovery.attempts)
        self._restart(item)
