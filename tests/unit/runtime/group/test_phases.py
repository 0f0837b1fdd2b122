"""The life of a group's member: the full product of phases and events."""

from __future__ import annotations

import itertools

import pytest

from connectd.errors import InvariantError
from connectd.runtime.group.phases import Event, Phase, next_phase

FORWARD = {
    (Phase.OUTSIDE, Event.BEGIN): Phase.JOINING,
    (Phase.JOINING, Event.JOINED): Phase.SYNCING,
    (Phase.SYNCING, Event.SYNCED): Phase.MEMBER,
}
BACK = (Event.REJOIN, Event.COORDINATOR_LOST, Event.MEMBERSHIP_LOST)


@pytest.mark.parametrize(("phase", "event"), [*itertools.product(Phase, Event)])
def test_every_event_in_every_phase(phase: Phase, event: Event) -> None:
    if event is Event.LEAVE:
        assert next_phase(phase, event) is Phase.LEFT
    elif event in BACK and phase is not Phase.LEFT:
        assert next_phase(phase, event) is Phase.OUTSIDE
    elif (phase, event) in FORWARD:
        assert next_phase(phase, event) is FORWARD[phase, event]
    else:
        with pytest.raises(InvariantError):
            next_phase(phase, event)
