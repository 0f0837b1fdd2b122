"""One source task: submits before sending, commits only the prefix, ends in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from connectd.aio.clock import LoopClock
from connectd.aio.jobs import JobGroup
from connectd.aio.scheduler import PollScheduler
from connectd.configdef.definition import ConfigDef
from connectd.errors import (
    AccessDeniedError,
    BrokerUnavailableError,
    ConvertError,
    RecordError,
    RecordTooLargeError,
    ThrottledError,
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
    RoutedRecord,
    Seal,
    SourceOffset,
    SourcePartition,
    SourceRecord,
)
from connectd.model.schema import Schema, SchemaAndValue
from connectd.model.states import LifecycleEvent
from connectd.pipeline.encoding import Converters
from connectd.pipeline.source_task import RunnerSettings, SourceTaskRunner
from connectd.plugins.spi import SourceTask, TaskContext, WorkerServices
from tests.kit.virtual_time import run_virtual

_SHARD = SourcePartition.of({"table_name": "orders", "shard_id": "a"})


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
    """A page of texts; ``direct`` offers an encoder of its own."""

    values: list[str]
    direct: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def source_records(self) -> Iterator[SourceRecord | RecordError]:
        for value in self.values:
            yield SourceRecord("demo-orders", None, value, None, value)

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

    def give(self, *emissions: Emission) -> None:
        self.script.extend(emissions)
        self.more.set()

    async def stop(self) -> None:
        self.is_stopped = True

    def tables(self) -> Sequence[Mapping[str, object]]:
        return self.rows


@dataclass
class HeldProducer:
    """Encodes at once, answers when told: acknowledgements in any order."""

    sent: list[tuple[SendJob, Encoded | RecordError]] = field(default_factory=list)

    async def send(self, job: SendJob) -> None:
        try:
            self.sent.append((job, job.encode()))
        except RecordError as error:
            self.sent.append((job, error))

    def answer(self, number: int, *failures: RecordFailure) -> None:
        job, page = self.sent[number]
        if isinstance(page, RecordError):
            job.on_done(SendResult(topics=(), records=0, error=page))
            return
        job.on_done(
            SendResult(
                topics=page.topics,
                records=len(page.records),
                failures=failures,
                failure_count=len(failures),
            )
        )


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
        window: int = 64,
        starts_paused: bool = False,
        writer: ListWriter | None = None,
    ) -> None:
        self.task = ScriptedTask(script)
        self.producer = HeldProducer()
        self.writer = writer or ListWriter()
        self.events: list[LifecycleEvent] = []
        self.topics: list[str] = []
        self.tails_left: list[str] = []
        self.held_producers = 0
        self.failure: BaseException | None = None
        converter = TextConverter()
        self.runner = SourceTaskRunner(
            task=cast("SourceTask", self.task),
            context=Context(),
            config={},
            converters=Converters(converter, converter, converter),
            producers=Lease(self),
            offsets=self.writer,
            settings=RunnerSettings(
                commit_interval_s=60.0,
                commit_timeout_s=5.0,
                tolerate_all=tolerate_all,
                log_errors=True,
                window_entries_max=window,
            ),
            starts_paused=starts_paused,
            on_event=lambda event, _: self.events.append(event),
            on_topic=self.topics.append,
            on_tail_left=lambda: self.tails_left.append("tail"),
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

    @property
    def committed(self) -> list[object]:
        return [write[_SHARD] for write in self.writer.writes]


def _batch(number: int, *values: str, direct: bool = False) -> RecordBatch:
    return RecordBatch(_SHARD, {"n": number}, TextPayload(list(values), direct))


def _virtual(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    run_virtual(scenario())


def test_a_position_is_committed_at_the_end_once_its_records_are_acknowledged() -> None:
    async def scenario() -> None:
        rig = Rig([_batch(1, "a", "b")])
        await rig.begin()
        assert rig.events == [LifecycleEvent.STARTED]
        rig.producer.answer(0)
        await rig.end()
        assert rig.committed == [{"n": 1}]
        assert rig.topics == ["demo-orders"]
        assert rig.task.is_stopped
        assert rig.failure is None
        assert rig.tails_left == []

    _virtual(scenario)


def test_a_page_that_is_acknowledged_early_is_not_committed_past_an_open_one() -> None:
    async def scenario() -> None:
        rig = Rig([_batch(1, "a"), _batch(2, "b")])
        await rig.begin()
        rig.producer.answer(1)
        assert rig.held_producers == 1
        await rig.end()
        assert rig.committed == []
        assert rig.tails_left == ["tail"]
        assert rig.held_producers == 0

    _virtual(scenario)


def test_an_empty_page_waits_for_its_place_and_needs_no_producer() -> None:
    async def scenario() -> None:
        rig = Rig([_batch(1, "a"), _batch(2)])
        await rig.begin()
        assert len(rig.producer.sent) == 1
        rig.producer.answer(0)
        await rig.end()
        assert rig.committed == [{"n": 2}]

    _virtual(scenario)


def test_a_seal_is_committed_at_once_and_told() -> None:
    async def scenario() -> None:
        told = asyncio.Event()
        rig = Rig([_batch(1, "a"), Seal(_SHARD, {"end": True}, told.set)])
        await rig.begin()
        assert not told.is_set()
        rig.producer.answer(0)
        await rig.settle()
        assert told.is_set()
        assert asyncio.get_running_loop().time() == 0.0
        await rig.end()

    _virtual(scenario)


def test_a_slow_broker_stops_the_polling() -> None:
    async def scenario() -> None:
        rig = Rig([_batch(number, "a") for number in range(10)], window=3)
        await rig.begin()
        assert (rig.task.polls, len(rig.producer.sent)) == (3, 3)
        rig.producer.answer(0)
        await rig.settle()
        assert len(rig.producer.sent) == 4
        await rig.end()

    _virtual(scenario)


def test_a_record_that_is_too_large_fails_the_task_and_holds_the_position() -> None:
    async def scenario() -> None:
        rig = Rig([_batch(1, "a"), _batch(2, "b")])
        await rig.begin()
        too_large = RecordTooLargeError("record of 2000000 bytes for demo-orders")
        rig.producer.answer(0, RecordFailure(b'{"id":"7"}', "demo-orders", too_large))
        rig.producer.answer(1)
        await rig.settle()
        await rig.end()
        assert isinstance(rig.failure, RecordTooLargeError)
        assert '{"id":"7"}' in str(rig.failure)
        assert "demo-orders" in str(rig.failure)
        assert rig.committed == []

    _virtual(scenario)


def test_with_tolerance_the_failed_record_is_acknowledged_in_its_place() -> None:
    async def scenario() -> None:
        rig = Rig([_batch(1, "a", "b"), _batch(2, "c")], tolerate_all=True)
        await rig.begin()
        too_large = RecordTooLargeError("record of 2000000 bytes for demo-orders")
        with capture_logs() as lines:
            rig.producer.answer(0, RecordFailure(b"a", "demo-orders", too_large))
            rig.producer.answer(1)
        (line,) = [line for line in lines if line["event"] == "skipping record"]
        assert (line["connector"], line["task"]) == ("orders", 0)
        assert line["stage"] == "KAFKA_PRODUCE"
        assert "record with key a of table_name=orders,shard_id=a" in line["error"]
        await rig.end()
        assert rig.committed == [{"n": 2}]
        assert rig.runner.statistics().records_skipped == 1
        assert rig.runner.statistics().records_acked == 2

    _virtual(scenario)


@pytest.mark.parametrize("direct", [False, True])
def test_a_record_that_cannot_be_converted_fails_the_task(direct: bool) -> None:
    async def scenario() -> None:
        rig = Rig([_batch(1, "a", "bad", direct=direct)])
        await rig.begin()
        rig.producer.answer(0)
        await rig.end()
        assert isinstance(rig.failure, ConvertError)
        assert rig.committed == []

    _virtual(scenario)


@pytest.mark.parametrize("direct", [False, True])
def test_with_tolerance_the_others_of_its_page_are_sent_in_order(direct: bool) -> None:
    async def scenario() -> None:
        rig = Rig([_batch(1, "a", "bad", "b", direct=direct)], tolerate_all=True)
        await rig.begin()
        page = rig.producer.sent[0][1]
        assert isinstance(page, RoutedPage)
        assert page.records == [
            RoutedRecord("demo-orders", b"a", b"a", headers=[]),
            RoutedRecord("demo-orders", b"b", b"b", headers=[]),
        ]
        rig.producer.answer(0)
        await rig.end()
        assert rig.committed == [{"n": 1}]
        assert rig.runner.statistics().records_skipped == 1

    _virtual(scenario)


def test_a_poll_that_is_throttled_is_repeated() -> None:
    async def scenario() -> None:
        rig = Rig([ThrottledError("slow down"), _batch(1, "a")])
        await rig.begin()
        assert rig.producer.sent == []
        await asyncio.sleep(5)
        assert len(rig.producer.sent) == 1
        await rig.end()

    _virtual(scenario)


def test_a_poll_that_cannot_succeed_fails_the_task_after_committing_what_is_true() -> None:
    async def scenario() -> None:
        rig = Rig([_batch(1, "a")])
        await rig.begin()
        rig.producer.answer(0)
        rig.task.script.append(AccessDeniedError("no dynamodb:GetRecords"))
        rig.task.more.set()
        await rig.settle()
        await rig.end()
        assert isinstance(rig.failure, AccessDeniedError)
        assert rig.committed == [{"n": 1}]
        assert rig.task.is_stopped

    _virtual(scenario)


def test_a_paused_task_is_not_polled_and_goes_on_where_it_was() -> None:
    async def scenario() -> None:
        rig = Rig([_batch(1, "a")])
        await rig.begin()
        rig.runner.pause()
        await rig.settle()
        assert rig.events == [LifecycleEvent.STARTED, LifecycleEvent.PAUSED]
        rig.task.give(_batch(2, "b"), _batch(3, "c"))
        await rig.settle()
        assert len(rig.producer.sent) == 1
        rig.runner.resume()
        await rig.settle()
        assert rig.events[-1] is LifecycleEvent.RESUMED
        assert len(rig.producer.sent) == 3
        await rig.end()

    _virtual(scenario)


def test_a_task_created_paused_does_not_start_until_it_is_resumed() -> None:
    async def scenario() -> None:
        rig = Rig(starts_paused=True)
        await rig.begin()
        assert rig.events == [LifecycleEvent.PAUSED]
        assert not rig.task.is_started
        rig.runner.resume()
        await rig.settle()
        assert rig.events == [LifecycleEvent.PAUSED, LifecycleEvent.STARTED]
        await rig.end()
        assert rig.failure is None

    _virtual(scenario)


def test_a_task_created_paused_can_be_stopped_without_ever_starting() -> None:
    async def scenario() -> None:
        rig = Rig(starts_paused=True)
        await rig.begin()
        await rig.end()
        assert not rig.task.is_started
        assert rig.failure is None

    _virtual(scenario)


def test_stopping_waits_for_acknowledgements_that_are_under_way() -> None:
    async def scenario() -> None:
        rig = Rig([_batch(1, "a")])
        await rig.begin()
        rig.runner.signal_stop()
        await asyncio.sleep(3)
        rig.producer.answer(0)
        await rig.end()
        assert rig.committed == [{"n": 1}]

    _virtual(scenario)


def test_what_is_acknowledged_is_committed_before_a_page_that_never_is_is_given_up() -> None:
    async def scenario() -> None:
        rig = Rig([_batch(1, "a"), _batch(2, "b")])
        await rig.begin()
        rig.producer.answer(0)
        rig.runner.signal_stop()
        await rig.settle()
        assert rig.committed == [{"n": 1}]
        before_s = asyncio.get_running_loop().time()
        await rig.end()
        assert asyncio.get_running_loop().time() - before_s == pytest.approx(5.0, abs=0.1)
        assert rig.committed == [{"n": 1}]
        assert rig.tails_left == ["tail"]

    _virtual(scenario)


def test_a_task_that_is_cancelled_while_it_winds_down_gives_everything_back() -> None:
    async def scenario() -> None:
        rig = Rig([_batch(1, "a")])
        await rig.begin()
        rig.runner.signal_stop()
        await rig.settle()
        await rig.cancel()
        assert rig.tails_left == ["tail"]
        assert rig.task.is_stopped
        assert rig.held_producers == 0

    _virtual(scenario)


def test_inputs_without_a_reason_of_their_own_show_that_nothing_can_be_committed() -> None:
    class AwayWriter(ListWriter):
        async def put(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
            raise BrokerUnavailableError("no broker answered")

    async def scenario() -> None:
        rig = Rig([_batch(1, "a")], writer=AwayWriter())
        rig.task.rows = [{"table": "a", "reason": ""}, {"table": "b", "reason": "throttled"}]
        await rig.begin()
        assert rig.runner.tables() == rig.task.rows
        rig.producer.answer(0)
        await asyncio.sleep(61)  # the committer's interval
        assert [row["reason"] for row in rig.runner.tables()] == [
            "offsets are not committed: no broker answered",
            "throttled",
        ]
        await rig.end()

    _virtual(scenario)


def test_an_abandoned_task_writes_no_offset() -> None:
    async def scenario() -> None:
        rig = Rig([_batch(1, "a")])
        await rig.begin()
        rig.runner.abandon()
        rig.producer.answer(0)
        await rig.end()
        assert rig.committed == []

    _virtual(scenario)
