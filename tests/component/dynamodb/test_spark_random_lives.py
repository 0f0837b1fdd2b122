"""Whatever happens to drivers and workers in whatever order, topic and table end up equal.

Each seed is one story: drivers die in mid scan or tell only a part, the worker crashes or pauses,
the scan changes hands between daemon and Spark, and the table changes all the while.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest

from connectd.connectors.dynamodb.scan_reports import Failed, ScanReport
from tests.component.dynamodb import spark
from tests.component.dynamodb.account import FakeTable
from tests.component.dynamodb.rig import Rig, new_account, virtual
from tests.component.dynamodb.spark import Behaviour, FakeDriver, FakeSpark

ITEMS = 80
STEPS = 12


def lives_for(chance: random.Random) -> Behaviour:
    """A driver that scans its segments in any order and comes to some end."""
    left = chance.randint(0, 12)
    end = chance.choice(["dies", "fails", "lies"])

    async def behave(driver: FakeDriver) -> AsyncIterator[ScanReport]:
        yield spark.STARTED
        told = 0
        for position in chance.sample(driver.job.segments, len(driver.job.segments)):
            async for report in spark.pages(driver, position):
                told += 1
                if told > left:
                    break  # its records are in the topic, and nobody hears of it
                yield report
            if told > left or driver.is_asked.is_set():
                break
        if end == "fails":
            yield Failed("some reason", retriable=True)
        driver.code = {"dies": -9, "fails": 3, "lies": 0}[end]

    return behave


def change(table: FakeTable, chance: random.Random) -> None:
    key = f"k{chance.randrange(ITEMS * 2)}"
    if chance.random() < 0.3 and key in table.items:
        table.delete(key)
    else:
        table.put(key, chance.randrange(1_000_000))


async def step(rig: Rig, fake: FakeSpark, chance: random.Random) -> None:
    """Something happens to the worker, or nothing does for a while."""
    what = chance.random()
    if what < 0.25:
        await rig.crash()
        rig.config["init.sync.engine"] = chance.choice(["spark", "daemon"])
        await rig.start()
    elif what < 0.45:
        rig.is_paused = True
        await rig.sleep(chance.uniform(0.0, 30.0))
        rig.is_paused = False
    elif what < 0.6:
        rig.acks_held = rig.commits_held = not rig.acks_held
    await rig.sleep(chance.uniform(0.0, 8.0))


@pytest.mark.parametrize("seed", range(40))
@virtual
async def test_topic_and_table_are_equal_at_the_end(seed: int) -> None:
    chance = random.Random(seed)
    table = (account := new_account()).add_table("orders", shards=2)
    for number in range(ITEMS):
        table.put(f"k{number}", number)
    config = {
        "init.sync.engine": "spark",
        "init.sync.segments": "4",
        "init.sync.page.size": "5",
        "init.sync.read.capacity.units": "2",
    }
    rig = Rig(account, config, seed=seed)
    fake = FakeSpark(rig, restarts_max=1_000, restart_initial_s=1.0, restart_max_s=4.0)
    await rig.start()
    for _ in range(STEPS):
        fake.script += [lives_for(chance) for _ in range(chance.randint(0, 2))]
        for _ in range(chance.randint(0, 5)):
            change(table, chance)
        await step(rig, fake, chance)
    fake.script.clear()
    rig.acks_held = rig.commits_held = False
    await rig.until(lambda: rig.is_in_sync("orders"), within_s=3_600)
    change(table, chance)
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert fake.running == 0
    await rig.stop()
