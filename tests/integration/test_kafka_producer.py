"""The page producer on a real broker: placement, faults, sizes, memory."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Coroutine
from typing import TypeVar

import pytest
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]  # public, not marked so

from connectd.errors import ProduceError, RecordTooLargeError
from connectd.kafka import clientconf
from connectd.kafka.producer import PageProducer, SendJob, SendResult
from connectd.model.record import EncodedPage, EncodedRecord
from tests.harness.kafka import KafkaBroker
from tests.harness.topics import read_topic

DEADLINE_S = 120.0
MIB = 1024 * 1024
T = TypeVar("T")


def run(work: Callable[[], Coroutine[None, None, T]]) -> T:
    return asyncio.run(asyncio.wait_for(work(), DEADLINE_S))


def create(broker: KafkaBroker, topic: str, partitions: int, **settings: str) -> None:
    names = {name.replace("_", "."): value for name, value in settings.items()}
    admin = broker.admin()
    admin.create_topics([NewTopic(topic, partitions, 1, config=names)])[topic].result(DEADLINE_S)


class Bench:
    """A producer with its answers."""

    def __init__(self, broker: KafkaBroker, **settings: str) -> None:
        names = {key.replace("_", "."): value for key, value in settings.items()}
        conf = clientconf.producer_conf(
            {"bootstrap.servers": broker.bootstrap, **names}, client_id="test"
        )
        self.answers: list[SendResult] = []
        self.producer = PageProducer(conf, name="test")
        self.producer.open()

    async def send(self, topic: str, records: list[EncodedRecord]) -> None:
        page = EncodedPage(topic, records)
        await self.producer.send(SendJob(lambda: page, self.answers.append))

    async def close(self) -> None:
        assert await self.producer.close(DEADLINE_S) == 0


def murmur2(data: bytes) -> int:
    """The hash of Kafka's Java client, signed."""
    word, shift, mask = 0x5BD1E995, 24, 0xFFFFFFFF
    digest = (0x9747B28C ^ len(data)) & mask
    whole = len(data) - len(data) % 4
    for place in range(0, whole, 4):
        part = (int.from_bytes(data[place : place + 4], "little") * word) & mask
        part ^= part >> shift
        digest = ((digest * word) & mask) ^ ((part * word) & mask)
    rest = data[whole:]
    if rest:
        digest = ((digest ^ int.from_bytes(rest, "little")) * word) & mask
    digest = ((digest ^ (digest >> 13)) * word) & mask
    digest ^= digest >> 15
    return digest - (1 << 32) if digest >> 31 else digest


def test_the_yardstick_itself_knows_kafkas_own_vectors() -> None:
    assert murmur2(b"21") == -973932308
    assert murmur2(b"foobar") == -790332482
    assert murmur2(b"a-little-bit-long-string") == -985981536
    assert murmur2(b"abc") == 479470107


@pytest.mark.kafka
def test_keys_are_placed_as_the_java_client_places_them(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    topic = f"{kafka_prefix}t"
    create(kafka_broker, topic, 7)
    records: list[EncodedRecord] = [(b'{"id":"%d"}' % number, b"v") for number in range(300)]

    async def work() -> None:
        bench = Bench(kafka_broker)
        await bench.send(topic, records)
        await bench.close()

    run(work)
    found = read_topic(kafka_broker.bootstrap, topic)
    assert len(found) == len(records)
    for record in found:
        assert record.key is not None
        assert record.partition == (murmur2(record.key) & 0x7FFFFFFF) % 7


@pytest.mark.kafka("control", "durable")
def test_a_broker_killed_and_restarted_gets_every_record_once_and_in_order(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    topic = f"{kafka_prefix}t"
    create(kafka_broker, topic, 1)
    pages = [[(b"key", b"%d" % (100 * page + n)) for n in range(100)] for page in range(60)]

    async def work() -> list[SendResult]:
        bench = Bench(kafka_broker)
        for page in pages[:20]:
            await bench.send(topic, list(page))
        with kafka_broker.away():
            for page in pages[20:22]:
                await bench.send(topic, list(page))
        for page in pages[22:]:
            await bench.send(topic, list(page))
        await bench.close()
        return bench.answers

    answers = run(work)
    assert sum(answer.records for answer in answers) == 6000
    assert not any(answer.failure_count or answer.error for answer in answers)
    found = read_topic(kafka_broker.bootstrap, topic)
    assert [record.value for record in found] == [value for page in pages for _, value in page]


@pytest.mark.kafka("control")
def test_a_silent_broker_is_back_pressure_and_not_memory(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    """Field case P05: 320 MiB want to go out, 8 MiB may be held."""
    topic = f"{kafka_prefix}t"
    create(kafka_broker, topic, 1)
    page: list[EncodedRecord] = [(b"key", b"x" * 1000)] * 1000

    async def work() -> tuple[int, int]:
        bench = Bench(kafka_broker, buffer_memory=str(8 * MIB))
        await bench.send(topic, page)
        await bench.producer.flush(DEADLINE_S)
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with kafka_broker.paused():
            senders = [asyncio.ensure_future(bench.send(topic, page)) for _ in range(320)]
            while bench.producer.statistics().buffer_full == 0:  # noqa: ASYNC110  a thread's doing
                await asyncio.sleep(0.02)
            held = bench.producer.statistics().records_buffered
            for sender in senders:
                sender.cancel()
            await asyncio.gather(*senders, return_exceptions=True)
        grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
        await bench.close()
        return held, grown_kib

    held, grown_kib = run(work)
    assert held * 1003 <= 8 * MIB + MIB
    assert grown_kib * 1024 < 64 * MIB


@pytest.mark.kafka("exact")
def test_a_record_larger_than_the_topic_allows_fails_alone_and_says_so(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    """Field cases V10, V11: told once, with its key; the rest goes on."""
    topic = f"{kafka_prefix}t"
    create(kafka_broker, topic, 1, max_message_bytes="10000")

    async def work() -> list[SendResult]:
        bench = Bench(kafka_broker, compression_type="none")
        await bench.send(topic, [(b"big", b"\x01" * 400_000)])
        await bench.producer.flush(DEADLINE_S)
        await bench.send(topic, [(b"small", b"v")])
        await bench.close()
        return bench.answers

    first, second = run(work)
    (failure,) = first.failures
    assert failure.key == b"big"
    assert isinstance(failure.error, RecordTooLargeError)
    assert f"topic {topic}" in str(failure.error)
    assert "max.message.bytes" in str(failure.error)
    assert (second.failure_count, second.error) == (0, None)
    assert [record.key for record in read_topic(kafka_broker.bootstrap, topic)] == [b"small"]


@pytest.mark.kafka("exact")
def test_the_override_that_users_know_lets_a_large_record_through(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    topic = f"{kafka_prefix}t"
    create(kafka_broker, topic, 1, max_message_bytes=str(4 * MIB))

    async def work() -> list[SendResult]:
        bench = Bench(kafka_broker, max_request_size=str(4 * MIB), compression_type="none")
        await bench.send(topic, [(b"big", b"\x01" * 2_400_000)])
        await bench.close()
        return bench.answers

    (answer,) = run(work)
    assert (answer.failure_count, answer.error) == (0, None)


@pytest.mark.kafka("exact")
def test_a_compacted_topic_refuses_a_record_without_a_key(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    topic = f"{kafka_prefix}t"
    create(kafka_broker, topic, 1, cleanup_policy="compact")

    async def work() -> list[SendResult]:
        bench = Bench(kafka_broker)
        await bench.send(topic, [(None, b"v")])
        await bench.close()
        return bench.answers

    (answer,) = run(work)
    assert isinstance(answer.failures[0].error, ProduceError)
    assert "INVALID_RECORD" in str(answer.failures[0].error)
