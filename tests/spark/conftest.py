"""One Spark application for all tests of a module."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark import SparkConf, SparkContext

from tests.spark.scan_rig import APPLICATION, SPARK_ENV


@pytest.fixture(scope="module")
def spark_context() -> Iterator[SparkContext]:
    """Two slots on this machine; its processes have ``APPLICATION`` in their environment."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in {**SPARK_ENV, APPLICATION: str(os.getpid())}.items():
            environment.setenv(name, value)
        conf = SparkConf().setMaster("local[2]").setAppName("tests")
        for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
            conf.set(name, "false")
        conf.set("spark.driver.host", "127.0.0.1").set("spark.log.level", "OFF")
        context = SparkContext(conf=conf)
        try:
            yield context
        finally:
            context.stop()
            gateway = SparkContext._gateway
            assert gateway is not None
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(30)
            SparkContext._gateway = SparkContext._jvm = None
