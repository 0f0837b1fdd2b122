"""The machine of connectors and tasks, over the full product of states and events."""

from __future__ import annotations

import itertools

import pytest

from connectd.errors import InvariantError
from connectd.model.states import TRANSITIONS, LifecycleEvent, State, next_state

S, E = State, LifecycleEvent

# Written down a second time, by rule instead of by table: from any state, what an event leads to,
# unless the pair is one of those that cannot happen.
LEADS_TO = {
    E.STARTED: S.RUNNING,
    E.PAUSED: S.PAUSED,
    E.RESUMED: S.RUNNING,
    E.FAILED: S.FAILED,
    E.RESTARTED: S.RESTARTING,
    E.SUSPENDED: S.STOPPED,
    E.SHUT_DOWN: S.UNASSIGNED,
}
STARTS_FROM = {S.UNASSIGNED, S.RESTARTING, S.STOPPED}
RESUMES_FROM = {S.PAUSED, S.STOPPED}
PAUSES_FROM = {S.UNASSIGNED, S.RUNNING, S.RESTARTING, S.STOPPED}
SUSPENDS_FROM = set(S) - {S.STOPPED}


def _can_happen(state: State, event: LifecycleEvent) -> bool:
    sources = {
        E.STARTED: STARTS_FROM,
        E.RESUMED: RESUMES_FROM,
        E.PAUSED: PAUSES_FROM,
        E.SUSPENDED: SUSPENDS_FROM,
    }
    return state in sources.get(event, set(S))


@pytest.mark.parametrize(("state", "event"), list(itertools.product(State, LifecycleEvent)))
def test_every_event_in_every_state_has_the_outcome_of_its_rule(
    state: State, event: LifecycleEvent
) -> None:
    if _can_happen(state, event):
        assert next_state(state, event) is LEADS_TO[event]
    else:
        with pytest.raises(InvariantError, match=f"{event.name} cannot happen.*{state.name}"):
            next_state(state, event)


def test_every_state_can_be_reached_and_left() -> None:
    reached = set(TRANSITIONS.values())
    left = {state for (state, _), target in TRANSITIONS.items() if target is not state}
    assert reached == set(State)
    assert left == set(State)


def test_failure_restart_and_end_are_possible_everywhere() -> None:
    for state in State:
        assert next_state(state, E.FAILED) is S.FAILED
        assert next_state(state, E.RESTARTED) is S.RESTARTING
        assert next_state(state, E.SHUT_DOWN) is S.UNASSIGNED
