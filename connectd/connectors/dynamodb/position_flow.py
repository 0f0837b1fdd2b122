"""Positions of segments on their way to the store, when their records took another way.

At most one position of a segment is under way; of those that come meanwhile the newest waits, with
the counts of all. So whatever is reported, and however long nobody polls, there are no more of them
than segments. Used on the event loop.
"""

from __future__ import annotations

import asyncio
import functools

from connectd.connectors.dynamodb.emission_queue import EmissionQueue
from connectd.connectors.dynamodb.offsets import SegmentPosition
from connectd.connectors.dynamodb.stored_table import segment_partition
from connectd.model.record import Acked, DeliveredElsewhere, RecordBatch, RecordList, Seal


class PositionFlow:
    """Of one scan; see the module's docstring."""

    def __init__(self, queue: EmissionQueue, table: str) -> None:
        self._queue = queue
        self._table = table
        self._waiting: dict[int, tuple[SegmentPosition, DeliveredElsewhere]] = {}
        self._under_way: dict[int, SegmentPosition] = {}
        self._is_at_rest = asyncio.Event()
        self._is_at_rest.set()

    def move(self, position: SegmentPosition, delivered: DeliveredElsewhere) -> None:
        """Everything up to the position is in Kafka; the end of a segment is made durable."""
        segment = position.segment
        if segment in self._waiting:
            delivered = _sum(self._waiting[segment][1], delivered)
        self._waiting[segment] = position, delivered
        if segment not in self._under_way:
            self._put(segment)

    async def at_rest(self) -> None:
        """Wait until no position is under way, and all ends are durable."""
        await self._is_at_rest.wait()

    def _put(self, segment: int) -> None:
        position, delivered = self._waiting.pop(segment)
        self._under_way[segment] = position
        self._is_at_rest.clear()
        self._queue.put(
            RecordBatch(
                segment_partition(self._table, segment),
                position.to_offset(),
                RecordList(()),
                functools.partial(self._on_acked, segment),
                delivered,
            )
        )

    def _on_acked(self, segment: int, _: Acked) -> None:
        position = self._under_way[segment]
        if segment not in self._waiting and position.is_finished:
            self._queue.put(
                Seal(
                    segment_partition(self._table, segment),
                    position.to_offset(),
                    functools.partial(self._on_over, segment),
                )
            )
            return
        self._on_over(segment)

    def _on_over(self, segment: int) -> None:
        del self._under_way[segment]
        if segment in self._waiting:
            self._put(segment)
        elif not self._under_way:
            self._is_at_rest.set()


def _sum(one: DeliveredElsewhere, other: DeliveredElsewhere) -> DeliveredElsewhere:
    return DeliveredElsewhere(
        records=one.records + other.records,
        topics=tuple(dict.fromkeys((*one.topics, *other.topics))),
        skipped=one.skipped + other.skipped,
    )
