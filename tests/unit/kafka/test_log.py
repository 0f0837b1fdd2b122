"""A compacted topic as a log, against librdkafka's mock cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

import pytest
from confluent_kafka import KafkaError, Producer

from connectd.aio.clock import LoopClock
from connectd.errors import (
    AccessDeniedError,
    BrokerUnavailableError,
    RecordTooLargeError,
    WorkerError,
)
from connectd.kafka.admin import KafkaAdmin
from connectd.kafka.log import CompactedLog, OnRecords
from connectd.kafka.page import SendResult
from connectd.kafka.tailing import BATCH_RECORDS, BATCHES_AHEAD, LogRecord
from connectd.model.record import EncodedRecord
from tests.unit.kafka.mock_cluster import PRODUCE, MockCluster, mock_cluster

DEADLINE_S = 20.0
PARTITIONS = 3
T = TypeVar("T")


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as cluster:
        cluster.create_topic("log", PARTITIONS)
        yield cluster


class Owner:
    """Owns a log and remembers what it was told."""

    def __init__(
        self, cluster: MockCluster, *, on_records: OnRecords | None = None, give_up_ms: int = 0
    ) -> None:
        settings = {
            **cluster.settings,
            "reconnect.backoff.ms": "1",
            "reconnect.backoff.max.ms": "10",
        }
        clock = LoopClock()
        self.records: list[LogRecord] = []
        self.failures: list[WorkerError] = []
        self.log = CompactedLog(
            settings,
            topic="log",
            client_id="owner",
            admin=KafkaAdmin(settings, client_id="admin", clock=clock),
            clock=clock,
            on_records=on_records or self.records.extend,
            on_failure=self.failures.append,
            give_up_ms=give_up_ms,
        )

    async def open(self, partitions: int = PARTITIONS) -> None:
        await self.log.open(partitions, deadline_s=DEADLINE_S)

    async def close(self) -> None:
        await self.log.close(deadline_s=DEADLINE_S)

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for record in self.records]


def run(work: Callable[[], Awaitable[T]]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(2 * DEADLINE_S):
            return await work()

    return asyncio.run(bounded())


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what a thread will bring about; bounded by the deadline of ``run``."""
    while not is_so():  # noqa: ASYNC110  the thread knows nothing of this test's events
        await asyncio.sleep(0.01)


def fill(cluster: MockCluster, topic: str, values: Sequence[bytes]) -> None:
    """Write as somebody else."""
    producer = Producer({**cluster.settings, "log_level": 0})
    for value in values:
        producer.produce(topic, value, key=value)
        producer.poll(0)
    assert producer.flush(DEADLINE_S) == 0


def test_opening_reads_everything_that_is_there_in_the_order_of_each_partition(
    cluster: MockCluster,
) -> None:
    count = 3 * BATCH_RECORDS * BATCHES_AHEAD // 2
    fill(cluster, "log", [b"%d" % n for n in range(count)])

    async def work() -> Owner:
        owner = Owner(cluster)
        await owner.open()
        await owner.close()
        return owner

    owner = run(work)
    assert sorted(owner.values, key=lambda value: int(value or b"")) == [
        b"%d" % n for n in range(count)
    ]
    for partition in range(PARTITIONS):
        offsets = [each.offset for each in owner.records if each.partition == partition]
        assert offsets == list(range(len(offsets)))
    assert owner.failures == []


def test_what_is_appended_comes_back_and_read_to_end_waits_for_it(cluster: MockCluster) -> None:
    async def work() -> Owner:
        owner = Owner(cluster)
        await owner.open()
        for number in range(5):
            await owner.log.append([(b"key", b"%d" % number)], deadline_s=DEADLINE_S)
            await owner.log.read_to_end(DEADLINE_S)
            assert owner.values[-1] == b"%d" % number
        await owner.close()
        return owner

    assert run(work).values == [b"%d" % number for number in range(5)]


def test_read_to_end_covers_what_others_have_written(cluster: MockCluster) -> None:
    async def work() -> list[int]:
        owner = Owner(cluster)
        await owner.open()
        seen = []
        for round_number in range(5):
            await asyncio.to_thread(
                fill, cluster, "log", [b"%d-%d" % (round_number, n) for n in range(20)]
            )
            await owner.log.read_to_end(DEADLINE_S)
            seen.append(len(owner.records))
        await owner.close()
        return seen

    assert run(work) == [20, 40, 60, 80, 100]


def test_read_to_end_covers_appends_that_nobody_has_waited_for(cluster: MockCluster) -> None:
    async def work() -> tuple[list[SendResult], Owner]:
        owner = Owner(cluster)
        await owner.open()
        results: list[SendResult] = []
        owner.log.append_nowait([(b"a", b"1"), (b"b", b"2")], results.append)
        owner.log.append_nowait([(b"a", None)], results.append)
        await owner.log.read_to_end(DEADLINE_S)
        await owner.close()
        return results, owner

    results, owner = run(work)
    assert [result.failure_count for result in results] == [0, 0]
    assert [each.value for each in owner.records if each.key == b"a"] == [b"1", None]


def test_a_broker_that_answers_end_offsets_wrongly_is_not_believed_against_own_appends(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def too_small(
        self: KafkaAdmin, topic: str, partitions: int, deadline_s: float
    ) -> dict[int, int]:
        return dict.fromkeys(range(partitions), 0)

    async def work() -> None:
        owner = Owner(cluster)
        await owner.open()
        monkeypatch.setattr(KafkaAdmin, "end_offsets", too_small)
        for number in range(5):
            await owner.log.append([(b"key", b"%d" % number)], deadline_s=DEADLINE_S)
            await owner.log.read_to_end(DEADLINE_S)
            assert len(owner.records) == number + 1
        await owner.close()

    run(work)


def test_garbage_is_handed_on_as_it_is(cluster: MockCluster) -> None:
    garbage: list[EncodedRecord] = [(None, b"\xff\x00"), (b"", b""), (b"\xfe", None)]

    async def work() -> Owner:
        owner = Owner(cluster)
        await owner.open()
        await owner.log.append(garbage, deadline_s=DEADLINE_S)
        await owner.log.read_to_end(DEADLINE_S)
        await owner.close()
        return owner

    found = run(work).records
    assert {(each.key, each.value) for each in found} == set(garbage)
    assert all(each.timestamp_ms > 0 for each in found)


class TestABrokerThatIsAway:
    def test_callers_are_told_at_their_deadlines_and_the_log_recovers(
        self, cluster: MockCluster
    ) -> None:
        async def work() -> Owner:
            owner = Owner(cluster)
            await owner.open()
            assert owner.log.is_available
            cluster.go_away()
            with pytest.raises(BrokerUnavailableError, match="appending 1 records to topic log"):
                await owner.log.append([(b"a", b"late")], deadline_s=0.1)
            with pytest.raises(BrokerUnavailableError, match="to its end: not reached within"):
                await owner.log.read_to_end(0.1)
            cluster.come_back()
            await owner.log.read_to_end(DEADLINE_S)
            await owner.close()
            return owner

        owner = run(work)
        assert owner.values == [b"late"]  # kept, since nobody asked for it to be withdrawn
        assert owner.failures == []

    def test_an_append_that_may_give_up_is_withdrawn(self, cluster: MockCluster) -> None:
        async def work() -> Owner:
            owner = Owner(cluster, give_up_ms=1000)
            await owner.open()
            cluster.go_away()
            results: list[SendResult] = []
            owner.log.append_nowait([(b"a", b"late")], results.append)
            with pytest.raises(BrokerUnavailableError, match="withdrawn"):
                await owner.log.append([(b"a", b"late")], deadline_s=DEADLINE_S)
            await until(lambda: bool(results))
            assert results[0].failure_count == 1
            cluster.come_back()
            await owner.log.append([(b"a", b"next")], deadline_s=DEADLINE_S)
            await owner.log.read_to_end(DEADLINE_S)
            await owner.close()
            return owner

        assert run(work).values == [b"next"]

    def test_it_shows_although_nothing_is_written(self, cluster: MockCluster) -> None:
        async def work() -> None:
            owner = Owner(cluster)
            await owner.open()
            cluster.go_away()
            await until(lambda: not owner.log.is_available)
            cluster.come_back()
            await until(lambda: owner.log.is_available)
            await owner.close()

        run(work)

    def test_opening_gives_up_at_its_deadline(self, cluster: MockCluster) -> None:
        async def work() -> None:
            owner = Owner(cluster)
            cluster.go_away()
            with pytest.raises(BrokerUnavailableError, match="reading topic log to its end"):
                await owner.log.open(PARTITIONS, deadline_s=0.2)
            await owner.close()

        run(work)


class TestRefusals:
    def test_a_record_that_is_too_large_is_refused(self, cluster: MockCluster) -> None:
        async def work() -> None:
            owner = Owner(cluster)
            await owner.open()
            with pytest.raises(RecordTooLargeError):
                await owner.log.append([(b"a", b"x" * 2_000_000)], deadline_s=DEADLINE_S)
            await owner.close()

        run(work)

    def test_a_broker_that_forbids_writing_is_told_as_such(self, cluster: MockCluster) -> None:
        async def work() -> None:
            owner = Owner(cluster)
            await owner.open()
            cluster.fail_requests(PRODUCE, KafkaError.TOPIC_AUTHORIZATION_FAILED)
            with pytest.raises(AccessDeniedError):
                await owner.log.append([(b"a", b"1")], deadline_s=DEADLINE_S)
            await owner.close()

        run(work)


class TestFailures:
    def test_an_owner_that_raises_fails_the_log_loudly(self, cluster: MockCluster) -> None:
        def explode(records: Sequence[LogRecord]) -> None:
            raise KeyError("table")

        async def work() -> Owner:
            owner = Owner(cluster, on_records=explode)
            await owner.open()
            await owner.log.append([(b"a", b"1")], deadline_s=DEADLINE_S)
            with pytest.raises(WorkerError, match="taking in records of topic log"):
                await owner.log.read_to_end(DEADLINE_S)
            with pytest.raises(WorkerError):
                await owner.log.append([(b"a", b"1")], deadline_s=DEADLINE_S)
            await owner.close()
            return owner

        (failure,) = run(work).failures
        assert "KeyError" in str(failure)


class TestClosing:
    def test_appends_under_way_are_finished_first(self, cluster: MockCluster) -> None:
        async def work() -> int:
            owner = Owner(cluster)
            await owner.open()
            owner.log.append_nowait([(b"a", b"1")], lambda result: None)
            left = await owner.log.close(deadline_s=DEADLINE_S)
            await owner.log.close(deadline_s=DEADLINE_S)
            return left

        assert run(work) == 0
        assert [message.value() for message in cluster.records("log", PARTITIONS, 1)] == [b"1"]

    def test_a_closed_log_refuses_work(self, cluster: MockCluster) -> None:
        async def work() -> None:
            owner = Owner(cluster)
            await owner.open()
            await owner.close()
            with pytest.raises(WorkerError, match="closed"):
                await owner.log.append([(b"a", b"1")], deadline_s=DEADLINE_S)
            with pytest.raises(WorkerError, match="closed"):
                await owner.log.read_to_end(DEADLINE_S)

        run(work)

    def test_one_that_was_never_opened_can_be_closed(self, cluster: MockCluster) -> None:
        async def work() -> None:
            await Owner(cluster).close()

        run(work)
