"""The driver of a scan as a process: started as the daemon starts it, ended in every way there is.

However a driver ends in mid-scan, none of its processes is left, and the next one begins with the
positions reported by then. Starting one costs seconds, so one table goes through all ends.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from connectd.connectors.dynamodb.scan_job import EXIT_FAILED, ScanJob
from connectd.connectors.dynamodb.scan_reports import Failed, Finished, Started
from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import prefix_of
from tests.spark.scan_rig import DRIVER, DriverProcess, ScanRig, kill

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

End = Callable[[DriverProcess], None]


@pytest.fixture(scope="module")
def rig(kafka_broker: KafkaBroker) -> Iterator[ScanRig]:
    with ScanRig(kafka_broker, prefix_of(__name__)) as rig:
        yield rig


def _kill_driver(driver: DriverProcess) -> None:
    kill(driver.python_pid())


def _kill_jvm(driver: DriverProcess) -> None:
    driver.process.kill()


def _terminate(driver: DriverProcess) -> None:
    os.kill(driver.python_pid(), signal.SIGTERM)


def test_drivers_that_end_in_mid_scan_leave_nothing_behind_and_lose_nothing(
    rig: ScanRig, tmp_path: Path
) -> None:
    chance = random.Random(5)
    table = rig.new_table(6000)
    job = rig.job(table, segments=4, page_size=50, chunk_items=100)
    rig.control.latency(operation="Scan", delay_s=0.1)
    for end in chance.sample((_kill_driver, _kill_jvm, _terminate), 3):
        _live(rig, rig.rest_of(job), tmp_path, end, chunks=chance.randint(2, 8))
    rig.control.clear_faults()
    _complete(rig, job, tmp_path)
    rig.assert_equal(table)


def _live(
    rig: ScanRig,
    job: ScanJob,
    home: Path,
    end: End,
    *,
    chunks: int,
) -> None:
    """A driver that is ended after so many chunks."""
    with DriverProcess(job, home) as driver:
        driver.wait(lambda: len(driver.moves()) >= chunks, f"{chunks} chunks")
        assert not driver.job_path.exists(), "it holds passwords"
        end(driver)
        driver.wait(lambda: not driver.pids(), f"end of all processes, by {end.__name__}")
        code = driver.wait_exit()
        assert code == 128 + signal.SIGTERM if end is _terminate else code != 0
        reports = driver.reports()
    for report in reports:
        rig.hear(report)
    assert not any(isinstance(each, Finished | Failed) for each in reports)


def _complete(rig: ScanRig, job: ScanJob, home: Path) -> None:
    with DriverProcess(rig.rest_of(job), home) as driver:
        assert driver.wait_exit() == 0
        reports = driver.reports()
        for report in reports:
            rig.hear(report)
        assert isinstance(reports[0], Started)
        assert reports[0].master == "local[2]"
        assert isinstance(reports[-1], Finished)
        driver.wait(lambda: not driver.pids(), "end of all its processes")


def test_a_master_that_does_not_exist_is_said(rig: ScanRig, tmp_path: Path) -> None:
    with DriverProcess(rig.job(rig.new_table(1)), tmp_path, master="local[many]") as driver:
        assert driver.wait_exit() == EXIT_FAILED
        (failed,) = driver.reports()
        assert isinstance(failed, Failed)
        assert not failed.retriable
        assert "Could not parse Master URL: 'local[many]'" in failed.error
        assert failed.at_start
        assert "JAVA_HOME" not in failed.error, "that is not what is wrong"


def test_a_class_that_spark_does_not_find_is_told_with_the_reason(
    rig: ScanRig, tmp_path: Path
) -> None:
    conf = tmp_path / "conf"
    conf.mkdir()
    defaults = conf / "spark-defaults.conf"
    defaults.write_text("spark.extraListeners no.such.Listener\n", encoding="utf-8")
    job = rig.job(rig.new_table(1))
    with DriverProcess(job, tmp_path, env={"SPARK_CONF_DIR": str(conf)}) as driver:
        assert driver.wait_exit() == EXIT_FAILED
        (failed,) = driver.reports()
        assert isinstance(failed, Failed)
        assert failed.at_start
        assert not failed.retriable
        assert "caused by java.lang.ClassNotFoundException: no.such.Listener" in failed.error


def test_without_a_job_nothing_is_started(tmp_path: Path) -> None:
    with DriverProcess(None, tmp_path, argv=DIRECTLY) as driver:
        assert driver.wait_exit() == EXIT_FAILED
        (failed,) = driver.reports()
        assert isinstance(failed, Failed)
        assert "reading the scan job" in failed.error


def test_without_java_it_is_said_what_is_missing(rig: ScanRig, tmp_path: Path) -> None:
    job = rig.job(rig.new_table(1))
    without = {"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    with DriverProcess(job, tmp_path, argv=DIRECTLY, env=without) as driver:
        assert driver.wait_exit() == EXIT_FAILED
        (failed,) = driver.reports()
        assert isinstance(failed, Failed)
        assert failed.retriable
        assert "Java 17 or newer" in failed.error
        assert "JAVA_HOME" in failed.error


def test_a_connector_that_cannot_work_is_said_before_spark_is_started(
    rig: ScanRig, tmp_path: Path
) -> None:
    transforms = {"transforms": "r", "transforms.r.type": "com.acme.NotInstalledHere"}
    job = rig.job(rig.new_table(1), transforms)
    with DriverProcess(job, tmp_path, argv=DIRECTLY) as driver:
        assert driver.wait_exit() == EXIT_FAILED
        (failed,) = driver.reports()
        assert isinstance(failed, Failed)
        assert not failed.retriable
        assert "com.acme.NotInstalledHere" in failed.error


DIRECTLY = (sys.executable, str(DRIVER))
"""The driver without a JVM before it."""
