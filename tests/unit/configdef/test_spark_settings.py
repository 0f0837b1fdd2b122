"""The worker's keys about Spark."""

from __future__ import annotations

import pytest

from connectd.configdef.spark_settings import SparkSettings
from connectd.configdef.worker import Mode, WorkerConfig
from connectd.errors import ConfigError
from tests.unit.configdef.test_worker import MINIMAL


def spark(properties: dict[str, str], environ: dict[str, str] | None = None) -> SparkSettings:
    return WorkerConfig.from_properties({**MINIMAL, **properties}, environ).spark


def test_by_default_spark_runs_here() -> None:
    settings = spark({})
    assert settings == SparkSettings()
    assert settings.is_local


def test_settings_of_spark_are_passed_on_whatever_they_are() -> None:
    settings = spark(
        {
            "spark.master": "k8s://https://cluster:6443",
            "spark.conf.spark.executor.instances": "4",
            "spark.conf.spark.hadoop.fs.s3a.secret.key": "hush-hush",
            "spark.chunk.seconds": "20",
            "spark.restart.backoff.ms": "100",
        },
        {"CONNECT_SPARK_CONF_SPARK_EXECUTOR_MEMORY": "2g"},
    )
    assert settings.conf == {
        "spark.executor.instances": "4",
        "spark.hadoop.fs.s3a.secret.key": "hush-hush",
        "spark.executor.memory": "2g",
    }
    assert (settings.chunk_s, settings.restart_initial_s) == (20.0, 0.1)
    assert not settings.is_local
    assert "hush" not in repr(settings)


def test_secrets_among_them_are_known_as_such() -> None:
    config = WorkerConfig.from_properties(
        {**MINIMAL, "spark.conf.spark.authenticate.secret": "hush-hush"}
    )
    assert "hush-hush" in config.secrets()
    assert config.warnings() == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("spark.master", "set the worker's spark.master instead"),
        ("spark.submit.deployMode", "runs in client mode"),
        ("executor.memory", "write spark.conf.spark.executor.memory"),
    ],
)
def test_what_cannot_be_passed_on_is_refused(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        spark({f"spark.conf.{name}": "x"})


@pytest.mark.parametrize(
    "master",
    [
        "local",
        "local[*]",
        "local[12]",
        "local[*,3]",
        "local[2,3]",
        "spark://m:7077",
        "spark://a:7077,b.example.com:7078",
        "spark://[::1]:7077",
        "k8s://https://kubernetes.default.svc",
        "k8s://10.0.0.1:6443",
        "yarn",
    ],
)
def test_a_master_of_a_form_that_spark_knows_is_taken(master: str) -> None:
    assert spark({"spark.master": master}).master == master


@pytest.mark.parametrize(
    "master",
    [
        "nonsense",
        "localhost",
        "local[0]",
        "local[]",
        "local[2",
        "local-cluster[2,1,1024]",
        "spark://",
        "spark://m",
        "spark://m:7077,",
        "spark://m:7077/path",
        "k8s://",
        "yarn-client",
        "mesos://m:5050",
        "http://m:7077",
    ],
)
def test_a_master_of_no_such_form_is_refused_with_all_forms(master: str) -> None:
    with pytest.raises(
        ConfigError, match=r"configuration spark.master: Expected one of local, "
    ) as e:
        spark({"spark.master": master})
    assert "spark://host:port[,host:port...], k8s://https://host, yarn" in str(e.value)


@pytest.mark.parametrize(
    "name", ["executor.extraJavaOptions", "executor.defaultJavaOptions", "yarn.am.extraJavaOptions"]
)
def test_a_secret_that_spark_would_put_on_a_command_line_is_refused(name: str) -> None:
    key = f"spark.conf.spark.{name}"
    options = "-Xss4m -Ddb.pwd=hush-hush -Da=b"
    with pytest.raises(ConfigError, match=r"looks like a secret \(db.pwd\)") as e:
        spark({key: options})
    assert "hush-hush" not in str(e.value)
    assert "@<its path>" in str(e.value)
    harmless = "-Xss4m -Da=b @/etc/connectd/java.options"
    assert spark({key: harmless}).conf == {key.removeprefix("spark.conf."): harmless}


@pytest.mark.parametrize("kind", ["driver.extra", "driver.default"])
def test_what_goes_to_the_drivers_jvm_by_a_file_may_be_a_secret(kind: str) -> None:
    key = f"spark.conf.spark.{kind}JavaOptions"
    assert spark({key: "-Ddb.pwd=hush-hush"}).conf
    with pytest.raises(ConfigError, match="a quote that is not closed"):
        spark({key: "-Ddb.pwd='hush-hush"})


def test_every_problem_is_told() -> None:
    with pytest.raises(ConfigError) as caught:
        spark({"spark.conf.a": "x", "spark.conf.spark.b": "x", "spark.conf.c": "x"})
    assert len(str(caught.value).splitlines()) == 2


def test_a_standalone_worker_has_them_too() -> None:
    properties = {
        "bootstrap.servers": "localhost:9092",
        "key.converter": MINIMAL["key.converter"],
        "value.converter": MINIMAL["value.converter"],
        "offset.storage.file.filename": "/tmp/offsets",
        "spark.master": "local[4]",
    }
    config = WorkerConfig.from_properties(properties, mode=Mode.STANDALONE)
    assert config.spark.master == "local[4]"
