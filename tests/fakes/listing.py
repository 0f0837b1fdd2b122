"""What DescribeStream shows when its answers lag behind or contradict each other.

On AWS the pages of a listing are read at different times: a child may be missing for a while, a
parent may still look open beside its child, a later page may come from an older snapshot
(spec streams-and-leases 2.2 and 5, no. 10). A fault counts *calls* (pages) of DescribeStream on
one stream: it skips the first ``after`` of them and shows itself in the next ``for_calls``.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """A shard as DescribeStream lists it; ``ending`` is None while it is open."""

    shard_id: str
    parent_id: str | None
    starting: int
    ending: int | None

    def wire(self) -> dict[str, object]:
        """The element of ``Shards``."""
        range_ = {"StartingSequenceNumber": str(self.starting)}
        if self.ending is not None:
            range_["EndingSequenceNumber"] = str(self.ending)
        entry: dict[str, object] = {"ShardId": self.shard_id, "SequenceNumberRange": range_}
        if self.parent_id is not None:
            entry["ParentShardId"] = self.parent_id
        return entry


class Lie(enum.Enum):
    """How a listing deviates from the truth."""

    HIDDEN = "hidden"  # the shard is missing
    OPEN = "open"  # the shard looks open
    STALE = "stale"  # the whole listing is as it was when the fault was set


@dataclass(slots=True)
class ListingFault:
    """One deviation, for a number of calls."""

    lie: Lie
    shard_id: str | None
    for_calls: int | None  # None: until cleared
    after: int = 0
    snapshot: list[ShardEntry] = field(default_factory=list)

    def _is_due(self) -> bool:
        if self.after > 0:
            self.after -= 1
            return False
        if self.for_calls is not None:
            self.for_calls -= 1
        return True

    @property
    def is_spent(self) -> bool:
        """Whether the fault has been shown as often as it should."""
        return self.for_calls is not None and self.for_calls <= 0

    def apply(self, entries: list[ShardEntry]) -> list[ShardEntry]:
        """The listing with the fault in it, if its time has come."""
        if not self._is_due():
            return entries
        if self.lie is Lie.STALE:
            return self.snapshot
        if self.lie is Lie.HIDDEN:
            return [entry for entry in entries if entry.shard_id != self.shard_id]
        return [
            replace(entry, ending=None) if entry.shard_id == self.shard_id else entry
            for entry in entries
        ]


class ListingFaults:
    """The deviations that are set for one stream."""

    def __init__(self) -> None:
        self._faults: list[ListingFault] = []

    def add(self, fault: ListingFault) -> None:
        """Set a deviation."""
        if fault.for_calls is not None and fault.for_calls < 1:
            raise ValueError(f"a listing fault for {fault.for_calls} calls: expected 1 or more")
        self._faults.append(fault)

    def clear(self) -> None:
        """Tell the truth from now on."""
        self._faults.clear()

    def apply(self, entries: list[ShardEntry]) -> list[ShardEntry]:
        """The listing as this call sees it; stale snapshots first, then the other faults."""
        for fault in sorted(self._faults, key=lambda fault: fault.lie is not Lie.STALE):
            entries = fault.apply(entries)
        self._faults = [fault for fault in self._faults if not fault.is_spent]
        return entries
