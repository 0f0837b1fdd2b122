"""Producers, logs and readers whose client has lost all brokers for good go on with another one.

With ``metadata.recovery.strategy=none`` it is certain that a client which hears of no broker loses
all that it knows and never finds one again; otherwise that is a matter of luck.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from connectd.aio.clock import LoopClock
from connectd.errors import ProducerLostError, WorkerError
from connectd.kafka import stranded
from connectd.kafka.admin import KafkaAdmin
from connectd.kafka.log import CompactedLog, first_error
from connectd.kafka.page import SendJob, SendResult
from connectd.kafka.pool import ProducerPool
from connectd.kafka.producer import PageProducer
from connectd.kafka.stranded import Lookout
from connectd.kafka.tailing import LOOK_AROUND_S, LogRecord
from connectd.kafka.voice import ClientVoice
from connectd.model.record import EncodedPage, EncodedRecord
from tests.harness.metadata_proxy import MetadataProxy
from tests.unit.kafka.mock_cluster import MockCluster, mock_cluster

DEADLINE_S = 60.0
TOPIC = "t"
PARTITIONS = 2


@dataclass
class Place:
    """A cluster, and the door before it."""

    cluster: MockCluster
    door: MetadataProxy

    @property
    def settings(self) -> dict[str, str]:
        return {
            **self.door.settings,
            "metadata.recovery.strategy": "none",
            "socket.connection.setup.timeout.ms": "1000",
            "reconnect.backoff.max.ms": "100",
            "topic.metadata.refresh.interval.ms": "200",
        }


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setattr(stranded, "LOOK_S", 0.05)
    monkeypatch.setattr(stranded, "SILENCE_S", 0.2)
    monkeypatch.setattr(stranded, "NEWCOMER_PAUSE_S", 0.1)
    monkeypatch.setattr(stranded, "MARGIN_S", 0.5)
    with mock_cluster() as cluster:
        cluster.create_topic(TOPIC, PARTITIONS)
        with MetadataProxy(cluster.bootstrap) as door:
            yield Place(cluster, door)


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE_S):
            await work()

    asyncio.run(bounded())


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what a thread will bring about; bounded by the deadline of ``run``."""
    while not is_so():  # noqa: ASYNC110  the thread knows nothing of this test's events
        await asyncio.sleep(0.01)


async def lose_all_brokers(place: Place, *are_available: Callable[[], bool]) -> None:
    """Until these clients have heard of no broker. It stays so until the door is ready again."""
    place.door.is_ready = False
    for is_available in are_available:
        await until(lambda each=is_available: not each())  # type: ignore[misc]


def values(place: Place, count: int) -> list[bytes | None]:
    return [each.value() for each in place.cluster.records(TOPIC, PARTITIONS, count)]


def written(place: Place) -> int:
    """How many records there are."""
    client = Consumer({**place.cluster.settings, "group.id": "counter", "log_level": 0})
    try:
        places = [TopicPartition(TOPIC, each) for each in range(PARTITIONS)]
        return sum(client.get_watermark_offsets(each, timeout=DEADLINE_S)[1] for each in places)
    finally:
        client.close()


class Sender:
    """Sends pages of one key with a pool's producer."""

    def __init__(self, place: Place, **settings: str) -> None:
        names = {key.replace("_", "."): value for key, value in settings.items()}
        self.settings = {**place.settings, **names}
        self.pool = ProducerPool(client_id="w")
        self.producer = self.pool.acquire(self.settings)
        self.answers: list[SendResult] = []

    @property
    def is_available(self) -> bool:
        return self.producer.statistics().is_available

    async def send(self, *numbers: int) -> None:
        page = EncodedPage(TOPIC, [(b"key", b"%d" % each) for each in numbers])
        await self.producer.send(SendJob(lambda: page, self.answers.append))

    async def settle(self, answers: int) -> None:
        await until(lambda: len(self.answers) == answers)

    async def take_another(self) -> None:
        lost, self.producer = self.producer, self.pool.acquire(self.settings)
        assert self.producer is not lost
        assert await self.pool.release(lost, deadline_s=DEADLINE_S) == 0

    async def close(self) -> None:
        assert await self.pool.close(deadline_s=DEADLINE_S) == 0


def test_a_producer_is_given_up_with_its_pages_and_the_next_one_sends_them(place: Place) -> None:
    async def work() -> None:
        sender = Sender(place)
        await sender.send(1, 2)
        await sender.settle(1)
        await lose_all_brokers(place, lambda: sender.is_available)
        for number in (3, 4, 5):
            await sender.send(number)
        assert "Kafka does not answer" in sender.producer.trouble
        place.door.is_ready = True
        await sender.settle(4)
        assert [type(each.error) for each in sender.answers[1:]] == [ProducerLostError] * 3
        assert sender.producer.trouble == ""
        assert sender.is_available, "that Kafka is away would not be true"
        with pytest.raises(ProducerLostError, match="has lost all brokers"):
            await sender.send(3)
        await sender.take_another()
        for number in (3, 4, 5):
            await sender.send(number)
        await sender.settle(7)
        assert [each.error for each in sender.answers[4:]] == [None] * 3
        await sender.close()

    run(work)
    assert values(place, 5) == [b"%d" % number for number in range(1, 6)]
    assert written(place) == 5


def test_a_page_that_waits_for_room_is_given_up_too(place: Place) -> None:
    async def work() -> None:
        sender = Sender(place, queue_buffering_max_messages="2")
        await sender.send(1)
        await sender.settle(1)
        await lose_all_brokers(place, lambda: sender.is_available)
        await sender.send(2, 3, 4)
        await sender.send(5)
        place.door.is_ready = True
        await sender.settle(3)
        assert all(isinstance(each.error, ProducerLostError) for each in sender.answers[1:])
        await sender.take_another()
        await sender.send(2, 3, 4)
        await sender.settle(4)
        await sender.close()

    run(work)
    assert values(place, 4) == [b"1", b"2", b"3", b"4"]


def test_a_producer_without_work_is_given_up_before_anybody_waits_for_it(place: Place) -> None:
    async def work() -> None:
        sender = Sender(place)
        await sender.send(1)
        await sender.settle(1)
        await lose_all_brokers(place, lambda: sender.is_available)
        place.door.is_ready = True
        await until(lambda: sender.producer.is_lost)
        await sender.take_another()
        await sender.send(2)
        await sender.settle(2)
        await sender.close()

    run(work)
    assert values(place, 2) == [b"1", b"2"]


def test_what_a_producer_held_is_never_written_even_if_its_brokers_come_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        sender = Sender(place)
        await sender.send(1)
        await sender.settle(1)
        place.cluster.go_away()
        await sender.send(2)
        with monkeypatch.context() as patch:
            patch.setattr(Lookout, "is_stranded", lambda *_: True)
            await sender.settle(2)
        held = sender.producer
        sender.producer = sender.pool.acquire(sender.settings)
        await sender.send(3)
        place.cluster.come_back()
        await sender.settle(3)
        await until(lambda: held.statistics().records_buffered == 0)
        await sender.close()

    run(work)
    assert values(place, 2) == [b"1", b"3"]
    assert written(place) == 2


@pytest.mark.parametrize("outage", ["away", "silent"])
def test_an_ordinary_outage_is_ridden_out_by_the_same_producer(place: Place, outage: str) -> None:
    async def work() -> None:
        sender = Sender(place, request_timeout_ms="60000", socket_timeout_ms="60000")
        await sender.send(1)
        await sender.settle(1)
        if outage == "away":
            place.cluster.go_away()
        else:
            place.door.is_silent = True
        for number in range(2, 5):
            await sender.send(number)
        assert await sender.producer.flush(5.0) == 3
        place.cluster.come_back()
        place.door.is_silent = False
        await sender.settle(4)
        assert [each.error for each in sender.answers] == [None] * 4
        assert sender.producer.is_usable
        await sender.close()

    run(work)
    assert values(place, 4) == [b"1", b"2", b"3", b"4"]


class Owner:
    """Owns a log behind the door, and an admin client that comes to the cluster directly."""

    def __init__(self, place: Place, *, look_around_s: float = LOOK_AROUND_S) -> None:
        clock = LoopClock()
        self.records: list[LogRecord] = []
        self.failures: list[WorkerError] = []
        self.log = CompactedLog(
            place.settings,
            topic=TOPIC,
            client_id="owner",
            admin=KafkaAdmin(place.cluster.settings, client_id="admin", clock=clock),
            clock=clock,
            on_records=self.records.extend,
            on_failure=self.failures.append,
            look_around_s=look_around_s,
        )

    @property
    def numbers(self) -> list[int]:
        return sorted(int(each.value or b"") for each in self.records)

    @property
    def writer(self) -> PageProducer:
        assert self.log._producer is not None
        return self.log._producer


def record(number: int) -> list[EncodedRecord]:
    return [(b"key", b"%d" % number)]


def fill(place: Place, numbers: Sequence[int]) -> None:
    """Write into all partitions as somebody who comes to the cluster directly."""
    producer = Producer({**place.cluster.settings, "log_level": 0})
    for number in numbers:
        producer.produce(TOPIC, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(DEADLINE_S) == 0


def test_a_log_goes_on_with_other_clients_without_a_hole_and_without_a_repetition(
    place: Place,
) -> None:
    async def work() -> None:
        owner = Owner(place)
        log = owner.log
        await log.open(PARTITIONS, deadline_s=DEADLINE_S)
        await log.append(record(0), deadline_s=DEADLINE_S)
        await asyncio.to_thread(fill, place, range(1, 10))
        await log.read_to_end(DEADLINE_S)
        lost = owner.writer
        await lose_all_brokers(
            place, lambda: log.is_available, lambda: lost.statistics().is_available
        )
        await asyncio.to_thread(fill, place, range(10, 20))
        answers: list[SendResult] = []
        log.append_nowait(record(100), answers.append)
        place.door.is_ready = True
        await until(lambda: bool(answers))
        assert isinstance(first_error(answers[0]), ProducerLostError)
        await log.append(record(20), deadline_s=DEADLINE_S)
        await until(lambda: len(owner.records) == 21)
        assert owner.numbers == list(range(21))
        await asyncio.to_thread(fill, place, range(21, 30))
        await log.read_to_end(DEADLINE_S)
        assert owner.numbers == list(range(30))
        for partition in range(PARTITIONS):
            offsets = [each.offset for each in owner.records if each.partition == partition]
            assert offsets == list(range(len(offsets)))
        await until(lambda: log.is_available)
        assert not lost.is_usable
        assert await log.close(deadline_s=DEADLINE_S) == 0
        assert owner.failures == []

    run(work)


def test_an_idle_reader_comes_back_by_itself(place: Place) -> None:
    async def work() -> None:
        owner = Owner(place)
        await owner.log.open(PARTITIONS, deadline_s=DEADLINE_S)
        await lose_all_brokers(place, lambda: owner.log.is_available)
        place.door.is_ready = True
        await until(lambda: owner.log.is_available)
        assert owner.records == []
        assert await owner.log.close(deadline_s=DEADLINE_S) == 0

    run(work)


def test_clients_that_did_not_even_say_so_are_found_out_when_they_are_asked(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of a newer librdkafka, for which forgetting a broker is no loss of a connection."""
    monkeypatch.setattr(ClientVoice, "on_error", lambda *_: None)

    async def work() -> None:
        owner = Owner(place, look_around_s=0.2)
        log = owner.log
        await log.open(PARTITIONS, deadline_s=DEADLINE_S)
        await log.append(record(0), deadline_s=DEADLINE_S)
        assert log._reader is not None
        reader, writer = log._reader._consumer, owner.writer._sender._producer
        place.door.is_ready = False
        for client in (reader, writer):
            await until(lambda each=client: not stranded._has_connection(each, TOPIC))  # type: ignore[misc]
        place.door.is_ready = True
        with pytest.raises(ProducerLostError):
            await log.append(record(100), deadline_s=DEADLINE_S)
        await log.append(record(1), deadline_s=DEADLINE_S)
        await log.read_to_end(DEADLINE_S)
        assert owner.numbers == [0, 1]
        assert await log.close(deadline_s=DEADLINE_S) == 0

    run(work)
