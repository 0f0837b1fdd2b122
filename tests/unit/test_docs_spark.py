"""docs/spark.md says nothing that is not so: its keys exist, its figures are computed."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pyspark
import pytest

from benchmarks import scan_plan
from benchmarks.scan_plan import ScanPlan
from connectd.configdef import spark_settings
from connectd.configdef.spark_settings import SparkSettings
from connectd.configdef.worker_keys import WORKER_DEF
from connectd.connectors.dynamodb import scan_lease
from connectd.connectors.dynamodb.config import CONFIG_DEF

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")

KEY = re.compile(r"(?<![\w./-])(?:init\.sync|spark)(?:\.\w+)+(?![\w./-]*[/(])")
MADE_OF_PARTS = ("spark.executorEnv.", "spark.kubernetes.authenticate.")
"""Spark's code adds the rest to these, so that its classes do not contain whole names."""


def named_keys() -> set[str]:
    """The keys that the page names, with ours for Spark's settings in front where it has that."""
    return {each.group() for each in KEY.finditer(TEXT)}


def is_file(name: str) -> bool:
    return name.endswith((".md", ".py"))


def test_keys_of_connectors_and_workers_exist() -> None:
    unknown = [
        name
        for name in named_keys()
        if not f"{name}.".startswith(spark_settings.CONF_PREFIX)
        and not is_file(name)
        and name not in CONFIG_DEF
        and name not in WORKER_DEF
    ]
    assert unknown == []


@pytest.fixture(scope="module")
def spark_constants() -> bytes:
    """The classes of Spark that declare its settings."""
    found = bytearray()
    for jar in sorted((Path(pyspark.__file__).parent / "jars").glob("spark-*.jar")):
        if jar.name.startswith(("spark-core_", "spark-kubernetes_", "spark-yarn_")):
            with zipfile.ZipFile(jar) as archive:
                for name in archive.namelist():
                    if name.endswith(("config/package$.class", "Network$.class", "Config$.class")):
                        found += archive.read(name)
    return bytes(found)


def test_settings_of_spark_exist_in_the_spark_that_is_installed(spark_constants: bytes) -> None:
    names = {
        name.removeprefix(spark_settings.CONF_PREFIX)
        for name in named_keys()
        if name.startswith(spark_settings.CONF_PREFIX)
    }
    assert names
    unknown = [
        name
        for name in names
        if not name.startswith(MADE_OF_PARTS)
        and len(name).to_bytes(2, "big") + name.encode() not in spark_constants
    ]
    assert unknown == []


@pytest.mark.parametrize("table", [scan_plan.the_table(), scan_plan.the_pays_table()])
def test_figures_are_those_that_the_plan_computes(table: str) -> None:
    assert table in TEXT


WHOLE = ScanPlan()
HALF = ScanPlan(units_per_s=WHOLE.units_per_s / 2)
LEASE_S = scan_lease.lease_s(SparkSettings().chunk_s)
FILE_LEASE_S = scan_lease.lease_s(SparkSettings().chunk_s, is_export=True)


@pytest.mark.parametrize(
    "figure",
    [
        f"${scan_plan.DOLLARS_PER_MILLION_UNITS} per million read request units",
        f"default quota of {scan_plan.TABLE_UNITS_PER_S:,} units per second",
        f"half of it leaves {scan_plan.STREAM_HOURS - HALF.hours:.0f} hours until the stream",
        f"({scan_plan.STREAM_HOURS:.0f} hours) no longer reaches back",
        f"gives {scan_plan.PARTITION_UNITS_PER_S:,} units per second",
        f"so {WHOLE.units_per_s:,} need {WHOLE.partitions_read} of them",
        f"at work {WHOLE.slot_use:.0%} of the time".replace("%", " %"),
        f"{WHOLE.partition_bytes_per_s / 1e6:.0f} MB/s into a partition, three replicas",
        f"{scan_lease.settle_s(LEASE_S):.0f} s for chunks of {SparkSettings().chunk_s:.0f} s",
        f"{scan_lease.settle_s(FILE_LEASE_S):,.0f} s for an export",
    ],
)
def test_figures_in_the_text_are_those_of_the_code(figure: str) -> None:
    assert figure in " ".join(TEXT.split())
