"""Gaps are never silent: each kind has words, and those seen at the opening of a table are found.

Gaps in lineages are in ``test_lineage``; those that readers meet are component tests.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectd.connectors.dynamodb import opening
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.gaps import Gap, GapKind
from connectd.connectors.dynamodb.offsets import TableState
from connectd.connectors.dynamodb.opening import OpeningKind
from connectd.connectors.dynamodb.source_api import KeyAttribute, Shard, TableDescription
from connectd.connectors.dynamodb.stored_table import StoredTable

_HOUR_MS = 3_600_000
_NOW_MS = 1_700_000_000_000
_ARN, _OLD_ARN = "arn:orders/stream/2", "arn:orders/stream/1"

_TABLE = TableDescription(
    name="orders",
    arn="arn:orders",
    status="ACTIVE",
    key_schema=(KeyAttribute("id", "HASH", "S"),),
    stream_arn=_ARN,
    stream_view_type="NEW_IMAGE",
    stream_enabled=True,
    item_count=0,
    size_bytes=0,
    read_capacity_units=0,
    table_id="id-2",
)


@pytest.mark.parametrize("kind", GapKind)
def test_every_gap_says_its_kind_and_what_was_lost(kind: GapKind) -> None:
    assert str(Gap(kind, "shard a is gone")) == f"{kind.value}: shard a is gone"


def test_kinds_are_told_apart_by_their_words() -> None:
    assert len({kind.value for kind in GapKind}) == len(GapKind)


def _open(state: TableState, **config: str) -> opening.Opening:
    settings = DynamoDbConfig.from_config(config)
    return opening.open_table(StoredTable(state, {}, {}), _TABLE, settings)


def test_a_scan_whose_stream_was_replaced_has_a_gap() -> None:
    """Field case S10: disabled and enabled again while the table was being scanned."""
    state = TableState("orders", InitSyncState.RUNNING, 1, stream_arn=_OLD_ARN)
    found = _open(state)
    assert found.kind is OpeningKind.GAP
    assert found.gap is not None
    assert found.gap.kind is GapKind.STREAM_REPLACED
    assert _ARN in str(found.gap)
    assert _OLD_ARN in str(found.gap)


def test_a_scan_on_the_same_stream_is_continued() -> None:
    state = TableState("orders", InitSyncState.RUNNING, 1, stream_arn=_ARN, total_segments=1)
    assert _open(state) == opening.Opening(OpeningKind.CONTINUED_SCAN, state)


def _takeover(state: TableState, *listed: Shard) -> Gap | None:
    return opening.gap_of_takeover(state, listed, now_ms=_NOW_MS, safe_zone_ms=20 * _HOUR_MS)


_JAVA = TableState(
    "orders", InitSyncState.FINISHED, _NOW_MS - 100 * _HOUR_MS, src_shard_id="shardId-2"
)


@pytest.mark.parametrize(
    "listed",
    [Shard("shardId-2", "shardId-1", "1", None), Shard("shardId-3", "shardId-2", "1", None)],
    ids=["the shard itself", "its child"],
)
def test_a_takeover_is_complete_while_the_shard_last_read_is_in_sight(listed: Shard) -> None:
    assert _takeover(_JAVA, listed) is None


def test_a_takeover_after_the_shard_last_read_is_gone_has_a_gap() -> None:
    """Field case S06: the stored sequence number is in a shard that exists no more."""
    gap = _takeover(_JAVA, Shard("shardId-9", "shardId-8", "1", None))
    assert gap is not None
    assert gap.kind is GapKind.LINEAGE_UNKNOWN
    assert "shardId-2" in gap.detail


@pytest.mark.parametrize(("age_h", "has_gap"), [(1, False), (20, False), (21, True), (99, True)])
def test_a_takeover_right_after_the_scan_is_complete_while_the_scan_is_recent(
    age_h: int, has_gap: bool
) -> None:
    """Field case I03: a scan that took longer than the stream keeps its records."""
    state = replace(_JAVA, src_shard_id=None, init_sync_start_ms=_NOW_MS - age_h * _HOUR_MS)
    gap = _takeover(state, Shard("shardId-9", None, "1", None))
    assert (gap is not None) is has_gap
    if gap is not None:
        assert (gap.kind, gap.since_ms) == (GapKind.LINEAGE_UNKNOWN, state.init_sync_start_ms)


def test_a_table_that_was_never_scanned_has_nothing_to_lose() -> None:
    state = replace(_JAVA, src_shard_id=None, init_sync=InitSyncState.SKIPPED)
    assert _takeover(state, Shard("shardId-9", None, "1", None)) is None
