"""The life of a table, as a machine (DESIGN section 7).

::

    DISCOVERY --scan wanted--> INIT_SYNC --scan finished--> SYNC
    DISCOVERY --stream wanted-------------------------------> SYNC
    DISCOVERY, INIT_SYNC, SYNC --gap found--> RESYNC --baseline durable--> INIT_SYNC
                                              RESYNC --gap closed--------> SYNC
    any --table gone--> GONE

Here is only which phase follows; ``table_job`` performs what a phase means. A gap that
``gap.policy`` lets pass is no event: the phase stays.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from connectd.errors import InvariantError


class Phase(Enum):
    """What a table is in."""

    DISCOVERY = "DISCOVERY"  # reading what is known about it
    INIT_SYNC = "INIT_SYNC"  # scanning what is there
    SYNC = "SYNC"  # following its stream
    RESYNC = "RESYNC"  # after a gap: closing it, or preparing another scan
    GONE = "GONE"  # the table does not exist any more


class PhaseEvent(Enum):
    """What happens to a table."""

    SCAN_WANTED = "scan wanted"
    STREAM_WANTED = "stream wanted"
    SCAN_FINISHED = "scan finished"
    GAP_FOUND = "gap found"
    BASELINE_DURABLE = "baseline durable"
    GAP_CLOSED = "gap closed"
    TABLE_GONE = "table gone"


_P, _E = Phase, PhaseEvent

TRANSITIONS: Final[dict[tuple[Phase, PhaseEvent], Phase]] = {
    (_P.DISCOVERY, _E.SCAN_WANTED): _P.INIT_SYNC,
    (_P.DISCOVERY, _E.STREAM_WANTED): _P.SYNC,
    (_P.DISCOVERY, _E.GAP_FOUND): _P.RESYNC,
    (_P.DISCOVERY, _E.TABLE_GONE): _P.GONE,
    (_P.INIT_SYNC, _E.SCAN_FINISHED): _P.SYNC,
    (_P.INIT_SYNC, _E.GAP_FOUND): _P.RESYNC,
    (_P.INIT_SYNC, _E.TABLE_GONE): _P.GONE,
    (_P.SYNC, _E.GAP_FOUND): _P.RESYNC,
    (_P.SYNC, _E.TABLE_GONE): _P.GONE,
    (_P.RESYNC, _E.BASELINE_DURABLE): _P.INIT_SYNC,
    (_P.RESYNC, _E.GAP_CLOSED): _P.SYNC,
    (_P.RESYNC, _E.TABLE_GONE): _P.GONE,
    (_P.GONE, _E.TABLE_GONE): _P.GONE,
}


def next_phase(phase: Phase, event: PhaseEvent) -> Phase:
    """The phase after an event.

    Raises:
        InvariantError: the event cannot happen in that phase.
    """
    try:
        return TRANSITIONS[phase, event]
    except KeyError:
        raise InvariantError(f"{event.name} cannot happen to a table in {phase.name}") from None
