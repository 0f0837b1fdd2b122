"""Which stored offsets are believed: those of the present scan and the present stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.connectors.dynamodb import stored_table
from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.offsets import (
    ExportChain,
    PositionKind,
    SegmentPosition,
    ShardPosition,
    TableState,
)
from connectd.connectors.dynamodb.stored_table import (
    InputName,
    parse_partition,
    segment_partition,
    shard_partition,
    table_partition,
)
from connectd.errors import ConfigError
from connectd.model.record import Primitive, SourceOffset, SourcePartition
from tests.kit.items import examples, texts

_START_MS = 1000
_ARN, _OLD_ARN = "arn:orders/stream/2", "arn:orders/stream/1"

_RUNNING = TableState("orders", InitSyncState.RUNNING, _START_MS, stream_arn=_ARN, total_segments=2)
_FINISHED = replace(_RUNNING, init_sync=InitSyncState.FINISHED, init_sync_end_ms=2000)
_SEGMENT = SegmentPosition(0, 2, _START_MS)
_SHARD = ShardPosition("shardId-1", _ARN, _START_MS, PositionKind.TRIM_HORIZON, 5)


def _stored(
    state: TableState | None, *positions: SegmentPosition | ShardPosition, table: str = "orders"
) -> dict[SourcePartition, SourceOffset]:
    offsets: dict[SourcePartition, SourceOffset] = {}
    if state is not None:
        offsets[table_partition(table)] = state.to_offset()
    for position in positions:
        partition = (
            segment_partition(table, position.segment)
            if isinstance(position, SegmentPosition)
            else shard_partition(table, position.shard_id)
        )
        offsets[partition] = position.to_offset()
    return offsets


def test_nothing_is_known_of_a_table_that_was_never_read() -> None:
    others = _stored(_RUNNING, _SEGMENT, _SHARD, table="customers")
    found = stored_table.load("orders", others)
    assert found == stored_table.StoredTable(None, {}, {})


def test_a_scan_under_way_is_found_with_its_segments_and_first_positions() -> None:
    found = stored_table.load("orders", _stored(_RUNNING, _SEGMENT, _SHARD))
    assert found.state == _RUNNING
    assert found.segments == {0: _SEGMENT}
    assert found.shards == {"shardId-1": _SHARD}
    assert found.stale == ()


def test_segments_of_a_finished_scan_are_stale() -> None:
    found = stored_table.load("orders", _stored(_FINISHED, _SEGMENT, _SHARD))
    assert not found.segments
    assert found.shards == {"shardId-1": _SHARD}
    assert found.stale == (segment_partition("orders", 0),)


@pytest.mark.parametrize(
    "segment",
    [
        replace(_SEGMENT, init_sync_start_ms=_START_MS - 1),
        replace(_SEGMENT, total_segments=4),
    ],
    ids=["another scan", "another number of segments"],
)
def test_segments_of_another_scan_are_stale(segment: SegmentPosition) -> None:
    """Field case S11: what an earlier life has left says nothing about this one."""
    found = stored_table.load("orders", _stored(_RUNNING, segment))
    assert not found.segments
    assert found.stale == (segment_partition("orders", 0),)


def test_of_a_chain_of_exports_the_segments_of_the_one_under_way_are_believed() -> None:
    chain = ExportChain("exports", from_ms=10, newest_ms=11, start_ms=3000, to_ms=20, files=2)
    mine = replace(_SEGMENT, init_sync_start_ms=3000)
    found = stored_table.load("orders", _stored(replace(_FINISHED, chain=chain), mine))
    assert found.segments == {0: mine}
    for other in (replace(chain, start_ms=3001), replace(chain, files=None)):
        found = stored_table.load("orders", _stored(replace(_FINISHED, chain=other), mine))
        assert found.stale == (segment_partition("orders", 0),)


@pytest.mark.parametrize("state", [_RUNNING, _FINISHED], ids=["running", "finished"])
@pytest.mark.parametrize(
    "shard",
    [
        replace(_SHARD, stream_arn=_OLD_ARN),
        replace(_SHARD, init_sync_start_ms=_START_MS - 1),
        replace(_SHARD, stream_arn=_OLD_ARN, kind=PositionKind.SHARD_END),
    ],
    ids=["another stream", "before a resync", "sealed in another stream"],
)
def test_shards_of_another_stream_or_scan_are_stale(
    state: TableState, shard: ShardPosition
) -> None:
    """Field case S11: a stream made anew under the same name is not poisoned by old positions."""
    current = replace(_SHARD, shard_id="shardId-2")
    found = stored_table.load("orders", _stored(state, shard, current))
    assert found.shards == {"shardId-2": current}
    assert found.stale == (shard_partition("orders", "shardId-1"),)


def test_without_a_table_state_nothing_else_is_believed() -> None:
    found = stored_table.load("orders", _stored(None, _SEGMENT, _SHARD))
    assert (found.state, found.segments, found.shards) == (None, {}, {})
    assert set(found.stale) == {
        segment_partition("orders", 0),
        shard_partition("orders", "shardId-1"),
    }


def test_a_state_of_the_java_connector_has_no_positions_of_ours() -> None:
    # It names no stream: positions that an earlier trial of ours has left are not for it.
    java = replace(_FINISHED, stream_arn=None, total_segments=None)
    found = stored_table.load("orders", _stored(java, _SHARD))
    assert not found.shards
    assert found.stale == (shard_partition("orders", "shardId-1"),)


def test_tables_whose_names_begin_alike_are_kept_apart() -> None:
    both = _stored(_RUNNING, _SHARD) | _stored(
        replace(_RUNNING, table="orders-2"), replace(_SHARD, position_ms=9), table="orders-2"
    )
    assert stored_table.load("orders-2", both).shards["shardId-1"].position_ms == 9
    assert stored_table.load("orders", both).shards["shardId-1"].position_ms == 5


@given(
    st.sampled_from([_RUNNING, _FINISHED, None]),
    st.dictionaries(
        st.integers(0, 1),
        st.builds(
            replace,
            st.just(_SEGMENT),
            init_sync_start_ms=st.sampled_from([_START_MS, 7]),
            total_segments=st.sampled_from([2, 4]),
        ),
    ),
    st.dictionaries(
        st.sampled_from(["a", "b", "c"]),
        st.builds(
            replace,
            st.just(_SHARD),
            stream_arn=st.sampled_from([_ARN, _OLD_ARN]),
            init_sync_start_ms=st.sampled_from([_START_MS, 7]),
        ),
    ),
)
@examples
def test_every_offset_is_either_believed_or_named_as_stale(
    state: TableState | None,
    segments: Mapping[int, SegmentPosition],
    shards: Mapping[str, ShardPosition],
) -> None:
    named = [replace(each, segment=number) for number, each in segments.items()]
    placed = [replace(each, shard_id=name) for name, each in shards.items()]
    offsets = _stored(state, *named, *placed)
    found = stored_table.load("orders", offsets)
    believed = {segment_partition("orders", number) for number in found.segments}
    believed |= {shard_partition("orders", name) for name in found.shards}
    assert believed.isdisjoint(found.stale)
    assert believed | set(found.stale) == set(offsets) - {table_partition("orders")}
    for shard in found.shards.values():
        assert state is not None
        assert (shard.stream_arn, shard.init_sync_start_ms) == (_ARN, state.init_sync_start_ms)


def test_an_offset_that_cannot_be_read_names_itself() -> None:
    offsets = _stored(_RUNNING, _SHARD)
    offsets[shard_partition("orders", "shardId-1")] = {"position": "somewhere"}
    with pytest.raises(ConfigError, match="offset of shard shardId-1: position is 'somewhere'"):
        stored_table.load("orders", offsets)


def test_an_offset_of_another_table_that_cannot_be_read_is_not_our_concern() -> None:
    offsets = _stored(_RUNNING) | {shard_partition("customers", "shardId-1"): {"position": 1}}
    assert stored_table.load("orders", offsets).state == _RUNNING


# -- names ----------------------------------------------------------------------------------------


@given(texts.filter(bool), st.integers(0, 4096), texts.filter(bool))
@examples
def test_what_is_named_is_parsed(table: str, segment: int, shard_id: str) -> None:
    assert parse_partition(table_partition(table)) == InputName(table)
    assert parse_partition(segment_partition(table, segment)) == InputName(table, segment=segment)
    assert parse_partition(shard_partition(table, shard_id)) == InputName(table, shard_id=shard_id)


def test_the_partition_of_a_table_is_that_of_the_java_connector() -> None:
    assert table_partition("orders").to_dict() == {"table_name": "orders"}


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"table": "orders"},
        {"table_name": ""},
        {"table_name": 5},
        {"table_name": None},
        {"table_name": "orders", "segment": -1},
        {"table_name": "orders", "segment": "0"},
        {"table_name": "orders", "segment": True},
        {"table_name": "orders", "segment": 0.0},
        {"table_name": "orders", "shard_id": ""},
        {"table_name": "orders", "shard_id": 5},
        {"table_name": "orders", "shard": "a"},
        {"segment": 0, "table_name": "orders"},
        {"shard_id": "a", "table_name": "orders"},
        {"table_name": "orders", "segment": 0, "shard_id": "a"},
    ],
    ids=str,
)
def test_other_partitions_are_refused_with_the_forms_that_there_are(
    members: dict[str, Primitive],
) -> None:
    # The order of members counts: stores compare the text of the key.
    with pytest.raises(ConfigError) as caught:
        parse_partition(SourcePartition.of(members))
    assert "expected {table_name}, {table_name, segment} or {table_name, shard_id}" in str(
        caught.value
    )


# -- what users write -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        (InputName("orders"), _RUNNING.to_offset()),
        (InputName("orders", segment=0), _SEGMENT.to_offset()),
        (InputName("orders", shard_id="shardId-1"), _SHARD.to_offset()),
    ],
)
def test_what_was_read_may_be_written(name: InputName, offset: SourceOffset) -> None:
    stored_table.check_offset(name, offset)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        (InputName("orders"), "offset of table orders: init_sync_state is missing"),
        (InputName("orders", segment=0), "offset of segment 0: total_segments is missing"),
        (InputName("orders", shard_id="x"), "offset of shard x: position is missing"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(name: InputName, complaint: str) -> None:
    empty: dict[str, Any] = {}
    with pytest.raises(ConfigError, match=complaint):
        stored_table.check_offset(name, empty)
