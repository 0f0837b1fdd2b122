"""What becomes of a gap: ``gap.policy``, and the bound on scanning again.

A gap is counted in the table state whatever is decided. Resyncs are bounded, since a table whose
scan takes longer than its stream keeps changes would be scanned for ever (field case I02). Pure.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Final

from connectd.connectors.dynamodb.config import DynamoDbConfig, GapPolicy
from connectd.connectors.dynamodb.gaps import Gap
from connectd.connectors.dynamodb.offsets import TableState
from connectd.errors import DataGapError

RESYNC_WINDOW_MS: Final = 24 * 3_600_000
"""A gap so long after the last INIT_SYNC is another story: the count of resyncs begins anew."""


class GapDecision(Enum):
    """What becomes of a gap; the third way is to fail, by raising."""

    RESYNC = "resync"
    SKIP = "skip"


def effective_policy(config: DynamoDbConfig) -> GapPolicy:
    """The policy; who wants no scans gets none, and goes on with what is there."""
    policy = config.stream.gap_policy
    return GapPolicy.SKIP if policy is GapPolicy.RESYNC and config.scan.skip else policy


def counted(state: TableState, now_ms: int) -> TableState:
    """The state with one gap more, and the resyncs that still count."""
    since_scan_ms = now_ms - (state.init_sync_end_ms or now_ms)
    resyncs = 0 if since_scan_ms > RESYNC_WINDOW_MS else state.resyncs
    return replace(state, gaps=state.gaps + 1, gap_ms=now_ms, resyncs=resyncs)


def decide(gap: Gap, state: TableState, config: DynamoDbConfig) -> GapDecision:
    """What to do about a gap that has been counted.

    Raises:
        DataGapError: the policy is to fail, or the table has been scanned often enough.
    """
    policy = effective_policy(config)
    if policy is GapPolicy.SKIP:
        return GapDecision.SKIP
    if policy is GapPolicy.FAIL:
        raise DataGapError(
            f"table {state.table}: changes were lost ({gap}) and gap.policy is fail; set it to "
            "resync or skip and restart the task"
        )
    if state.resyncs >= config.stream.resyncs_max:
        raise DataGapError(
            f"table {state.table}: changes were lost ({gap}) after {state.resyncs} resyncs in a "
            "row, which gap.resync.max allows no more of; give INIT_SYNC more segments or "
            "capacity, or set gap.policy to skip, and restart the task"
        )
    return GapDecision.RESYNC
