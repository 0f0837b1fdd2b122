"""A topic followed to its end: from where, which records, and what ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from connectd.aio.clock import LoopClock
from connectd.errors import ConnectdError, NotFoundError
from connectd.kafka.admin import KafkaAdmin, TopicSpec
from connectd.kafka.following import OnRecords, TopicFollower
from connectd.kafka.tailing import LogRecord
from tests.harness.kafka import KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]


class Topic:
    """A topic of three partitions, and what is followed of it."""

    def __init__(self, broker: KafkaBroker, name: str) -> None:
        self.name = name
        self._broker = broker
        self.seen: list[tuple[int, int]] = []
        self.settings = {"bootstrap.servers": broker.bootstrap}
        self.admin = KafkaAdmin(self.settings, client_id="test", clock=LoopClock())

    async def create(self) -> None:
        await self.admin.create(TopicSpec(self.name, 3, 1), 20)

    def write(self, *counts: int) -> None:
        """So many records into each partition."""
        producer = Producer({"bootstrap.servers": self._broker.bootstrap, "log_level": 0})
        for partition, count in enumerate(counts):
            for _ in range(count):
                producer.produce(self.name, b"value", b"key", partition)
        assert producer.flush(20) == 0

    def take(self, records: Sequence[LogRecord]) -> None:
        self.seen += [(each.partition, each.offset) for each in records]

    def follower(
        self, start: dict[int, int] | None = None, take: OnRecords | None = None
    ) -> TopicFollower:
        return TopicFollower(
            self.settings,
            self.name,
            client_id="test",
            admin=self.admin,
            clock=LoopClock(),
            on_records=take or self.take,
            start=start,
        )


def test_everything_is_read_to_the_end_of_every_call(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    async def run() -> None:
        topic = Topic(kafka_broker, f"{kafka_prefix}t")
        await topic.create()
        follower = topic.follower()
        description = await follower.open()
        assert description.partitions == 3
        await follower.read_to_end()
        assert topic.seen == []
        topic.write(2, 0, 1)
        assert await follower.ends() == {0: 2, 1: 0, 2: 1}
        await follower.read_to_end()
        assert sorted(topic.seen) == [(0, 0), (0, 1), (2, 0)]
        topic.write(0, 1, 0)
        await follower.read_to_end()
        assert sorted(topic.seen) == [(0, 0), (0, 1), (1, 0), (2, 0)]
        assert follower.records == 4
        await follower.close()

    asyncio.run(run())


def test_a_follower_may_begin_in_the_middle(kafka_broker: KafkaBroker, kafka_prefix: str) -> None:
    async def run() -> None:
        topic = Topic(kafka_broker, f"{kafka_prefix}t")
        await topic.create()
        topic.write(5, 1, 0)
        follower = topic.follower({0: 4, 1: 1})
        await follower.open()
        await follower.read_to_end()
        assert topic.seen == [(0, 4)]
        await follower.close()

    asyncio.run(run())


def test_what_its_owner_cannot_take_ends_the_reading(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    async def run() -> None:
        topic = Topic(kafka_broker, f"{kafka_prefix}t")
        await topic.create()
        topic.write(1, 0, 0)

        def refuse(_: Sequence[LogRecord]) -> None:
            raise ConnectdError("no disk")

        follower = topic.follower(take=refuse)
        await follower.open()
        with pytest.raises(ConnectdError, match="no disk"):
            await follower.read_to_end()
        await follower.close()

    asyncio.run(run())


def test_a_topic_that_does_not_exist_is_named(kafka_broker: KafkaBroker, kafka_prefix: str) -> None:
    async def run() -> None:
        follower = Topic(kafka_broker, f"{kafka_prefix}none").follower()
        for ask in (follower.open, follower.ends):
            with pytest.raises(NotFoundError, match=r"none does not exist"):
                await ask()
        await follower.close()

    asyncio.run(run())


def test_a_topic_that_gets_further_partitions_breaks_the_promise(
    kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    async def run() -> None:
        topic = Topic(kafka_broker, f"{kafka_prefix}grows")
        await topic.create()
        follower = topic.follower()
        await follower.open()
        await follower.read_to_end()
        client = AdminClient({"bootstrap.servers": kafka_broker.bootstrap, "log_level": 0})
        client.create_partitions([NewPartitions(topic.name, 4)])[topic.name].result(20)
        with pytest.raises(ConnectdError, match=r"had 3 partitions .* and has 4 now.*run it again"):
            await follower.read_to_end()
        await follower.close()

    asyncio.run(run())
