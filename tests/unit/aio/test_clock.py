"""Time comes from the loop, and the wall clock can be anchored to it."""

from __future__ import annotations

import pytest

from connectd.aio import clock as clocks
from connectd.aio.clock import LoopClock, iso_instant, wall_ms
from tests.kit.virtual import virtual


@virtual
async def test_both_readings_move_together_on_a_virtual_loop() -> None:
    clock = LoopClock(wall_anchor_s=1_000.0)
    began_s, wall_s = clock.monotonic(), clock.wall_s()
    await clock.sleep(3600.0)
    assert clock.monotonic() - began_s == pytest.approx(3600.0)
    assert clock.wall_s() - wall_s == pytest.approx(3600.0)
    assert wall_ms(clock) == 4_600_000


@virtual
async def test_time_that_the_machine_was_suspended_is_counted_where_others_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = LoopClock()
    before_s = clock.boot_s()
    await clock.sleep(5.0)
    assert clock.boot_s() - before_s == pytest.approx(5.0, abs=0.1)
    slept_s = clocks.suspended_s()
    assert slept_s >= -0.001, "a clock that counts more is never behind"
    monkeypatch.setattr(clocks, "suspended_s", lambda: slept_s + 60.0)
    assert clock.boot_s() - before_s == pytest.approx(65.0, abs=0.1)


@virtual
async def test_a_negative_duration_only_yields() -> None:
    clock = LoopClock()
    before_s = clock.monotonic()
    await clock.sleep(-5.0)
    assert clock.monotonic() == before_s


@pytest.mark.parametrize(
    ("wall_s", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (1_714_557_600.123456, "2024-05-01T10:00:00.123Z"),
        (1_714_557_600.9999, "2024-05-01T10:00:00.999Z"),
    ],
)
def test_instants_look_like_those_of_java(wall_s: float, text: str) -> None:
    assert iso_instant(wall_s) == text
