"""How long is waited between two tries."""

from __future__ import annotations

import pytest

from connectd.pipeline.tolerance import ErrorPolicy


@pytest.mark.parametrize(("attempt", "delay_s"), [(1, 0.3), (2, 0.6), (3, 1.2), (8, 38.4)])
def test_waits_double_from_three_tenths_of_a_second(attempt: int, delay_s: float) -> None:
    assert ErrorPolicy().retry_delay_s(attempt, tried_for_s=0) == pytest.approx(delay_s)


def test_a_wait_that_would_be_too_long_is_any_wait_below_the_longest() -> None:
    policy = ErrorPolicy(retry_delay_max_s=5.0)
    waits = {policy.retry_delay_s(100, tried_for_s=1e9) for _ in range(50)}
    assert len(waits) > 1
    assert all(wait is not None and 0 < wait <= 5.0 for wait in waits)


def test_the_last_wait_ends_with_the_time_that_there_is() -> None:
    policy = ErrorPolicy(retry_timeout_s=10.0)
    assert policy.retry_delay_s(8, tried_for_s=9.9) == pytest.approx(0.1)
    assert policy.retry_delay_s(9, tried_for_s=10.0) is None


def test_no_time_is_no_retry() -> None:
    assert ErrorPolicy(retry_timeout_s=0).retry_delay_s(1, tried_for_s=0) is None


def test_the_longest_wait_may_be_nothing_but_never_a_loop_without_a_breath() -> None:
    assert ErrorPolicy(retry_delay_max_s=0).retry_delay_s(1, tried_for_s=0) == 0.01
