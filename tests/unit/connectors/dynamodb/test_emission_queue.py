"""The buffer between readers and poll: bounded, in order, and nothing is lost in it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from connectd.aio.jobs import JobGroup
from connectd.connectors.dynamodb.emission_queue import (
    REMOVED,
    SURPRISES_MAX,
    EmissionQueue,
    QueueStatistics,
)
from connectd.errors import ConvertError, InvariantError, RecordError
from connectd.model.record import (
    Acked,
    ConverterSpec,
    EncodedPage,
    RecordBatch,
    Seal,
    SourcePartition,
    SourceRecord,
)
from tests.kit.virtual import virtual

_PARTITION = SourcePartition.of({"table_name": "orders"})
_OTHER = SourcePartition.of({"table_name": "customers"})


class _Records:
    """A page of so many records."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def source_records(self) -> Iterator[SourceRecord | RecordError]:
        return iter([ConvertError("never asked")] * self._count)

    def page_encoder(
        self, key: ConverterSpec, value: ConverterSpec
    ) -> Callable[[], EncodedPage] | None:
        return None


def _page(number: int, records: int = 3) -> RecordBatch:
    return RecordBatch(_PARTITION, {"page": number}, _Records(records))


def _seal(number: int) -> Seal:
    return Seal(_PARTITION, {"page": number})


def _numbers(emissions: list[RecordBatch | Seal]) -> list[object]:
    offsets = [emission.source_offset for emission in emissions]
    return [None if offset is None else offset["page"] for offset in offsets]


async def _started(work: Coroutine[Any, Any, Any], jobs: JobGroup, name: str = "job") -> None:
    """Let a job run until it waits."""
    jobs.spawn(name, work)
    await asyncio.sleep(0.001)


@virtual
async def test_what_is_put_is_taken_in_order() -> None:
    queue = EmissionQueue(4)
    async with queue.place() as place:
        place.fill(_page(1))
    queue.put(_seal(2))
    async with queue.place() as place:
        place.fill(_page(3))
    queue.put(RecordBatch(_PARTITION, {"page": 4}, _Records(0)))
    assert _numbers(await queue.take()) == [1, 2, 3, 4]


@virtual
async def test_readers_wait_before_they_fetch_more_than_there_are_places() -> None:
    """Field case S13: five hundred shards of 1 MB pages and a slow broker."""
    queue, jobs = EmissionQueue(16), JobGroup("readers")
    fetched = 0

    async def read() -> None:
        nonlocal fetched
        async with queue.place() as place:
            fetched += 1
            await asyncio.sleep(0.01)
            place.fill(_page(fetched))

    for shard in range(500):
        jobs.spawn(f"shard-{shard}", read())
    await asyncio.sleep(60)
    assert fetched == 16
    assert queue.statistics() == QueueStatistics(emissions=16, places_taken=16, places_max=16)
    taken = 0
    while taken < 500:
        for page in await queue.take():
            taken += 1
            assert isinstance(page, RecordBatch)
            assert page.on_acked is not None
            page.on_acked(Acked())
        await asyncio.sleep(0.1)
        assert queue.statistics().places_taken <= 16
    assert (taken, fetched) == (500, 500)
    await jobs.stop()


@virtual
async def test_places_are_given_in_the_order_of_asking() -> None:
    queue, jobs = EmissionQueue(1), JobGroup("readers")
    order: list[int] = []

    async def read(number: int) -> None:
        async with queue.place():
            order.append(number)
            await asyncio.sleep(1)

    for number in range(5):
        jobs.spawn(str(number), read(number))
    await asyncio.sleep(10)
    assert order == [0, 1, 2, 3, 4]
    await jobs.stop()


@virtual
async def test_an_empty_page_gives_its_place_back() -> None:
    queue = EmissionQueue(1)
    for _ in range(3):
        async with queue.place():
            pass
    assert queue.statistics() == QueueStatistics(0, 0, 1)


@virtual
async def test_a_reader_that_fails_or_is_stopped_gives_its_place_back() -> None:
    queue, jobs = EmissionQueue(1), JobGroup("readers")
    with pytest.raises(ConvertError):
        async with queue.place():
            raise ConvertError("page is torn")

    async def read() -> None:
        async with queue.place():
            await asyncio.sleep(1000)

    await _started(read(), jobs, "holds")
    await _started(read(), jobs, "waits")
    assert queue.statistics().places_taken == 1
    await jobs.stop()
    assert queue.statistics().places_taken == 0
    async with asyncio.timeout(1), queue.place() as place:
        place.fill(_page(1))


@virtual
async def test_a_filled_place_is_free_when_its_page_is_taken() -> None:
    queue = EmissionQueue(1)
    async with queue.place() as place:
        place.fill(_page(1))
    assert queue.statistics() == QueueStatistics(1, 1, 1)
    await queue.take()
    assert queue.statistics() == QueueStatistics(0, 0, 1)


@virtual
async def test_a_place_holds_one_page() -> None:
    queue = EmissionQueue(2)
    async with queue.place() as place:
        place.fill(_page(1))
        with pytest.raises(InvariantError, match="filled twice"):
            place.fill(_page(2))


@virtual
async def test_a_page_with_records_needs_a_place() -> None:
    with pytest.raises(InvariantError, match="table_name=orders needs a place"):
        EmissionQueue(2).put(_page(1))


@virtual
async def test_seals_pass_when_all_places_are_taken() -> None:
    queue = EmissionQueue(1)
    async with queue.place() as place:
        place.fill(_page(1))
    queue.put(_seal(2))
    assert _numbers(await queue.take()) == [1, 2]
    assert queue.statistics().places_taken == 0


@virtual
async def test_take_waits_for_something() -> None:
    queue, jobs = EmissionQueue(1), JobGroup("poll")
    taken: list[object] = []

    async def poll() -> None:
        taken.extend(_numbers(await queue.take()))

    await _started(poll(), jobs)
    assert taken == []
    queue.put(_seal(1))
    await asyncio.sleep(0.001)
    assert taken == [1]
    await jobs.stop()


@virtual
async def test_a_cancelled_take_has_taken_nothing() -> None:
    queue = EmissionQueue(1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await queue.take()
    queue.put(_seal(1))
    assert _numbers(await queue.take()) == [1]


@virtual
async def test_the_end_is_told_once_everything_before_it_is_taken() -> None:
    queue = EmissionQueue(1)
    queue.put(_seal(1))
    queue.end(ConvertError("the table failed"))
    assert _numbers(await queue.take()) == [1]
    for _ in range(2):
        with pytest.raises(ConvertError, match="the table failed"):
            await queue.take()


@virtual
async def test_the_end_wakes_a_take_that_waits() -> None:
    queue, jobs = EmissionQueue(1), JobGroup("end")

    async def end() -> None:
        await asyncio.sleep(1)
        queue.end(ConvertError("the table failed"))

    jobs.spawn("end", end())
    with pytest.raises(ConvertError):
        await queue.take()
    await jobs.stop()


@virtual
async def test_a_commit_waits_until_its_offset_is_durable() -> None:
    queue, jobs = EmissionQueue(1), JobGroup("commit")
    is_over = asyncio.Event()

    async def commit() -> None:
        await queue.commit(_PARTITION, {"page": 1})
        is_over.set()

    await _started(commit(), jobs)
    (seal,) = await queue.take()
    await asyncio.sleep(100)
    assert not is_over.is_set()
    assert isinstance(seal, Seal)
    assert seal.on_committed is not None
    seal.on_committed()
    await asyncio.wait_for(is_over.wait(), 1)
    await jobs.stop()


@virtual
async def test_a_commit_of_many_waits_for_the_last_of_them() -> None:
    queue, jobs = EmissionQueue(1), JobGroup("commit")
    is_over = asyncio.Event()

    async def commit() -> None:
        await queue.commit_all({_PARTITION: {"page": 1}, _OTHER: REMOVED})
        is_over.set()

    await _started(commit(), jobs)
    seals = await queue.take()
    assert [seal.source_partition for seal in seals] == [_PARTITION, _OTHER]
    for seal in reversed(seals):
        assert not is_over.is_set()
        assert isinstance(seal, Seal)
        assert seal.on_committed is not None
        seal.on_committed()
        await asyncio.sleep(0.001)
    assert is_over.is_set()
    await jobs.stop()


@virtual
async def test_a_commit_of_nothing_does_not_wait() -> None:
    async with asyncio.timeout(1):
        await EmissionQueue(1).commit_all({})


@virtual
async def test_what_comes_at_the_tip_is_taken_before_pages_that_wait() -> None:
    queue = EmissionQueue(8)
    for number in (1, 2, 3):
        async with queue.place() as place:
            place.fill(_page(number, records=800))
    queue.put_short(_page(4))
    taken = await queue.take()
    assert _numbers(taken) == [4, 1, 2], "and the others have their turn each time"
    assert [isinstance(each, RecordBatch) and each.is_urgent for each in taken] == [
        True,
        False,
        False,
    ], "it passes them before the producer, too"
    queue.put_short(_page(5))
    assert _numbers(await queue.take()) == [5, 3]


@virtual
async def test_pages_wait_while_kafka_has_enough_of_them_and_the_tip_does_not() -> None:
    queue, under_way = EmissionQueue(100), []
    for number in range(60):
        async with queue.place() as place:
            place.fill(_page(number, records=1000))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(60):
            while True:
                under_way += await queue.take()
    assert _numbers(under_way) == list(range(8)), "none of them is acknowledged"
    queue.put(_seal(60))  # behind the pages, whose end it may be
    queue.put_short(_page(61))
    assert _numbers(await queue.take()) == [61]
    acked = under_way[0]
    assert isinstance(acked, RecordBatch)
    assert acked.on_acked is not None
    acked.on_acked(Acked())
    assert _numbers(await queue.take()) == [8]


@virtual
async def test_readers_at_the_tip_wait_while_their_lane_is_full() -> None:
    queue, jobs = EmissionQueue(2), JobGroup("readers")
    await queue.room()
    queue.put_short(_page(1))
    await queue.room()
    queue.put_short(_page(2))
    queue.put_short(_page(3))  # was in flight
    assert not queue.has_room
    assert queue.statistics() == QueueStatistics(emissions=3, places_taken=2, places_max=2)
    await _started(queue.room(), jobs, "waits")
    assert jobs.is_running("waits")
    assert _numbers(await queue.take()) == [1, 2, 3]
    assert await jobs.join(deadline_s=1)


@virtual
async def test_full_pages_found_at_the_tip_do_not_pass_others_and_are_bounded() -> None:
    queue = EmissionQueue(2)
    async with queue.place() as place:
        place.fill(_page(0, records=1000))
    for number in range(SURPRISES_MAX):
        assert queue.has_room
        queue.put_surprise(_page(number + 1, records=1000))
    queue.put_short(_page(100))
    jobs = JobGroup("readers")
    await _started(queue.room(), jobs, "waits")
    assert jobs.is_running("waits")
    assert _numbers(await queue.take()) == [100, 0]
    assert jobs.is_running("waits")
    assert _numbers(await queue.take()) == [1]
    assert await jobs.join(deadline_s=1), "one less"


@virtual
async def test_a_place_whose_page_moves_the_position_alone_is_given_back() -> None:
    queue = EmissionQueue(1)
    for number in range(3):
        async with asyncio.timeout(1), queue.place() as place:
            place.fill(_page(number, records=0))
        assert _numbers(await queue.take()) == [number]
    assert queue.statistics().places_taken == 0
