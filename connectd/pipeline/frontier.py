"""The frontier: the only road to a commit.

Every emission of a task is submitted here *before* it is sent. An entry resolves when all of its
records are acknowledged (a seal resolves by itself). What may be committed for a source partition
is the offset of the last entry in its head run of resolved entries: the **contiguous** prefix,
never the highest acknowledged one (DESIGN promise 3; Kafka's ``SubmittedRecords``). An entry that
failed stays where it is and blocks its partition for good; the task above it ends.

Owned by one task, used on the event loop only. Bounded by the runner, which submits no more than
its window allows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from connectd.errors import InvariantError
from connectd.model.record import Acked, SourceOffset, SourcePartition

_NOTHING: Final = Acked()


class FrontierEntry:
    """One submitted batch or seal. ``resolve`` marks it acknowledged, once."""

    __slots__ = (
        "_frontier",
        "acked",
        "is_resolved",
        "offset",
        "on_acked",
        "on_committed",
        "partition",
    )

    def __init__(
        self,
        frontier: AckFrontier,
        partition: SourcePartition,
        offset: SourceOffset | None,
        on_acked: Callable[[Acked], None] | None,
        on_committed: Callable[[], None] | None,
    ) -> None:
        self._frontier = frontier
        self.partition = partition
        self.offset = offset
        self.on_acked = on_acked
        self.on_committed = on_committed
        self.is_resolved = False
        self.acked = _NOTHING

    def cut(self, offset: SourceOffset) -> None:
        """Stand only for the first part of the batch, up to this position: the rest has failed.

        The rest stays behind it as an entry of its own that never resolves.
        """
        if self.is_resolved:
            raise InvariantError(f"frontier entry of {self.partition} cut after it was resolved")
        self._frontier.insert_blocker(self)
        self.offset = offset
        self.on_acked = None

    def resolve(self, acked: Acked = _NOTHING) -> None:
        """All records of this entry are acknowledged, or were skipped."""
        if self.is_resolved:
            raise InvariantError(f"frontier entry of {self.partition} resolved twice")
        self.is_resolved, self.acked = True, acked
        self._frontier.advance(self.partition)


@dataclass(frozen=True)
class Committable:
    """Positions that may be made durable, and whom to tell when they are."""

    offsets: dict[SourcePartition, SourceOffset | None]
    on_committed: tuple[Callable[[], None], ...]


@dataclass(frozen=True)
class FrontierStatistics:
    """Entries not yet acknowledged contiguously, by all and by the fullest partition."""

    entries: int
    partitions: int
    depth_max: int
    oldest_unresolved: SourcePartition | None


class AckFrontier:
    """Orders acknowledgements per source partition; see the module's docstring."""

    def __init__(self, *, on_committable: Callable[[bool], None] | None = None) -> None:
        """``on_committable(is_urgent)`` is told whenever something new may be committed."""
        self._queues: dict[SourcePartition, deque[FrontierEntry]] = {}
        self._offsets: dict[SourcePartition, SourceOffset | None] = {}
        self._on_committed: list[Callable[[], None]] = []
        self._on_committable = on_committable
        self._entries = 0

    def submit(
        self,
        partition: SourcePartition,
        offset: SourceOffset | None,
        *,
        on_acked: Callable[[Acked], None] | None = None,
        on_committed: Callable[[], None] | None = None,
    ) -> FrontierEntry:
        """Register an emission, in source order; its records may be sent afterwards."""
        entry = FrontierEntry(self, partition, offset, on_acked, on_committed)
        self._queues.setdefault(partition, deque()).append(entry)
        self._entries += 1
        return entry

    def advance(self, partition: SourcePartition) -> None:
        """Pop the resolved head run of a partition (called by entries)."""
        queue = self._queues[partition]
        is_urgent = has_moved = False
        while queue and queue[0].is_resolved:
            entry = queue.popleft()
            self._entries -= 1
            has_moved = True
            # Re-inserted, so that offsets are written in the order in which they became
            # committable: a parent shard's end is durable before its child's first position.
            self._offsets.pop(partition, None)
            self._offsets[partition] = entry.offset
            if entry.on_acked is not None:
                entry.on_acked(entry.acked)
            if entry.on_committed is not None:
                self._on_committed.append(entry.on_committed)
                is_urgent = True
        if not queue:
            del self._queues[partition]
        if has_moved and self._on_committable is not None:
            self._on_committable(is_urgent)

    def insert_blocker(self, entry: FrontierEntry) -> None:
        """Let nothing behind this entry be committed any more (called by entries)."""
        queue = self._queues[entry.partition]
        rest = FrontierEntry(self, entry.partition, entry.offset, entry.on_acked, None)
        queue.insert(queue.index(entry) + 1, rest)
        self._entries += 1

    def take(self) -> Committable:
        """Hand over everything that may be committed now; ``give_back`` it if that fails."""
        taken = Committable(self._offsets, tuple(self._on_committed))
        self._offsets = {}
        self._on_committed = []
        return taken

    def give_back(self, taken: Committable) -> None:
        """Return what could not be committed; newer positions win."""
        newer = self._offsets
        self._offsets = {
            partition: offset
            for partition, offset in taken.offsets.items()
            if partition not in newer
        }
        self._offsets.update(newer)
        self._on_committed[:0] = taken.on_committed

    @property
    def has_committable(self) -> bool:
        """Whether ``take`` would return anything."""
        return bool(self._offsets or self._on_committed)

    @property
    def entries(self) -> int:
        """Number of entries that are not yet acknowledged contiguously."""
        return self._entries

    def statistics(self) -> FrontierStatistics:
        """How deep the frontier is."""
        fullest = max(self._queues, key=lambda name: len(self._queues[name]), default=None)
        depth = len(self._queues[fullest]) if fullest is not None else 0
        return FrontierStatistics(self._entries, len(self._queues), depth, fullest)
