"""The initial scan of a table as a Spark application: the driver, started by connectd.

    spark-submit [--master ...] [--conf ...] .../spark_jobs/initial_scan.py

Its job comes in a file (``job_file``), its progress goes to standard output (``scan_reports``), its
log to standard error. It writes no offsets and knows of no other connector. Exit code 0: finished,
3: failed and said why, 143: stopped by SIGTERM.

The only module of the scan that imports PySpark. Records do not pass through Spark: each chunk is
a job of one partition whose Python worker does everything (``segment_scan``), and what goes through
the JVM is one order and one result.
"""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext, TaskContext
from pyspark.errors import PySparkException

from connectd.connectors.dynamodb import driver_words, scan_job, scan_lease, scan_reports
from connectd.connectors.dynamodb.scan_job import EXIT_FAILED, ScanJob
from connectd.connectors.dynamodb.scan_reports import Failed, Finished, ScanReport, Started
from connectd.errors import ConfigError
from spark_jobs import chunk_tools, loss_words, segment_scan
from spark_jobs.chunk_runner import ChunkRunner, SparkEndedError
from spark_jobs.chunks import ChunkOrder, ChunkResult
from spark_jobs.job_file import take_job, text_for_workers
from spark_jobs.parent_watch import ParentWatch

EXIT_STOPPED: Final = 128 + signal.SIGTERM

CAUSES_MAX: Final = 3
"""Exceptions, one the cause of the other, of which is told."""

_SPARKS_OWN: Final = re.compile(r"org\.apache\.spark\.[\w.$]*(Exception|Error): ")

_LOOK_S: Final = 0.2
"""How often it is looked whether the first task is done, or not wanted any more."""

_STOP_SPARK_S: Final = 5.0
"""For Spark's own end; after that the process ends with it or without."""

_STOP_S: Final = 8.0
"""From SIGTERM to the end, whatever is going on."""

_LOCAL_DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
"""On this machine alone there is nobody to show anything to: no port is opened to others."""


_ALWAYS: Final = {
    # A second one of the same chunk, beside the first, would send everything twice.
    "spark.speculation": "false",
}

_DEFAULTS: Final = {
    "spark.master": "local[*]",
    "spark.log.level": "WARN",
    # A chunk that has failed is handed out anew by us, with a lease of its own.
    "spark.task.maxFailures": "1",
}


class SparkLostError(Exception):
    """Spark did not do a chunk; the text is what it says, without the Java stack."""


def main() -> int:
    """Run the application; returns its exit code."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: _stop_soon(stop))
    try:
        ParentWatch(os.environ).start()
        job = take_job(os.environ)
        chunk_tools.make_converters(job)  # what cannot work is told before Spark is started
        last = _scan(job, stop)
    except ConfigError as error:
        last = Failed(str(error), retriable=False)
    if last is None:
        return EXIT_STOPPED
    _report(last)
    return EXIT_FAILED if isinstance(last, Failed) else 0


def _stop_soon(stop: threading.Event) -> None:
    """Ask for the end, and have it in any case: starting Spark cannot be interrupted."""
    stop.set()
    timer = threading.Timer(_STOP_S, os._exit, (EXIT_STOPPED,))
    timer.daemon = True
    timer.start()


def _scan(job: ScanJob, stop: threading.Event) -> Finished | Failed | None:
    try:
        with _spark(job, stop) as context:
            return scan_on(context, job, _report, stop)
    except _StartError as error:
        return None if stop.is_set() else Failed(str(error), error.retriable, at_start=True)


def scan_on(
    context: SparkContext,
    job: ScanJob,
    report: Callable[[ScanReport], None],
    stop: threading.Event,
) -> Finished | Failed | None:
    """Do a job on a Spark that runs; returns the last word, unreported. None: stopped.

    That it has started is told once an executor has done something: before, the cluster may have
    no room, or nobody may ever have reached its master.
    """
    if not is_local(context.master):
        try:
            if not first_task(context, stop):
                return None
        except (SparkEndedError, SparkLostError) as error:
            return Failed(str(error), retriable=True)
    slots = min(job.parallelism or context.defaultParallelism, max(1, len(job.segments)))
    report(Started(context.version, context.master or "", slots))
    runner = ChunkRunner(
        job,
        job_text=text_for_workers(job),
        slots=slots,
        submit=lambda order: _submit(context, order),
        report=report,
        stop=stop,
        aws_keys=scan_job.aws_keys_of(os.environ),
        settle_s=0.0 if is_local(context.master) else scan_lease.settle_s(job.lease_s),
    )
    return runner.run()


class _StartError(Exception):
    def __init__(self, text: str, *, retriable: bool) -> None:
        super().__init__(text)
        self.retriable = retriable


@contextmanager
def _spark(job: ScanJob, stop: threading.Event) -> Iterator[SparkContext]:
    try:
        # What spark-submit was told is in the JVM; a SparkConf made before would not see it.
        SparkContext._ensure_initialized()
        conf = _configured(SparkConf(), job)
        context = SparkContext(conf=conf)
        if _has_ended(context):
            # An unreachable master is given up after a minute, without a word to us.
            raise OSError(f"it has ended at once, with master {conf.get('spark.master')}")
    except (Py4JError, PySparkException, OSError, ValueError) as error:
        text = _start_text(error)
        means = driver_words.meaning([text])
        advice = ""
        if means is None and isinstance(error, Py4JJavaError):
            advice = "; check spark.master, the settings under spark.conf., the log of the driver"
        elif means is None:
            advice = "; check that Java 17 or newer is found (JAVA_HOME), and the log of the driver"
        raise _StartError(
            f"starting Spark: {text}{advice}", retriable=means is None or means.is_retriable
        ) from error
    try:
        yield context
    finally:
        _end(context, stop)


def _configured(conf: SparkConf, job: ScanJob) -> SparkConf:
    """What Spark was told, and what goes without saying."""
    conf.setAppName(f"connectd scan of {job.table} ({job.connector})")
    for name, value in _ALWAYS.items():
        conf.set(name, value)
    for name, value in _DEFAULTS.items():
        conf.setIfMissing(name, value)
    if is_local(conf.get("spark.master")):
        for name, value in _LOCAL_DEFAULTS.items():
            conf.setIfMissing(name, value)
    return conf


def is_local(master: str | None) -> bool:
    """Whether all of Spark runs in processes that end with the driver."""
    return (master or "").startswith("local")


def _end(context: SparkContext, stop: threading.Event) -> None:
    """Cancel what runs, end Spark; bounded."""

    def end() -> None:
        try:
            if stop.is_set():
                context.cancelAllJobs()
            context.stop()
        except (Py4JError, OSError) as error:
            sys.stderr.write(f"ending Spark: {_java_text(error)}\n")

    thread = threading.Thread(target=end, name="end-spark", daemon=True)
    thread.start()
    thread.join(_STOP_SPARK_S)


def first_task(context: SparkContext, stop: threading.Event) -> bool:
    """Wait until an executor has done something; False: stopped meanwhile.

    Raises:
        SparkEndedError, SparkLostError: it will not.
    """
    errors: list[Exception] = []

    def count() -> None:
        try:
            context._jsc.parallelize([0], 1).count()
        except (Py4JError, OSError) as error:
            errors.append(error)

    thread = threading.Thread(target=count, name="first-task", daemon=True)
    thread.start()
    while thread.is_alive() and not stop.is_set():
        thread.join(_LOOK_S)
    if errors and not stop.is_set():
        raise _loss(context, errors[0]) from errors[0]
    return not stop.is_set()


def _submit(context: SparkContext, order: ChunkOrder) -> ChunkResult:
    try:
        (result,) = context.parallelize([order], 1).mapPartitions(_scan_chunks).collect()
    except (Py4JError, PySparkException, OSError) as error:
        loss = _loss(context, error)
        if isinstance(loss, SparkLostError):
            loss = SparkLostError(loss_words.told(str(loss), order.position.segment))
        raise loss from error
    return result


def _loss(context: SparkContext, error: Exception) -> SparkEndedError | SparkLostError:
    if _has_ended(context):
        return SparkEndedError(
            "Spark has ended by itself; check that its master is reachable and the log of the "
            "driver"
        )
    return SparkLostError(_java_text(error))


def _scan_chunks(orders: Iterable[ChunkOrder]) -> Iterator[ChunkResult]:
    """In a Python worker: the chunk, and which attempt of Spark's it is."""
    context = TaskContext.get()
    attempt = 0 if context is None else context.attemptNumber()
    for result in segment_scan.scan_chunks(orders):
        yield dataclasses.replace(result, attempt=attempt)


def _has_ended(context: SparkContext) -> bool:
    """Whether Spark has stopped, or its JVM is gone."""
    try:
        return bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError, AttributeError):
        return True


def _java_text(error: Exception) -> str:
    """What an error says, from the side on which it happened; the first lines of it."""
    text = str(error)
    if isinstance(error, Py4JJavaError):
        text = str(error.java_exception.getMessage() or error.java_exception.toString())
    return _in_short(text) or type(error).__name__


def _in_short(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith(("at ", "Driver stacktrace"))]
    return " ".join(kept)[:1000]


def _start_text(error: Exception) -> str:
    """Why Spark does not start, with the causes: a class that is missing is named by the last."""
    if not isinstance(error, Py4JJavaError):
        return _java_text(error)
    texts: list[str] = []
    thrown: JavaObject | None = error.java_exception
    while thrown is not None and len(texts) < CAUSES_MAX:
        said = _SPARKS_OWN.sub("", _in_short(str(thrown.toString())), count=1)
        if not any(said in each for each in texts):
            texts.append(said)
        thrown = thrown.getCause()
    return "; caused by ".join(texts)


def _report(report: ScanReport) -> None:
    sys.stdout.write(scan_reports.to_line(report))
    sys.stdout.flush()


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads that still wait for Spark must not keep the process.
    os._exit(code)
