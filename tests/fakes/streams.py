"""A table stream and its lineage of shards.

The newest shard of every hash range is a *leaf*. Writes go to the leaf whose range holds the
item's hash. A leaf is open, or closed without a child (``close_shard``); a write to a closed leaf
first gives it a child, as AWS does. Splits give two children, roll-overs one; there are no merges.

Sequence numbers rise over the whole stream, with gaps, and grow from 21 to 22 digits within the
first records, so that a reader who compares them as text is found out. Every new stream starts at
the same number, so that a reader who forgets the stream's ARN is found out too.
"""

from __future__ import annotations

import bisect
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple

from tests.fakes.attributes import StoredItem
from tests.fakes.keys import HashRange, KeySchema
from tests.fakes.listing import ListingFaults, ShardEntry
from tests.fakes.records import Change, RecordFormat
from tests.fakes.shards import RETENTION_S, Shard, ShardLog
from tests.fakes.wire import AwsError

SEQUENCE_START = 10**21 - 60
SEQUENCE_STEP = 7


class StreamName(NamedTuple):
    """What identifies a stream."""

    table: str
    label: str
    arn: str


def label_at(at_s: float) -> str:
    """A stream label: the moment in ISO form with milliseconds and without a zone."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]


@dataclass(slots=True)
class Pending:
    """An effective write that waits for its sequence number."""

    keys: StoredItem
    old: StoredItem | None
    new: StoredItem | None
    by_service: bool = False


class Stream:
    """One stream of one table, from its enabling until 24 h after its end."""

    def __init__(
        self,
        name: StreamName,
        schema: KeySchema,
        *,
        region: str,
        view_type: str,
        ranges: list[HashRange],
        now_s: float,
    ) -> None:
        self.name = name
        self.schema = schema
        self.created_s = now_s
        self.disabled_s: float | None = None
        self.status_override: str | None = None
        self.roll_over_every_s: float | None = None
        self.faults = ListingFaults()
        self.format = RecordFormat(region, view_type, zlib.crc32(name.arn.encode()))
        self._sequence = SEQUENCE_START
        self._last_shard_ms = 0
        self._shards_created = 0
        self.shards: dict[str, Shard] = {}
        self.leaves: list[Shard] = []
        for hashes in ranges:
            self.leaves.append(self._create(hashes, None, now_s, created_ms=int(now_s * 1000)))

    @property
    def status(self) -> str:
        """ENABLED, DISABLED, or what the script put in its place."""
        if self.status_override is not None:
            return self.status_override
        return "ENABLED" if self.disabled_s is None else "DISABLED"

    def is_gone(self, now_s: float) -> bool:
        """Whether a disabled stream fell out of the retention."""
        return self.disabled_s is not None and self.disabled_s < now_s - RETENTION_S

    def next_sequence(self) -> int:
        """Draw a sequence number."""
        self._sequence += SEQUENCE_STEP
        return self._sequence

    def reserve_sequences(self, count: int) -> int:
        """Draw ``count`` numbers of 22 digits, ``SEQUENCE_STEP`` apart; the first of them."""
        self._sequence = max(self._sequence, 10**21)
        first = self._sequence + SEQUENCE_STEP
        self._sequence += SEQUENCE_STEP * count
        return first

    @property
    def last_sequence(self) -> int:
        """The highest number drawn so far."""
        return self._sequence

    # -- lineage -------------------------------------------------------------------------------

    def _create(
        self,
        hashes: HashRange,
        parent: Shard | None,
        now_s: float,
        *,
        created_ms: int | None = None,
    ) -> Shard:
        if created_ms is None:  # a child's id sorts after its parent's, as it does on AWS
            created_ms = max(int(now_s * 1000), self._last_shard_ms + 1)
        self._last_shard_ms = max(self._last_shard_ms, created_ms)
        self._shards_created += 1
        digest = zlib.crc32(f"{self.name.arn}#{self._shards_created}".encode())
        shard = Shard(
            shard_id=f"shardId-{created_ms:020d}-{digest:08x}",
            parent_id=parent.shard_id if parent else None,
            hashes=hashes,
            starting_sequence=self.next_sequence(),
            created_s=now_s,
            log=ShardLog(self.format),
        )
        self.shards[shard.shard_id] = shard
        return shard

    def shard(self, shard_id: str, now_s: float) -> Shard:
        """A shard by its id.

        Raises:
            AwsError: ResourceNotFoundException when it never was or is trimmed away.
        """
        self.roll_over_due(now_s)
        shard = self.shards.get(shard_id)
        if shard is not None:
            shard.log.trim(now_s - RETENTION_S)
        if shard is None or shard.is_gone(now_s):
            raise AwsError(
                "ResourceNotFoundException",
                f"Requested resource not found: Shard: {shard_id} in Stream: {self.name.arn} "
                "not found",
            )
        return shard

    def _leaf_at(self, hash_: int) -> int:
        return bisect.bisect_right(self.leaves, hash_, key=lambda leaf: leaf.hashes.low) - 1

    def leaf_of(self, hash_: int) -> Shard:
        """The newest shard whose range holds a hash."""
        return self.leaves[self._leaf_at(hash_)]

    def close(self, shard: Shard, now_s: float) -> None:
        """Let a shard end; its range stays without an open shard until something is written."""
        if not shard.is_open:
            raise ValueError(f"closing shard {shard.shard_id}: it is closed already")
        shard.ending_sequence = self.next_sequence()
        shard.closed_s = now_s

    def succeed(self, shard: Shard, now_s: float, *, children: int) -> list[Shard]:
        """End a leaf (if it is still open) and give it one child or two."""
        at = self._leaf_at(shard.hashes.low)
        if self.leaves[at] is not shard:
            raise ValueError(
                f"splitting or rolling over shard {shard.shard_id}: it has children already"
            )
        if shard.is_open:
            self.close(shard, now_s)
        ranges = [shard.hashes] if children == 1 else shard.hashes.halves()
        created = [self._create(hashes, shard, now_s) for hashes in ranges]
        self.leaves[at : at + 1] = created
        return created

    def children_of(self, shard_id: str) -> Iterator[Shard]:
        """The shards whose parent is the given one."""
        return (shard for shard in self.shards.values() if shard.parent_id == shard_id)

    def disable(self, now_s: float) -> None:
        """End the stream: every shard closes, everything stays readable for 24 h."""
        for leaf in self.leaves:
            if leaf.is_open:
                self.close(leaf, now_s)
        self.disabled_s = now_s

    def roll_over_due(self, now_s: float) -> None:
        """Make the roll-overs whose time has come, each at its own moment."""
        every_s = self.roll_over_every_s
        while every_s is not None and self.disabled_s is None:
            due = [leaf for leaf in self.leaves if leaf.created_s + every_s <= now_s]
            if not due:
                break
            for leaf in due:
                self.succeed(leaf, leaf.created_s + every_s, children=1)

    def _drop_trimmed(self, now_s: float) -> None:
        for shard in list(self.shards.values()):
            shard.log.trim(now_s - RETENTION_S)
            if shard.is_gone(now_s):
                del self.shards[shard.shard_id]  # a leaf stays in leaves, for its next child

    # -- records -------------------------------------------------------------------------------

    def append(self, hash_: int, write: Pending, now_s: float) -> int:
        """Record an effective write; its sequence number."""
        self.roll_over_due(now_s)
        shard = self.leaf_of(hash_)
        if not shard.is_open:
            (shard,) = self.succeed(shard, now_s, children=1)
        sequence = self.next_sequence()
        shard.log.append(
            Change(sequence, int(now_s), write.keys, write.old, write.new, write.by_service)
        )
        return sequence

    def trim(self, before_s: float, shard_id: str | None = None) -> None:
        """Forget records (and closed shards) from before a moment, ahead of the retention."""
        for shard in list(self.shards.values()):
            if shard_id is not None and shard.shard_id != shard_id:
                continue
            shard.log.trim(before_s)
            is_empty = shard.log.trimmed == shard.log.end
            if shard.closed_s is not None and shard.closed_s < before_s and is_empty:
                shard.is_dropped = True

    # -- listing -------------------------------------------------------------------------------

    def _entries(self, now_s: float) -> list[ShardEntry]:
        self.roll_over_due(now_s)
        self._drop_trimmed(now_s)
        entries = [
            ShardEntry(s.shard_id, s.parent_id, s.starting_sequence, s.ending_sequence)
            for s in self.shards.values()
        ]
        return sorted(entries, key=lambda entry: entry.shard_id)

    def listed(self, now_s: float) -> list[ShardEntry]:
        """The shards as one DescribeStream call sees them: in id order, with faults applied."""
        return self.faults.apply(self._entries(now_s))

    def snapshot(self, now_s: float) -> list[ShardEntry]:
        """The shards as they are."""
        return [replace(entry) for entry in self._entries(now_s)]
