"""Positions of segments on their way: few, the newest, and durable at the end."""

from __future__ import annotations

import asyncio

from connectd.connectors.dynamodb.emission_queue import EmissionQueue
from connectd.connectors.dynamodb.offsets import SegmentPosition
from connectd.connectors.dynamodb.position_flow import PositionFlow
from connectd.model.record import Acked, DeliveredElsewhere, Emission, RecordBatch, Seal
from tests.kit.virtual import virtual


def at(segment: int, count: int, *, end: bool = False) -> SegmentPosition:
    key = None if end else b'{"id":{"S":"k"}}'
    return SegmentPosition(segment, 2, 1_000, key, count, is_finished=end)


def acked(emission: Emission) -> RecordBatch:
    """A position that has been taken and acknowledged."""
    assert isinstance(emission, RecordBatch)
    assert emission.on_acked is not None
    emission.on_acked(Acked())
    return emission


@virtual
async def test_while_one_is_under_way_the_newest_waits_with_all_counts() -> None:
    queue = EmissionQueue(2)
    flow = PositionFlow(queue, "t")
    for count in range(1, 1_001):
        flow.move(at(0, count), DeliveredElsewhere(1, ("a" if count % 2 else "b",), skipped=2))
    assert queue.statistics().emissions == 1
    first = acked((await queue.take())[0])
    second = acked((await queue.take())[0])
    assert (first.source_offset["count"], second.source_offset["count"]) == (1, 1_000)
    assert second.delivered == DeliveredElsewhere(999, ("b", "a"), skipped=1_998)
    assert queue.statistics().emissions == 0
    await flow.at_rest()


@virtual
async def test_segments_do_not_wait_for_each_other() -> None:
    queue = EmissionQueue(2)
    flow = PositionFlow(queue, "t")
    flow.move(at(0, 1), DeliveredElsewhere(1))
    flow.move(at(1, 1), DeliveredElsewhere(1))
    assert len(await queue.take()) == 2


@virtual
async def test_the_end_of_a_segment_is_sealed_and_waited_for() -> None:
    queue = EmissionQueue(2)
    flow = PositionFlow(queue, "t")
    flow.move(at(0, 5, end=True), DeliveredElsewhere(5))
    waiting = asyncio.ensure_future(flow.at_rest())
    acked((await queue.take())[0])
    (seal,) = await queue.take()
    assert isinstance(seal, Seal)
    assert seal.source_offset is not None
    assert seal.source_offset["state"] == "FINISHED"
    await asyncio.sleep(1)
    assert not waiting.done()
    assert seal.on_committed is not None
    seal.on_committed()
    await waiting


@virtual
async def test_a_scan_without_any_position_is_at_rest() -> None:
    await PositionFlow(EmissionQueue(2), "t").at_rest()
