"""INIT_SYNC on Spark: the same promises as ``scan``, with a driver that does the reading.

The driver is a child of this process and says, segment by segment, how far everything is in Kafka.
Positions move by these reports alone, never backwards, and only here are they stored. So whatever
happens to driver, executors or this process, the next driver gets the segments that are left.

* A driver that fails is started anew after a wait, a bounded number of times in a row; one that has
  got on has all its attempts again. Then, or when another try cannot help, the table fails, with
  the driver's last lines in the trace.
* What will not pass by itself fails the table at the second time at the latest, where no driver's
  Spark was ever there: it is a setting, or something that is missing.
* A driver of which nothing comes back for ``spark.idle.timeout.ms`` counts as failed, whatever it
  says meanwhile. That it waits is no sign of life of its executors; a chunk that has come back is,
  also one whose table is throttled or whose Kafka is away: another driver would find the same.
* A driver on a cluster that ends without having finished may leave executors behind. Another one
  is started meanwhile, for what they send is only old; the scan is not over before they can send
  no more, since the stream's records must come last (``scan_lease``).
* While the connector is paused there is no driver; on resume another one goes on.
* Leaving ``run``, for whatever reason, ends the driver and all that belongs to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NoReturn

import structlog

from connectd.aio.backoff import Backoff
from connectd.aio.jobs import run_unless, wait_first
from connectd.connectors.dynamodb import driver_words, scan_lease
from connectd.connectors.dynamodb.offsets import SegmentPosition, TableState
from connectd.connectors.dynamodb.position_flow import PositionFlow
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.connectors.dynamodb.scan_ledger import ScanLedger
from connectd.connectors.dynamodb.scan_reports import (
    Failed,
    Finished,
    ScanReport,
    SegmentMoved,
    Started,
    Trouble,
)
from connectd.connectors.dynamodb.spark_engine import (
    HandOff,
    ScanDriver,
    Turn,
    hand_notes_on,
    with_output,
)
from connectd.connectors.dynamodb.table_scope import TableScope
from connectd.errors import ConnectdError, FatalTaskError, RetriableError
from connectd.model.record import Acked, DeliveredElsewhere

_log = structlog.get_logger(__name__)

_WHAT: Final = "scan on Spark"
_LOOK_S: Final = 10.0
"""How often it is looked whether anything still comes back of a driver."""

QUIET_S: Final = 90.0
"""A driver that tells nothing for longer, beyond the length of a chunk, is shown to be waited for.
One that lives says so itself before that (``chunk_runner.PATIENCE_S``)."""

_LOG_S: Final = 60.0
"""Time between two lines in the log about a scan that gets on."""

MakeJob = Callable[[tuple[SegmentPosition, ...]], ScanJob]
"""The job for the segments that are left."""


class SparkScan:
    """One scan of one table, from a durable RUNNING state to a durable FINISHED one."""

    def __init__(
        self,
        scope: TableScope,
        ledger: ScanLedger,
        hand_off: HandOff,
        turn: Turn,
        make_job: MakeJob,
    ) -> None:
        """``turn`` is the table's right to have a driver; it is not kept over a pause."""
        self._scope = scope
        self._turn = turn
        self._ledger = ledger
        self._spark = hand_off.engine
        self._running = hand_off.running
        self._connector = hand_off.connector
        self._make_job = make_job
        self._flow = PositionFlow(scope.queue, scope.table)
        settings = self._spark.settings
        self._backoff = Backoff(settings.restart_initial_s, settings.restart_max_s)
        self.has_started = False
        """Whether Spark was there, for any driver of this scan."""
        self._last_word: Failed | Finished | None = None
        self._last_failure = self._start_failure = ""
        self._is_asked_to_end = False
        self._heard_s = self._came_back_s = self._logged_s = scope.clock.monotonic()

    @property
    def table(self) -> str:
        """Its name."""
        return self._scope.table

    async def run(self) -> TableState:
        """Have what is left scanned; returns the FINISHED state, durable.

        Raises:
            FatalTaskError: Spark cannot do it.
        """
        if not self._spark.settings.is_local and self._ledger.unfinished():
            await self._ledger.share(self._settle_s())
        failures = 0
        while self._ledger.unfinished():
            await self._resumed()
            self._show_start(failures)
            before = self._ledger.items, self._ledger.progress.segments_finished
            try:
                await self._run_driver()
            except RetriableError as error:
                has_moved = before != (self._ledger.items, self._ledger.progress.segments_finished)
                failures = 1 if has_moved else failures + 1
                await self._after_failure(error, failures)
        self._scope.clear_trouble(_WHAT)
        await self._flow.at_rest()
        return await self._ledger.finish()

    async def _resumed(self) -> None:
        """Wait until the connector runs and the table has its turn."""
        progress, note = self._scope.progress, self._scope.progress.note
        while not (self._running.is_on() and self._turn.is_held):
            if not self._running.is_on():
                self._turn.give()
                progress.note = "the connector is paused, and so is the scan on Spark"
                await self._running.wait_on()
            progress.note = "waiting for other tables to be scanned on Spark (spark.drivers.max)"
            await run_unless(self._turn.take(), self._running.wait_off())
        progress.note = note

    def _show_start(self, failures: int) -> None:
        settings = self._spark.settings
        again = f", attempt {failures + 1} of {settings.restarts_max + 1}" if failures else ""
        self._ledger.progress.engine = f"spark ({settings.master}, starting{again})"

    async def _after_failure(self, error: RetriableError, failures: int) -> None:
        table, limit = self._scope.table, self._spark.settings.restarts_max
        if failures > limit:
            fatal = FatalTaskError(
                f"table {table}: the scan on Spark has failed {failures} times in a row without "
                f"getting on (spark.restart.attempts.max is {limit}); the last time: {error}"
            )
            hand_notes_on(error, fatal)
            raise fatal from error.__cause__
        wait_s = self._backoff.wait_s(failures)
        _log.warning(
            "a scan on Spark has failed, it is started anew with the segments that are left",
            table=table,
            error=str(error),
            attempt=failures,
            wait_s=round(wait_s, 1),
            segments_left=len(self._ledger.unfinished()),
        )
        self._last_failure = str(error)
        self._scope.report_trouble(_WHAT, error, failures)
        await self._scope.scheduler.wait(wait_s)

    # -- one driver -----------------------------------------------------------------------------

    async def _run_driver(self) -> None:
        """Follow one driver to its end, which a pause brings about early.

        Raises:
            RetriableError: it has failed, another one may not.
            FatalTaskError: another one would fail as well.
        """
        try:
            await self._follow_driver(self._make_job(tuple(self._ledger.unfinished())))
        finally:
            if not self._spark.settings.is_local and not isinstance(self._last_word, Finished):
                self._leave_behind()

    def _leave_behind(self) -> None:
        settle_s = self._settle_s()
        self._ledger.settle_after(settle_s)
        until_s = self._scope.clock.monotonic() + settle_s
        self._spark.leftovers.note(self._connector, self._scope.table, until_s)

    def _settle_s(self) -> float:
        return scan_lease.settle_s(self._make_job(()).lease_s)

    async def _follow_driver(self, job: ScanJob) -> None:
        clock, table = self._scope.clock, self._scope.table
        self._last_word, self._is_asked_to_end = None, False
        self._heard_s = self._came_back_s = clock.monotonic()
        _log.info(
            "starting a scan on Spark",
            table=table,
            master=self._spark.settings.master,
            segments=len(job.segments),
            segments_total=job.total_segments,
        )
        async with self._spark.starter.start(job) as driver:
            await wait_first(
                self._follow(driver), self._end_when_paused(driver), self._watch_silence(driver)
            )
            self._forget_troubles()
            code = await driver.wait()
            if not self._is_asked_to_end:
                self._judge(code, driver)

    async def _follow(self, driver: ScanDriver) -> None:
        async for report in driver.reports():
            self._heard_s = self._scope.clock.monotonic()
            if not isinstance(report, Trouble) or report.segment is not None:
                self._came_back_s = self._heard_s
            self._take(report)

    def _take(self, report: ScanReport) -> None:
        match report:
            case Started():
                self.has_started, self._last_failure = True, ""
                self._scope.clear_trouble(_WHAT)
                self._ledger.progress.engine = f"spark ({report.master}, {report.slots} at a time)"
                _log.info(
                    "a scan on Spark is under way",
                    table=self._scope.table,
                    spark=report.spark,
                    master=report.master,
                    slots=report.slots,
                )
            case SegmentMoved():
                self._move(report)
            case Trouble() if self._is_asked_to_end:
                pass  # whatever it is, it is on its way out
            case Trouble():
                what = _WHAT if report.segment is None else f"{_WHAT}, segment {report.segment}"
                self._scope.report_trouble(what, RetriableError(report.error), report.attempt)
            case Failed() | Finished():
                self._last_word = report

    def _move(self, report: SegmentMoved) -> None:
        """Let a segment's position move, if that is what a driver of this scan may say."""
        after = report.position
        before = self._ledger.position(after.segment)
        if (
            before is None
            or after.total_segments != before.total_segments
            or after.init_sync_start_ms != before.init_sync_start_ms
        ):
            self._refuse(after, "it belongs to another scan")
        if after.count < before.count or (before.is_finished and after != before):
            self._refuse(after, f"it lies before the one that is known ({before})")
        if report.skipped:
            _log.warning(
                "records skipped by a scan on Spark, as errors.tolerance=all asks",
                table=self._scope.table,
                segment=after.segment,
                records=report.skipped,
            )
        if report.ended_ms is not None:
            self._ledger.end_at(report.ended_ms)
        self._ledger.move(after)
        self._scope.progress.count(Acked(report.records, report.skipped))
        self._scope.clear_trouble(_WHAT)
        self._scope.clear_trouble(f"{_WHAT}, segment {after.segment}")
        self._flow.move(
            after, DeliveredElsewhere(report.records, report.topics, skipped=report.skipped)
        )
        self._log_progress()

    def _refuse(self, position: SegmentPosition, problem: str) -> NoReturn:
        raise FatalTaskError(
            f"table {self._scope.table}: Spark reports position {position}: {problem}; do daemon "
            "and Spark run the same release?"
        )

    def _log_progress(self) -> None:
        now_s, progress = self._scope.clock.monotonic(), self._ledger.progress
        if now_s - self._logged_s < _LOG_S:
            return
        self._logged_s = now_s
        _log.info(
            "a scan on Spark gets on",
            table=self._scope.table,
            items=progress.items,
            items_estimated=progress.items_estimated,
            **progress.row(now_s),
        )

    async def _end_when_paused(self, driver: ScanDriver) -> None:
        """What it still says on its way out counts, so following it goes on."""
        await self._running.wait_off()
        _log.info("ending a scan on Spark: paused", table=self._scope.table)
        self._is_asked_to_end = True
        driver.ask_to_end()
        await asyncio.Event().wait()

    async def _watch_silence(self, driver: ScanDriver) -> None:
        settings, looks = self._spark.settings, 0
        limit_s, shown_s = settings.idle_timeout_s, QUIET_S + settings.chunk_s
        while True:
            await self._scope.clock.sleep(_LOOK_S)
            now_s = self._scope.clock.monotonic()
            idle_s, quiet_s = now_s - self._came_back_s, now_s - self._heard_s
            if idle_s >= limit_s + settings.chunk_s:
                silent = RetriableError(
                    f"no chunk of the scan on Spark has come back for {idle_s:.0f} s "
                    f"(spark.idle.timeout.ms is {limit_s * 1000:.0f})"
                )
                raise with_output(silent, driver.tail())
            looks = looks + 1 if quiet_s >= shown_s else 0
            if looks:
                room = f"has {settings.master} room for it?"
                before = f"; the last attempt: {self._last_failure}" if self._last_failure else ""
                quiet = RetriableError(f"nothing was told for {quiet_s:.0f} s; {room}{before}")
                self._scope.report_trouble(_WHAT, quiet, looks)

    def _forget_troubles(self) -> None:
        for what in [each for each in self._scope.progress.troubles if each.startswith(_WHAT)]:
            self._scope.clear_trouble(what)

    def _judge(self, code: int, driver: ScanDriver) -> None:
        word, tail = self._last_word, driver.tail()
        left = len(self._ledger.unfinished())
        if not left:
            return
        if isinstance(word, Failed):
            kind = RetriableError if word.retriable else FatalTaskError
            # Spark often tells the cause in its log, and the consequence to whoever asks it.
            why = self._spark.starter.explanation([word.error, *tail])
            if word.error not in why:
                why = ": ".join(filter(None, (why, word.error)))
            failure = kind(f"table {self._scope.table}: the scan on Spark has failed: {why}")
            raise with_output(self._at_start(failure) if word.at_start else failure, tail)
        if isinstance(word, Finished):
            text = f"the Spark driver says that it has finished, but {left} segments are not"
            raise with_output(RetriableError(text), tail)
        verdict = self._spark.starter.verdict(code, tail)
        was_killed = code < 0
        raise with_output(verdict if was_killed else self._at_start(verdict), tail)

    def _at_start(self, failure: ConnectdError) -> ConnectdError:
        """What it means that a driver has failed, if Spark has never been there."""
        if self.has_started or not isinstance(failure, RetriableError):
            return failure
        reason, before = driver_words.lasting_reason(str(failure)), self._start_failure
        self._start_failure = reason
        if not reason or reason != before:
            return failure
        return FatalTaskError(f"Spark cannot be started, twice for the same reason: {failure}")
