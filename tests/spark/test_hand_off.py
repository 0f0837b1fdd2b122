"""A worker hands the scan of a table to a real local Spark, follows it, and ends it in time.

What a driver does by itself is ``test_initial_scan_driver``; here is everything together: worker
process, spark-submit, fake DynamoDB, real Kafka.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectd.connectors.dynamodb.scan_job import JOB_ENV
from tests.fakes import spark_submit
from tests.harness.kafka import KafkaBroker
from tests.harness.spark import spark_environment
from tests.integration.worker_rig import Rig
from tests.spark.scan_rig import all_pids, environment_of

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

ITEMS = 600
PAGE = 20

LONG_S = 240.0
"""Spark takes its time to start, and more of it where others run."""

SPARK = {
    "spark.master": "local[2]",
    "spark.chunk.seconds": "1",
    "spark.conf.spark.driver.memory": "512m",
    "spark.restart.backoff.ms": "500",
    "task.shutdown.graceful.timeout.ms": "8000",
}


@pytest.fixture
def rig(kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path) -> Iterator[Rig]:
    with Rig(kafka_broker, kafka_prefix, tmp_path, properties=spark_keys()) as rig:
        yield rig


def spark_keys(**changes: str) -> dict[str, str]:
    """The worker's keys; in ``changes`` two underscores stand for a dot."""
    changed = {name.replace("__", "."): value for name, value in changes.items()}
    return {**SPARK, "spark.java.home": spark_environment()["JAVA_HOME"], **changed}


def drivers_of(worker_pid: int) -> list[int]:
    """Every process that belongs to a scan of this worker: JVM, driver, Python workers."""
    mark = f"/connectd-scan-{worker_pid}-".encode()
    name = f"{JOB_ENV}=".encode()
    return [
        pid
        for pid in all_pids()
        if any(each.startswith(name) and mark in each for each in environment_of(pid))
    ]


def wait_none(rig: Rig, worker_pid: int) -> None:
    rig.wait(lambda: not drivers_of(worker_pid), "the end of all of Spark", deadline_s=LONG_S)


def scan_slowly(rig: Rig) -> None:
    """A connector whose table is being scanned on Spark, for a while."""
    rig.create_table("t", view_type=None)
    rig.control.bulk_load(table="t", count=ITEMS)
    rig.control.enable_stream(table="t", view_type="NEW_AND_OLD_IMAGES")
    rig.control.latency(operation="Scan", delay_s=0.4)
    rig.create(
        init__sync__engine="spark", init__sync__segments="4", init__sync__page__size=str(PAGE)
    )
    wait_progress(rig, ITEMS // 6)


def wait_progress(rig: Rig, items: int) -> None:
    rig.wait(
        lambda: rig.row("t").get("items_scanned", 0) >= items, f"{items} items", deadline_s=LONG_S
    )


def wait_copied(rig: Rig) -> None:
    """At its full speed now."""
    rig.control.clear_faults()
    rig.wait(lambda: rig.row("t").get("state") == "SYNC", "t in SYNC", deadline_s=LONG_S)
    rig.wait_following("t")
    rig.wait_equal("t")


def test_a_table_is_scanned_on_spark_and_its_changes_meanwhile_survive(rig: Rig) -> None:
    scan_slowly(rig)
    row = rig.row("t")
    assert row["state"] == "INIT_SYNC"
    assert row["scan"]["engine"] == "spark (local[2], 2 at a time)"
    assert row["scan"]["segments"] == 4
    assert drivers_of(rig.worker.pid)
    changed, deleted = (each["id"] for each in rig.control.table_items(table="t")[:2])
    rig.control.put(table="t", item={"id": changed, "new": {"S": "yes"}})
    rig.control.delete(table="t", key={"id": deleted})

    wait_copied(rig)

    wait_none(rig, rig.worker.pid)
    topics = rig.expect(200, "GET", f"{rig.path}/topics").body
    assert topics == {rig.name: {"topics": [rig.topic("t")]}}
    assert not any("segment" in partition for partition in rig.offsets())
    assert rig.row("t")["scan"] is None
    assert "an-ordinary-secret" not in rig.log_text()


def test_pause_stop_and_delete_leave_no_process_and_what_is_left_is_done_after_it(
    rig: Rig,
) -> None:
    scan_slowly(rig)
    pid = rig.worker.pid

    rig.expect(202, "PUT", f"{rig.path}/pause")
    wait_none(rig, pid)
    rig.wait(lambda: "paused" in rig.row("t")["reason"], "the reason", deadline_s=LONG_S)
    scanned = rig.row("t")["items_scanned"]
    rig.expect(202, "PUT", f"{rig.path}/resume")
    wait_progress(rig, scanned + PAGE)

    rig.expect(204, "PUT", f"{rig.path}/stop")
    wait_none(rig, pid)
    rig.expect(202, "PUT", f"{rig.path}/resume")
    wait_progress(rig, scanned + 2 * PAGE)
    wait_copied(rig)
    assert rig.ops("t").count("r") < ITEMS + 4 * ITEMS // 6, "most is read once"

    rig.control.latency(operation="Scan", delay_s=0.4)
    rig.expect(204, "PUT", f"{rig.path}/stop")
    rig.wait(lambda: rig.states()[1:] == (), "no task")
    rig.expect(200, "DELETE", f"{rig.path}/offsets")
    rig.expect(202, "PUT", f"{rig.path}/resume")
    rig.wait(lambda: drivers_of(pid), "another driver", deadline_s=LONG_S)
    rig.expect(204, "DELETE", rig.path)
    wait_none(rig, pid)


def test_a_killed_worker_leaves_no_process_and_the_next_one_completes_the_scan(
    kafka_broker: KafkaBroker,
    kafka_prefix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with Rig(kafka_broker, kafka_prefix, tmp_path, properties=spark_keys()) as rig:
        _kill_in_mid_scan(rig, temporary)


def _kill_in_mid_scan(rig: Rig, temporary: Path) -> None:
    scan_slowly(rig)
    pid = rig.worker.pid
    (private,) = temporary.glob("connectd-scan-*")
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert [each.name for each in private.iterdir()] == ["tmp"], "the job was read"
    assert list(private.glob("tmp/spark-*")), "what Spark writes"
    assert list(private.glob("tmp/blockmgr-*"))
    rig.wait(
        lambda: any("segment" in each for each in rig.offsets()), "a position", deadline_s=LONG_S
    )

    rig.worker.kill9()

    wait_none(rig, pid)
    before = len(rig.records("t"))
    rig.worker.start()
    rig.wait(lambda: rig.row("t").get("items_scanned", 0) > 0, "its position", deadline_s=LONG_S)
    wait_copied(rig)
    assert rig.ops("t").count("r") < before + ITEMS, "it went on from its positions"
    wait_none(rig, rig.worker.pid)
    assert list(temporary.glob("*spark-*")) + list(temporary.glob("blockmgr-*")) == []
    rig.wait(lambda: not list(temporary.glob("connectd-scan-*")), "no file", deadline_s=LONG_S)


def test_a_worker_that_is_told_to_stop_ends_its_scan_and_the_daemon_can_complete_it(
    rig: Rig,
) -> None:
    scan_slowly(rig)
    pid = rig.worker.pid

    assert rig.worker.sigterm() in (0, 3)

    assert drivers_of(pid) == []
    rig.worker.start()
    rig.expect(200, "PATCH", f"{rig.path}/config", {"init.sync.engine": "daemon"})
    wait_copied(rig)


def test_a_python_that_is_not_there_fails_the_table_at_once_with_what_spark_says(
    kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path
) -> None:
    properties = spark_keys(spark__conf__spark__pyspark__driver__python="/nope/python")
    with Rig(kafka_broker, kafka_prefix, tmp_path, properties=properties) as rig:
        rig.create_table("t", items=1)
        rig.create(init__sync__engine="spark")
        rig.wait(lambda: rig.row("t").get("state") == "FAILED", "FAILED", deadline_s=LONG_S)
        assert 'Cannot run program "/nope/python"' in rig.row("t")["reason"]
        assert "times in a row" not in rig.row("t")["reason"]
        (task,) = rig.status()["tasks"]
        assert "the last lines of the Spark driver:" in task["trace"]
        wait_none(rig, rig.worker.pid)


def test_the_trace_of_a_failed_task_ends_with_what_the_driver_said_last(
    kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path
) -> None:
    properties = spark_keys(
        spark__master="k8s://dies-talking",
        spark__submit__command=spark_submit.install(tmp_path),
        spark__restart__attempts__max="0",
    )
    with Rig(kafka_broker, kafka_prefix, tmp_path, properties=properties) as rig:
        rig.create_table("t", items=1)
        rig.create(init__sync__engine="spark")
        rig.wait(lambda: rig.row("t").get("state") == "FAILED", "FAILED", deadline_s=LONG_S)
        (task,) = rig.status()["tasks"]
        assert "\nSystemError: no more\n" in task["trace"]
        assert task["trace"].endswith("\nOutOfMemoryError: Java heap space")
