"""One table: its description, its items, its current stream, and the oracle of its history.

Every effective write goes through ``write``: it compares with what is there (a write without
effect changes nothing and leaves no stream record), stores the item, notes the state for the
oracle and hands the change to the stream.
"""

from __future__ import annotations

import bisect
import uuid
from dataclasses import dataclass
from typing import Any

from tests.fakes.attributes import Item, StoredItem, canonical_item, encode
from tests.fakes.clock import FakeClock
from tests.fakes.items import ItemStore
from tests.fakes.keys import HashRange, KeySchema, Position, even_ranges
from tests.fakes.streams import Pending, Stream
from tests.fakes.wire import Payload

STATES_MAX = 5_000_000
"""How many states the oracle of one table keeps; a test that writes more uses bulk data."""


@dataclass(frozen=True, slots=True)
class State:
    """What one effective write left of an item; ``wire`` is None after a delete."""

    wire: bytes | None
    sequence: int | None  # None while the table had no stream


class Table:
    """One table, from CreateTable to DeleteTable."""

    def __init__(
        self,
        name: str,
        arn: str,
        schema: KeySchema,
        description: Payload,
        *,
        clock: FakeClock,
        partitions: int,
    ) -> None:
        self.name = name
        self.arn = arn
        self.schema = schema
        self.tags: dict[str, str] = {}
        self.status = "ACTIVE"
        self.items = ItemStore()
        self.stream: Stream | None = None
        self.latest_stream: Stream | None = None
        self.partitions: list[HashRange] = even_ranges(partitions)
        self.history: dict[bytes, list[State]] = {}
        self._states = 0
        self._description = description
        self._clock = clock
        self._created_s = clock.now_s()
        self._id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{arn}@{self._created_s}"))

    def describe(self) -> dict[str, Any]:
        """The ``TableDescription``; timestamps are left to JSON numbers."""
        description = {
            **self._description,
            "TableName": self.name,
            "TableArn": self.arn,
            "TableId": self._id,
            "TableStatus": self.status,
            "CreationDateTime": self._created_s,
            "ItemCount": self.items.count,
            "TableSizeBytes": self.items.size_total,
            "DeletionProtectionEnabled": False,
        }
        if self.stream is not None:
            description["StreamSpecification"] = {
                "StreamEnabled": True,
                "StreamViewType": self.stream.format.view_type,
            }
        if self.latest_stream is not None:
            description["LatestStreamArn"] = self.latest_stream.name.arn
            description["LatestStreamLabel"] = self.latest_stream.name.label
        return description

    def attach(self, stream: Stream) -> None:
        """Make a stream the table's current one."""
        self.stream = self.latest_stream = stream

    def detach(self) -> None:
        """Disable the current stream."""
        if self.stream is not None:
            self.stream.disable(self._clock.now_s())
            self.stream = None

    def partitions_touched(self, low: int, high: int) -> int:
        """How many partitions hold hashes from ``low`` to ``high``, both included."""
        first = bisect.bisect_right(self.partitions, low, key=lambda part: part.low)
        last = bisect.bisect_right(self.partitions, high, key=lambda part: part.low)
        return last - first + 1

    def split_partition(self, hashes: HashRange) -> None:
        """Note that a shard's range is two partitions from now on."""
        at = self.partitions.index(hashes)
        self.partitions[at : at + 1] = hashes.halves()

    def write(self, key: Item, new: StoredItem | None, *, by_service: bool = False) -> bool:
        """Put (or with None delete) an item; whether that had an effect."""
        position = self.schema.position(key)
        old = self.items.get(position)
        if (old.wire if old else None) == (new.wire if new else None):
            return False
        self.items.set(position, new)
        keys = StoredItem(encode(key), canonical_item(key)[1])
        sequence = None
        if self.stream is not None:
            sequence = self.stream.append(
                position.hash, Pending(keys, old, new, by_service), self._clock.now_s()
            )
        self._remember(keys.wire, old, State(new.wire if new else None, sequence))
        return True

    def _remember(self, key: bytes, old: StoredItem | None, state: State) -> None:
        states = self.history.get(key)
        if states is None:
            # A bulk item had a state before its first write through the API.
            states = self.history[key] = [State(old.wire, None)] if old else []
        states.append(state)
        self._states += 1
        if self._states > STATES_MAX:
            raise MemoryError(
                f"table {self.name}: the oracle holds {STATES_MAX} states; use bulk data instead"
            )

    def item_at(self, position: Position) -> StoredItem | None:
        """The current item at a position."""
        return self.items.get(position)
