"""The life of a group's member, as a table.

::

    OUTSIDE ──begin──▶ JOINING ──joined──▶ SYNCING ──synced──▶ MEMBER
       ▲                  │                   │                   │
       └── rejoin, coordinator lost, membership lost ─────────────┘
    any ──leave──▶ LEFT

OUTSIDE does not mean that nothing runs: what cooperative members were given stays theirs while they
join again, as long as their lease lasts. Pure; the effects are ``member``'s.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from connectd.errors import InvariantError


class Phase(Enum):
    """Where a member stands."""

    OUTSIDE = "outside"
    JOINING = "joining"
    SYNCING = "syncing"
    MEMBER = "member"
    LEFT = "left"


class Event(Enum):
    """What happens to it."""

    BEGIN = "begin"
    JOINED = "joined"
    SYNCED = "synced"
    REJOIN = "rejoin"
    COORDINATOR_LOST = "coordinator lost"
    MEMBERSHIP_LOST = "membership lost"
    LEAVE = "leave"


_OUT_AGAIN: Final = {
    Event.REJOIN: Phase.OUTSIDE,
    Event.COORDINATOR_LOST: Phase.OUTSIDE,
    Event.MEMBERSHIP_LOST: Phase.OUTSIDE,
    Event.LEAVE: Phase.LEFT,
}

TRANSITIONS: Final = {
    Phase.OUTSIDE: {Event.BEGIN: Phase.JOINING, **_OUT_AGAIN},
    Phase.JOINING: {Event.JOINED: Phase.SYNCING, **_OUT_AGAIN},
    Phase.SYNCING: {Event.SYNCED: Phase.MEMBER, **_OUT_AGAIN},
    Phase.MEMBER: {**_OUT_AGAIN},
    Phase.LEFT: {Event.LEAVE: Phase.LEFT},
}


def next_phase(phase: Phase, event: Event) -> Phase:
    """Where an event leads.

    Raises:
        InvariantError: it cannot happen there.
    """
    found = TRANSITIONS[phase].get(event)
    if found is None:
        raise InvariantError(f"a group's member that is {phase.value} cannot see {event.value}")
    return found
