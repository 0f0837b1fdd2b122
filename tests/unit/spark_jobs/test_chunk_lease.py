"""Until when a chunk may send, by two clocks that need not be right."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from connectd.aio.clock import LoopClock
from connectd.connectors.dynamodb import scan_lease
from spark_jobs.chunk_lease import ChunkLease, LeaseOverError
from tests.kit.virtual_time import run_virtual
from tests.unit.spark_jobs.jobs import NOW_MS, an_order, positions

(POSITION,) = positions(1)


class SetClock(LoopClock):
    """A wall clock that is wrong by ``off_s``, more or less as time goes by."""

    def __init__(self, off_s: float = 0.0) -> None:
        super().__init__(wall_anchor_s=NOW_MS / 1000)
        self.off_s = off_s

    def wall_s(self) -> float:
        return super().wall_s() + self.off_s


def lease(clock: SetClock, *, late_s: float = 0.0) -> ChunkLease:
    """Of a minute, on an order that is so late by the driver's clock, which is right."""
    return ChunkLease(an_order(POSITION, issued_ms=NOW_MS - round(late_s * 1000)), clock)


def virtually(work: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await work()

    run_virtual(run())


def test_a_lease_is_over_when_its_time_is() -> None:
    async def scenario() -> None:
        one = lease(SetClock())
        await asyncio.sleep(59.9)
        one.check()
        await asyncio.sleep(0.2)
        with pytest.raises(LeaseOverError, match=r"not done 60 s after it was handed out"):
            one.check()

    virtually(scenario)


@pytest.mark.parametrize("off_s", [0.0, 5.0, 10.0])
def test_what_an_order_was_under_way_is_no_longer_in_its_lease(off_s: float) -> None:
    async def scenario() -> None:
        assert lease(SetClock(off_s), late_s=20.0).left_s == pytest.approx(40.0 - off_s)

    virtually(scenario)


@pytest.mark.parametrize(("behind_s", "late_s"), [(3.0, 20.0), (20.0, 3.0), (600.0, 0.0)])
def test_a_clock_that_is_behind_adds_no_more_than_the_order_was_under_way(
    behind_s: float, late_s: float
) -> None:
    async def scenario() -> None:
        one = lease(SetClock(-behind_s), late_s=late_s)
        too_long_s = one.left_s - (60.0 - late_s)
        assert too_long_s == pytest.approx(min(behind_s, late_s))
        assert too_long_s < scan_lease.MARGIN_S

    virtually(scenario)


def test_a_clock_that_is_set_back_adds_nothing() -> None:
    async def scenario() -> None:
        clock = SetClock()
        one = lease(clock)
        clock.off_s = -3_600.0
        await asyncio.sleep(60.1)
        assert one.left_s < 0

    virtually(scenario)


def test_a_machine_that_has_slept_finds_its_lease_over() -> None:
    async def scenario() -> None:
        clock = SetClock()
        one = lease(clock)
        clock.off_s = 61.0  # the loop's clock did not run meanwhile
        with pytest.raises(LeaseOverError):
            one.check()

    virtually(scenario)


def test_an_order_that_comes_too_late_says_what_to_look_at() -> None:
    async def scenario() -> None:
        with pytest.raises(LeaseOverError, match=r"came to an executor 75 s after .* the clocks"):
            lease(SetClock(15.0), late_s=60.0).check()

    virtually(scenario)


def test_a_driver_that_is_gone_is_waited_for_longer_than_anything_of_it_can_last() -> None:
    given_s = scan_lease.lease_s(5.0)
    assert given_s > 5.0
    assert scan_lease.settle_s(given_s) >= given_s + scan_lease.DELIVERY_S + scan_lease.MARGIN_S
    assert scan_lease.lease_s(5.0, is_export=True) > given_s
