"""A table's offsets together: how they are named, and which of them are believed.

Segments of another INIT_SYNC or export than the table state's, and shards of another INIT_SYNC or
stream, are stale: they say nothing about the present and are removed in time (field case S11).
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.offsets import SegmentPosition, ShardPosition, TableState
from connectd.errors import ConfigError
from connectd.model.record import SourceOffset, SourcePartition

SEGMENTS_MAX = 1_000_000
"""DynamoDB's limit for a parallel scan (API reference of Scan)."""


@dataclass(frozen=True)
class StoredTable:
    """Everything believed of a table; ``stale`` names partitions that are no longer."""

    state: TableState | None
    segments: Mapping[int, SegmentPosition]
    shards: Mapping[str, ShardPosition]
    stale: tuple[SourcePartition, ...] = ()


@dataclass(frozen=True)
class InputName:
    """What a source partition names: a table, or one segment or shard of it."""

    table: str
    segment: int | None = None
    shard_id: str | None = None


def table_partition(table: str) -> SourcePartition:
    """The source partition of a table's state."""
    return SourcePartition((("table_name", table),))


def segment_partition(table: str, segment: int) -> SourcePartition:
    """The source partition of a segment."""
    return SourcePartition((("table_name", table), ("segment", segment)))


def shard_partition(table: str, shard_id: str) -> SourcePartition:
    """The source partition of a shard."""
    return SourcePartition((("table_name", table), ("shard_id", shard_id)))


def parse_partition(partition: SourcePartition) -> InputName:
    """What a source partition names.

    Raises:
        ConfigError: it is not of one of the three forms.
    """
    match partition.items:
        case (("table_name", str(table)),) if table:
            return InputName(table)
        case (("table_name", str(table)), ("segment", int(segment))) if (
            table and segment >= 0 and not isinstance(segment, bool)
        ):
            return InputName(table, segment=segment)
        case (("table_name", str(table)), ("shard_id", str(shard_id))) if table and shard_id:
            return InputName(table, shard_id=shard_id)
    raise ConfigError(
        f"source partition is {partition.to_dict()}, expected {{table_name}}, "
        "{table_name, segment} or {table_name, shard_id}, in this order: names as text, the "
        "segment as a whole number"
    )


def check_offset(name: InputName, offset: SourceOffset) -> None:
    """Whether an offset that a user wants to write can be read again.

    Raises:
        ConfigError: it cannot.
    """
    if name.segment is not None:
        SegmentPosition.from_offset(name.segment, offset)
    elif name.shard_id is not None:
        ShardPosition.from_offset(name.shard_id, offset)
    else:
        TableState.from_offset(name.table, offset)


def check_times(offset: SourceOffset, *, latest_ms: int) -> None:
    """Whether the times in an offset that a user wants to write can be true.

    A start of INIT_SYNC in the future would have every change dropped as read by that scan.

    Raises:
        ConfigError: a time is negative or later than ``latest_ms``, or ``total_segments`` is none
            that DynamoDB knows.
    """
    for name in (
        "init_sync_start",
        "init_sync_end",
        "position_ms",
        "pinned_at",
        "gap_ms",
        "export_ms",
        "chain_from_ms",
        "chain_start_ms",
        "chain_to_ms",
    ):
        time_ms = offset.get(name)
        if isinstance(time_ms, int) and not 0 <= time_ms <= latest_ms:
            raise ConfigError(
                f"offset has {name} {time_ms}, expected milliseconds since the epoch, not later "
                f"than now ({latest_ms})"
            )
    segments = offset.get("total_segments")
    if isinstance(segments, int) and not 1 <= segments <= SEGMENTS_MAX:
        raise ConfigError(f"offset has total_segments {segments}, expected 1 to {SEGMENTS_MAX}")


def load(table: str, stored: Mapping[SourcePartition, SourceOffset]) -> StoredTable:
    """What is believed of a table, from all offsets of the connector.

    Raises:
        ConfigError: an offset of this table cannot be read; it says which and why.
    """
    state_offset = stored.get(table_partition(table))
    state = None if state_offset is None else TableState.from_offset(table, state_offset)
    segments: dict[int, SegmentPosition] = {}
    shards: dict[str, ShardPosition] = {}
    stale: list[SourcePartition] = []
    for partition, offset in stored.items():
        members = partition.to_dict()
        if members.get("table_name") != table or len(members) == 1:
            continue
        name = parse_partition(partition)
        is_believed = False
        if name.segment is not None:
            segment = SegmentPosition.from_offset(name.segment, offset)
            is_believed = _is_current_segment(state, segment)
            if is_believed:
                segments[segment.segment] = segment
        elif name.shard_id is not None:
            shard = ShardPosition.from_offset(name.shard_id, offset)
            is_believed = _is_current_shard(state, shard)
            if is_believed:
                shards[shard.shard_id] = shard
        if not is_believed:
            stale.append(partition)
    return StoredTable(state, segments, shards, tuple(stale))


def _is_current_segment(state: TableState | None, segment: SegmentPosition) -> bool:
    if state is None:
        return False
    name = (segment.init_sync_start_ms, segment.total_segments)
    if state.chain is not None:
        return name == (state.chain.start_ms, state.chain.files)
    return state.init_sync is InitSyncState.RUNNING and name == (
        state.init_sync_start_ms,
        state.total_segments,
    )


def _is_current_shard(state: TableState | None, shard: ShardPosition) -> bool:
    return (
        state is not None
        and shard.stream_arn == state.stream_arn
        and shard.init_sync_start_ms == state.init_sync_start_ms
    )
