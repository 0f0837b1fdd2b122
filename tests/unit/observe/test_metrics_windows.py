"""Rates, averages and maxima as Kafka's metrics library computes them."""

from __future__ import annotations

import math

import pytest

from connectd.observe.metrics_windows import Window, WindowSettings


def window(sample_s: float = 30.0, samples: int = 2) -> Window:
    return Window(WindowSettings(sample_s, samples), 0.0)


def test_a_window_without_values_knows_nothing() -> None:
    empty = window()
    assert empty.rate(10.0) == 0.0
    assert math.isnan(empty.average(10.0))
    assert math.isnan(empty.maximum(10.0))
    assert empty.count(10.0) == 0


def test_a_burst_at_the_beginning_is_spread_over_a_whole_sample() -> None:
    """As Kafka: over at least all samples but one."""
    young = window()
    young.record(300, 0.0)
    assert young.rate(0.0) == pytest.approx(10.0)
    assert young.rate(15.0) == pytest.approx(300 / 45)


def test_a_rate_is_the_sum_since_the_oldest_sample_began() -> None:
    steady = window()
    for second in range(0, 60, 10):
        steady.record(50, float(second))
    assert steady.rate(50.0) == pytest.approx(300 / 50)


def test_what_is_older_than_all_samples_counts_no_more() -> None:
    old = window()
    old.record(1000, 0.0)
    old.record(1, 30.0)
    old.record(2, 60.0)
    assert old.maximum(60.0) == 2
    assert old.total(60.0) == 3
    assert old.count(60.0) == 2
    assert old.average(60.0) == 1.5
    assert math.isnan(old.average(121.0))
    assert old.rate(121.0) == 0.0


def test_values_may_be_negative() -> None:
    odd = window()
    odd.record(-5, 1.0)
    assert odd.maximum(1.0) == -5


def test_settings_of_nothing_are_survived() -> None:
    """metrics.sample.window.ms may be 0."""
    least = window(sample_s=0.0, samples=1)
    least.record(1, 1.0)
    assert math.isfinite(least.rate(1.0))
