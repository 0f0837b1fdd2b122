"""Signal, wait, cancel, wait, abandon: together, bounded, in order."""

from __future__ import annotations

import asyncio

import pytest

from connectd.runtime.stop_ladder import climb
from tests.kit.virtual import virtual


class Life:
    """Ends ``ends_after_s`` after the rung it listens to."""

    def __init__(self, name: str, listens_to: str, ends_after_s: float = 0.0, grace_s: float = 5.0):
        self.name = name
        self.grace_s = grace_s
        self.heard: list[str] = []
        self._listens_to = listens_to
        self._ends_after_s = ends_after_s
        self._ended = asyncio.Event()

    def _hear(self, rung: str) -> None:
        self.heard.append(rung)
        if rung == self._listens_to:
            asyncio.get_running_loop().call_later(self._ends_after_s, self._ended.set)

    def signal_stop(self) -> None:
        self._hear("signal")

    async def cancel(self) -> None:
        self._hear("cancel")

    def abandon(self) -> None:
        self._hear("abandon")

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    async def wait_ended(self) -> None:
        await self._ended.wait()


@virtual
async def test_each_life_climbs_only_as_far_as_it_needs() -> None:
    polite, busy, deaf = (
        Life("polite", "signal", 1.0),
        Life("busy", "cancel", 1.0),
        Life("deaf", ""),
    )
    await climb([polite, busy, deaf], hard_limit_s=3.0)
    assert polite.heard == ["signal"]
    assert busy.heard == ["signal", "cancel"]
    assert deaf.heard == ["signal", "cancel", "abandon"]
    assert asyncio.get_running_loop().time() == pytest.approx(8.0)


@virtual
async def test_many_share_the_time_of_one() -> None:
    lives = [Life(str(number), "signal", 4.0) for number in range(100)]
    await climb(lives)
    assert asyncio.get_running_loop().time() == pytest.approx(4.0)
    assert all(life.heard == ["signal"] for life in lives)


@virtual
async def test_a_longer_grace_of_one_does_not_lengthen_that_of_another() -> None:
    patient, hasty = Life("patient", "signal", 20.0, grace_s=30.0), Life("hasty", "cancel", 0.0)
    await climb([patient, hasty])
    assert patient.heard == ["signal"]
    assert hasty.heard == ["signal", "cancel"]
    assert asyncio.get_running_loop().time() == pytest.approx(20.0)


@virtual
async def test_nothing_to_stop_takes_no_time() -> None:
    await climb([])
    assert asyncio.get_running_loop().time() == 0.0
