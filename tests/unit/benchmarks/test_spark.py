"""What the benchmark of Spark makes of what it has measured."""

from __future__ import annotations

import dataclasses

import pytest

from benchmarks import spark
from benchmarks.spark import ScanRun
from tests.harness.processes import HarnessError

DAEMON = ScanRun(
    items=1_000_000,
    records=1_000_000,
    record_bytes=720_000_000,
    keys=77,
    submitted_s=None,
    first_page_s=1.0,
    first_progress_s=1.5,
    sent_s=11.0,
    following_s=11.0,
    cpu_s=20.5,
    start_cpu_s=0.5,
    peak_rss_mib=200.0,
)
SPARK = dataclasses.replace(
    DAEMON,
    submitted_s=1.0,
    first_page_s=10.0,
    first_progress_s=13.0,
    sent_s=15.0,
    following_s=16.0,
    cpu_s=50.0,
    start_cpu_s=20.0,
)


def test_rate_and_cpu_are_those_of_the_scan_without_its_start() -> None:
    assert DAEMON.items_per_second == 100_000
    assert SPARK.items_per_second == 200_000
    assert SPARK.items_per_second_in_all == 62_500
    assert (DAEMON.cpu_us_per_item, SPARK.cpu_us_per_item) == (20.0, 30.0)
    assert (SPARK.start_s, SPARK.progress_s, SPARK.fixed_s) == (9.0, 12.0, 11.0)


def test_the_last_line_says_from_which_size_on_spark_pays() -> None:
    line = spark.result(DAEMON, SPARK, segments=8)
    assert line["ratio_to_daemon"] == 2.0
    assert line["cpu_ratio_to_daemon"] == 1.5
    assert line["pays_from_items"] == 2_000_000
    assert line["pays_from_bytes"] == 800_000_000
    assert line["record_bytes"] == 720


def test_a_spark_that_is_slower_pays_for_no_table() -> None:
    slow = dataclasses.replace(SPARK, sent_s=30.0, following_s=31.0)
    line = spark.result(DAEMON, slow, segments=8)
    assert line["pays_from_items"] is None
    assert line["pays_from_bytes"] is None


@pytest.mark.parametrize("changes", [{"records": 999_999}, {"keys": 78}])
def test_topics_that_differ_are_no_result(changes: dict[str, int]) -> None:
    with pytest.raises(HarnessError, match="expected as many records as items"):
        spark.result(DAEMON, dataclasses.replace(SPARK, **changes), segments=8)


@pytest.mark.parametrize(
    ("moment", "value"), [(0.5, 10.0), (1.0, 10.0), (1.5, 15.0), (3.0, 30.0), (9.0, 30.0)]
)
def test_a_value_between_two_looks_lies_between_them(moment: float, value: float) -> None:
    assert spark.value_at([(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)], moment) == value
