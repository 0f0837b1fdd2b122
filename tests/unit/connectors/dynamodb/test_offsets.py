"""Offsets: the Java connector's map to the letter, ours behind it, and refusals that help."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.offsets import (
    ExportChain,
    PositionKind,
    SegmentPosition,
    ShardPosition,
    TableState,
)
from connectd.errors import ConfigError
from connectd.model.ids import SequenceNumber
from connectd.model.record import SourceOffset
from tests.kit.items import examples, keys, texts, wire

_ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/orders/stream/2019-05-09T07:42:06.273"
_SHARD = "shardId-00000001557387-abc"
_SEQUENCE = "123400000000012345678901"
_START_MS = 1557387726273


def _text(offset: SourceOffset) -> str:
    """As the offsets topic has it: compact, in the order of insertion."""
    return json.dumps(offset, separators=(",", ":"))


_JAVA_TEXTS = {
    # Spec dynamodb-connector 3.5, letter for letter.
    "first page": (
        '{"version":"1.0","table_name":"orders","init_sync_state":"RUNNING",'
        '"init_sync_start":1557387726273,"init_sync_count":17,'
        '"src_shard_id":null,"src_shard_sequence_no":null}'
    ),
    "end of a page": (
        '{"version":"1.0","table_name":"orders","init_sync_state":"RUNNING",'
        '"init_sync_start":1557387726273,'
        '"exclusive_start_key":"{\\"id\\":{\\"s\\":\\"5028\\"}}","init_sync_count":1000,'
        '"src_shard_id":null,"src_shard_sequence_no":null}'
    ),
    "end of INIT_SYNC": (
        '{"version":"1.0","table_name":"orders","init_sync_state":"FINISHED",'
        '"init_sync_start":1557387726273,"init_sync_end":1557387926273,"init_sync_count":5321,'
        '"src_shard_id":null,"src_shard_sequence_no":null}'
    ),
    "SYNC": (
        '{"version":"1.0","table_name":"orders","init_sync_state":"FINISHED",'
        '"init_sync_start":1557387726273,"init_sync_end":1557387926273,"init_sync_count":5321,'
        '"src_shard_id":"shardId-00000001557387-abc",'
        '"src_shard_sequence_no":"123400000000012345678901"}'
    ),
}

_FINISHED = InitSyncState.FINISHED
_JAVA_STATES = {
    "first page": TableState("orders", InitSyncState.RUNNING, _START_MS, init_sync_count=17),
    "end of a page": TableState(
        "orders",
        InitSyncState.RUNNING,
        _START_MS,
        init_sync_count=1000,
        start_key=b'{"id":{"S":"5028"}}',
    ),
    "end of INIT_SYNC": TableState("orders", _FINISHED, _START_MS, 1557387926273, 5321),
    "SYNC": TableState(
        "orders",
        _FINISHED,
        _START_MS,
        1557387926273,
        5321,
        src_shard_id=_SHARD,
        src_sequence_number=_SEQUENCE,
    ),
}


@pytest.mark.parametrize("moment", _JAVA_TEXTS)
def test_a_state_is_written_as_the_java_connector_writes_it(moment: str) -> None:
    assert _text(_JAVA_STATES[moment].to_offset()) == _JAVA_TEXTS[moment]


@pytest.mark.parametrize("moment", _JAVA_TEXTS)
def test_a_state_of_the_java_connector_is_taken_over(moment: str) -> None:
    assert TableState.from_offset("orders", json.loads(_JAVA_TEXTS[moment])) == _JAVA_STATES[moment]


def test_a_fork_that_skipped_the_scan_is_taken_over() -> None:
    offset = json.loads(_JAVA_TEXTS["first page"].replace("RUNNING", "SKIPPED"))
    state = TableState.from_offset("orders", offset)
    assert state.init_sync is InitSyncState.SKIPPED
    assert state.stream_arn is None


def test_a_binary_scan_key_of_the_java_connector_is_taken_over() -> None:
    """Field case I10: a byte buffer as its serialiser writes it."""
    key = '{"id":{"b":{"hb":[0,-1],"offset":0,"position":0,"limit":2,"capacity":2}}}'
    offset = {**json.loads(_JAVA_TEXTS["end of a page"]), "exclusive_start_key": key}
    assert TableState.from_offset("orders", offset).start_key == b'{"id":{"B":"AP8="}}'


def test_the_count_may_be_missing() -> None:
    offset = json.loads(_JAVA_TEXTS["first page"])
    del offset["init_sync_count"]
    assert TableState.from_offset("orders", offset).init_sync_count == 0


def test_what_only_we_know_stands_behind_the_map_of_the_java_connector() -> None:
    state = TableState(
        "orders",
        InitSyncState.RUNNING,
        7,
        stream_arn=_ARN,
        table_id="id-1",
        total_segments=4,
        spark_settle_ms=3,
        resyncs=1,
        gaps=2,
        gap_ms=5,
        export_bucket="exports",
        export_arn="arn",
        export_ms=8,
        chain=ExportChain("exports", 1, 2, 3, 4, "arn", 5),
    )
    assert list(state.to_offset()) == [
        *("version", "table_name", "init_sync_state", "init_sync_start", "init_sync_count"),
        *("src_shard_id", "src_shard_sequence_no"),
        *("stream_arn", "table_id", "total_segments", "spark_settle_ms"),
        *("resyncs", "gaps", "gap_ms"),
        *("export_bucket", "export_arn", "export_ms"),
        *("chain_bucket", "chain_from_ms", "chain_newest_ms", "chain_start_ms"),
        *("chain_to_ms", "chain_arn", "chain_files"),
    ]


def test_a_segment_is_written_with_its_key_last() -> None:
    position = SegmentPosition(2, 4, _START_MS).after_page(b'{"id":{"N":"7"}}', 10)
    assert _text(position.to_offset()) == (
        '{"init_sync_start":1557387726273,"total_segments":4,"state":"RUNNING","count":10,'
        '"exclusive_start_key":"{\\"id\\":{\\"n\\":\\"7\\"}}"}'
    )


def test_a_page_without_a_last_key_finishes_its_segment() -> None:
    begun = SegmentPosition(0, 1, _START_MS).after_page(b'{"id":{"N":"7"}}', 10)
    assert not begun.is_finished
    finished = begun.after_page(None, 0)
    assert finished.is_finished
    assert finished.count == 10
    assert finished.to_offset() == {
        "init_sync_start": _START_MS,
        "total_segments": 1,
        "state": "FINISHED",
        "count": 10,
    }


def _shard(**members: Any) -> ShardPosition:
    position = ShardPosition(_SHARD, _ARN, _START_MS, PositionKind.TRIM_HORIZON, 100)
    return ShardPosition(**{**vars(position), **members})


def test_a_shard_is_written_with_all_its_facts() -> None:
    position = _shard(parent_shard_id="shardId-0", pinned_at_ms=90).after(
        SequenceNumber(_SEQUENCE), 200
    )
    assert _text(position.to_offset()) == (
        f'{{"stream_arn":"{_ARN}","init_sync_start":1557387726273,'
        f'"position":"AFTER_SEQUENCE_NUMBER","sequence_number":"{_SEQUENCE}",'
        '"parent_shard_id":"shardId-0","position_ms":200,"pinned_at":90}'
    )


def test_what_a_position_stands_for_never_grows_older() -> None:
    # Records come in order of their numbers; their times may differ by clocks.
    position = _shard().after(SequenceNumber("5"), 200).after(SequenceNumber("6"), 150)
    assert position.position_ms == 200
    assert position.known_good_at(180).position_ms == 200
    assert position.known_good_at(300).position_ms == 300
    assert position.sequence_number == SequenceNumber("6")


@pytest.mark.parametrize(
    ("kind", "is_sentinel", "is_sealed"),
    [
        (PositionKind.TRIM_HORIZON, True, False),
        (PositionKind.LATEST, True, False),
        (PositionKind.AFTER_SEQUENCE_NUMBER, False, False),
        (PositionKind.SHARD_END, False, True),
    ],
)
def test_positions_tell_beginnings_from_ends(
    kind: PositionKind, is_sentinel: bool, is_sealed: bool
) -> None:
    position = _shard(kind=kind)
    assert (position.is_sentinel, position.is_sealed) == (is_sentinel, is_sealed)
    assert position.sealed().is_sealed


# -- round trips ----------------------------------------------------------------------------------

_times = st.integers(0, 2**53)
_numbers = st.integers(0, 10**40).map(str)
_start_keys = st.sampled_from(
    [(("id", "S"),), (("id", "N"),), (("id", "B"),), (("a", "S"), ("b", "N")), (("名", "B"),)]
).flatmap(keys)
_wire_keys = st.none() | _start_keys.map(wire)
_optional_texts = st.none() | texts

_states = st.builds(
    TableState,
    table=st.just("orders"),
    init_sync=st.sampled_from(InitSyncState),
    init_sync_start_ms=_times,
    init_sync_end_ms=st.none() | _times,
    init_sync_count=_times,
    start_key=_wire_keys,
    src_shard_id=_optional_texts,
    src_sequence_number=_optional_texts,
    stream_arn=_optional_texts,
    table_id=_optional_texts,
    total_segments=st.none() | st.integers(1, 4096),
    spark_settle_ms=st.none() | _times,
    resyncs=st.integers(0, 9),
    gaps=st.integers(0, 9),
    gap_ms=st.none() | _times,
    export_bucket=_optional_texts,
    export_arn=_optional_texts,
    export_ms=st.none() | _times,
    chain=st.none()
    | st.builds(
        ExportChain,
        bucket=texts,
        from_ms=_times,
        newest_ms=_times,
        start_ms=_times,
        to_ms=st.none() | _times,
        arn=_optional_texts,
        files=st.none() | _times,
    ),
)
_segments = st.integers(0, 4095).flatmap(
    lambda segment: st.builds(
        SegmentPosition,
        segment=st.just(segment),
        total_segments=st.integers(segment + 1, 4096),
        init_sync_start_ms=_times,
        start_key=_wire_keys,
        count=_times,
        is_finished=st.booleans(),
    )
)
_shards = st.builds(
    ShardPosition,
    shard_id=st.just(_SHARD),
    stream_arn=texts,
    init_sync_start_ms=_times,
    kind=st.sampled_from(PositionKind),
    position_ms=_times,
    sequence_number=_numbers.map(SequenceNumber),
    parent_shard_id=_optional_texts,
    pinned_at_ms=st.none() | _times,
)


def _stored(offset: SourceOffset) -> SourceOffset:
    """What is read back from the topic."""
    stored: SourceOffset = json.loads(_text(offset))
    return stored


@given(_states)
@examples
def test_every_table_state_comes_back_as_it_was(state: TableState) -> None:
    assert TableState.from_offset("orders", _stored(state.to_offset())) == state


@given(_segments)
@examples
def test_every_segment_comes_back_as_it_was(position: SegmentPosition) -> None:
    stored = _stored(position.to_offset())
    assert SegmentPosition.from_offset(position.segment, stored) == position


@given(_shards)
@examples
def test_every_shard_position_comes_back_as_it_was(position: ShardPosition) -> None:
    back = ShardPosition.from_offset(_SHARD, _stored(position.to_offset()))
    assert back == position
    # Its text, too: the service compares it, leading zeros or not.
    assert back.sequence_number is not None
    assert position.sequence_number is not None
    assert back.sequence_number.text == position.sequence_number.text


# -- what is refused ------------------------------------------------------------------------------

_MISSING = object()
"""Stands for a member that is missing."""


def _with(offset: SourceOffset, name: str, value: Any) -> SourceOffset:
    changed = {**offset, name: value}
    if value is _MISSING:
        del changed[name]
    return changed


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        (
            "init_sync_state",
            _MISSING,
            "init_sync_state is missing, expected one of RUNNING, FINISHED, SKIPPED",
        ),
        ("init_sync_state", "UNDEFINED", "init_sync_state is 'UNDEFINED', expected one of"),
        ("init_sync_state", "running", "init_sync_state is 'running', expected one of"),
        ("init_sync_start", _MISSING, "init_sync_start is missing, expected a whole number"),
        ("init_sync_start", "7", "init_sync_start is '7', expected a whole number"),
        ("init_sync_start", 7.5, "init_sync_start is 7.5, expected a whole number"),
        ("init_sync_start", True, "init_sync_start is True, expected a whole number"),
        ("init_sync_end", "7", "init_sync_end is '7', expected a whole number"),
        ("init_sync_count", False, "init_sync_count is False, expected a whole number"),
        ("src_shard_id", 7, "src_shard_id is 7, expected text"),
        ("src_shard_sequence_no", 7, "src_shard_sequence_no is 7, expected text"),
        ("stream_arn", 7, "stream_arn is 7, expected text"),
        ("table_id", True, "table_id is True, expected text"),
        ("total_segments", "4", "total_segments is '4', expected a whole number"),
        ("export_arn", 7, "export_arn is 7, expected text"),
        ("export_ms", "7", "export_ms is '7', expected a whole number"),
        ("chain_bucket", "exports", "chain_from_ms is missing, expected a whole number"),
        ("exclusive_start_key", 7, "exclusive_start_key is 7, expected text"),
    ],
)
def test_a_table_state_that_cannot_be_read_says_what_is_wrong(
    name: str, value: Any, complaint: str
) -> None:
    offset = _with(json.loads(_JAVA_TEXTS["SYNC"]), name, value)
    with pytest.raises(ConfigError) as caught:
        TableState.from_offset("orders", offset)
    message = str(caught.value)
    assert message.startswith(f"offset of table orders: {complaint}")
    assert "PATCH" in message
    assert "DELETE" in message


def test_a_scan_key_that_cannot_be_read_is_refused() -> None:
    offset = _with(json.loads(_JAVA_TEXTS["end of a page"]), "exclusive_start_key", "5028")
    with pytest.raises(ConfigError, match="exclusive_start_key has 4 characters"):
        TableState.from_offset("orders", offset)


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("state", _MISSING, "state is missing, expected one of"),
        ("state", "DONE", "state is 'DONE', expected one of"),
        ("total_segments", _MISSING, "total_segments is missing, expected a whole number"),
        ("total_segments", 2, "total_segments is 2, expected more than 2"),
        ("init_sync_start", None, "init_sync_start is missing, expected a whole number"),
        ("count", "many", "count is 'many', expected a whole number"),
        ("exclusive_start_key", 7, "exclusive_start_key is 7, expected text"),
    ],
)
def test_a_segment_that_cannot_be_read_says_what_is_wrong(
    name: str, value: Any, complaint: str
) -> None:
    offset = _with(SegmentPosition(2, 4, _START_MS).to_offset(), name, value)
    with pytest.raises(ConfigError) as caught:
        SegmentPosition.from_offset(2, offset)
    assert str(caught.value).startswith(f"offset of segment 2: {complaint}")


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("position", _MISSING, "position is missing, expected one of TRIM_HORIZON, LATEST, AFTER_"),
        ("position", "AT_TIMESTAMP", "position is 'AT_TIMESTAMP', expected one of"),
        (
            "sequence_number",
            None,
            "position is AFTER_SEQUENCE_NUMBER, expected a sequence_number",
        ),
        ("sequence_number", 5, "sequence_number is 5, expected text"),
        ("sequence_number", "x5", "sequence number is 'x5', expected decimal digits"),
        ("sequence_number", "", "sequence number is '', expected decimal digits"),
        ("stream_arn", None, "stream_arn is missing, expected text"),
        ("init_sync_start", _MISSING, "init_sync_start is missing, expected a whole number"),
        ("position_ms", "now", "position_ms is 'now', expected a whole number"),
        ("parent_shard_id", 5, "parent_shard_id is 5, expected text"),
        ("pinned_at", "5", "pinned_at is '5', expected a whole number"),
    ],
)
def test_a_shard_position_that_cannot_be_read_says_what_is_wrong(
    name: str, value: Any, complaint: str
) -> None:
    offset = _with(_shard().after(SequenceNumber("5"), 1).to_offset(), name, value)
    with pytest.raises(ConfigError) as caught:
        ShardPosition.from_offset(_SHARD, offset)
    assert str(caught.value).startswith(f"offset of shard {_SHARD}: {complaint}")


# -- what records say -----------------------------------------------------------------------------


def test_records_count_the_scan_only_when_it_is_over() -> None:
    running = _JAVA_STATES["end of a page"].info()
    assert (running.init_sync_end_ms, running.init_sync_count) == (None, None)
    over = _JAVA_STATES["SYNC"].info()
    assert (over.init_sync_end_ms, over.init_sync_count) == (1557387926273, 5321)
    assert over.init_sync_start_ms == _START_MS
