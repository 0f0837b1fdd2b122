"""Runs a connector's task as the worker would, without Kafka: acks and commits are the test's.

The rig keeps the real frontier between the task and a store in memory. ``log`` is the topic: what
was acknowledged, in order. ``crash`` forgets everything that was not committed; what was emitted
and not acknowledged may or may not have reached the topic.
"""

from __future__ import annotations

import asyncio
import functools
import json
import random
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connectd.aio.clock import Clock, LoopClock
from connectd.aio.jobs import JobGroup
from connectd.aio.scheduler import PollScheduler
from connectd.aio.toggles import Toggle
from connectd.aws.clients import AwsClientPool
from connectd.connectors.dynamodb.payload import ScanPayload, StreamPayload
from connectd.connectors.dynamodb.source_api import SourceApiPool
from connectd.connectors.dynamodb.task import DynamoDbSourceTask
from connectd.model.record import Acked, RecordBatch, Seal, SourceOffset, SourcePartition
from connectd.pipeline.frontier import AckFrontier, FrontierEntry
from connectd.plugins.spi import WorkerServices
from tests.component.dynamodb.account import Account, AccountPool
from tests.kit.virtual_time import run_virtual

WALL_S = 1_700_000_000.0

QUICK = {
    "init.sync.delay.period": "0",
    "connector.class": "connectd.DynamoDBSource",
}
"""Settings that most tests begin with."""


@dataclass(frozen=True)
class Sent:
    """One record of the topic, reduced to what tests ask about."""

    table: str
    op: str
    key: str
    value: int | None
    sequence: str | None
    state: str


def virtual(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that runs on virtual time."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        run_virtual(test(*args, **kwargs))

    return run


def new_account() -> Account:
    """An account on the running loop's time."""
    return Account(LoopClock(wall_anchor_s=WALL_S))


class MemoryOffsets:
    """Implements ``OffsetReader`` over committed offsets."""

    def __init__(self) -> None:
        self.stored: dict[SourcePartition, SourceOffset] = {}

    async def refresh(self) -> None:
        await asyncio.sleep(0)

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        return self.stored.get(partition)

    def all(self) -> Mapping[SourcePartition, SourceOffset]:
        return dict(self.stored)

    def put(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
        for partition, offset in offsets.items():
            if offset is None:
                self.stored.pop(partition, None)
            else:
                # As text and back, as every store does.
                self.stored[partition] = json.loads(json.dumps(offset))


class Context:
    """Implements ``TaskContext``."""

    def __init__(self, services: WorkerServices, offsets: MemoryOffsets) -> None:
        self.connector = "copy"
        self.task = 0
        self.services = services
        self.offsets = offsets
        self.failures: list[Exception] = []

    def report_failure(self, error: Exception) -> None:
        self.failures.append(error)


def records_of(batch: RecordBatch) -> list[Sent]:
    """The records of a page, in order; a tombstone is not counted."""
    payload = batch.payload
    table = str(batch.source_partition.to_dict()["table_name"])
    if isinstance(payload, ScanPayload):
        sent = []
        for index, raw in enumerate(payload.items):
            item = json.loads(bytes(raw))
            is_last = index == len(payload.items) - 1
            info = payload.last_info if payload.last_info and is_last else payload.info
            key = next(iter(item["id"].values()))
            state = info.init_sync_state.value
            sent.append(Sent(table, "r", key, int(item["v"]["N"]), None, state))
        return sent
    assert isinstance(payload, StreamPayload)
    return [
        _sent_of_change(table, record, payload.info.init_sync_state.value)
        for record in payload.records
    ]


def _sent_of_change(table: str, record: Any, state: str) -> Sent:
    op = {"INSERT": "c", "MODIFY": "u", "REMOVE": "d"}[record.event_name]
    key = next(iter(json.loads(bytes(record.keys))["id"].values()))
    image = bytes(record.new_image)
    value = int(json.loads(image)["v"]["N"]) if image else None
    return Sent(table, op, key, value, record.sequence_number, state)


class Rig:
    """One worker's life after another; see the module's docstring."""

    def __init__(
        self,
        account: Account,
        config: Mapping[str, str] | None = None,
        *,
        tables: Sequence[str] | None = None,
        seed: int = 0,
        pool: SourceApiPool | None = None,
        clock: Clock | None = None,
    ) -> None:
        """``pool``: clients that lead elsewhere than to the account in memory.

        ``clock``: the worker's, if it is not the account's.
        """
        self.clock = clock or account.clock
        self.account = account
        self.config = {**QUICK, **(config or {})}
        self.tables = list(tables) if tables is not None else None
        self.pool = AccountPool(account)
        self.clients: SourceApiPool = pool or self.pool
        self.resources: dict[type[Any], Any] = {}
        self.offsets = MemoryOffsets()
        self.log: list[Sent] = []
        self.random = random.Random(seed)
        self._running = Toggle(is_on=True)
        self.acks_held = False
        self.commits_held = False
        self.on_emission: Callable[[RecordBatch | Seal], None] = lambda emission: None
        self.sealed_order: list[str] = []
        self.first_batch_order: list[str] = []
        self.context: Context | None = None
        self.task: DynamoDbSourceTask | None = None
        self.scheduler = PollScheduler(in_flight_max=64)
        self.error: BaseException | None = None
        self.committed_moves = 0
        self._frontier = AckFrontier()
        self._unacked: deque[tuple[FrontierEntry, list[Sent]]] = deque()
        self._jobs: JobGroup | None = None

    @property
    def is_paused(self) -> bool:
        """Whether the task is not polled."""
        return not self._running.is_on()

    @is_paused.setter
    def is_paused(self, value: bool) -> None:
        self._running.set(not value)
        if self.task is not None:
            self.task.set_running(not value)

    async def start(self) -> None:
        self._frontier = AckFrontier()
        self._unacked.clear()
        self.error = None
        resources: dict[type[Any], Any] = {AwsClientPool: self.clients, **self.resources}
        services = WorkerServices(self.clock, self.scheduler, resources)
        self.context = Context(services, self.offsets)
        self.task = DynamoDbSourceTask()
        tables = self.tables if self.tables is not None else list(self.account.tables)
        await self.task.start(self.context, {**self.config, "tables": ",".join(tables)})
        self._jobs = JobGroup("rig", on_failure=self._on_failure)
        self._jobs.spawn("pump", self._pump())

    def _on_failure(self, name: str, error: BaseException) -> None:
        self.error = error

    async def _pump(self) -> None:
        assert self.task is not None
        while True:
            await self._running.wait_on()
            while len(self._unacked) > 64:
                await asyncio.sleep(0.01)
                self.settle()
            for emission in await self.task.poll():
                self.on_emission(emission)
                self._take(emission)
            self.settle()

    def _take(self, emission: RecordBatch | Seal) -> None:
        is_seal = isinstance(emission, Seal)
        entry = self._frontier.submit(
            emission.source_partition,
            emission.source_offset,
            on_acked=None if isinstance(emission, Seal) else emission.on_acked,
            on_committed=emission.on_committed if isinstance(emission, Seal) else None,
        )
        if is_seal or (isinstance(emission, RecordBatch) and len(emission.payload) == 0):
            entry.resolve()
            return
        assert isinstance(emission, RecordBatch)
        shard = emission.source_partition.to_dict().get("shard_id")
        if isinstance(shard, str) and shard not in self.first_batch_order:
            self.first_batch_order.append(shard)
        self._unacked.append((entry, records_of(emission)))

    def settle(self) -> None:
        """Acknowledge and commit, unless that is held back."""
        while self._unacked and not self.acks_held:
            entry, records = self._unacked.popleft()
            self.log.extend(records)
            entry.resolve(Acked(len(records)))
        if self.commits_held or not self._frontier.has_committable:
            return
        taken = self._frontier.take()
        self.committed_moves += len(taken.offsets)
        self.offsets.put(taken.offsets)
        for on_committed in taken.on_committed:
            on_committed()

    async def stop(self) -> None:
        """As the worker stops a task: stop polling, settle, stop the task."""
        assert self._jobs is not None
        assert self.task is not None
        await self._jobs.stop()
        self.settle()
        await self.task.stop()

    async def crash(self) -> None:
        """Die: what was not acknowledged may have reached the topic, what was not committed not."""
        assert self._jobs is not None
        assert self.task is not None
        await self._jobs.stop()
        for _ in range(self.random.randint(0, len(self._unacked))):
            self.log.extend(self._unacked.popleft()[1])
        self._unacked.clear()
        await self.task.stop()

    async def until(
        self, condition: Callable[[], bool], *, within_s: float = 600.0, step_s: float = 0.05
    ) -> None:
        """Let time pass until something holds; fails with the picture when it does not."""
        deadline = self.clock.monotonic() + within_s
        while not condition():
            self.settle()
            if condition():
                return
            assert self.clock.monotonic() < deadline, f"not within {within_s} s: {self.rows()}"
            await asyncio.sleep(step_s)

    async def sleep(self, duration_s: float) -> None:
        """Let time pass, acknowledging and committing."""
        end = self.clock.monotonic() + duration_s
        step_s = min(30.0, max(1.0, duration_s / 1000))
        while self.clock.monotonic() < end:
            self.settle()
            await asyncio.sleep(min(step_s, max(0.01, end - self.clock.monotonic())))

    # -- what tests ask -------------------------------------------------------------------------

    def rows(self) -> list[Mapping[str, object]]:
        assert self.task is not None
        return list(self.task.tables())

    def row(self, table: str) -> Mapping[str, object]:
        return next(row for row in self.rows() if row["table"] == table)

    def state(self, table: str) -> object:
        return self.row(table)["state"]

    def is_in_sync(self, table: str) -> bool:
        return self.state(table) == "SYNC" and self.row(table)["shards_open"] != 0

    def ops(self, table: str | None = None) -> list[tuple[str, str, int | None]]:
        """Operation, key and value of every record in the topic."""
        return [(s.op, s.key, s.value) for s in self.log if table in (None, s.table)]

    def topic_view(self, table: str) -> dict[str, int]:
        """The topic compacted: the last value of every key."""
        view: dict[str, int] = {}
        for sent in self.log:
            if sent.table != table:
                continue
            if sent.value is None:
                view.pop(sent.key, None)
            else:
                view[sent.key] = sent.value
        return view

    def stored(self, table: str, **names: str | int) -> SourceOffset | None:
        """The committed offset of a table, segment or shard."""
        return self.offsets.stored.get(SourcePartition.of({"table_name": table, **names}))

    def stored_shards(self, table: str) -> dict[str, SourceOffset]:
        return {
            str(partition.to_dict()["shard_id"]): offset
            for partition, offset in self.offsets.stored.items()
            if partition.to_dict()["table_name"] == table and "shard_id" in partition.to_dict()
        }
