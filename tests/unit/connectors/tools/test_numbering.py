"""Numbers at a rate: consecutive, on time, and from where the last life has stopped."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from connectd.connectors.tools import numbering
from connectd.connectors.tools.numbering import BATCH_MAX, PacedNumbers
from connectd.errors import FatalTaskError
from tests.kit.source_rig import SourceContext
from tests.kit.virtual import virtual


async def _times(per_second: int, numbers: int) -> list[float]:
    """When each number came."""
    clock = SourceContext().services.clock
    paced, times = PacedNumbers(clock, first=0, per_second=per_second), list[float]()
    while len(times) < numbers:
        times += [round(clock.monotonic(), 2) for _ in await paced.take()]
    return times


@virtual
async def test_the_first_comes_at_once_and_the_others_at_the_rate() -> None:
    assert await _times(2, 4) == [0.0, 0.5, 1.0, 1.5]


@virtual
async def test_without_a_limit_they_come_by_the_page() -> None:
    paced = PacedNumbers(SourceContext().services.clock, first=7, per_second=-1)
    assert await paced.take() == range(7, 7 + BATCH_MAX)
    assert await paced.take() == range(7 + BATCH_MAX, 7 + 2 * BATCH_MAX)


@virtual
async def test_what_was_not_taken_in_time_comes_together() -> None:
    clock = SourceContext().services.clock
    paced = PacedNumbers(clock, first=0, per_second=10)
    await clock.sleep(1.05)
    assert await paced.take() == range(11)


@pytest.mark.parametrize(("per_second", "count_max"), [(0, None), (-1, 3), (10, 3), (10, 0)])
@virtual
async def test_at_no_rate_and_after_the_last_nothing_comes(
    per_second: int, count_max: int | None
) -> None:
    clock = SourceContext().services.clock
    paced, taken = PacedNumbers(clock, first=0, per_second=per_second, count_max=count_max), 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(3600):
            while True:
                taken += len(await paced.take())
    assert clock.monotonic() == 3600
    assert taken == (count_max if per_second else 0)


@virtual
async def test_being_cancelled_costs_no_number() -> None:
    clock = SourceContext().services.clock
    paced = PacedNumbers(clock, first=0, per_second=1)
    assert await paced.take() == range(1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await paced.take()
    assert await paced.take() == range(1, 2)


@virtual
async def test_a_life_goes_on_behind_the_last_committed_number() -> None:
    context = SourceContext()
    assert await numbering.next_number(context, 3) == 0
    context.offsets.stored[numbering.partition_of(3)] = numbering.offset_after(41)
    assert await numbering.next_number(context, 3) == 42
    assert await numbering.next_number(context, 4) == 0
    assert context.offsets.refreshed == 3


@pytest.mark.parametrize("seqno", ["1", None, 1.5, True])
@virtual
async def test_a_foreign_offset_fails_the_task(seqno: str | float | None) -> None:
    context = SourceContext()
    context.offsets.stored[numbering.partition_of(0)] = {"seqno": seqno}
    with pytest.raises(FatalTaskError, match="expected a whole number as seqno"):
        await numbering.next_number(context, 0)
