"""What becomes of a gap, by policy and by what came before."""

from __future__ import annotations

import pytest

from connectd.connectors.dynamodb import gap_policy
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.gap_policy import GapDecision
from connectd.connectors.dynamodb.gaps import Gap, GapKind
from connectd.connectors.dynamodb.offsets import TableState
from connectd.errors import DataGapError

GAP = Gap(GapKind.TRIMMED, "shard s was trimmed after 7")


def state(*, end_ms: int | None = 1_000, resyncs: int = 0) -> TableState:
    return TableState(
        "orders",
        InitSyncState.RUNNING if end_ms is None else InitSyncState.FINISHED,
        500,
        init_sync_end_ms=end_ms,
        resyncs=resyncs,
        gaps=4,
    )


def config(**members: str) -> DynamoDbConfig:
    return DynamoDbConfig.from_config({name.replace("_", "."): v for name, v in members.items()})


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, GapDecision.RESYNC),
        ({"gap_policy": "resync"}, GapDecision.RESYNC),
        ({"gap_policy": "skip"}, GapDecision.SKIP),
        ({"gap_policy": "resync", "init_sync_skip": "true"}, GapDecision.SKIP),
    ],
)
def test_the_policy_decides(members: dict[str, str], expected: GapDecision) -> None:
    assert gap_policy.decide(GAP, state(), config(**members)) is expected


def test_fail_names_table_gap_and_way_out() -> None:
    with pytest.raises(DataGapError) as caught:
        gap_policy.decide(GAP, state(), config(gap_policy="fail", init_sync_skip="true"))
    for word in ("orders", "shard s was trimmed after 7", "gap.policy"):
        assert word in str(caught.value)


def test_resyncs_are_bounded() -> None:
    settings = config(gap_resync_max="2")
    assert gap_policy.decide(GAP, state(resyncs=1), settings) is GapDecision.RESYNC
    with pytest.raises(DataGapError, match="after 2 resyncs"):
        gap_policy.decide(GAP, state(resyncs=2), settings)
    with pytest.raises(DataGapError):
        gap_policy.decide(GAP, state(), config(gap_resync_max="0"))


def test_every_gap_counts_and_resyncs_of_another_day_do_not() -> None:
    soon = gap_policy.counted(state(resyncs=2), 1_000 + gap_policy.RESYNC_WINDOW_MS)
    assert (soon.gaps, soon.gap_ms, soon.resyncs) == (5, 1_000 + gap_policy.RESYNC_WINDOW_MS, 2)
    later = gap_policy.counted(state(resyncs=2), 1_001 + gap_policy.RESYNC_WINDOW_MS)
    assert later.resyncs == 0
    scanning = gap_policy.counted(state(end_ms=None, resyncs=2), 10**13)
    assert scanning.resyncs == 2, "a scan that is under way has not ended"
