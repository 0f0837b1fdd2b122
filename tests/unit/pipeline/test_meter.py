"""What a task measures of itself, on virtual time."""

from __future__ import annotations

import asyncio
import math

import pytest

from connectd.aio.clock import LoopClock
from connectd.observe.metrics_windows import WindowSettings
from connectd.pipeline.meter import Activity, TaskMeter
from tests.kit.virtual import virtual


@virtual
async def test_the_parts_of_a_life_add_up() -> None:
    meter = TaskMeter(LoopClock(), WindowSettings())
    await asyncio.sleep(10)
    meter.turn(Activity.RUNNING)
    await asyncio.sleep(60)
    meter.turn(Activity.PAUSED)
    await asyncio.sleep(30)
    told = meter.connector_task()
    assert told["running-ratio"] == pytest.approx(0.6)
    assert told["pause-ratio"] == pytest.approx(0.3)
    meter.turn(Activity.RUNNING)
    await asyncio.sleep(100)
    assert meter.connector_task()["running-ratio"] == pytest.approx(0.8)


@virtual
async def test_records_are_counted_when_polled_and_when_acknowledged() -> None:
    meter = TaskMeter(LoopClock(), WindowSettings())
    meter.polled(100, 0.5)
    meter.polled(50, 1.5)
    meter.handed_over(100)
    meter.handed_over(50)
    told = meter.source_task()
    assert (told["source-record-poll-total"], told["source-record-write-total"]) == (150, 0)
    assert told["source-record-active-count"] == 150
    assert told["poll-batch-max-time-ms"] == 1500.0
    assert told["poll-batch-avg-time-ms"] == 1000.0
    meter.settled(100)
    meter.written(98)  # two of them have failed
    await asyncio.sleep(30)
    told = meter.source_task()
    assert told["source-record-write-total"] == 98
    assert told["source-record-poll-rate"] == pytest.approx(5.0)
    assert told["source-record-active-count"] == 50
    assert told["source-record-active-count-max"] == 150
    assert meter.connector_task()["batch-size-avg"] == 75.0


@virtual
async def test_commits_are_told_apart_by_their_outcome() -> None:
    meter = TaskMeter(LoopClock(), WindowSettings())
    told = meter.connector_task()
    assert told["offset-commit-success-percentage"] == told["offset-commit-failure-percentage"] == 0
    assert math.isnan(told["offset-commit-avg-time-ms"])
    for took_s in (0.1, 0.3):
        meter.committed(took_s, is_durable=True)
    for _ in range(2):
        meter.committed(9.0, is_durable=False)
    told = meter.connector_task()
    assert told["offset-commit-success-percentage"] == 0.5
    assert told["offset-commit-failure-percentage"] == 0.5
    assert told["offset-commit-max-time-ms"] == pytest.approx(300.0)
