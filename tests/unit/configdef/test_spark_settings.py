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
