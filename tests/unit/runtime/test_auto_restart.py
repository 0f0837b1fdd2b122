"""The machine of automatic restarts, in full, and its policy."""

from __future__ import annotations

import itertools

import pytest

from connectd.errors import InvariantError
from connectd.runtime.auto_restart import (
    TRANSITIONS,
    Event,
    Phase,
    Recovery,
    RestartPolicy,
    next_recovery,
)

E, P = Event, Phase

CANNOT_HAPPEN = {
    # An attempt is left whenever it waits for one, and nothing is due or proven that was not begun.
    (P.HEALTHY, E.EXHAUSTED),
    (P.HEALTHY, E.DUE),
    (P.HEALTHY, E.STEADY),
    (P.WAITING, E.EXHAUSTED),
    (P.WAITING, E.STEADY),
    (P.STARTING, E.DUE),
    (P.STARTING, E.STEADY),
    (P.PROVING, E.DUE),
    (P.GIVEN_UP, E.DUE),
    (P.GIVEN_UP, E.STEADY),
}


@pytest.mark.parametrize(("phase", "event"), list(itertools.product(Phase, Event)))
def test_every_event_in_every_phase_is_decided(phase: Phase, event: Event) -> None:
    recovery = Recovery(phase, 2)
    if (phase, event) in CANNOT_HAPPEN:
        with pytest.raises(InvariantError, match=f"{event.name} cannot happen"):
            next_recovery(recovery, event)
        return
    after = next_recovery(recovery, event)
    assert after.phase is TRANSITIONS[phase, event]
    if after.phase is P.HEALTHY:
        assert after.attempts == 0, "what is healthy begins anew"
    else:
        assert after.attempts == (3 if event is E.DUE else 2), "only a restart counts"


def test_it_is_off_unless_somebody_asks_for_it() -> None:
    assert not RestartPolicy().is_on
    assert RestartPolicy(attempts_max=1).is_on
