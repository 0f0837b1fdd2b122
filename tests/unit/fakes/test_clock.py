from __future__ import annotations

import pytest

from tests.fakes.clock import FROZEN_START_S, FakeClock
from tests.fakes.wire import aws_seconds


def test_a_frozen_clock_moves_only_when_told() -> None:
    clock = FakeClock.frozen()
    assert clock.now_s() == clock.now_s() == FROZEN_START_S
    clock.advance(1.5)
    assert clock.now_ms() == int((FROZEN_START_S + 1.5) * 1000)
    clock.set(0.0)
    assert clock.http_date() == "Thu, 01 Jan 1970 00:00:00 GMT"


def test_a_following_clock_runs_on_from_where_it_was_set() -> None:
    source = iter([5.0, 6.0, 6.0, 9.0])
    clock = FakeClock.following(lambda: next(source))
    assert clock.now_s() == FROZEN_START_S + 1
    clock.set(100.0)
    assert clock.now_s() == 103.0


def test_time_is_not_turned_back_by_accident() -> None:
    with pytest.raises(ValueError, match="use set"):
        FakeClock.frozen().advance(-1)


@pytest.mark.parametrize(
    ("at_s", "text"),
    [(1767225600.0, b"1.7672256E9"), (1767225601.0, b"1.767225601E9"), (1e9, b"1.0E9")],
)
def test_timestamps_are_written_like_a_double_of_java(at_s: float, text: bytes) -> None:
    assert aws_seconds(at_s) == text
    assert float(text) == at_s
