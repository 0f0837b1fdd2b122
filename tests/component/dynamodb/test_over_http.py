"""The task on the real clients against the scripted fake: wire, errors and lineage together.

Real time, since the control plane runs in threads; all waits are short. What takes hours is in the
other modules of this room, on virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from connectd.aio.clock import LoopClock
from connectd.aws.clients import AwsClientPool
from tests.component.dynamodb.account import Account
from tests.component.dynamodb.rig import Rig
from tests.fakes.control import Control
from tests.fakes.server import running_fake

Item = dict[str, dict[str, str]]

BRISK = {
    "stream.poll.interval.ms": "5",
    "stream.poll.interval.max.ms": "20",
    "init.sync.page.size": "50",
    "init.sync.segments": "3",
    "aws.access.key.id": "key",
    "aws.secret.key": "secret",
    "kafka.topic.prefix": "t-",
}


@asynccontextmanager
async def fake_and_rig(
    tables: list[str], config: dict[str, str] | None = None
) -> AsyncIterator[tuple[Control, Rig]]:
    """A fake account, and a rig whose task reaches it over HTTP."""
    async with running_fake() as fake:
        # The fake lives in another year: its time is what counts.
        clock = LoopClock()
        pool = AwsClientPool(clock)
        settings = {**BRISK, "dynamodb.service.endpoint": fake.url, **(config or {})}
        rig = Rig(Account(clock), settings, tables=tables, pool=pool)
        try:
            yield fake.control, rig
        finally:
            await pool.close()


def item(key: str, value: int, key_type: str = "S") -> Item:
    return {"id": {key_type: key}, "v": {"N": str(value)}}


def values(control: Control, table: str, key_type: str) -> dict[str, int]:
    """The table, as the rig sees topics."""
    return {found["id"][key_type]: int(found["v"]["N"]) for found in control.table_items(table)}


def real_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    def run() -> None:
        asyncio.run(test())

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    return run


@pytest.mark.parametrize("key_type", ["S", "N", "B"])
def test_scan_changes_and_lineage_arrive_whole_and_in_order(key_type: str) -> None:
    """Segments and pages, then roll-overs, a split, a hidden child, expired iterators."""
    keys = {
        "S": [f"name-{number}" for number in range(200)],
        "N": [str(10**30 + number) for number in range(200)],
        "B": [f"AA{number:02d}AAAA" for number in range(100)],
    }[key_type]

    async def scenario() -> None:
        async with fake_and_rig(["orders"]) as (control, rig):
            control.create_table("orders", hash_type=key_type, partitions=2)
            for number, key in enumerate(keys):
                control.put("orders", item(key, number, key_type))
            await rig.start()
            await rig.until(lambda: rig.is_in_sync("orders"), within_s=20, step_s=0.01)
            await rig.until(
                # Each item twice: read by the scan, and again from the last hour of the stream.
                lambda: len(rig.log) == 2 * len(keys),
                within_s=20,
                step_s=0.01,
            )
            before = len(rig.log)
            for turn in range(4):
                for number, key in enumerate(keys[:20]):
                    control.put("orders", item(key, 1000 * (turn + 1) + number, key_type))
                control.delete("orders", {"id": {key_type: keys[30 + turn]}})
                if turn == 0:
                    control.roll_over_all("orders")
                elif turn == 1:
                    child, _ = control.split_shard("orders", control.open_shards("orders")[0])
                    control.hide_shard("orders", child, for_calls=1)
                elif turn == 2:
                    control.expire_iterators("orders")
            await rig.until(
                lambda: rig.topic_view("orders") == values(control, "orders", key_type),
                within_s=20,
                step_s=0.01,
            )
            changed: dict[str, list[int | None]] = {}
            for sent in rig.log[before:]:
                changed.setdefault(sent.key, []).append(sent.value)
            for number, key in enumerate(keys[:20]):
                assert changed[key] == [1000 * (turn + 1) + number for turn in range(4)]
            assert [changed[keys[30 + turn]] for turn in range(4)] == [[None]] * 4
            assert rig.row("orders")["gaps"] == 0
            await rig.stop()

    asyncio.run(scenario())


@real_time
async def test_throttles_broken_answers_and_resets_are_gone_through() -> None:
    async with fake_and_rig(["orders"]) as (control, rig):
        control.create_table("orders")
        for number in range(120):
            control.put("orders", item(f"k{number}", number))
        for operation in ("Scan", "GetRecords", "GetShardIterator", "DescribeStream"):
            control.inject(operation, "ThrottlingException")
        for damage in ("ConnectionReset", "Truncated", "BadCrc", "HtmlError"):
            control.inject("GetRecords", damage, after=2)
        control.inject("Scan", "BadCrc", after=2)
        await rig.start()
        await rig.until(
            lambda: (
                rig.is_in_sync("orders")
                and rig.topic_view("orders") == values(control, "orders", "S")
            ),
            within_s=40,
            step_s=0.01,
        )
        assert rig.context is not None
        assert rig.context.failures == []
        await rig.stop()


@real_time
async def test_a_missing_permission_fails_the_table_by_its_name() -> None:
    async with fake_and_rig(["orders"]) as (control, rig):
        control.create_table("orders")
        control.deny("dynamodb:GetRecords")
        await rig.start()
        await rig.until(lambda: rig.error is not None, within_s=20, step_s=0.01)
        assert "dynamodb:GetRecords" in str(rig.error)
        await rig.stop()


@real_time
async def test_a_crash_in_the_scan_is_continued_over_the_wire() -> None:
    async with fake_and_rig(["orders"], {"init.sync.page.size": "10"}) as (control, rig):
        control.create_table("orders", hash_type="B")
        for number in range(100):
            control.put("orders", item(f"AA{number:02d}AAAA", number, "B"))
        await rig.start()
        await rig.until(lambda: len(rig.log) >= 30, within_s=20, step_s=0.001)
        await rig.crash()
        await rig.start()
        await rig.until(
            lambda: (
                rig.is_in_sync("orders")
                and rig.topic_view("orders") == values(control, "orders", "B")
            ),
            within_s=20,
            step_s=0.01,
        )
        await rig.stop()
