"""A page producer on librdkafka's mock cluster, with the answers to what it was sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from connectd.errors import WorkerError
from connectd.kafka import clientconf
from connectd.kafka.producer import PageProducer, SendJob, SendResult
from connectd.model.record import EncodedPage, EncodedRecord
from tests.unit.kafka.mock_cluster import MockCluster

DEADLINE_S = 20.0
T = TypeVar("T")


class Bench:
    """A producer with its answers."""

    def __init__(self, cluster: MockCluster, **settings: str) -> None:
        names = {key.replace("_", "."): value for key, value in settings.items()}
        conf = clientconf.producer_conf({**cluster.settings, **names}, client_id="test")
        self.failures: list[WorkerError] = []
        self.answers: list[SendResult] = []
        self.producer = PageProducer(conf, name="test", on_failure=self.failures.append)
        self.producer.open()

    def job(
        self,
        records: Sequence[EncodedRecord],
        *,
        topic: str = "orders",
        on_done: Callable[[SendResult], None] | None = None,
        wants_offsets: bool = False,
    ) -> SendJob:
        page = EncodedPage(topic, list(records))
        return SendJob(lambda: page, on_done or self.answers.append, wants_offsets)

    async def send(self, records: Sequence[EncodedRecord]) -> None:
        await self.producer.send(self.job(records))

    async def settle(self) -> list[SendResult]:
        assert await self.producer.flush(DEADLINE_S) == 0
        return self.answers


def run(work: Callable[[], Awaitable[T]]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(2 * DEADLINE_S):
            return await work()

    return asyncio.run(bounded())


def page(size: int, *, first: int = 0, value_bytes: int = 10) -> list[EncodedRecord]:
    return [(b"key", b"%08d" % (first + n) + b"." * value_bytes) for n in range(size)]


def values(cluster: MockCluster, count: int) -> list[bytes | None]:
    return [message.value() for message in cluster.records("orders", 1, count)]
