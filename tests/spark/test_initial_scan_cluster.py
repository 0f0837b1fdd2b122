"""A driver on a real cluster that is gone: its executors send nothing that is too late.

A chunk hangs in a Scan that is answered late, once while the driver is only silent, as when its
machine or the network is away, and once when it has been killed. What the answer holds must not
reach Kafka in either case.
"""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectd.connectors.dynamodb.scan_reports import Trouble
from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import prefix_of
from tests.spark.scan_rig import DriverProcess, ScanRig, kill
from tests.spark.spark_cluster import SparkCluster

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

PAGE = 50
LEASE_S = 15.0
ANSWER_S = 40.0
"""How long the Scan takes that hangs: it is answered, but not within the lease."""


@pytest.fixture(scope="module")
def rig(kafka_broker: KafkaBroker) -> Iterator[ScanRig]:
    with ScanRig(kafka_broker, prefix_of(__name__)) as rig:
        yield rig


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    home = tmp_path / "cluster"
    home.mkdir()
    with SparkCluster(home) as cluster:
        yield cluster


def hang(rig: ScanRig, driver: DriverProcess, table: str) -> int:
    """Let the next chunk wait for an answer that holds what the table is now; returns how many
    records are in the topic: chunks come one after the other, so those before it are done.
    """

    def scans() -> int:
        return len(rig.control.journal(operation="Scan", table=table))

    moves = len(driver.moves())
    driver.wait(lambda: len(driver.moves()) > moves, "a chunk that is done")
    rig.control.latency(operation="Scan", delay_s=ANSWER_S)
    asked = scans()
    driver.wait(lambda: scans() > asked, "a Scan that hangs")
    return len(rig.records(table))


def test_what_an_executor_reads_after_its_driver_is_gone_never_reaches_kafka(
    rig: ScanRig, cluster: SparkCluster, tmp_path: Path
) -> None:
    table = rig.new_table(3_000)
    job = rig.job(table, page_size=PAGE, chunk_items=PAGE, lease_s=LEASE_S, parallelism=1)
    job = dataclasses.replace(job, aws=dataclasses.replace(job.aws, read_timeout_s=120.0))
    with DriverProcess(job, tmp_path, argv=cluster.submit_command()) as driver:
        # The driver is silent. Its executor does not notice; the lease ends its chunk.
        sent = hang(rig, driver, table)
        ended = cluster.tasks("Finished")
        for pid in driver.pids():
            os.kill(pid, signal.SIGSTOP)
        driver.wait(lambda: cluster.tasks("Finished") > ended, "the end of the chunk")
        assert len(rig.records(table)) == sent
        rig.control.clear_faults()
        for pid in driver.pids():
            os.kill(pid, signal.SIGCONT)
        driver.wait(
            lambda: any("was not done 15 s after" in each.error for each in troubles_of(driver)),
            "what the driver says about it",
        )

        # The driver is killed. Its executor notices at once, and takes its Python workers along.
        sent = hang(rig, driver, table)
        for pid in driver.pids():
            kill(pid)
        driver.wait(lambda: not cluster.executor_pids(), "the end of the executors")
        assert len(rig.records(table)) == sent
        for report in driver.reports():
            rig.hear(report)
    rig.control.clear_faults()
    with DriverProcess(rig.rest_of(job), tmp_path) as driver:
        assert driver.wait_exit() == 0
        for report in driver.reports():
            rig.hear(report)
    rig.assert_equal(table)


def troubles_of(driver: DriverProcess) -> list[Trouble]:
    return [each for each in driver.reports() if isinstance(each, Trouble)]
