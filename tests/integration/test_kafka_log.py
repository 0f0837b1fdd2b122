"""A compacted log on a real broker: compaction, markers of transactions, and a topic that goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

import pytest

from connectd.aio.clock import LoopClock
from connectd.errors import BrokerUnavailableError, WorkerError
from connectd.kafka.admin import KafkaAdmin, TopicSpec
from connectd.kafka.log import CompactedLog
from connectd.kafka.tailing import LogRecord
from tests.harness.kafka import KafkaBroker
from tests.harness.transactions import transactional_producer

DEADLINE_S = 120.0
PARTITIONS = 3
T = TypeVar("T")


class Owner:
    """Owns a log and remembers what it was told."""

    def __init__(self, broker: KafkaBroker, topic: str, *, look_around_s: float = 10.0) -> None:
        settings = {"bootstrap.servers": broker.bootstrap, "reconnect.backoff.max.ms": "500"}
        clock = LoopClock()
        self.admin = KafkaAdmin(settings, client_id="admin", clock=clock)
        self.records: list[LogRecord] = []
        self.failures: list[WorkerError] = []
        self.topic = topic
        self.log = CompactedLog(
            settings,
            topic=topic,
            client_id="owner",
            admin=self.admin,
            clock=clock,
            on_records=self.records.extend,
            on_failure=self.failures.append,
            look_around_s=look_around_s,
        )

    async def open(self, **settings: str) -> None:
        names = {name.replace("_", "."): value for name, value in settings.items()}
        spec = TopicSpec(self.topic, PARTITIONS, 1, {"cleanup.policy": "compact", **names})
        await self.admin.create(spec, DEADLINE_S)
        await self.log.open(PARTITIONS, deadline_s=DEADLINE_S)


def run(work: Callable[[], Coroutine[None, None, T]]) -> T:
    return asyncio.run(asyncio.wait_for(work(), DEADLINE_S))


@pytest.mark.kafka("exact")
def test_the_end_is_found_behind_a_transactions_markers(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    """The last offset of the partition holds no record that anybody could show."""

    def write() -> None:
        producer = transactional_producer(kafka_broker.bootstrap, kafka_prefix)
        for number in range(3):
            producer.begin_transaction()
            producer.produce(f"{kafka_prefix}t", b"%d" % number, key=b"key")
            producer.commit_transaction(DEADLINE_S)
        transactional_producer(kafka_broker.bootstrap, kafka_prefix)  # the markers are there

    async def work() -> list[bytes | None]:
        owner = Owner(kafka_broker, f"{kafka_prefix}t")
        await owner.open()
        await asyncio.to_thread(write)
        await owner.log.read_to_end(DEADLINE_S)
        again = Owner(kafka_broker, f"{kafka_prefix}t")
        await again.open()
        assert [each.value for each in again.records] == [each.value for each in owner.records]
        await again.log.close(deadline_s=DEADLINE_S)
        await owner.log.close(deadline_s=DEADLINE_S)
        return [each.value for each in owner.records]

    assert run(work) == [b"0", b"1", b"2"]


@pytest.mark.kafka("exact")
def test_a_topic_that_disappears_fails_the_log_loudly(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    """librdkafka says nothing about it, and nothing may create the topic anew."""
    topic = f"{kafka_prefix}t"

    async def work() -> Owner:
        owner = Owner(kafka_broker, topic, look_around_s=0.1)
        await owner.open()
        was_available = [owner.log.is_available]
        admin = kafka_broker.admin()
        admin.delete_topics([topic])[topic].result(DEADLINE_S)
        while not owner.failures:  # noqa: ASYNC110  a thread's doing
            await asyncio.sleep(0.02)
        was_available.append(owner.log.is_available)
        assert was_available == [True, False]
        assert str(owner.log.refusal).startswith(f"topic {topic} does not exist any more (")
        with pytest.raises(WorkerError, match="the worker cannot go on without it"):
            await owner.log.read_to_end(DEADLINE_S)
        with pytest.raises(WorkerError):
            await owner.log.append([(b"a", b"1")], deadline_s=DEADLINE_S)
        await owner.log.close(deadline_s=DEADLINE_S)
        assert topic not in admin.list_topics(timeout=DEADLINE_S).topics
        return owner

    assert len(run(work).failures) == 1


@pytest.mark.kafka("control", "durable")
def test_a_log_follows_on_after_a_restart_of_the_broker(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    async def work() -> list[bytes | None]:
        owner = Owner(kafka_broker, f"{kafka_prefix}t")
        await owner.open()
        await owner.log.append([(b"a", b"before")], deadline_s=DEADLINE_S)
        with kafka_broker.away(), pytest.raises(BrokerUnavailableError):
            await owner.log.append([(b"a", b"while away")], deadline_s=0.1)
        await owner.log.append([(b"a", b"after")], deadline_s=DEADLINE_S)
        await owner.log.read_to_end(DEADLINE_S)
        await owner.log.close(deadline_s=DEADLINE_S)
        assert owner.failures == []
        return [each.value for each in owner.records]

    assert run(work) == [b"before", b"while away", b"after"]


@pytest.mark.kafka
def test_a_broker_is_waited_for(kafka_broker: KafkaBroker) -> None:
    async def work() -> None:
        clock = LoopClock()
        here = KafkaAdmin({"bootstrap.servers": kafka_broker.bootstrap}, client_id="a", clock=clock)
        assert await here.wait_broker(DEADLINE_S)
        nowhere = KafkaAdmin({"bootstrap.servers": "127.0.0.1:1"}, client_id="a", clock=clock)
        with pytest.raises(BrokerUnavailableError, match=r"none answered within 0\.5 s"):
            await nowhere.wait_broker(0.5)

    run(work)
