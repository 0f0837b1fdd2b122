"""The initial scan on a real local Spark, one application for all tests: fake DynamoDB, real Kafka.

What a driver does as a process of its own, and how it ends, is ``test_initial_scan_driver``.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from unittest import mock

import pytest
from py4j.protocol import Py4JError
from pyspark import SparkContext

from connectd.connectors.dynamodb.scan_reports import (
    Failed,
    Finished,
    ScanReport,
    SegmentMoved,
    Trouble,
)
from spark_jobs import initial_scan
from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import prefix_of
from tests.kit.scan_jobs import a_job
from tests.spark.scan_rig import (
    APPLICATION,
    Scan,
    ScanRig,
    all_pids,
    arguments_of,
    environment_of,
    kill,
    parent_of,
)

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def rig(kafka_broker: KafkaBroker) -> Iterator[ScanRig]:
    with ScanRig(kafka_broker, prefix_of(__name__)) as rig:
        yield rig


@pytest.fixture
def scan(rig: ScanRig, spark_context: SparkContext) -> Scan:
    return Scan(rig, spark_context)


def test_the_topic_equals_the_table(scan: Scan) -> None:
    table = scan.rig.new_table(5000)
    scan.finish(table, scan.rig.job(table, segments=5, page_size=300, chunk_items=700))
    moves = scan.of(SegmentMoved)
    assert len(moves) >= 5 * 2
    assert sum(each.items for each in moves) == sum(each.records for each in moves) == 5000
    assert sum(each.consumed for each in moves) > 0
    assert {each.topics for each in moves} == {(scan.rig.topic(table),)}
    assert len(scan.rig.records(table)) == 5000
    assert scan.of(Trouble) == []


def test_an_empty_table_is_finished(scan: Scan) -> None:
    table = scan.rig.new_table()
    scan.finish(table, scan.rig.job(table))
    assert scan.rig.records(table) == []


def test_a_throttled_table_is_copied_all_the_same(scan: Scan) -> None:
    table = scan.rig.new_table(600)
    scan.rig.control.inject(
        operation="Scan", error="ProvisionedThroughputExceededException", times=12, table=table
    )
    job = scan.rig.job(table, page_size=100, chunk_s=0.5)
    scan.finish(table, job)
    troubles = scan.of(Trouble)
    assert troubles
    assert all("ThrottledError" in each.error for each in troubles)


def test_broken_answers_are_asked_for_again(scan: Scan) -> None:
    table = scan.rig.new_table(600)
    for error in ("ConnectionReset", "Truncated", "BadCrc", "HtmlError", "InternalServerError"):
        scan.rig.control.inject(operation="Scan", error=error, times=1, table=table)
    scan.finish(table, scan.rig.job(table, page_size=100))


def test_a_scan_with_little_capacity_asks_for_small_pages(scan: Scan) -> None:
    table = scan.rig.new_table(240)
    scan.finish(table, scan.rig.job(table, units_per_s=6.0, item_bytes=400.0, chunk_s=1.0))
    calls = scan.rig.control.journal(operation="Scan", table=table)
    assert sum(each["count"] for each in calls) == 240
    assert len(calls) > 3, "one page would have been enough for each segment"
    assert all(each["units"] <= 6.0 for each in calls), "more than a second's worth at once"


def test_a_table_that_is_deleted_in_mid_scan_fails_the_scan(scan: Scan) -> None:
    table = scan.rig.new_table(3000)
    scan.rig.control.after_call(
        operation="Scan", command="drop_table", arguments={"table": table}, nth=5, table=table
    )
    last = scan.run(scan.rig.job(table, page_size=100, chunk_items=100))
    assert isinstance(last, Failed)
    assert not last.retriable
    assert "TableGoneError" in last.error
    assert table in last.error
    assert 0 < sum(each.items for each in scan.of(SegmentMoved)) <= 500


def test_a_scan_that_is_not_allowed_says_what_to_allow(scan: Scan) -> None:
    table = scan.rig.new_table(10)
    scan.rig.control.deny(action="dynamodb:Scan")
    last = scan.run(scan.rig.job(table))
    assert isinstance(last, Failed)
    assert not last.retriable
    assert "AccessDeniedError" in last.error
    assert "dynamodb:Scan" in last.error


@pytest.mark.parametrize("seed", range(2))
def test_killed_python_workers_lose_nothing(scan: Scan, seed: int) -> None:
    """kill -9 of a Python worker from a seeded report on, until two chunks were lost.

    Which worker has a chunk at that moment is not known from outside: an idle one may be hit, so
    the kills go on at each further report until the scan has complained twice.
    """
    chance = random.Random(seed)
    table = scan.rig.new_table(2600)
    scan.rig.control.latency(operation="Scan", delay_s=0.02)
    first = chance.randrange(2, 10)
    killed: list[int] = []

    def on_report(report: ScanReport) -> None:
        if len(scan.reports) >= first and len(scan.of(Trouble)) < 2:
            workers = _python_workers()
            if workers:
                killed.append(chance.choice(workers))
                kill(killed[-1])

    scan.on_report = on_report
    scan.finish(table, scan.rig.job(table, page_size=50, chunk_items=130))
    assert killed, f"SEED={seed}"
    told = scan.of(Trouble)
    assert told, f"SEED={seed}"
    assert all(
        each.error.startswith(f"a Python worker of segment {each.segment} has ended, and its chunk")
        for each in told
    ), f"SEED={seed}: {told}"


def _python_workers() -> list[int]:
    """The Python workers of this application, without the daemon that forks them."""
    mark = f"{APPLICATION}={os.getpid()}".encode()
    family = {pid for pid in all_pids() if b"pyspark.daemon" in arguments_of(pid)}
    return [pid for pid in family if parent_of(pid) in family and mark in environment_of(pid)]


def test_topics_are_created_by_the_connectors_rules(scan: Scan) -> None:
    table = scan.rig.new_table(30)
    rules = {
        "topic.creation.default.partitions": "3",
        "topic.creation.default.replication.factor": "1",
    }
    scan.finish(table, scan.rig.job(table, rules))
    assert {record.partition for record in scan.rig.records(table)} == {0, 1, 2}


def test_the_workers_own_topics_are_not_written_to(scan: Scan) -> None:
    table = scan.rig.new_table(30)
    route = {
        "transforms": "r",
        "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.r.regex": ".*",
        "transforms.r.replacement": "connect-offsets",
    }
    last = scan.run(scan.rig.job(table, route))
    assert isinstance(last, Failed)
    assert not last.retriable
    assert "one of the worker's own topics" in last.error


def test_a_record_that_may_not_be_skipped_ends_the_scan_in_kafkas_words(scan: Scan) -> None:
    table = scan.rig.new_table(30)
    last = scan.run(scan.rig.job(table, _CASTS_TEXT))
    assert isinstance(last, Failed)
    assert not last.retriable
    assert "Tolerance exceeded in error handler; caused by" in last.error
    assert all(each.count == 0 for each in scan.rig.positions.values())


def test_tolerated_records_are_counted_and_skipped(scan: Scan) -> None:
    table = scan.rig.new_table(30)
    assert scan.run(scan.rig.job(table, {**_CASTS_TEXT, "errors.tolerance": "all"})) == Finished()
    moves = scan.of(SegmentMoved)
    assert sum(each.items for each in moves) == sum(each.skipped for each in moves) == 30
    assert sum(each.records for each in moves) == 0
    assert scan.rig.records(table) == []


_CASTS_TEXT = {
    "transforms": "c",
    "transforms.c.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.c.spec": "op:int32",
}
"""The operation, a letter, is no number."""


def test_a_spark_that_runs_something_is_told_from_one_that_does_not(
    spark_context: SparkContext,
) -> None:
    stop = threading.Event()
    assert initial_scan.first_task(spark_context, stop)
    stop.set()
    assert not initial_scan.first_task(spark_context, stop)


def test_a_spark_that_has_ended_before_it_ran_anything_was_never_started() -> None:
    told: list[ScanReport] = []
    ended = mock.MagicMock(master="spark://m:7077")
    ended._jsc.parallelize.side_effect = Py4JError("Cannot call methods on a stopped SparkContext")
    ended._jsc.sc.return_value.isStopped.return_value = True
    last = initial_scan.scan_on(ended, a_job(), told.append, threading.Event())
    assert isinstance(last, Failed)
    assert last.retriable
    assert last.error.startswith("Spark has ended by itself; check that its master is reachable")
    assert told == []
