"""The driver's threads: chunks run side by side, results become reports, and every end is told."""

from __future__ import annotations

import dataclasses
import itertools
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from connectd.aio.clock import LoopClock, wall_ms
from connectd.connectors.dynamodb.scan_reports import (
    Failed,
    Finished,
    ScanReport,
    SegmentMoved,
    Trouble,
)
from spark_jobs.chunk_runner import ChunkRunner, SparkEndedError
from spark_jobs.chunk_schedule import LOST_MAX
from spark_jobs.chunks import ChunkOrder, ChunkResult
from spark_jobs.job_file import text_for_workers
from tests.unit.spark_jobs.jobs import an_order, job

Submit = Callable[[ChunkOrder], ChunkResult]


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.chunk_schedule.WAIT_MIN_S", 0.0)


class _Run:
    """One run with its reports."""

    def __init__(
        self,
        submit: Submit,
        *,
        slots: int = 2,
        patience_s: float = 60.0,
        settle_s: float = 0.0,
        **changes: Any,
    ) -> None:
        left = changes.pop("left", None)
        made = job(**changes)
        made = made if left is None else dataclasses.replace(made, segments=left)
        self.reports: list[ScanReport] = []
        self.on_trouble: Callable[[], None] = lambda: None
        self.stop = threading.Event()
        runner = ChunkRunner(
            made,
            job_text=text_for_workers(made),
            slots=slots,
            submit=submit,
            report=self._hear,
            stop=self.stop,
            aws_keys={"AWS_ACCESS_KEY_ID": "a"},
            patience_s=patience_s,
            settle_s=settle_s,
        )
        self.run = runner.run

    def _hear(self, report: ScanReport) -> None:
        self.reports.append(report)
        if isinstance(report, Trouble):
            self.on_trouble()

    def of(self, kind: type[Any]) -> list[Any]:
        return [each for each in self.reports if isinstance(each, kind)]


def _chunk(order: ChunkOrder, *, last: int = 3) -> ChunkResult:
    """Ten items per chunk; a segment has three."""
    before = order.position
    is_last = before.count + 10 >= last * 10
    after = before.after_page(None if is_last else b'{"id":{"S":"x"}}', 10)
    return ChunkResult(after, items=10, records=9, skipped=1, topics=("t",), consumed=2.5,
                       items_read=10)  # fmt: skip


def test_a_scan_is_reported_chunk_by_chunk_and_finished() -> None:
    run = _Run(_chunk)
    assert run.run() == Finished()
    moves = run.of(SegmentMoved)
    assert len(moves) == len(run.reports) == 9
    assert sum(each.items for each in moves) == 90
    assert {each.topics for each in moves} == {("t",)}
    for number in range(3):
        own = [each for each in moves if each.position.segment == number]
        assert [each.position.count for each in own] == [10, 20, 30]
        assert own[-1].position.is_finished


def test_chunks_run_side_by_side() -> None:
    together = threading.Barrier(2, timeout=20)

    def submit(order: ChunkOrder) -> ChunkResult:
        together.wait()
        return _chunk(order, last=1)

    assert _Run(submit, segments=2).run() == Finished()


def test_nothing_left_is_finished_at_once() -> None:
    def submit(order: ChunkOrder) -> ChunkResult:
        raise AssertionError("nothing is left")

    run = _Run(submit, left=())
    assert run.run() == Finished()
    assert run.reports == []


def test_a_lost_chunk_is_trouble_and_is_done_again() -> None:
    losses = itertools.count()

    def submit(order: ChunkOrder) -> ChunkResult:
        if next(losses) == 0:
            raise RuntimeError("Python worker exited unexpectedly")
        return _chunk(order, last=1)

    run = _Run(submit, slots=1)
    assert run.run() == Finished()
    (trouble,) = run.of(Trouble)
    assert trouble.error == "Python worker exited unexpectedly"
    assert trouble.attempt == 1
    assert len(run.of(SegmentMoved)) == 3


def test_chunks_that_are_always_lost_end_the_scan_so_that_it_may_be_tried_again() -> None:
    def submit(order: ChunkOrder) -> ChunkResult:
        raise MemoryError

    run = _Run(submit, slots=1)
    last = run.run()
    assert isinstance(last, Failed)
    assert last.retriable
    assert "MemoryError" in last.error
    assert len(run.of(Trouble)) >= LOST_MAX


def test_a_spark_that_has_ended_is_not_asked_again() -> None:
    asked = itertools.count()

    def submit(order: ChunkOrder) -> ChunkResult:
        next(asked)
        raise SparkEndedError("Spark has ended by itself")

    run = _Run(submit, slots=1)
    assert run.run() == Failed("Spark has ended by itself", retriable=True)
    assert next(asked) == 1
    assert run.reports == []


def test_a_fatal_error_ends_the_scan_after_chunks_under_way_have_been_heard() -> None:
    others_may_end = threading.Event()

    def submit(order: ChunkOrder) -> ChunkResult:
        if order.position.segment == 0:
            others_may_end.set()
            return ChunkResult(order.position, error="TableGoneError: no table orders")
        assert others_may_end.wait(20)
        return _chunk(order)

    run = _Run(submit, slots=3)
    assert run.run() == Failed("TableGoneError: no table orders", retriable=False)
    assert {each.position.segment for each in run.of(SegmentMoved)} == {1, 2}
    assert run.of(Trouble) == [], "it is not tried again"


def test_what_a_failing_chunk_has_done_is_reported_too() -> None:
    def submit(order: ChunkOrder) -> ChunkResult:
        moved = order.position.after_page(b'{"id":{"S":"x"}}', 10)
        return ChunkResult(moved, items=10, records=10, error="poison")

    run = _Run(submit, segments=1)
    assert run.run() == Failed("poison", retriable=False)
    assert [each.position.count for each in run.of(SegmentMoved)] == [10]


def test_a_refusal_without_progress_is_no_move() -> None:
    refusals = itertools.count()

    def submit(order: ChunkOrder) -> ChunkResult:
        if next(refusals) < 2:
            return ChunkResult(order.position, error="ThrottledError", retriable=True)
        return _chunk(order, last=1)

    run = _Run(submit, segments=1)
    assert run.run() == Finished()
    assert [(each.segment, each.attempt) for each in run.of(Trouble)] == [(0, 1), (0, 2)]
    assert len(run.of(SegmentMoved)) == 1


def test_stopping_does_not_wait_for_chunks() -> None:
    begun, release = threading.Event(), threading.Event()

    def submit(order: ChunkOrder) -> ChunkResult:
        begun.set()
        release.wait(20)
        return _chunk(order)

    run = _Run(submit)
    words: list[object] = ["nothing yet"]
    thread = threading.Thread(target=lambda: words.append(run.run()))
    thread.start()
    assert begun.wait(20)
    run.stop.set()
    thread.join(20)
    release.set()
    assert words == ["nothing yet", None]
    assert run.reports == []


def test_silence_is_trouble_of_the_whole_scan() -> None:
    complained = threading.Event()

    def submit(order: ChunkOrder) -> ChunkResult:
        assert complained.wait(20)
        return _chunk(order, last=1)

    run = _Run(submit, segments=1, chunk_s=0.01, patience_s=0.0)
    run.on_trouble = complained.set
    assert run.run() == Finished()
    trouble = run.of(Trouble)[0]
    assert trouble.segment is None
    assert "executors" in trouble.error


def test_orders_carry_the_share_the_keys_and_what_items_have_measured() -> None:
    orders: list[ChunkOrder] = []

    def submit(order: ChunkOrder) -> ChunkResult:
        orders.append(order)
        return _chunk(order, last=2)

    run = _Run(submit, slots=1, segments=1, units_per_s=50.0, item_bytes=100.0)
    assert run.run() == Finished()
    assert [each.units_per_s for each in orders] == [50.0, 50.0]
    assert [each.item_bytes for each in orders] == [100.0, 0.25 * 8192]
    assert orders[0].aws_keys == {"AWS_ACCESS_KEY_ID": "a"}
    assert b'"segments":[]' in orders[0].job


def test_orders_show_no_secret() -> None:
    order = an_order(
        job().segments[0], job=b"hunter2", aws_keys={"AWS_SECRET_ACCESS_KEY": "hunter2"}
    )
    assert "hunter2" not in repr(order)


def test_a_chunk_is_handed_out_with_the_moment_and_its_lease() -> None:
    orders: list[ChunkOrder] = []

    def submit(order: ChunkOrder) -> ChunkResult:
        orders.append(order)
        return _chunk(order)

    before_ms = wall_ms(LoopClock())
    assert _Run(submit, lease_s=77.0).run() == Finished()
    issued = [each.issued_ms for each in orders]
    assert before_ms <= min(issued) <= max(issued) <= wall_ms(LoopClock())
    assert {each.lease_s for each in orders} == {77.0}


@pytest.mark.parametrize("is_repeated", [True, False])
def test_a_scan_is_not_finished_while_a_chunk_that_was_lost_may_still_send(
    is_repeated: bool,
) -> None:
    """Lost to the driver, or to Spark, which began it once more by itself."""
    began = itertools.count()

    def submit(order: ChunkOrder) -> ChunkResult:
        if next(began):
            return _chunk(order, last=1)
        if is_repeated:
            return dataclasses.replace(_chunk(order, last=1), attempt=1)
        raise RuntimeError("the executor is lost")

    run = _Run(submit, segments=1, settle_s=3_600.0)

    def stop_when_it_waits() -> None:
        if "was lost may go on" in str(run.reports[-1]):
            run.stop.set()

    run.on_trouble = stop_when_it_waits
    assert run.run() is None
    assert run.of(SegmentMoved)[-1].position.is_finished
    (trouble,) = [each for each in run.of(Trouble) if each.segment is None]
    assert re.search(r"may go on to send for 3[56]\d\d s", trouble.error)


def test_a_scan_without_losses_is_finished_at_once() -> None:
    run = _Run(_chunk, settle_s=3_600.0)
    assert run.run() == Finished()
    assert run.of(Trouble) == []
