"""The first look of ``connectd reconcile --spark`` as a Spark application; started by connectd.

The job lies in the file that ``CONNECTD_SCAN_JOB`` names, and beside it (``reconcile_job``); so
does the result. Segments of the table and partitions of the topics become rows of digests, which
Spark brings together by key, on disk where they are many. What the driver says goes as for a scan
(``scan_reports``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sql

from connectd.connectors.dynamodb import scan_job, scan_reports
from connectd.connectors.dynamodb.reconcile_job import (
    JOB_FILE,
    RESULT_FILE,
    FirstLook,
    ReconcileJob,
)
from connectd.connectors.dynamodb.reconciling import Compared, Counts, owner_of
from connectd.connectors.dynamodb.scan_job import EXIT_FAILED, JOB_ENV, ScanJob
from connectd.connectors.dynamodb.scan_reports import Failed, Finished, ScanReport, Started
from connectd.connectors.dynamodb.second_look import Candidate
from connectd.errors import ConfigError
from spark_jobs.job_file import take_job
from spark_jobs.parent_watch import ParentWatch
from spark_jobs.reconcile_sides import EXPECTED_SCHEMA, FOUND_SCHEMA, Sides

_PLACE: Final = ("kafka_partition", "kafka_offset", "timestamp_ms")
_COARSENESS: Final = (Compared.BYTES, Compared.JSON, Compared.DOCUMENTS)


def main() -> int:
    """Run the application; returns its exit code."""
    try:
        ParentWatch(os.environ).start()
        home = Path(os.environ.get(JOB_ENV, "")).parent
        job = take_job(os.environ)
        reconcile = ReconcileJob.from_json((home / JOB_FILE).read_bytes())
        context = SparkContext(conf=_conf())
        context.setLogLevel("WARN")
        _report(Started(context.version, context.master or "", context.defaultParallelism))
        result = first_look(context, job, reconcile, scan_job.aws_keys_of(os.environ))
        (home / RESULT_FILE).write_bytes(result.to_json())
        context.stop()
    except (ConfigError, Py4JError, PySparkException, OSError) as error:
        _report(Failed(_told(error), retriable=False))
        return EXIT_FAILED
    _report(Finished())
    return 0


def _conf() -> SparkConf:
    conf = SparkConf()
    conf.setIfMissing("spark.master", "local[*]")
    if (conf.get("spark.master") or "").startswith("local"):  # there is nobody to show anything to
        conf.setIfMissing("spark.ui.enabled", "false")
        conf.setIfMissing("spark.driver.host", "127.0.0.1")
    return conf.setIfMissing("spark.ui.showConsoleProgress", "false")


def first_look(
    context: SparkContext, job: ScanJob, reconcile: ReconcileJob, aws_keys: dict[str, str]
) -> FirstLook:
    """Compare both sides once."""
    sides = Sides(job.to_json(), reconcile.to_json(), aws_keys)
    places = [
        (topic, partition, end)
        for topic, ends in reconcile.ends.items()
        for partition, end in ends.items()
    ]
    session = SparkSession(context)
    segments = range(job.total_segments)
    expected = session.createDataFrame(
        context.parallelize(segments, len(segments)).mapPartitions(sides.expected),
        EXPECTED_SCHEMA,
        verifySchema=False,
    )
    found = session.createDataFrame(
        context.parallelize(places, max(1, len(places))).mapPartitions(sides.found),
        FOUND_SCHEMA,
        verifySchema=False,
    )
    joined = brought_together(expected, found)
    kept = reconcile.differences_max // joined.rdd.getNumPartitions() + 1
    totals: dict[str, int] = {}
    differences: list[Candidate] = []
    for counts, some in joined.rdd.mapPartitions(lambda rows: _tallied(rows, kept)).collect():
        for name, amount in counts.items():
            totals[name] = totals.get(name, 0) + amount
        differences += some
    seen = [each for each in _COARSENESS if totals.pop(each.value, 0)]
    return FirstLook(
        Counts(**totals),
        seen[0] if seen else Compared.DOCUMENTS,
        tuple(differences[: reconcile.differences_max]),
    )


def brought_together(expected: DataFrame, found: DataFrame) -> DataFrame:
    """One row for each key: what should be there, and the last record that is.

    Within a partition the offset says which is the last, between partitions time; within one, time
    may go backwards.
    """
    columns = [name for name in found.columns if name != "key_id"]
    in_partition = found.groupBy("key_id", "kafka_partition").agg(
        sql.max_by(sql.struct(*columns), "kafka_offset").alias("last")
    )
    last = in_partition.groupBy("key_id").agg(
        sql.max_by("last", sql.struct("last.timestamp_ms", "last.kafka_partition")).alias("last")
    )
    return (
        expected.alias("e")
        .join(last.alias("f"), "key_id", "full_outer")
        .select(
            "key_id",
            sql.coalesce("e.topic", "f.last.topic").alias("topic"),
            sql.coalesce("e.key", "f.last.key").alias("key"),
            "item_key",
            "expected",
            sql.col("f.last.found").alias("found"),
            *(sql.col(f"f.last.{name}").alias(name) for name in _PLACE),
            sql.coalesce("e.tally", "f.last.tally").alias("tally"),
            sql.coalesce("e.amount", "f.last.amount").alias("amount"),
        )
    )


def _tallied(rows: Iterable[Row], kept: int) -> Iterator[tuple[dict[str, int], list[Candidate]]]:
    counts: dict[str, int] = {}
    differences: list[Candidate] = []

    def count(name: str, amount: int = 1) -> None:
        counts[name] = counts.get(name, 0) + amount

    for row in rows:
        if row.tally is not None:
            count(row.tally, row.amount)
            continue
        candidate = _candidate(row)
        if candidate.expected is not None:
            count("items")
        if candidate.found is not None and owner_of(candidate.found) is None:
            count("keys")
        kind = candidate.kind
        if kind is not None:
            count(kind.value)
            if len(differences) < kept:
                differences.append(candidate)
        elif candidate.expected is not None:
            count("equal")
    yield counts, differences


def _candidate(row: Row) -> Candidate:
    def blob(value: Any) -> bytes | None:
        return None if value is None else bytes(value)

    return Candidate(
        bytes(row.key_id), row.topic, blob(row.key), blob(row.item_key), blob(row.expected),
        blob(row.found), row.kafka_partition, row.kafka_offset, row.timestamp_ms,
    )  # fmt: skip


def _told(error: Exception) -> str:
    """The last words of an error: those of the Python worker, where one has failed."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("connectd.errors.")]
    text = ours[-1].partition(": ")[2] if ours else (lines[0] if lines else "")
    return text[:1000] or type(error).__name__


def _report(report: ScanReport) -> None:
    sys.stdout.write(scan_reports.to_line(report))
    sys.stdout.flush()


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)
