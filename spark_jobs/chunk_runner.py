"""Runs a scan's chunks, as many at once as there are slots, and tells the daemon how they go.

One thread decides and reports (``run``); each chunk has a thread that waits for Spark (``submit``).
When the scan has failed, chunks under way are waited for: what they have done is reported too.

A chunk of which nothing is known any more may go on to send as long as its lease lasts. The scan is
finished once no such chunk is left.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final

from connectd.aio.clock import LoopClock, wall_ms
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.connectors.dynamodb.scan_reports import (
    Failed,
    Finished,
    ScanReport,
    SegmentMoved,
    Trouble,
)
from spark_jobs.chunk_schedule import ChunkSchedule, Failure
from spark_jobs.chunks import ChunkOrder, ChunkResult

_LOOK_S: Final = 0.2
"""How often the stop flag is looked at."""

PATIENCE_S: Final = 60.0
"""After so long without a result, beyond the length of a chunk, the daemon is told: Spark may have
no executors to give."""

WIND_DOWN_S: Final = 30.0
"""After a failure, how long chunks under way may take beyond their length."""

_BYTES_PER_UNIT: Final = 8_192
_ERROR_CHARS_MAX: Final = 2_000

Submit = Callable[[ChunkOrder], ChunkResult]
"""Does one chunk on Spark and waits for it; raises whatever Spark raises when it is lost, and
``SparkEndedError`` when all of them are."""


class SparkEndedError(Exception):
    """Spark itself has ended; nothing can be submitted to it any more."""


class ChunkRunner:
    """One scan; see the module's docstring."""

    def __init__(
        self,
        job: ScanJob,
        *,
        job_text: bytes,
        slots: int,
        submit: Submit,
        report: Callable[[ScanReport], None],
        stop: threading.Event,
        aws_keys: dict[str, str] | None = None,
        settle_s: float = 0.0,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """``job_text`` is what goes to the workers. ``stop`` ends ``run`` at once. ``settle_s``:
        for how long after it was handed out a chunk that was lost may still write; 0 where every
        process ends with the driver, for nobody streams before it has ended.
        """
        self._job = job
        self._job_text = job_text
        self._schedule = ChunkSchedule(job.segments, slots=slots)
        self._positions = {each.segment: each for each in job.segments}
        self._pool = ThreadPoolExecutor(slots, thread_name_prefix="chunk")
        self._submit = submit
        self._report = report
        self._stop = stop
        self._aws_keys = aws_keys or {}
        self._patience_s = job.chunk_s + patience_s
        self._clock = LoopClock()
        self._settle_s = settle_s
        self._settled_at_s = time.monotonic()
        self._running: dict[Future[ChunkResult], tuple[int, float]] = {}
        self._heard_at_s = time.monotonic()
        self._silences = 0
        self._consumed, self._items_read = 0.0, 0

    def run(self) -> Finished | Failed | None:
        """Scan everything; returns the last word, which is not yet reported. None: stopped."""
        schedule = self._schedule
        try:
            while not self._stop.is_set() and not schedule.is_finished:
                if schedule.failure is not None:
                    self._wind_down()
                    return Failed(schedule.failure.error, schedule.failure.retriable)
                self._start_chunks()
                self._hear(schedule.wait_s(time.monotonic()))
            self._settle()
            return Finished() if schedule.is_finished and not self._stop.is_set() else None
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _start_chunks(self) -> None:
        while (position := self._schedule.next(time.monotonic())) is not None:
            order = ChunkOrder(
                job=self._job_text,
                position=position,
                issued_ms=wall_ms(self._clock),
                lease_s=self._job.lease_s,
                aws_keys=self._aws_keys,
                units_per_s=self._schedule.share(self._job.units_per_s),
                item_bytes=self._item_bytes(),
                file=self._job.files.get(position.segment),
            )
            future = self._pool.submit(self._submit, order)
            self._running[future] = position.segment, time.monotonic()

    def _item_bytes(self) -> float | None:
        """What an item measures: as found, or else as the daemon was told."""
        if not self._items_read or not self._consumed:
            return self._job.item_bytes
        price = 2.0 if self._job.consistent_read else 1.0
        return self._consumed / self._items_read * _BYTES_PER_UNIT / price

    def _hear(self, longest_s: float | None) -> None:
        wait_s = _LOOK_S if longest_s is None else min(_LOOK_S, longest_s)
        if not self._running:
            self._stop.wait(wait_s)
            return
        done, _ = wait(self._running, timeout=wait_s, return_when=FIRST_COMPLETED)
        for future in done:
            segment, issued_s = self._running.pop(future)
            if future.exception() is not None or future.result().attempt:
                # There may be another one of it that Spark has lost sight of.
                self._settled_at_s = max(self._settled_at_s, issued_s + self._settle_s)
            self._take(segment, future)
        self._complain_of_silence(heard=bool(done))

    def _take(self, segment: int, future: Future[ChunkResult]) -> None:
        error = future.exception()
        if isinstance(error, SparkEndedError):
            self._schedule.give_up(Failure(str(error), retriable=True))
            self._schedule.on_lost(segment, str(error), time.monotonic())
            return
        if error is not None:
            text = str(error)[:_ERROR_CHARS_MAX] or type(error).__name__
            losses = self._schedule.on_lost(segment, text, time.monotonic())
            self._report(Trouble(segment, text, losses))
            return
        result = future.result()
        self._consumed += result.consumed
        self._items_read += result.items_read
        attempt = self._schedule.on_result(result, time.monotonic())
        if result.position != self._positions[segment]:
            self._positions[segment] = result.position
            self._report(
                SegmentMoved(
                    position=result.position,
                    items=result.items,
                    records=result.records,
                    skipped=result.skipped,
                    topics=result.topics,
                    consumed=result.consumed,
                    ended_ms=result.ended_ms,
                )
            )
        if result.error is not None and result.retriable:
            self._report(Trouble(segment, result.error, attempt))

    def _settle(self) -> None:
        """Wait until no chunk that was lost can write any more."""
        left_s = self._settled_at_s - time.monotonic()
        if left_s <= 0 or self._stop.is_set():
            return
        self._report(
            Trouble(
                None,
                "all is scanned; a chunk that was lost may go on to send for "
                f"{left_s:.0f} s, which are waited for",
                1,
            )
        )
        self._stop.wait(left_s)

    def _complain_of_silence(self, *, heard: bool) -> None:
        now_s = time.monotonic()
        if heard or not self._running:
            self._heard_at_s, self._silences = now_s, 0
        elif now_s - self._heard_at_s > self._patience_s * (self._silences + 1):
            self._silences += 1
            self._report(
                Trouble(
                    None,
                    f"{len(self._running)} chunks are under way and none has come back for "
                    f"{now_s - self._heard_at_s:.0f} s; does Spark have executors to run them?",
                    self._silences,
                )
            )

    def _wind_down(self) -> None:
        gives_up_at_s = time.monotonic() + self._job.chunk_s + WIND_DOWN_S
        while self._running and not self._stop.is_set() and time.monotonic() < gives_up_at_s:
            self._hear(None)
