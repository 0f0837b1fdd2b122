"""How a table is taken up again: every stored picture has one way on."""

from __future__ import annotations

import dataclasses

import pytest

from connectd.connectors.dynamodb import opening
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.gaps import GapKind
from connectd.connectors.dynamodb.offsets import (
    ExportChain,
    PositionKind,
    ShardPosition,
    TableState,
)
from connectd.connectors.dynamodb.opening import OpeningKind
from connectd.connectors.dynamodb.scan import SEGMENT_BYTES, segments_for
from connectd.connectors.dynamodb.source_api import KeyAttribute, Shard, TableDescription
from connectd.connectors.dynamodb.stored_table import StoredTable

ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/orders/stream/new"
HOUR_MS = 3_600_000
NOW_MS = 1_700_000_000_000

TABLE = TableDescription(
    name="orders",
    arn="arn:aws:dynamodb:eu-west-1:000000000000:table/orders",
    status="ACTIVE",
    key_schema=(KeyAttribute("range", "RANGE", "N"), KeyAttribute("hash", "HASH", "B")),
    stream_arn=ARN,
    stream_view_type="NEW_IMAGE",
    stream_enabled=True,
    item_count=10,
    size_bytes=1000,
    read_capacity_units=0,
    table_id="table-1",
)
CHAIN = ExportChain("exports", 1, 2, 3)
POSITION = ShardPosition("shard-1", ARN, 7, PositionKind.TRIM_HORIZON, 1)


def config(**members: str) -> DynamoDbConfig:
    return DynamoDbConfig.from_config({name.replace("_", "."): v for name, v in members.items()})


def stored(state: TableState | None, *shards: ShardPosition) -> StoredTable:
    return StoredTable(state, {}, {each.shard_id: each for each in shards})


def state(init_sync: str, arn: str | None = ARN, **members: object) -> TableState:
    made = TableState("orders", InitSyncState(init_sync), 7, stream_arn=arn)
    return dataclasses.replace(made, **members)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "skip", "expected"),
    [
        (stored(None), "false", OpeningKind.NEW_SCAN),
        (stored(None), "true", OpeningKind.NEW_STREAM),
        (stored(state("RUNNING")), "false", OpeningKind.CONTINUED_SCAN),
        (stored(state("RUNNING")), "true", OpeningKind.NEW_STREAM),
        (stored(state("RUNNING", None)), "false", OpeningKind.CONTINUED_SCAN),
        (stored(state("RUNNING", "old")), "false", OpeningKind.GAP),
        (stored(state("FINISHED"), POSITION), "false", OpeningKind.STREAM),
        (stored(state("FINISHED"), POSITION), "true", OpeningKind.STREAM),
        (stored(state("FINISHED", "old"), POSITION), "false", OpeningKind.STREAM),
        (stored(state("SKIPPED"), POSITION), "false", OpeningKind.STREAM),
        (stored(state("FINISHED", chain=CHAIN)), "false", OpeningKind.CONTINUED_CHAIN),
        (stored(state("FINISHED", chain=CHAIN), POSITION), "true", OpeningKind.CONTINUED_CHAIN),
        (stored(state("FINISHED")), "false", OpeningKind.TAKEN_OVER),
        (stored(state("FINISHED", None)), "false", OpeningKind.TAKEN_OVER),
        (stored(state("SKIPPED", None)), "true", OpeningKind.TAKEN_OVER),
    ],
)
def test_what_is_stored_says_what_comes_first(
    found: StoredTable, skip: str, expected: OpeningKind
) -> None:
    opened = opening.open_table(found, TABLE, config(init_sync_skip=skip))
    assert opened.kind is expected
    assert (opened.gap is not None) == (expected is OpeningKind.GAP)
    if expected in (OpeningKind.TAKEN_OVER, OpeningKind.CONTINUED_SCAN):
        assert opened.state is not None
        assert opened.state.stream_arn == ARN


def test_a_java_scan_becomes_one_segment() -> None:
    java = state("RUNNING", None, start_key=b'{"hash":{"B":"AA=="}}')
    opened = opening.open_table(stored(java), TABLE, config(init_sync_segments="8"))
    assert opened.state is not None
    assert opened.state.total_segments == 1
    ours = opening.open_table(stored(state("RUNNING", total_segments=5)), TABLE, config())
    assert ours.state is not None
    assert ours.state.total_segments == 5, "a scan under way keeps its number"


def test_a_new_scan_is_later_than_any_before_and_keeps_the_counts() -> None:
    before = state("FINISHED", gaps=3, resyncs=2, gap_ms=9, init_sync_start_ms=NOW_MS + 5)
    made = opening.new_scan(TABLE, config(), now_ms=NOW_MS, after=before)
    assert made.init_sync is InitSyncState.RUNNING
    assert made.init_sync_start_ms == NOW_MS + 6
    assert (made.gaps, made.resyncs, made.gap_ms) == (3, 2, 9)
    assert made.init_sync_end_ms is None
    assert (made.stream_arn, made.table_id, made.total_segments) == (ARN, "table-1", 1)


def test_a_table_that_is_not_scanned_starts_and_ends_at_zero() -> None:
    made = opening.new_stream(TABLE)
    assert made.init_sync is InitSyncState.SKIPPED
    assert (made.init_sync_start_ms, made.init_sync_end_ms) == (0, 0)


@pytest.mark.parametrize(
    ("src_shard", "age_h", "init_sync", "is_gap"),
    [
        ("listed", 999, "FINISHED", False),
        ("parent of listed", 999, "FINISHED", False),
        ("gone", 1, "FINISHED", True),
        (None, 19, "FINISHED", False),
        (None, 21, "FINISHED", True),
        (None, 999, "SKIPPED", False),
    ],
)
def test_a_takeover_is_complete_when_the_last_shard_is_still_there(
    src_shard: str | None, age_h: int, init_sync: str, is_gap: bool
) -> None:
    found = state(init_sync, src_shard_id=src_shard, init_sync_start_ms=NOW_MS - age_h * HOUR_MS)
    listed = [Shard("listed", "parent of listed", "1", None)]
    gap = opening.gap_of_takeover(found, listed, now_ms=NOW_MS, safe_zone_ms=20 * HOUR_MS)
    assert (gap is not None) == is_gap
    if gap is not None:
        assert gap.kind is GapKind.LINEAGE_UNKNOWN


def test_a_records_plan_has_the_hash_key_first() -> None:
    settings = config(kafka_topic_prefix="x-", envelope_version="1.0").messages
    plan = opening.record_plan(TABLE, settings)
    assert [each.name for each in plan.key_schema.attributes] == ["hash", "range"]
    assert plan.topic == "x-orders"
    assert plan.envelope.version == "1.0"


@pytest.mark.parametrize(
    ("size", "wanted", "expected"),
    [
        (0, 0, 1),
        (1, 0, 1),
        (SEGMENT_BYTES, 0, 1),
        (SEGMENT_BYTES + 1, 0, 2),
        (100 * SEGMENT_BYTES, 0, 8),
        (0, 64, 64),
    ],
)
def test_segments_by_size_unless_asked_for(size: int, wanted: int, expected: int) -> None:
    assert segments_for(size, wanted) == expected


@pytest.mark.parametrize(
    ("size", "wanted", "expected"),
    [
        (0, 4096, 64),
        (0, 64, 64),
        (0, 3, 3),
        (64 * 1024**3, 4096, 1024),
        (64 * 1024**3, 1000, 1000),
        (100 * SEGMENT_BYTES, 0, 100),
    ],
)
def test_on_spark_no_segment_is_too_small_for_the_job_that_it_costs(
    size: int, wanted: int, expected: int
) -> None:
    assert segments_for(size, wanted, on_spark=True) == expected
