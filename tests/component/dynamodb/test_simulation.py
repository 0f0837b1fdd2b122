"""Seeded runs of a whole life: scan, changes, splits, roll-overs, refusals, pauses and crashes.

Checked after every life and at the end: nothing is lost, the topic's last word on every key is the
table's, children are read only after their parents' ends are durable, memory stays bounded, and
what is committed was acknowledged. The seed is in the test's name; a run replays by it.
"""

from __future__ import annotations

import asyncio
import os
import random

import pytest

from connectd.aio.clock import LoopClock
from connectd.errors import ThrottledError, TransientNetworkError
from connectd.model.record import RecordBatch, Seal
from tests.component.dynamodb.account import Account, FakeTable
from tests.component.dynamodb.rig import Rig
from tests.kit.virtual_time import run_virtual

WALL_S = 1_700_000_000.0
TABLE = "orders"


class Storm:
    """One seeded run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        random.seed(seed)  # the jitter of every wait comes from there
        self.account = Account(LoopClock(wall_anchor_s=WALL_S))
        self.account.page_items = self.random.randint(2, 9)
        self.table: FakeTable = self.account.add_table(TABLE, shards=self.random.randint(1, 3))
        self.is_stormy = True
        self.changes = 0
        self.rig = Rig(
            self.account,
            {
                "init.sync.segments": str(self.random.choice([1, 2, 3])),
                "stream.page.limit": str(self.random.randint(1, 6)),
                "task.buffer.pages": str(self.random.randint(2, 6)),
                "stream.describe.interval.ms": "20000",
                "position.heartbeat.ms": "30000",
                # As many as a run has outages: each may come before the scan of the last is done.
                "gap.resync.max": str(LongStorm.OUTAGES_MAX),
            },
            seed=seed,
        )
        self.rig.on_emission = self.on_emission
        self.account.refuse = self.refuse

    def refuse(self, operation: str, subject: str) -> Exception | None:
        if not self.is_stormy or self.random.random() > 0.05:
            return None
        if operation == "GetRecords" and self.random.random() < 0.3:
            self.account.empty_pages += self.random.randint(1, 3)
            return None
        kind = self.random.choice([ThrottledError, TransientNetworkError])
        return kind(f"{operation} on {subject} in a storm")

    def on_emission(self, emission: RecordBatch | Seal) -> None:
        """Children only after their parents' ends are durable."""
        if not isinstance(emission, RecordBatch) or len(emission.payload) == 0:
            return
        shard_id = emission.source_partition.to_dict().get("shard_id")
        if not isinstance(shard_id, str):
            return
        assert self.table.stream is not None
        parent = self.table.stream.shards[shard_id].parent
        if parent is not None and parent in self.table.stream.shards:
            stored = self.rig.stored(TABLE, shard_id=parent)
            assert stored is not None, f"child {shard_id} before parent {parent} is known"
            assert stored["position"] == "SHARD_END", f"child {shard_id} before end of {parent}"

    def change(self) -> None:
        """One thing that happens to the table."""
        stream = self.table.stream
        assert stream is not None
        dice = self.random.random()
        key = f"k{self.random.randint(0, 30)}"
        if dice < 0.75:
            self.changes += 1
            self.table.put(key, self.changes)
        elif dice < 0.92:
            self.table.delete(key)
        elif dice < 0.96:
            stream.roll(self.random.choice(stream.open_shards()), hidden=self.random.randint(0, 3))
        elif len(stream.open_shards()) < 6:
            for child in stream.split(self.random.choice(stream.open_shards())):
                child.hidden = self.random.randint(0, 3)

    async def live(self) -> None:
        """One life of the worker, to a stop or a crash."""
        rig = self.rig
        await rig.start()
        for _ in range(self.random.randint(3, 40)):
            for _ in range(self.random.randint(0, 6)):
                self.change()
            rig.acks_held = self.random.random() < 0.3
            rig.commits_held = self.random.random() < 0.3
            rig.is_paused = self.random.random() < 0.1
            rig.settle()
            self.check_bounds()
            await asyncio.sleep(self.random.choice([0.0, 0.01, 0.1, 0.5, 2.0, 10.0]))
        assert rig.error is None, rig.error
        assert rig.context is not None
        assert rig.context.failures == []
        if self.random.random() < 0.8:
            await rig.crash()
        else:
            rig.acks_held = rig.commits_held = False
            await rig.stop()

    def check_bounds(self) -> None:
        assert self.rig.task is not None
        assert self.rig.task._queue is not None
        statistics = self.rig.task._queue.statistics()
        assert statistics.places_taken <= statistics.places_max

    async def run(self) -> None:
        for number in range(30):
            self.table.put(f"k{number}", number)
        for _ in range(self.random.randint(1, 6)):
            await self.live()
        self.is_stormy = False
        rig = self.rig
        rig.acks_held = rig.commits_held = rig.is_paused = False
        await rig.start()
        await rig.until(lambda: rig.is_in_sync(TABLE), within_s=3600)
        await rig.until(lambda: rig.topic_view(TABLE) == self.table.items, within_s=3600)
        self.check_nothing_lost()
        await rig.sleep(60)
        assert rig.topic_view(TABLE) == self.table.items
        row = rig.row(TABLE)
        assert (row["state"], row["reason"], row["gaps"]) == ("SYNC", "", 0)
        await rig.stop()
        assert rig.pool.users == 0

    def check_nothing_lost(self) -> None:
        """Every change since the baseline is in the topic, under its own number."""
        sent = {each.sequence for each in self.rig.log}
        assert self.table.stream is not None
        shards = self.table.stream.shards.values()
        missing = {
            record.sequence
            for shard in shards
            for record in shard.records
            if record.sequence not in sent
        }
        assert missing == set()


class LongStorm(Storm):
    """A run with outages of hours to days between lives: some lose changes, none may do so quietly.

    Shards roll over and are trimmed meanwhile. Without a reported gap the topic equals the table;
    with one, a resync has repaired everything but deletions.
    """

    OUTAGES_MAX = 5

    async def run(self) -> None:
        for number in range(30):
            self.table.put(f"k{number}", number)
        away_h = 0.0
        for _ in range(self.random.randint(2, self.OUTAGES_MAX)):
            await self.live()
            hours = self.random.choice([0.1, 2, 12, 19, 21, 23, 26, 50])
            away_h += hours
            await self.outage(hours * 3600)
        self.is_stormy = False
        rig = self.rig
        rig.acks_held = rig.commits_held = rig.is_paused = False
        await rig.start()
        await rig.until(lambda: rig.is_in_sync(TABLE), within_s=3600)
        await rig.sleep(300)
        row = rig.row(TABLE)
        assert row["state"] == "SYNC", row
        assert row["reason"] == "", row
        assert row["gaps"] == 0 or away_h > 20, f"gaps: {row['gaps']}, none can be"
        view = rig.topic_view(TABLE)
        if row["gaps"]:
            view = {key: value for key, value in view.items() if key in self.table.items}
        assert view == self.table.items, f"gaps: {row['gaps']}"
        await rig.stop()

    async def outage(self, duration_s: float) -> None:
        """Nobody reads; the table goes on, or is quiet."""
        is_quiet = self.random.random() < 0.4
        steps = self.random.randint(1, 8)
        for _ in range(steps):
            await asyncio.sleep(duration_s / steps)
            if not is_quiet:
                for _ in range(self.random.randint(0, 5)):
                    self.change()


def storms(count: int) -> range:
    """Seeds of this run: SEED to begin with, RUNS for how many (a soak runs more than a build)."""
    first = int(os.environ.get("SEED", "0"))
    return range(first, first + int(os.environ.get("RUNS", str(count))))


@pytest.mark.parametrize("seed", storms(15))
def test_nothing_is_lost_and_the_last_word_is_the_tables(seed: int) -> None:
    async def storm() -> None:
        await Storm(seed).run()

    run_virtual(storm())


@pytest.mark.parametrize("seed", storms(15))
def test_outages_lose_nothing_quietly(seed: int) -> None:
    async def storm() -> None:
        await LongStorm(seed).run()

    run_virtual(storm())
