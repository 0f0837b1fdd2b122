"""The life of a table: every event in every phase either leads somewhere or is refused."""

from __future__ import annotations

import itertools

import pytest

from connectd.connectors.dynamodb.phases import Phase, PhaseEvent, next_phase
from connectd.errors import InvariantError

_LEGAL = {
    # As drawn in DESIGN section 7, written anew here: the table in the product must not vouch for
    # itself.
    Phase.DISCOVERY: {
        PhaseEvent.SCAN_WANTED: Phase.INIT_SYNC,
        PhaseEvent.STREAM_WANTED: Phase.SYNC,
        PhaseEvent.GAP_FOUND: Phase.RESYNC,
        PhaseEvent.TABLE_GONE: Phase.GONE,
    },
    Phase.INIT_SYNC: {
        PhaseEvent.SCAN_FINISHED: Phase.SYNC,
        PhaseEvent.GAP_FOUND: Phase.RESYNC,
        PhaseEvent.TABLE_GONE: Phase.GONE,
    },
    Phase.SYNC: {
        PhaseEvent.GAP_FOUND: Phase.RESYNC,
        PhaseEvent.TABLE_GONE: Phase.GONE,
    },
    Phase.RESYNC: {
        PhaseEvent.BASELINE_DURABLE: Phase.INIT_SYNC,
        PhaseEvent.GAP_CLOSED: Phase.SYNC,
        PhaseEvent.TABLE_GONE: Phase.GONE,
    },
    Phase.GONE: {PhaseEvent.TABLE_GONE: Phase.GONE},
}

_PRODUCT = list(itertools.product(Phase, PhaseEvent))


@pytest.mark.parametrize(
    ("phase", "event"), [each for each in _PRODUCT if each[1] in _LEGAL[each[0]]]
)
def test_what_may_happen_leads_on(phase: Phase, event: PhaseEvent) -> None:
    assert next_phase(phase, event) is _LEGAL[phase][event]


@pytest.mark.parametrize(
    ("phase", "event"), [each for each in _PRODUCT if each[1] not in _LEGAL[each[0]]]
)
def test_what_cannot_happen_is_a_bug_and_is_named(phase: Phase, event: PhaseEvent) -> None:
    with pytest.raises(InvariantError, match=f"{event.name} cannot .* {phase.name}"):
        next_phase(phase, event)


def test_a_resync_scans_only_after_its_baseline_is_durable() -> None:
    # Positions from before the scan are what makes it complete: there is no other way to it.
    with pytest.raises(InvariantError):
        next_phase(Phase.RESYNC, PhaseEvent.SCAN_WANTED)
    assert next_phase(Phase.RESYNC, PhaseEvent.BASELINE_DURABLE) is Phase.INIT_SYNC
