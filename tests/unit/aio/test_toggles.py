"""A flag that can be awaited in both directions."""

from __future__ import annotations

import asyncio

import pytest

from connectd.aio.jobs import JobGroup
from connectd.aio.toggles import Toggle
from tests.kit.virtual import virtual


@virtual
async def test_waiters_of_both_directions_are_woken_by_the_change_they_wait_for() -> None:
    toggle = Toggle(is_on=False)
    seen: list[str] = []

    async def follow() -> None:
        await toggle.wait_on()
        seen.append("on")
        await toggle.wait_off()
        seen.append("off")

    jobs = JobGroup("test")
    jobs.spawn("follow", follow())
    await asyncio.sleep(1.0)
    assert seen == []
    toggle.set(True)
    await asyncio.sleep(1.0)
    assert seen == ["on"]
    assert toggle.is_on()
    toggle.set(False)
    await asyncio.sleep(1.0)
    assert seen == ["on", "off"]
    assert not toggle.is_on()


@virtual
async def test_setting_what_is_set_already_changes_nothing() -> None:
    toggle = Toggle(is_on=True)
    toggle.set(True)
    await toggle.wait_on()
    assert toggle.is_on()


@virtual
async def test_nobody_asks_a_toggle_for_its_truth_value_by_mistake() -> None:
    toggle = Toggle(is_on=False)
    with pytest.raises(TypeError, match="ask is_on"):
        bool(toggle)
