"""Places are taken in order of coming, and never by more than there are."""

from __future__ import annotations

import asyncio

import pytest

from connectd.aio.jobs import JobGroup
from connectd.aio.places import Places
from tests.kit.virtual import virtual


@virtual
async def test_who_comes_first_is_served_first_and_nobody_is_overtaken() -> None:
    places, order = Places(1), list[str]()
    await places.take()

    async def take(name: str) -> None:
        await places.take()
        order.append(name)

    jobs = JobGroup("test")
    jobs.spawn("first", take("first"))
    jobs.spawn("second", take("second"))
    await asyncio.sleep(0)
    places.give_back()
    assert not places.take_at_once(), "it is the first one's, who does not run yet"
    await asyncio.sleep(0)
    assert order == ["first"]
    places.give_back()
    assert await jobs.join(deadline_s=1.0)
    assert order == ["first", "second"]
    places.give_back()
    assert places.taken == 0
    assert places.take_at_once()


@virtual
@pytest.mark.parametrize("is_given", [False, True], ids=["in line", "just given one"])
async def test_who_gives_up_waiting_keeps_none(is_given: bool) -> None:
    places = Places(1)
    await places.take()
    jobs = JobGroup("test")
    jobs.spawn("first", places.take())
    jobs.spawn("second", places.take())
    await asyncio.sleep(0)
    if is_given:
        places.give_back()
    jobs.cancel_soon("first")
    if not is_given:
        places.give_back()
    assert await jobs.join(deadline_s=1.0), "the second has it"
    assert places.taken == 1
    places.give_back()
    assert places.taken == 0
