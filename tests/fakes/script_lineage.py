"""Commands about streams and shards: lineage, retention, and what readers get to see of it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fakes.listing import Lie, ListingFault
from tests.fakes.script_parts import Commands
from tests.fakes.shards import Shard


@dataclass(frozen=True, slots=True)
class ShardState:
    """A shard as it is, whatever DescribeStream says."""

    shard_id: str
    parent_id: str | None
    is_open: bool
    starting_sequence: str
    ending_sequence: str | None
    low_hash: int
    high_hash: int
    records: int  # ever written
    trimmed: int  # of them, no longer readable


class LineageCommands(Commands):
    """Shards are named by their ids; ``stream_arn`` picks an older stream of the table."""

    def shards(self, table: str, stream_arn: str | None = None) -> list[ShardState]:
        """All shards that are not trimmed away, in id order."""
        stream = self._stream(table, stream_arn)
        stream.snapshot(self._now_s())
        return [_state(stream.shards[shard_id]) for shard_id in sorted(stream.shards)]

    def open_shards(self, table: str) -> list[str]:
        """The ids of the shards that take writes, in the order of their hash ranges."""
        stream = self._stream(table)
        stream.roll_over_due(self._now_s())
        return [leaf.shard_id for leaf in stream.leaves if leaf.is_open]

    def shard_of(self, table: str, key: dict[str, dict[str, str]]) -> str:
        """The id of the newest shard in whose range a key falls."""
        schema = self._table(table).schema
        position = schema.position(schema.canonical_key(key))
        return self._stream(table).leaf_of(position.hash).shard_id

    def _shard(self, table: str, shard: str) -> Shard:
        return self._stream(table).shard(shard, self._now_s())

    def split_shard(self, table: str, shard: str) -> list[str]:
        """Split a partition: the shard closes, two children share its range; their ids."""
        parent = self._shard(table, shard)
        children = self._stream(table).succeed(parent, self._now_s(), children=2)
        owner = self._parts.account.tables.get(table)
        if owner is not None and parent.hashes in owner.partitions:
            owner.split_partition(parent.hashes)
        return [child.shard_id for child in children]

    def roll_over(self, table: str, shard: str) -> str:
        """Let a shard end (if it has not) and one child go on with its range; the child's id."""
        (child,) = self._stream(table).succeed(self._shard(table, shard), self._now_s(), children=1)
        return child.shard_id

    def roll_over_all(self, table: str) -> list[str]:
        """Roll every newest shard over; the children's ids."""
        return [self.roll_over(table, leaf.shard_id) for leaf in list(self._stream(table).leaves)]

    def roll_over_every(self, table: str, every_s: float | None) -> None:
        """Roll shards over by themselves at this age (AWS: about 4 h); None: never."""
        self._stream(table).roll_over_every_s = every_s

    def close_shard(self, table: str, shard: str) -> None:
        """Let a shard end without a child; the next write to its range makes one."""
        self._stream(table).close(self._shard(table, shard), self._now_s())

    # -- what DescribeStream shows -------------------------------------------------------------

    def hide_shard(
        self, table: str, shard: str, for_calls: int | None = None, after: int = 0
    ) -> None:
        """Leave a shard out of DescribeStream, filtered calls included (None: until cleared)."""
        self._stream(table).faults.add(ListingFault(Lie.HIDDEN, shard, for_calls, after))

    def show_open(
        self, table: str, shard: str, for_calls: int | None = None, after: int = 0
    ) -> None:
        """Show a closed shard as open, beside its children."""
        self._stream(table).faults.add(ListingFault(Lie.OPEN, shard, for_calls, after))

    def freeze_listing(self, table: str, for_calls: int | None = None, after: int = 0) -> None:
        """Serve DescribeStream from the shards as they are now; with ``after``, later pages."""
        stream = self._stream(table)
        snapshot = stream.snapshot(self._now_s())
        stream.faults.add(ListingFault(Lie.STALE, None, for_calls, after, snapshot))

    def clear_listing(self, table: str) -> None:
        """Let DescribeStream tell the truth again."""
        self._stream(table).faults.clear()

    def set_stream_status(self, table: str, status: str | None) -> None:
        """Show ENABLING or DISABLING; None goes back to the true status."""
        self._stream(table).status_override = status

    # -- what GetRecords shows -----------------------------------------------------------------

    def empty_pages(self, table: str, shard: str, times: int) -> None:
        """Let the next calls on a shard find nothing, wherever they read."""
        self._shard(table, shard).empty_pages += times

    def hold_records(self, table: str, shard: str | None = None) -> None:
        """Keep records that come from now on from readers, as if replication lagged."""
        for state in self._chosen(table, shard):
            if state.log.held_from is None:
                state.log.held_from = state.log.end

    def release_records(self, table: str, shard: str | None = None) -> None:
        """Show what was held back."""
        for state in self._chosen(table, shard):
            state.log.held_from = None

    def _chosen(self, table: str, shard: str | None) -> list[Shard]:
        if shard is not None:
            return [self._shard(table, shard)]
        return list(self._stream(table).shards.values())

    def expire_iterators(self, table: str | None = None) -> None:
        """Let every iterator that was handed out expire, of one table or of all."""
        self._parts.streams.expire_iterators(table)

    def trim(
        self,
        table: str,
        before_s: float | None = None,
        shard: str | None = None,
        stream_arn: str | None = None,
    ) -> None:
        """Trim records (and closed shards) from before a moment, by default everything so far."""
        before_s = self._now_s() + 1 if before_s is None else before_s
        self._stream(table, stream_arn).trim(before_s, shard)

    # -- the stream's switch -------------------------------------------------------------------

    def disable_stream(self, table: str) -> None:
        """Switch the stream off: all shards close, readable for 24 h."""
        if self._table(table).stream is None:
            raise ValueError(f"disabling the stream of {table}: it has none")
        self._table(table).detach()

    def enable_stream(self, table: str, view_type: str = "NEW_AND_OLD_IMAGES") -> str:
        """Switch a stream on; the new ARN."""
        return self._parts.account.enable_stream(self._table(table), view_type).name.arn

    def stream_arns(self, table: str) -> list[str]:
        """The ARNs of all streams of a table that can be read, oldest first."""
        return [s.name.arn for s in self._parts.account.streams() if s.name.table == table]


def _state(shard: Shard) -> ShardState:
    ending = shard.ending_sequence
    return ShardState(
        shard_id=shard.shard_id,
        parent_id=shard.parent_id,
        is_open=shard.is_open,
        starting_sequence=str(shard.starting_sequence),
        ending_sequence=None if ending is None else str(ending),
        low_hash=shard.hashes.low,
        high_hash=shard.hashes.high,
        records=shard.log.end,
        trimmed=shard.log.trimmed,
    )
