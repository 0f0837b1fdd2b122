"""How a table is taken up again: from what is stored and what AWS says, to what comes first.

Six ways, in the order in which they are considered:

* nothing is stored: scan it, or with ``init.sync.skip`` begin with its stream;
* a scan was under way: continue it (ours by segments; the Java connector's as one segment from its
  key), unless its stream was replaced meanwhile, which is a gap;
* a gap was being closed with incremental exports: continue that;
* scanned, and positions of its stream are stored: follow the stream;
* scanned, without such positions (the Java connector keeps them in a lease table): read everything
  that the stream still has. That is complete only if the shard last read is among it, or if the
  scan itself is recent; else it is a gap.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import cast

from connectd.connectors.dynamodb.config import DynamoDbConfig, MessageSettings
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState
from connectd.connectors.dynamodb.gaps import Gap, GapKind
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema, KeyType
from connectd.connectors.dynamodb.naming import TopicNaming
from connectd.connectors.dynamodb.offsets import TableState
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.scan import segments_for
from connectd.connectors.dynamodb.source_api import Shard, TableDescription
from connectd.connectors.dynamodb.stored_table import StoredTable


class OpeningKind(Enum):
    """What comes first."""

    NEW_SCAN = "new scan"
    CONTINUED_SCAN = "continued scan"
    CONTINUED_CHAIN = "continued chain of exports"
    NEW_STREAM = "new stream"
    STREAM = "stream"
    TAKEN_OVER = "taken over"
    GAP = "gap"


@dataclass(frozen=True)
class Opening:
    """What comes first, the state to go on from, and the gap if there is one."""

    kind: OpeningKind
    state: TableState | None = None
    gap: Gap | None = None


def open_table(
    stored: StoredTable, description: TableDescription, config: DynamoDbConfig
) -> Opening:
    """Decide; see the module's docstring."""
    state = stored.state
    if state is None or (config.scan.skip and state.init_sync is InitSyncState.RUNNING):
        # With init.sync.skip a scan under way is not continued either: the stream begins anew.
        return Opening(OpeningKind.NEW_STREAM if config.scan.skip else OpeningKind.NEW_SCAN)
    if state.init_sync is InitSyncState.RUNNING:
        if state.stream_arn is not None and state.stream_arn != description.stream_arn:
            detail = (
                f"the stream of table {state.table} is {description.stream_arn}, it was "
                f"{state.stream_arn} when INIT_SYNC began"
            )
            return Opening(OpeningKind.GAP, state, Gap(GapKind.STREAM_REPLACED, detail))
        return Opening(OpeningKind.CONTINUED_SCAN, _our_scan(state, description, config))
    if state.chain is not None:
        return Opening(OpeningKind.CONTINUED_CHAIN, state)
    if stored.shards:
        return Opening(OpeningKind.STREAM, state)
    return Opening(OpeningKind.TAKEN_OVER, with_stream(state, description))


def new_scan(
    description: TableDescription,
    config: DynamoDbConfig,
    *,
    now_ms: int,
    after: TableState | None = None,
    on_spark: bool = False,
    is_export: bool = False,
) -> TableState:
    """The state of a scan that begins now; ``after`` is the state before a resync.

    Its start is later than that of any scan before, whatever clocks do: it names the scan.
    """
    previous_ms = 0 if after is None else after.init_sync_start_ms
    state = TableState(
        table=description.name,
        init_sync=InitSyncState.RUNNING,
        init_sync_start_ms=max(now_ms, previous_ms + 1),
        # How many files an export has is known when it is complete.
        total_segments=(
            None
            if is_export
            else segments_for(description.size_bytes, config.scan.segments, on_spark=on_spark)
        ),
        export_bucket=config.scan.export.bucket if is_export else None,
        spark_settle_ms=after.spark_settle_ms if after else None,
        gaps=after.gaps if after else 0,
        gap_ms=after.gap_ms if after else None,
        resyncs=after.resyncs if after else 0,
    )
    return with_stream(state, description)


def new_stream(description: TableDescription) -> TableState:
    """The state of a table that is not scanned."""
    state = TableState(
        table=description.name,
        init_sync=InitSyncState.SKIPPED,
        init_sync_start_ms=0,
        init_sync_end_ms=0,
    )
    return with_stream(state, description)


def with_stream(state: TableState, description: TableDescription) -> TableState:
    """The state, on the table's present stream."""
    return replace(state, stream_arn=description.stream_arn, table_id=description.table_id)


def record_plan(description: TableDescription, settings: MessageSettings) -> TablePlan:
    """How the table's items become records."""
    ordered = sorted(description.key_schema, key=lambda part: part.role != "HASH")
    return TablePlan(
        table=description.name,
        topic=TopicNaming(settings.topic_prefix, settings.topic_map).topic(description.name),
        key_schema=KeySchema(
            tuple(KeyAttribute(part.attribute, cast("KeyType", part.type)) for part in ordered)
        ),
        envelope=EnvelopeSettings(
            version=settings.envelope_version,
            document=settings.document_format,
            old_image=settings.include_old_image,
            user_identity=settings.include_user_identity,
        ),
    )


def gap_of_takeover(
    state: TableState, listed: Iterable[Shard], *, now_ms: int, safe_zone_ms: int
) -> Gap | None:
    """Whether reading all that the stream has leaves a gap behind a state without positions."""
    if state.src_shard_id is not None:
        lineage = {shard.shard_id for shard in listed}
        lineage |= {shard.parent_shard_id for shard in listed if shard.parent_shard_id}
        if state.src_shard_id in lineage:
            return None
        detail = f"shard {state.src_shard_id}, read last, is gone and so are its children"
        return Gap(GapKind.LINEAGE_UNKNOWN, detail, shard_id=state.src_shard_id)
    is_recent = now_ms - state.init_sync_start_ms <= safe_zone_ms
    if is_recent or state.init_sync is InitSyncState.SKIPPED:
        return None
    return Gap(
        GapKind.LINEAGE_UNKNOWN,
        "no position of the stream is stored, and INIT_SYNC is older than the stream",
        since_ms=state.init_sync_start_ms,
    )


def _our_scan(
    state: TableState, description: TableDescription, config: DynamoDbConfig
) -> TableState:
    """A scan under way, in our terms: one that names no segments has one."""
    if state.total_segments is None and state.export_bucket is None:
        state = replace(state, total_segments=1)
    if state.stream_arn is None:
        state = with_stream(state, description)
    return state
