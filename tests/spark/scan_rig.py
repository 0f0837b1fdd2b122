"""What the tests of a scan on Spark stand on: the scripted fake, real Kafka, and jobs for both.

``ScanRig`` makes a ``ScanJob`` of a connector's configuration with the daemon's own rules, and
keeps what a daemon would: the positions that were reported. ``DriverProcess`` is a driver as the
daemon starts it, through spark-submit, in a process group of its own.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from pyspark import SparkContext

from connectd.app import bundled
from connectd.configdef import topic_creation
from connectd.configdef.worker import WorkerConfig
from connectd.connectors.dynamodb import scan_job, scan_reports
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.offsets import SegmentPosition, TableState
from connectd.connectors.dynamodb.scan_job import JOB_ENV, ErrorRules, ScanJob
from connectd.connectors.dynamodb.scan_reports import Finished, ScanReport, SegmentMoved
from connectd.kafka import clientconf
from connectd.plugins import layering
from spark_jobs import initial_scan
from tests.fakes.process import FakeProcess, RemoteControl
from tests.harness.compare import compare_table_with_topic
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import HarnessError, wait_for
from tests.harness.spark import ROOT, spark_environment
from tests.harness.topics import TopicRecord, read_topic

DRIVER = ROOT / "spark_jobs" / "initial_scan.py"
SPARK_ENV = {
    **spark_environment(),
    "AWS_ACCESS_KEY_ID": "AKIATEST",
    "AWS_SECRET_ACCESS_KEY": "an-ordinary-secret",
    "AWS_EC2_METADATA_DISABLED": "true",
}
START_MS = 1_700_000_000_000
DEADLINE_S = 240.0

APPLICATION = "CONNECTD_TEST_APPLICATION"
"""In the environment of every process of the application that tests share."""

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"

_WORKER = {
    "key.converter": JSON_CONVERTER,
    "key.converter.schemas.enable": "false",
    "value.converter": JSON_CONVERTER,
    "value.converter.schemas.enable": "false",
    "group.id": "none",
    "config.storage.topic": "connect-configs",
    "offset.storage.topic": "connect-offsets",
    "status.storage.topic": "connect-status",
}

_numbers = itertools.count(1)


class ScanRig:
    """The fake, the broker, and the positions that a daemon would have stored by now."""

    def __init__(self, broker: KafkaBroker, prefix: str) -> None:
        self.broker = broker
        self.prefix = prefix
        self._fake = FakeProcess(partitions=3)
        self.positions: dict[int, SegmentPosition] = {}

    def __enter__(self) -> Self:
        self._fake.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._fake.stop()

    @property
    def control(self) -> RemoteControl:
        """The fake's script."""
        return self._fake.control

    @property
    def url(self) -> str:
        """Where the fake is."""
        return self._fake.url

    def new_table(self, items: int = 0, **arguments: object) -> str:
        """The name of a new table with so many items in three partitions; faults are forgotten."""
        self.control.clear_faults()
        self.control.clear_journal()
        table = f"t{next(_numbers)}"
        self.control.create_table(table=table, **arguments)
        if items:
            self.control.bulk_load(table=table, count=items)
        return table

    def topic(self, table: str) -> str:
        """The topic of a table."""
        return f"{self.prefix}{table}"

    def config(self, config: Mapping[str, str]) -> dict[str, str]:
        """A connector's configuration for the fake."""
        return {
            "name": "copy",
            "connector.class": "connectd.DynamoDBSource",
            "aws.region": "eu-west-1",
            "dynamodb.service.endpoint": self.url,
            "kafka.topic.prefix": self.prefix,
            "init.sync.delay.period": "0",
            **config,
        }

    def job(
        self,
        table: str,
        config: Mapping[str, str] | None = None,
        *,
        segments: int = 3,
        key: tuple[tuple[str, Any], ...] = (("id", "S"),),
        start_ms: int = START_MS,
        **changes: Any,
    ) -> ScanJob:
        """A job to scan a whole table, as the daemon would write it."""
        given = self.config(config or {})
        worker = WorkerConfig.from_properties(
            {**_WORKER, "bootstrap.servers": self.broker.bootstrap}
        )
        settings, registry = DynamoDbConfig.from_config(given), bundled.plugin_registry()
        messages = settings.messages
        positions = [SegmentPosition(each, segments, start_ms) for each in range(segments)]
        self.positions = {each.segment: each for each in positions}
        producer = layering.client_settings("producer", worker, given)
        job = ScanJob(
            connector="copy",
            table=table,
            topic=messages.topic(table),
            key=KeySchema(tuple(KeyAttribute(name, kind) for name, kind in key)),
            envelope=EnvelopeSettings(messages.envelope_version, messages.document_format),
            state=TableState(table, InitSyncState.RUNNING, start_ms, total_segments=segments),
            segments=tuple(positions),
            key_converter=layering.make_converter("key", registry, worker, given).spec,
            value_converter=layering.make_converter("value", registry, worker, given).spec,
            header_converter=layering.make_header_converter(registry, worker, given).spec,
            producer=clientconf.producer_conf(producer, client_id="connector-producer-copy-0"),
            admin=layering.client_settings("admin", worker, given),
            aws=dataclasses.replace(settings.aws, read_timeout_s=10.0),
            connector_config=scan_job.plugin_config(given),
            errors=ErrorRules(tolerates_all=given.get("errors.tolerance") == "all"),
            creates_topics=topic_creation.read(given) is not None,
            reserved_topics=("connect-configs", "connect-offsets", "connect-status"),
        )
        return dataclasses.replace(job, **changes)

    def rest_of(self, job: ScanJob) -> ScanJob:
        """The job of the next driver: what is left, by the positions reported so far."""
        left = [each for each in self.positions.values() if not each.is_finished]
        return dataclasses.replace(job, segments=tuple(left))

    def hear(self, report: ScanReport) -> None:
        """Store a position as the daemon does: it never goes back."""
        if isinstance(report, SegmentMoved):
            position = report.position
            before = self.positions[position.segment]
            assert not before.is_finished
            assert position.count >= before.count
            self.positions[position.segment] = position

    def records(self, table: str) -> list[TopicRecord]:
        """All records of a table's topic."""
        return read_topic(self.broker.bootstrap, self.topic(table))

    def assert_equal(self, table: str) -> None:
        """The compacted topic and the table hold the same, and every segment is at its end."""
        assert all(each.is_finished for each in self.positions.values())
        items = self.control.table_items(table=table)
        assert sum(each.count for each in self.positions.values()) == len(items)
        compared = compare_table_with_topic(items, self.broker.bootstrap, self.topic(table))
        assert compared.equal, str(compared)


class Scan:
    """Runs jobs on the shared application and keeps what they report."""

    def __init__(self, rig: ScanRig, spark: SparkContext) -> None:
        self.rig = rig
        self._spark = spark
        self.reports: list[ScanReport] = []
        self.on_report: Callable[[ScanReport], None] = lambda report: None

    def run(self, job: ScanJob) -> object:
        """Run to the end; returns the last word."""
        return initial_scan.scan_on(self._spark, job, self._hear, threading.Event())

    def finish(self, table: str, job: ScanJob) -> None:
        """Run to the end, which has to be a good one."""
        assert self.run(job) == Finished(), self.reports
        self.rig.assert_equal(table)

    def of(self, kind: type[Any]) -> list[Any]:
        """The reports of a kind."""
        return [each for each in self.reports if isinstance(each, kind)]

    def _hear(self, report: ScanReport) -> None:
        self.reports.append(report)
        self.rig.hear(report)
        self.on_report(report)


class DriverProcess:
    """A driver, started as the daemon starts it."""

    def __init__(
        self,
        job: ScanJob | None,
        home: Path,
        *,
        master: str = "local[2]",
        env: Mapping[str, str] | None = None,
        argv: tuple[str, ...] = (),
    ) -> None:
        """``argv`` takes the place of spark-submit."""
        home.mkdir(parents=True, exist_ok=True)
        number = next(_numbers)
        self.job_path = home / f"job-{number}.json"
        if job is not None:
            self.job_path.write_bytes(job.to_json())
        self._out = home / f"driver-{number}.out"
        self._log = home / f"driver-{number}.log"
        with self._out.open("wb") as out, self._log.open("wb") as log:
            self.process = subprocess.Popen(
                argv or submit_command(master),
                stdout=out,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                cwd=home,
                env={
                    **os.environ,
                    **SPARK_ENV,
                    JOB_ENV: str(self.job_path),
                    **(env or {}),
                },
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.pids():
            kill(pid)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def reports(self) -> list[ScanReport]:
        """Everything that it has reported so far, whole lines only."""
        text = self._out.read_text(encoding="utf-8")
        lines = text[: text.rfind("\n") + 1].splitlines(keepends=True)
        found = [scan_reports.from_line(line) for line in lines]
        return [report for report in found if report is not None]

    def moves(self) -> list[SegmentMoved]:
        """Positions reported so far."""
        return [each for each in self.reports() if isinstance(each, SegmentMoved)]

    def wait(self, ready: Callable[[], bool], what: str, *, deadline_s: float = DEADLINE_S) -> None:
        """Wait for something; raises HarnessError with the driver's log."""
        if not wait_for(ready, deadline_s=deadline_s):
            said = "".join(scan_reports.to_line(each) for each in self.reports()[-5:])
            log = self._log.read_text(encoding="utf-8", errors="replace")[-4000:]
            raise HarnessError(f"{what} did not happen within {deadline_s:g} s\n{said}\n{log}")

    def wait_exit(self, *, deadline_s: float = DEADLINE_S) -> int:
        """Wait for the end; returns the exit code."""
        self.wait(
            lambda: self.process.poll() is not None, "end of the driver", deadline_s=deadline_s
        )
        return self.process.returncode

    def pids(self) -> list[int]:
        """The processes of this application: JVM, driver, Python workers."""
        mark = f"{JOB_ENV}={self.job_path}".encode()
        return [pid for pid in all_pids() if mark in environment_of(pid)]

    def python_pid(self) -> int:
        """The driver program itself, the JVM's child."""
        (pid,) = [pid for pid in self.pids() if str(DRIVER).encode() in arguments_of(pid)[1:2]]
        return pid


def submit_command(master: str) -> list[str]:
    """How a driver is started."""
    submit = Path(sys.executable).parent / "spark-submit"
    return [str(submit), "--master", master, str(DRIVER)]


def all_pids() -> list[int]:
    """Every process that can be seen and is not a zombie."""
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def environment_of(pid: int) -> list[bytes]:
    """A process's environment; empty when it is gone."""
    return _nul_separated(pid, "environ")


def arguments_of(pid: int) -> list[bytes]:
    """A process's command line; empty when it is gone."""
    return _nul_separated(pid, "cmdline")


def _nul_separated(pid: int, name: str) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().split(b"\0")
    except OSError:
        return []


def start_time(pid: int) -> int:
    """Field 22 of ``/proc/<pid>/stat``."""
    return int(_stat(pid)[19])


def parent_of(pid: int) -> int | None:
    """The parent's process id; None when the process is gone."""
    try:
        return int(_stat(pid)[1])
    except OSError:
        return None


def _stat(pid: int) -> list[str]:
    """Fields 3 and on."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


def kill(pid: int) -> None:
    """SIGKILL, to a process that may be gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
