"""The states of connectors and tasks, wanted and actual (spec kafka-connect D.1, D.2).

*Target* and *actual* never share a type. Machines are written one way: an enum of states, an enum
of events, a literal table and a pure ``next_state``; effects live elsewhere, and a test walks the
full product.

A task::

    UNASSIGNED --start--> RUNNING --pause--> PAUSED --resume--> RUNNING
        any --fail--> FAILED      any --restart--> RESTARTING --start--> RUNNING
        any --stop--> UNASSIGNED
"""

from __future__ import annotations

from enum import Enum

from connectd.errors import InvariantError


class TargetState(Enum):
    """What a user wants of a connector; kept in the config topic."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class State(Enum):
    """What a connector or task does; kept in the status topic."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"  # connectors only: a stopped connector has no tasks


class LifecycleEvent(Enum):
    """What happens to a connector or task on its worker."""

    STARTED = "started"
    PAUSED = "paused"
    RESUMED = "resumed"
    FAILED = "failed"
    RESTARTED = "restarted"
    SUSPENDED = "suspended"  # target state STOPPED reached (connectors only)
    SHUT_DOWN = "shut down"


_S, _E = State, LifecycleEvent

TRANSITIONS: dict[tuple[State, LifecycleEvent], State] = {
    (_S.UNASSIGNED, _E.STARTED): _S.RUNNING,
    (_S.UNASSIGNED, _E.PAUSED): _S.PAUSED,
    (_S.UNASSIGNED, _E.FAILED): _S.FAILED,
    (_S.UNASSIGNED, _E.RESTARTED): _S.RESTARTING,
    (_S.UNASSIGNED, _E.SUSPENDED): _S.STOPPED,
    (_S.UNASSIGNED, _E.SHUT_DOWN): _S.UNASSIGNED,
    (_S.RUNNING, _E.PAUSED): _S.PAUSED,
    (_S.RUNNING, _E.FAILED): _S.FAILED,
    (_S.RUNNING, _E.RESTARTED): _S.RESTARTING,
    (_S.RUNNING, _E.SUSPENDED): _S.STOPPED,
    (_S.RUNNING, _E.SHUT_DOWN): _S.UNASSIGNED,
    (_S.PAUSED, _E.RESUMED): _S.RUNNING,
    (_S.PAUSED, _E.FAILED): _S.FAILED,
    (_S.PAUSED, _E.RESTARTED): _S.RESTARTING,
    (_S.PAUSED, _E.SUSPENDED): _S.STOPPED,
    (_S.PAUSED, _E.SHUT_DOWN): _S.UNASSIGNED,
    (_S.FAILED, _E.FAILED): _S.FAILED,
    (_S.FAILED, _E.RESTARTED): _S.RESTARTING,
    (_S.FAILED, _E.SUSPENDED): _S.STOPPED,
    (_S.FAILED, _E.SHUT_DOWN): _S.UNASSIGNED,
    (_S.RESTARTING, _E.STARTED): _S.RUNNING,
    (_S.RESTARTING, _E.PAUSED): _S.PAUSED,
    (_S.RESTARTING, _E.FAILED): _S.FAILED,
    (_S.RESTARTING, _E.RESTARTED): _S.RESTARTING,
    (_S.RESTARTING, _E.SUSPENDED): _S.STOPPED,
    (_S.RESTARTING, _E.SHUT_DOWN): _S.UNASSIGNED,
    (_S.STOPPED, _E.STARTED): _S.RUNNING,
    (_S.STOPPED, _E.PAUSED): _S.PAUSED,
    (_S.STOPPED, _E.RESUMED): _S.RUNNING,
    (_S.STOPPED, _E.FAILED): _S.FAILED,
    (_S.STOPPED, _E.RESTARTED): _S.RESTARTING,
    (_S.STOPPED, _E.SHUT_DOWN): _S.UNASSIGNED,
}


def next_state(state: State, event: LifecycleEvent) -> State:
    """The state after an event.

    Raises:
        InvariantError: the event cannot happen in that state.
    """
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise InvariantError(f"{event.name} cannot happen to something {state.name}") from None
