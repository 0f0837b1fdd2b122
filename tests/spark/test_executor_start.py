"""The entry point of the Spark image, started as Spark on Kubernetes does it: an executor."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from tests.harness.processes import ManagedProcess
from tests.harness.spark import spark_environment

DEADLINE_S = 90.0
ROOT = Path(__file__).parents[2]


def test_an_executor_calls_the_driver_that_spark_has_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as driver:
        driver.settimeout(DEADLINE_S)
        host, port = driver.getsockname()
        said = {
            **spark_environment(),
            "SPARK_EXECUTOR_MEMORY": "128m",
            "SPARK_DRIVER_URL": f"spark://CoarseGrainedScheduler@{host}:{port}",
            "SPARK_EXECUTOR_ID": "1",
            "SPARK_EXECUTOR_CORES": "1",
            "SPARK_APPLICATION_ID": "spark-1",
            "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
            "SPARK_EXECUTOR_POD_NAME": "executor-1",
            "SPARK_RESOURCE_PROFILE_ID": "0",
            "SPARK_JAVA_OPT_0": "-Dspark.rpc.askTimeout=5s",
        }
        executor = ManagedProcess(
            "an executor",
            [sys.executable, "-m", "spark_jobs.entrypoint", "executor"],
            log_path=tmp_path / "executor.log",
            env=said,
            cwd=ROOT,
        )
        executor.start()
        try:
            connection, _ = driver.accept()
            connection.settimeout(DEADLINE_S)
            with connection, connection.makefile("rb") as frames:
                length = int.from_bytes(frames.read(8))
                asked = frames.read(length - 8)
        except OSError as error:
            raise executor.failure(f"did not call its driver: {error}") from error
        finally:
            executor.kill()
    assert b"CoarseGrainedScheduler" in asked, "whom it asks for"
