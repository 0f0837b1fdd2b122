"""How far, how fast and how long yet: the figures of a scan that people see."""

from __future__ import annotations

from connectd.connectors.dynamodb.scan_progress import ScanProgress


def test_nothing_is_known_at_the_beginning() -> None:
    progress = ScanProgress("daemon", segments=4, items_estimated=100)
    progress.observe(10.0, 20)
    assert progress.row(10.0) == {
        "engine": "daemon",
        "segments": 4,
        "segments_finished": 0,
        "items_per_s": None,
        "left_s": None,
    }


def test_the_rate_is_that_of_this_life_alone() -> None:
    progress = ScanProgress("spark", segments=1, items_estimated=2_000)
    progress.observe(0.0, 1_000)
    progress.observe(10.0, 1_500)
    assert progress.items_per_s(10.0) == 50.0
    assert progress.left_s(10.0) == 10.0


def test_only_the_last_minute_counts() -> None:
    progress = ScanProgress("spark", segments=1)
    for second in range(120):
        progress.observe(float(second), second * (1 if second < 60 else 10))
    assert progress.items_per_s(119.0) is not None
    assert abs((progress.items_per_s(119.0) or 0) - 19) < 2  # one step of 540, then 10 each
    progress.observe(200.0, 1_190)
    assert (progress.items_per_s(200.0) or 0) == 0.0


def test_many_observations_within_a_second_are_one_sample() -> None:
    progress = ScanProgress("daemon", segments=1)
    for number in range(10_000):
        progress.observe(number / 1_000, number)
    assert len(progress._samples) == 10
    assert progress.items_per_s(10.0) == 999.9


def test_what_dynamodb_estimates_too_low_gives_no_time_left() -> None:
    progress = ScanProgress("daemon", segments=1, items_estimated=5)
    progress.observe(0.0, 0)
    progress.observe(1.0, 10)
    assert progress.left_s(1.0) is None
