"""The time of AWS, as answers tell it."""

from __future__ import annotations

import pytest

from connectd.connectors.dynamodb.service_time import ServiceTime

_WALL_S = 1_700_000_000.0


class _StandingClock:
    """A wall clock that tests set by hand."""

    def __init__(self) -> None:
        self.now_s = _WALL_S

    def monotonic(self) -> float:
        return self.now_s

    def wall_s(self) -> float:
        return self.now_s

    async def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s


def _offset_s(time: ServiceTime, clock: _StandingClock) -> float:
    return time.now_ms() / 1000 - clock.now_s


def test_before_any_answer_the_local_clock_is_believed() -> None:
    assert ServiceTime(_StandingClock()).now_ms() == 1_700_000_000_000


@pytest.mark.parametrize("hours", [-30, -1, 1, 30])
def test_a_clock_that_is_hours_off_is_corrected(hours: int) -> None:
    clock = _StandingClock()
    time = ServiceTime(clock)
    for _ in range(2):
        time.observe(clock.now_s + hours * 3600)
        clock.now_s += 1
    assert _offset_s(time, clock) == pytest.approx(hours * 3600, abs=1)


def test_one_answer_alone_is_not_believed() -> None:
    # A cache on the way may have kept it.
    clock = _StandingClock()
    time = ServiceTime(clock)
    time.observe(clock.now_s - 3600)
    time.observe(None)
    assert _offset_s(time, clock) == 0


def test_two_answers_that_disagree_are_not_believed() -> None:
    clock = _StandingClock()
    time = ServiceTime(clock)
    time.observe(clock.now_s - 3600)
    time.observe(clock.now_s - 3590)
    assert _offset_s(time, clock) == 0


def test_one_odd_answer_does_not_unsettle_what_is_known() -> None:
    clock = _StandingClock()
    time = ServiceTime(clock)
    for _ in range(2):
        time.observe(clock.now_s + 3600)
    time.observe(clock.now_s - 86_400)
    time.observe(clock.now_s + 3600)
    assert _offset_s(time, clock) == pytest.approx(3600, abs=1)


def test_latency_and_whole_seconds_are_no_difference() -> None:
    clock = _StandingClock()
    time = ServiceTime(clock)
    for _ in range(3):
        time.observe(clock.now_s - 4)
    assert _offset_s(time, clock) == 0


def test_a_clock_that_was_set_right_is_followed_again() -> None:
    clock = _StandingClock()
    time = ServiceTime(clock)
    for _ in range(2):
        time.observe(clock.now_s + 3600)
    clock.now_s += 3600
    for _ in range(2):
        time.observe(clock.now_s)
    assert _offset_s(time, clock) == 0


def test_between_answers_time_goes_on() -> None:
    clock = _StandingClock()
    time = ServiceTime(clock)
    for _ in range(2):
        time.observe(clock.now_s + 3600)
    before_ms = time.now_ms()
    clock.now_s += 12.5
    assert time.now_ms() - before_ms == 12_500
