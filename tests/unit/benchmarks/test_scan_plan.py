"""The arithmetic of scans on Spark: when they pay, and what a large one takes."""

from __future__ import annotations

import dataclasses
import math

import pytest

from benchmarks import scan_plan
from benchmarks.scan_plan import Measured, ScanPlan
from connectd.connectors.dynamodb.config import DynamoDbConfig

PLAN = ScanPlan(
    table_bytes=10e12,
    items=10e9,
    units_per_s=40_000,
    measured=Measured(
        item_bytes=400, record_bytes=800, daemon_cpu_us_per_item=20, spark_cpu_us_per_item=40
    ),
)


def test_both_engines_are_done_at_the_same_moment_where_they_break_even() -> None:
    items = scan_plan.break_even_items(fixed_s=8, daemon_per_s=200_000, spark_per_s=400_000)
    assert items is not None
    assert items / 200_000 == pytest.approx(8 + items / 400_000)


@pytest.mark.parametrize("spark_per_s", [100_000, 200_000])
def test_a_spark_that_is_not_faster_never_pays(spark_per_s: float) -> None:
    found = scan_plan.break_even_items(fixed_s=8, daemon_per_s=200_000, spark_per_s=spark_per_s)
    assert found is None


def test_a_spark_that_is_there_at_once_pays_from_the_first_item_on() -> None:
    assert scan_plan.break_even_items(fixed_s=-1, daemon_per_s=1, spark_per_s=2) == 0


def test_the_thresholds_of_auto_are_what_was_measured() -> None:
    settings = DynamoDbConfig.from_config({"kafka.topic.prefix": "p-"}).scan
    pays_from = scan_plan.threshold_bytes()
    assert settings.spark_from_bytes == math.ceil(pays_from / 1e9) * 1e9
    in_items = pays_from / scan_plan.MEASURED.item_bytes
    assert settings.spark_from_items == math.ceil(in_items / 1e6) * 1e6


def test_reading_costs_half_a_unit_for_4_kb() -> None:
    assert dataclasses.replace(PLAN, table_bytes=4096 * 2e6).units == 1e6
    assert dataclasses.replace(PLAN, table_bytes=4096 * 2e6).dollars == 0.125


def test_capacity_decides_how_long_it_takes() -> None:
    slow = dataclasses.replace(PLAN, units_per_s=PLAN.units_per_s / 2)
    assert slow.hours == pytest.approx(2 * PLAN.hours)
    assert PLAN.hours * 3600 * PLAN.bytes_per_s == pytest.approx(PLAN.table_bytes)
    assert PLAN.hours * 3600 * PLAN.items_per_s == pytest.approx(PLAN.items)


def test_a_segment_is_two_gib() -> None:
    assert dataclasses.replace(PLAN, table_bytes=100 * 2**31).segments == 100


def test_slots_keep_up_with_the_capacity_and_no_slot_is_too_many() -> None:
    each = PLAN.measured.slot_bytes_per_s * PLAN.slot_use
    assert (PLAN.slots - 1) * each < PLAN.bytes_per_s <= PLAN.slots * each
    assert (PLAN.executors - 1) * PLAN.slots_per_executor < PLAN.slots


def test_records_are_larger_than_items_and_are_stored_by_every_replica() -> None:
    assert PLAN.measured.growth == 2
    assert PLAN.kafka_bytes_per_s == 2 * PLAN.bytes_per_s
    assert PLAN.kafka_bytes == 2 * 3 * PLAN.table_bytes
    assert (PLAN.partitions - 1) * PLAN.partition_bytes_per_s < PLAN.kafka_bytes_per_s


def test_the_plan_of_the_documentation_ends_before_the_stream_forgets_its_start() -> None:
    assert ScanPlan(units_per_s=scan_plan.TABLE_UNITS_PER_S / 2).hours < scan_plan.STREAM_HOURS
