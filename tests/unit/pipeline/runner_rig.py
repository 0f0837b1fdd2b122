"""A source task runner with everything around it scripted."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from connectd.aio.clock import LoopClock
from connectd.aio.jobs import JobGroup
from connectd.aio.scheduler import PollScheduler
from connectd.configdef.definition import ConfigDef
from connectd.errors import (
    ConnectdError,
    ConvertError,
    RecordError,
)
from connectd.kafka.producer import PageProducer, RecordFailure, SendJob, SendResult
from connectd.model.cluster import Config
from connectd.model.record import (
    ConverterSpec,
    Emission,
    Encoded,
    EncodedPage,
    RecordBatch,
    RoutedPage,
    SourceOffset,
    SourcePartition,
    SourceRecord,
)
from connectd.model.schema import Schema, SchemaAndValue
from connectd.model.states import LifecycleEvent
from connectd.pipeline.encoding import Converters
from connectd.pipeline.source_task import RunnerSettings, SourceTaskRunner
from connectd.pipeline.tolerance import ErrorPolicy
from connectd.pipeline.tracing import TaskTracing
from connectd.plugins.spi import Converter, SourceTask, TaskContext, WorkerServices
from tests.kit.virtual_time import run_virtual
from tests.unit.pipeline.pages import InlineEncoder, Registry

SHARD = SourcePartition.of({"table_name": "orders", "shard_id": "a"})


class TextConverter:
    """Writes text; refuses ``bad``."""

    spec = ConverterSpec("test.TextConverter")

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef([])

    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        if value == "bad":
            raise ConvertError("value is bad")
        return None if value is None else str(value).encode()

    def from_connect_header(
        self, topic: str, name: str, schema: Schema | None, value: object
    ) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return None, None if data is None else data.decode()

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, data)


@dataclass
class TextPayload:
    """A page of texts; ``direct`` offers an encoder of its own, ``positions`` one behind each.

    ``topics``: where some of them go.
    """

    values: list[str]
    direct: bool = False
    positions: bool = False
    topics: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    def source_records(self) -> Iterator[SourceRecord | RecordError]:
        for value in self.values:
            topic = self.topics.get(value, "demo-orders")
            record = SourceRecord(topic, None, value, None, value)
            if self.positions:
                record.offset_after = partial(dict, behind=value)
            yield record

    def page_encoder(
        self, key: ConverterSpec, value: ConverterSpec
    ) -> Callable[[], EncodedPage] | None:
        if not self.direct:
            return None

        def encode() -> EncodedPage:
            if "bad" in self.values:
                raise ConvertError("somewhere on this page")
            return EncodedPage(
                "demo-orders", [(text.encode(), text.encode()) for text in self.values]
            )

        return encode


class ScriptedTask:
    """Emits what it is given, then waits."""

    def __init__(self, script: Sequence[Emission | Exception] = ()) -> None:
        self.script = deque(script)
        self.more = asyncio.Event()
        self.polls = 0
        self.is_started = self.is_stopped = False
        self.rows: list[dict[str, object]] = []
        self.is_told: list[bool] = []

    async def start(self, context: TaskContext, config: Config) -> None:
        self.is_started = True

    async def poll(self) -> Sequence[Emission]:
        self.polls += 1
        while not self.script:
            self.more.clear()
            await self.more.wait()
        step = self.script.popleft()
        if isinstance(step, Exception):
            raise step
        return [step]

    def set_running(self, is_running: bool) -> None:
        self.is_told.append(is_running)

    def give(self, *emissions: Emission) -> None:
        self.script.extend(emissions)
        self.more.set()

    async def stop(self) -> None:
        self.is_stopped = True

    def tables(self) -> Sequence[Mapping[str, object]]:
        return self.rows


@dataclass
class HeldProducer:
    """Encodes at once, or when told; answers when told: acknowledgements in any order."""

    sent: list[tuple[SendJob, Encoded | ConnectdError]] = field(default_factory=list)
    waiting: list[SendJob] | None = None
    trouble: str = ""

    async def send(self, job: SendJob) -> None:
        if self.waiting is None:
            self._encode(job)
        else:
            self.waiting.append(job)

    def encode_waiting(self) -> None:
        waiting, self.waiting = self.waiting or [], None
        for job in waiting:
            self._encode(job)

    def _encode(self, job: SendJob) -> None:
        try:
            self.sent.append((job, job.encode()))
        except ConnectdError as error:
            self.sent.append((job, error))

    def answer(
        self, number: int, *failures: RecordFailure, first_failed: int | None = None
    ) -> None:
        job, page = self.sent[number]
        if isinstance(page, ConnectdError):
            job.on_done(SendResult(topics=(), records=0, error=page))
            return
        job.on_done(
            SendResult(
                topics=page.topics,
                records=len(page.records),
                failures=failures,
                failure_count=len(failures),
                first_failed=first_failed,
            )
        )

    def give_up(self, number: int, error: ConnectdError) -> None:
        """A page fails as a whole, with the producer."""
        job, _ = self.sent[number]
        job.on_done(SendResult(topics=("demo-orders",), records=1, error=error))


class ListWriter:
    def __init__(self) -> None:
        self.writes: list[dict[SourcePartition, SourceOffset | None]] = []

    async def put(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
        self.writes.append(dict(offsets))


class NoOffsets:
    async def refresh(self) -> None:
        return None

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        return None

    def all(self) -> Mapping[SourcePartition, SourceOffset]:
        return {}


class Context:
    connector = "orders"
    task = 0

    def __init__(self) -> None:
        self.services = WorkerServices(LoopClock(), PollScheduler(), {})
        self.offsets = NoOffsets()

    def report_failure(self, error: Exception) -> None:
        raise AssertionError("not used here")


class Lease:
    def __init__(self, rig: Rig) -> None:
        self._rig = rig

    def acquire(self) -> PageProducer:
        self._rig.held_producers += 1
        return cast("PageProducer", self._rig.producer)

    async def release(self, producer: PageProducer) -> None:
        self._rig.held_producers -= 1


class Rig:
    """A runner with everything around it scripted."""

    def __init__(
        self,
        script: Sequence[Emission | Exception] = (),
        *,
        tolerate_all: bool = False,
        errors: ErrorPolicy | None = None,
        window: int = 64,
        starts_paused: bool = False,
        writer: ListWriter | None = None,
        value: Registry | None = None,
        tracing: TaskTracing | None = None,
    ) -> None:
        self.task = ScriptedTask(script)
        self.producer = HeldProducer()
        self.writer = writer or ListWriter()
        self.events: list[LifecycleEvent] = []
        self.topics: list[str] = []
        self.tails_left: list[str] = []
        self.held_producers = 0
        self.may_write = True
        self.failure: BaseException | None = None
        converter = TextConverter()
        self.runner = SourceTaskRunner(
            may_write=lambda: self.may_write,
            task=cast("SourceTask", self.task),
            context=Context(),
            config={},
            converters=Converters(converter, cast("Converter", value or converter), converter),
            producers=Lease(self),
            offsets=self.writer,
            settings=RunnerSettings(
                commit_interval_s=60.0,
                commit_timeout_s=5.0,
                errors=errors or ErrorPolicy(tolerates_all=tolerate_all, logs_failures=True),
                window_entries_max=window,
            ),
            starts_paused=starts_paused,
            on_event=lambda event, _: self.events.append(event),
            on_topic=self.topics.append,
            on_tail_left=lambda: self.tails_left.append("tail"),
            encoder=InlineEncoder(),
            tracing=tracing,
        )
        self._jobs = JobGroup("rig", on_failure=self._on_failure)

    def _on_failure(self, name: str, error: BaseException) -> None:
        self.failure = error

    async def begin(self) -> None:
        self._jobs.spawn("run", self.runner.run())
        await self.settle()

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def end(self) -> None:
        self.runner.signal_stop()
        await self._jobs.join(deadline_s=60)

    async def cancel(self) -> None:
        await self._jobs.cancel("run")

    def sent_values(self) -> list[bytes | None]:
        """Of pages that went the general way."""
        pages = [page for _, page in self.producer.sent]
        return [
            each.value for page in pages if isinstance(page, RoutedPage) for each in page.records
        ]

    @property
    def committed(self) -> list[object]:
        return [write[SHARD] for write in self.writer.writes]


def batch(
    number: int,
    *values: str,
    direct: bool = False,
    positions: bool = False,
    topics: Mapping[str, str] | None = None,
) -> RecordBatch:
    payload = TextPayload(list(values), direct, positions, topics or {})
    return RecordBatch(SHARD, {"n": number}, payload)


def virtual(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    run_virtual(scenario())
