"""A table of which a transform lets nothing pass: the worker's own runner on virtual time (O06)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from connectd.aio.jobs import JobGroup
from connectd.aio.scheduler import PollScheduler
from connectd.app import bundled
from connectd.aws.clients import AwsClientPool
from connectd.connectors.dynamodb.task import DynamoDbSourceTask
from connectd.kafka.producer import PageProducer, SendJob, SendResult
from connectd.model.record import Encoded, SourceOffset, SourcePartition
from connectd.pipeline.encoding import Converters
from connectd.pipeline.source_task import RunnerSettings, SourceTaskRunner
from connectd.plugins import chaining
from connectd.plugins.spi import WorkerServices
from tests.component.dynamodb.account import Account, AccountPool
from tests.component.dynamodb.rig import QUICK, Context, MemoryOffsets, new_account, virtual
from tests.unit.pipeline.pages import InlineEncoder, Registry

_HOURS = 25
_EVERY_S = 600.0

_CONFIG = {
    **QUICK,
    "tables": "orders",
    "stream.poll.interval.max.ms": "60000",
    "position.heartbeat.ms": "600000",
    "transforms": "drop",
    "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
}


@dataclass
class Producer:
    """Acknowledges every page at once; ``sent`` are its records. Also lends itself."""

    sent: list[Encoded] = field(default_factory=list)
    trouble: str = ""

    async def send(self, job: SendJob) -> None:
        page = job.encode()
        if page.records:
            self.sent.append(page)
        job.on_done(SendResult(topics=page.topics, records=len(page.records)))

    def acquire(self) -> PageProducer:
        return cast("PageProducer", self)

    async def release(self, producer: PageProducer) -> None:
        return None


@dataclass
class Writer:
    """Makes offsets durable at once; ``moves`` counts them."""

    offsets: MemoryOffsets
    moves: int = 0

    async def put(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
        self.moves += len(offsets)
        self.offsets.put(offsets)


class Life:
    """One life of the task over the account, with the offsets of the life before."""

    def __init__(self, account: Account, offsets: MemoryOffsets, producer: Producer) -> None:
        self.writer = Writer(offsets)
        self.failure: BaseException | None = None
        services = WorkerServices(
            account.clock, PollScheduler(in_flight_max=8), {AwsClientPool: AccountPool(account)}
        )
        plain = Registry()
        chain = chaining.make_chain(bundled.plugin_registry(), _CONFIG)
        self.runner = SourceTaskRunner(
            task=DynamoDbSourceTask(),
            context=Context(services, offsets),
            config=_CONFIG,
            converters=Converters(plain, plain, plain, chain),  # type: ignore[arg-type]
            producers=producer,
            offsets=self.writer,
            settings=RunnerSettings(commit_interval_s=60.0, commit_timeout_s=5.0),
            starts_paused=False,
            on_event=lambda event, error: None,
            on_topic=lambda topic: None,
            on_tail_left=lambda: None,
            encoder=InlineEncoder(),
        )
        self._jobs = JobGroup("life", on_failure=self._on_failure)
        self._jobs.spawn("run", self.runner.run())

    def _on_failure(self, name: str, error: BaseException) -> None:
        self.failure = error

    def row(self) -> Mapping[str, object]:
        (row,) = self.runner.tables()
        return row

    async def end(self) -> None:
        self.runner.signal_stop()
        await self._jobs.join(deadline_s=60)
        assert self.failure is None


@virtual
async def test_o06_of_a_day_and_more_in_which_everything_was_filtered_nothing_is_lost() -> None:
    account = new_account()
    table = account.add_table("orders", shards=1)
    offsets, producer = MemoryOffsets(), Producer()
    life = Life(account, offsets, producer)
    await asyncio.sleep(60)
    assert table.stream is not None
    shard = table.stream.open_shards()[0]
    partition = SourcePartition.of({"table_name": "orders", "shard_id": shard.shard_id})

    for number in range(int(_HOURS * 3600 / _EVERY_S)):
        table.put(f"k{number}", number)
        await asyncio.sleep(_EVERY_S)
    last = shard.records[-1].sequence
    stored = offsets.stored[partition]
    assert stored["sequence_number"] == last
    assert producer.sent == []
    assert life.row()["state"] == "SYNC"
    assert life.writer.moves <= _HOURS * 3600 / 60, "no more positions than flushes"
    await life.end()

    life = Life(account, offsets, producer)
    await asyncio.sleep(600)
    assert (life.row()["state"], life.row()["gaps"]) == ("SYNC", 0)
    assert producer.sent == []
    await life.end()
