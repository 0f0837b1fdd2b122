"""What the Spark image starts, from what Spark says to its executors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pyspark
import pytest

from spark_jobs import entrypoint

HOME = Path("/spark")
SAID = {
    "JAVA_HOME": "/java",
    "SPARK_EXECUTOR_MEMORY": "1g",
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@driver:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "4",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.7",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "exec-3",
    "SPARK_CONF_DIR": "/conf",
}


class BecameError(Exception):
    """What the process would have become."""

    def __init__(self, command: list[str], environ: Mapping[str, str] | None = None) -> None:
        super().__init__(command)
        self.command = command
        self.environ = environ


@pytest.fixture(autouse=True)
def _no_process_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def become(_: object, command: list[str], environ: Mapping[str, str] | None = None) -> None:
        raise BecameError(command, environ)

    monkeypatch.setattr(os, "execv", become)
    monkeypatch.setattr(os, "execve", become)


def test_an_executor_is_started_as_spark_says() -> None:
    command = entrypoint.executor_command(SAID, HOME)

    assert command[:5] == ["/java/bin/java", "-Xms1g", "-Xmx1g", "-cp", "/conf:/spark/jars/*"]
    backend = command[5:]
    assert backend[0].endswith("KubernetesExecutorBackend")
    options = dict(zip(backend[1::2], backend[2::2], strict=True))
    assert options == {
        "--driver-url": SAID["SPARK_DRIVER_URL"], "--executor-id": "3", "--cores": "4",
        "--app-id": "spark-1", "--hostname": "10.0.0.7", "--resourceProfileId": "0",
        "--podName": "exec-3",
    }  # fmt: skip


def test_options_of_the_jvm_keep_their_order() -> None:
    options = {f"SPARK_JAVA_OPT_{number}": f"-Dn={number}" for number in (10, 9, 0)}
    command = entrypoint.executor_command({**SAID, **options}, HOME)
    assert command[1:4] == ["-Dn=0", "-Dn=9", "-Dn=10"]


def test_more_class_paths_stand_around_sparks_own() -> None:
    more = {
        "HADOOP_CONF_DIR": "/hadoop", "SPARK_CLASSPATH": "/own", "SPARK_EXTRA_CLASSPATH": "/extra",
        "SPARK_DIST_CLASSPATH": "/dist",
    }  # fmt: skip
    command = entrypoint.executor_command({**SAID, **more}, HOME)
    paths = command[command.index("-cp") + 1]
    assert paths == "/conf:/hadoop:/own:/spark/jars/*:/extra:/dist"


def test_the_executor_is_that_of_the_pyspark_beside_us() -> None:
    with pytest.raises(BecameError) as became:
        entrypoint.main(["executor"], SAID)
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    assert f"/conf:{jars}" in became.value.command
    assert became.value.environ is not None
    assert became.value.environ["SPARK_USER"] == "connectd"


def test_all_else_is_for_connectd() -> None:
    with pytest.raises(BecameError) as became:
        entrypoint.main(["run", "worker.properties"], {})
    assert became.value.command[1:] == ["-m", "connectd", "run", "worker.properties"]


def test_only_spark_starts_executors() -> None:
    with pytest.raises(SystemExit, match="SPARK_EXECUTOR_MEMORY is not set; only Spark"):
        entrypoint.main(["executor"], {})


def test_the_backend_is_a_class_of_the_spark_that_is_installed() -> None:
    import zipfile

    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("spark-kubernetes_*.jar")
    with zipfile.ZipFile(jar) as archive:
        names = archive.namelist()
        source = archive.read("org/apache/spark/deploy/k8s/features/BasicExecutorFeatureStep.class")
        constants = archive.read("org/apache/spark/deploy/k8s/Constants$.class")
    assert "org/apache/spark/scheduler/cluster/k8s/KubernetesExecutorBackend.class" in names
    assert b"executor" in source
    said = {name for name in SAID if name not in ("JAVA_HOME", "SPARK_CONF_DIR")}
    assert [name for name in said if name.encode() not in constants] == []
