"""Runs one source task: poll, submit, send, acknowledge, commit.

The runner owns the task's frontier and committer. It submits every emission to the frontier before
the producer sees it, so an acknowledgement always finds its place, and it never has more than
``window_entries_max`` entries open: a slow broker ends in a task that is not polled, not in memory.

A topic that vanishes under the producer, or a producer that has lost its brokers for good, ends the
life with a ``SendAgainError``, whatever is tolerated: the next life sends what is not committed
again, in order.

The end, whatever its cause: stop polling, wait for the acknowledgements that are under way,
commit what they allow, stop the task. A failed task commits too: the contiguous prefix is true in
any case. ``abandon`` takes its pens away: from then on it writes neither offsets nor statuses.

Where the story continues: ``preparation`` and ``encoding`` (from a page to bytes), ``tolerance``
(records that fail), ``frontier`` (what may be committed), ``committer`` (when); above,
``runtime.worker`` decides which runners live.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from connectd.aio.jobs import JobGroup, run_unless, wait_first
from connectd.aio.toggles import Toggle
from connectd.errors import FatalTaskError, InvariantError, RetriableError, SendAgainError
from connectd.kafka import producer as kafka_producer
from connectd.kafka.page import FAILURES_MAX
from connectd.model.cluster import Config
from connectd.model.record import (
    Acked,
    DeliveredElsewhere,
    Emission,
    RecordBatch,
    Seal,
    SourceOffset,
    SourcePartition,
)
from connectd.model.states import LifecycleEvent
from connectd.observe import metrics_connect, metrics_own
from connectd.observe.metrics import Numbers
from connectd.observe.metrics_windows import WindowSettings
from connectd.pipeline.committer import Committer, OffsetWriter
from connectd.pipeline.encoder_thread import EncoderThread
from connectd.pipeline.encoding import Converters, PageEncoding
from connectd.pipeline.failure_reports import ErrorStatistics, FailureReports, delivery_error
from connectd.pipeline.frontier import AckFrontier, FrontierEntry
from connectd.pipeline.meter import Activity, TaskMeter
from connectd.pipeline.preparation import Encoder, PagePreparation
from connectd.pipeline.tolerance import ErrorPolicy
from connectd.pipeline.topics import TaskTopics
from connectd.pipeline.tracing import TaskTracing
from connectd.plugins import containment
from connectd.plugins.spi import HasBuffer, SourceTask, TaskContext, WatchesPauses

_log = structlog.get_logger(__name__)

_POLL_RETRY_S = 1.0
"""Wait after a poll that failed in a way that may pass."""


@dataclass(frozen=True)
class RunnerSettings:
    """Limits and periods of a task, from worker and connector configuration."""

    commit_interval_s: float
    commit_timeout_s: float
    errors: ErrorPolicy = field(default_factory=ErrorPolicy)
    window_entries_max: int = 64
    metrics: WindowSettings = field(default_factory=WindowSettings)


@dataclass(frozen=True)
class RunnerStatistics:
    """What a task has done: records acknowledged, failed, and entries under way."""

    records_acked: int
    sends_in_flight: int
    frontier_entries: int
    errors: ErrorStatistics


class ProducerLease(Protocol):
    """Where a task gets its producer from, for as long as it lives."""

    def acquire(self) -> kafka_producer.PageProducer:
        """A usable producer.

        Raises:
            ConfigError: the connector's or worker's producer settings are not accepted.
        """
        ...

    async def release(self, producer: kafka_producer.PageProducer) -> None:
        """Give it back; bounded."""
        ...


class FencedWriter:
    """Offset writer of one task instance, until it is taken away from it.

    ``may_write`` says whether the task is still this worker's.
    """

    def __init__(self, writer: OffsetWriter, may_write: Callable[[], bool]) -> None:
        self._writer: OffsetWriter | None = writer
        self.may_write = may_write

    async def put(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
        """Write through, or do nothing once revoked."""
        if self._writer is not None and self.may_write():
            await self._writer.put(offsets)

    def revoke(self) -> None:
        """Let this instance write no more."""
        self._writer = None


class SourceTaskRunner:
    """One life of one task; see the module's docstring.

    ``on_event(event, error)`` reports STARTED, PAUSED, RESUMED, and FAILED for partial failures;
    the end of ``run`` is the report of the rest. ``on_topic`` hears of each topic once, after its
    first acknowledged record, ``on_tail_left`` when the task ends with records that are sent and
    not committed: the next life sends them again. ``may_write`` is asked before each page and each
    commit; when it says no, this instance has been abandoned by then.
    """

    def __init__(
        self,
        *,
        task: SourceTask,
        context: TaskContext,
        config: Config,
        converters: Converters,
        producers: ProducerLease,
        offsets: OffsetWriter,
        settings: RunnerSettings,
        starts_paused: bool,
        on_event: Callable[[LifecycleEvent, Exception | None], None],
        on_topic: Callable[[str], None],
        on_tail_left: Callable[[], None],
        may_write: Callable[[], bool] = lambda: True,
        topics: TaskTopics | None = None,
        encoder: Encoder | None = None,
        tracing: TaskTracing | None = None,
    ) -> None:
        """``topics`` are seen to before records are sent; none: whatever the broker does.

        ``encoder`` runs plugins away from the loop, by default in a thread; ``tracing`` is told.
        """
        self._task = task
        self._context, self._config = context, config
        self._converters = converters
        self._producers = producers
        self._producer: kafka_producer.PageProducer | None = None
        self._settings = settings
        self._on_event, self._on_topic = on_event, on_topic
        self._on_tail_left = on_tail_left
        self._tracing = tracing
        writer = offsets if tracing is None else tracing.writer(offsets)
        self._writer = FencedWriter(writer, may_write)
        self._meter = TaskMeter(context.services.clock, settings.metrics)
        self._frontier = AckFrontier(on_committable=self._on_committable)
        self._committer = Committer(
            self._frontier,
            self._writer,
            interval_s=settings.commit_interval_s,
            on_flushed=self._meter.committed,
        )
        self._name = f"{context.connector}-{context.task}"
        # Acknowledgements come outside of the task's jobs, whose lines carry these by themselves.
        self._log_fields = {"connector": context.connector, "task": context.task}
        self._jobs = JobGroup(self._name, on_failure=self._on_job_failure)
        self._running = Toggle(is_on=not starts_paused)
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_drained = asyncio.Event()
        self._is_drained.set()
        self._ended = asyncio.Event()
        self._failure: BaseException | None = None
        self._is_abandoned = False
        self._topics: set[str] = set()
        self._in_flight = self._acked = 0
        self._failures_max = sys.maxsize if settings.errors.logs_failures else FAILURES_MAX
        clock, policy = context.services.clock, settings.errors
        self._failures = FailureReports(
            policy, self._name, clock=clock, log_fields=self._log_fields
        )
        encoder = encoder or EncoderThread(self._name)
        self._encoder = encoder if tracing is None else tracing.encoder(encoder)
        self._preparation = PagePreparation(
            encoder=self._encoder,
            policy=policy,
            clock=clock,
            topics=topics or TaskTopics(clock=clock),
            log_fields=self._log_fields,
        )

    # -- what the worker calls ------------------------------------------------------------------

    async def run(self) -> None:
        """Live until stopped; raises what made the task fail."""
        if not self._running.is_on():
            self._meter.turn(Activity.PAUSED)
            self._on_event(LifecycleEvent.PAUSED, None)
            await self._wait_running_or_end()
        if not self._ended.is_set():
            producer = self._producers.acquire()
            try:
                self._producer = producer
                await self._task.start(self._context, self._config)
                self._meter.turn(Activity.RUNNING)
                self._on_event(LifecycleEvent.STARTED, None)
                self._jobs.spawn("poll", self._poll_loop(), service=True)
                self._jobs.spawn("commit", self._committer.run(), service=True)
                await self._ended.wait()
            finally:
                try:
                    await self._wind_down()
                finally:  # also when the stop ladder has had enough of winding down
                    self._encoder.close()
                    await self._producers.release(producer)
        if self._failure is not None:
            raise self._failure

    def pause(self) -> None:
        """Stop polling; what is under way goes on."""
        self._set_running(False)

    def resume(self) -> None:
        """Poll again."""
        self._set_running(True)

    def _set_running(self, is_running: bool) -> None:
        self._running.set(is_running)
        if isinstance(self._task, WatchesPauses):
            self._task.set_running(is_running)

    def signal_stop(self) -> None:
        """Ask for the end; ``run`` returns when everything is wound down."""
        self._ended.set()

    def abandon(self) -> None:
        """Take the pens away: no offset and no event is written by this instance any more."""
        self._is_abandoned = True
        self._writer.revoke()
        self._committer.abandon()
        self._ended.set()

    def tables(self) -> Sequence[Mapping[str, object]]:
        """Progress of the task's inputs; one that gives no ``reason`` of its own shows ours."""
        rows = self._task.tables()
        sending = "" if self._producer is None else self._producer.trouble
        trouble = self._preparation.trouble or sending or self._committer.trouble
        return (
            [{**row, "reason": row.get("reason") or trouble} for row in rows] if trouble else rows
        )

    def statistics(self) -> RunnerStatistics:
        """Counters of this instance."""
        return RunnerStatistics(
            self._acked, self._in_flight, self._frontier.entries, self._failures.statistics()
        )

    def metrics(self) -> Numbers:
        """What this instance says of itself, for who scrapes."""
        errors, frontier = self._failures.statistics(), self._frontier.statistics()
        own: dict[str, int] = {
            "frontier_entries": frontier.entries,
            "frontier_depth_max": frontier.depth_max,
            "sends_in_flight": self._in_flight,
            "offsets_committed_total": self._committer.statistics().offsets,
        }
        if isinstance(self._task, HasBuffer) and (fill := self._task.buffer()) is not None:
            own["buffer_pages"], own["buffer_pages_max"] = fill.taken, fill.places
        return {
            metrics_connect.CONNECTOR_TASK: self._meter.connector_task(),
            metrics_connect.SOURCE_TASK: self._meter.source_task(),
            metrics_connect.TASK_ERROR: errors.metrics(),
            metrics_own.TASK: own,
        }

    # -- the loop -------------------------------------------------------------------------------

    async def _wait_running_or_end(self) -> None:
        await wait_first(self._running.wait_on(), self._ended.wait())

    async def _poll_loop(self) -> None:
        while True:
            if not self._running.is_on():
                self._meter.turn(Activity.PAUSED)
                self._on_event(LifecycleEvent.PAUSED, None)
                await self._running.wait_on()
                self._meter.turn(Activity.RUNNING)
                self._on_event(LifecycleEvent.RESUMED, None)
            await self._has_room.wait()
            try:
                polled = await run_unless(self._polled(), self._running.wait_off())
            except RetriableError as error:
                _log.warning("polling: will poll again", error=str(error), **self._log_fields)
                await asyncio.sleep(_POLL_RETRY_S)
                continue
            emissions = deque(polled or ())  # none: paused while waiting
            del polled
            while emissions:
                # Taken out one by one: a page that has been sent must not be held here.
                await self._take(emissions.popleft())

    async def _polled(self) -> Sequence[Emission]:
        clock = self._context.services.clock
        began_s = clock.monotonic()
        poll, tracing = self._task.poll, self._tracing
        emissions = await (poll() if tracing is None else tracing.polled(poll))
        records = sum(len(each.payload) for each in emissions if isinstance(each, RecordBatch))
        self._meter.polled(records, clock.monotonic() - began_s)
        return emissions

    async def _take(self, emission: Emission) -> None:
        entry = self._frontier.submit(
            emission.source_partition,
            emission.source_offset,
            on_acked=None if isinstance(emission, Seal) else emission.on_acked,
            on_committed=emission.on_committed if isinstance(emission, Seal) else None,
        )
        if isinstance(emission, Seal) or len(emission.payload) == 0:
            if isinstance(emission, RecordBatch) and emission.delivered is not None:
                self._count_delivered(emission.delivered)
            entry.resolve()
            return
        if self._producer is None:
            raise InvariantError(f"task {self._name} sends without a producer")
        records, is_urgent = len(emission.payload), emission.is_urgent
        source = emission.source_partition.items[:1]  # the table, whatever the shard or segment
        encoding = PageEncoding(emission.payload, self._converters, self._settings.errors)
        del emission  # the encoding lets go of the page as soon as it can
        self._in_flight += 1
        self._meter.handed_over(records)
        self._is_drained.clear()
        self._update_room()
        try:
            encode = await self._preparation.prepare(encoding)
            if not self._writer.may_write():
                self._on_settled(records)  # somebody else sends it; its entry blocks the frontier
                return
            job = kafka_producer.SendJob(
                encode=encode,
                on_done=lambda result: self._on_answer(entry, encoding, records, result),
                failures_max=self._failures_max,
                stops_at_refusal=not self._settings.errors.tolerates_all,
                is_urgent=is_urgent,
                order_key=source,
            )
            await self._producer.send(job if self._tracing is None else self._tracing.traced(job))
        except BaseException:
            # Never handed over: nothing will be acknowledged. The entry stays and blocks its
            # partition, so that nothing behind it is committed.
            self._on_settled(records)
            raise
        if encoding.ended_by is not None:
            raise encoding.ended_by  # its first part is on its way; nothing may follow

    def _count_delivered(self, delivered: DeliveredElsewhere) -> None:
        self._count_acked(delivered.records)
        self._failures.count_skipped(delivered.skipped)
        self._report_topics(delivered.topics)

    def _count_acked(self, records: int) -> None:
        self._acked += records
        self._meter.written(records)

    def _on_settled(self, records: int) -> None:
        self._meter.settled(records)
        self._in_flight -= 1
        if self._in_flight == 0:
            self._is_drained.set()
        self._update_room()

    def _on_answer(
        self,
        entry: FrontierEntry,
        encoding: PageEncoding,
        records: int,
        result: kafka_producer.SendResult,
    ) -> None:
        """The producer is shared: what goes wrong in here ends this task and nothing else."""
        self._on_settled(records)
        try:
            with containment.contained(f"acknowledging a page of task {self._name}"):
                self._on_sent(entry, encoding, result)
        except Exception as error:
            self._fail(error)

    def _on_sent(
        self, entry: FrontierEntry, encoding: PageEncoding, result: kafka_producer.SendResult
    ) -> None:
        why_again = _why_again(result)
        if why_again is not None:
            self._fail(why_again)  # nothing of this page is lost, or skipped: it comes again
            return
        self._failures.report(entry, encoding, result)
        error = result.error
        if error is None and result.failure_count and not self._settings.errors.tolerates_all:
            error = FatalTaskError("Unrecoverable exception from producer send callback")
            error.__cause__ = delivery_error(entry, result.failures[0])
            self._commit_up_to(entry, encoding.offset_before(result.first_failed))
        if error is not None:
            self._fail(error)
            return
        self._count_acked(result.records - result.failure_count)
        if result.records:
            self._report_topics(result.topics)
        if encoding.ended_by is None:
            entry.resolve(
                Acked(
                    result.records - result.failure_count,
                    encoding.failure_count + result.failure_count,
                )
            )
            return
        self._commit_up_to(entry, encoding.offset_reached())
        self._fail(encoding.ended_by)

    def _commit_up_to(self, entry: FrontierEntry, offset: SourceOffset | None) -> None:
        if offset is not None:
            entry.cut(offset)
            entry.resolve()

    def _report_topics(self, topics: tuple[str, ...]) -> None:
        for topic in topics:
            if topic not in self._topics:
                self._topics.add(topic)
                if not self._is_abandoned:
                    self._on_topic(topic)

    def _update_room(self) -> None:
        if self._in_flight < self._settings.window_entries_max:
            self._has_room.set()
        else:
            self._has_room.clear()

    # -- the end --------------------------------------------------------------------------------

    def _on_committable(self, is_urgent: bool) -> None:
        self._committer.on_committable(is_urgent)

    def _on_job_failure(self, name: str, error: BaseException) -> None:
        self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
        self._ended.set()

    async def _wind_down(self) -> None:
        try:
            await self._jobs.stop()
            await self._commit_the_rest()
        finally:
            is_left = bool(self._frontier.entries or self._frontier.has_committable)
            if is_left and not isinstance(self._failure, SendAgainError):
                self._on_tail_left()
            await self._task.stop()

    async def _commit_the_rest(self) -> None:
        """The last commits, within ``commit_timeout_s`` for both and for what lies between."""
        deadline_s = self._settings.commit_timeout_s
        try:
            async with asyncio.timeout(deadline_s):
                # What is acknowledged by now does not wait for what may never be.
                await self._committer.flush()
                await self._is_drained.wait()
                await self._committer.flush()
        except TimeoutError:
            _log.warning(
                "stopping: not all is acknowledged and committed in time, a tail is sent again",
                sends=self._in_flight,
                deadline_s=deadline_s,
                **self._log_fields,
            )


def _why_again(result: kafka_producer.SendResult) -> SendAgainError | None:
    errors = (result.error, *(each.error for each in result.failures))
    return next((each for each in errors if isinstance(each, SendAgainError)), None)
