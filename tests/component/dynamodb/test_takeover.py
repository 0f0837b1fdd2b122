"""A deployment of the Java connector is taken over from its offsets (spec dynamodb-connector 9)."""

from __future__ import annotations

import asyncio
import json

import pytest

from connectd.model.record import SourceOffset, SourcePartition
from tests.component.dynamodb.account import Account, FakeTable, place_of
from tests.component.dynamodb.rig import WALL_S, Rig, new_account, virtual

JAVA = {"connector.class": "com.trustpilot.connector.dynamodb.DynamoDBSourceConnector"}
START_MS = int(WALL_S * 1000)


def java_offset(state: str, **members: str | int | None) -> SourceOffset:
    """A table state as the Java connector writes it."""
    offset: dict[str, str | int | None] = {
        "version": "1.0",
        "table_name": "orders",
        "init_sync_state": state,
        "init_sync_start": START_MS,
    }
    if "exclusive_start_key" in members:
        offset["exclusive_start_key"] = members.pop("exclusive_start_key")
    if state == "FINISHED":
        offset["init_sync_end"] = START_MS + 1000
    offset.update({"init_sync_count": 17, "src_shard_id": None, "src_shard_sequence_no": None})
    offset.update(members)
    return offset


def with_items(account: Account, count: int, key_type: str = "S") -> FakeTable:
    table = account.add_table("orders", key_type=key_type)
    for number in range(count):
        table.put(str(number), number)
    return table


def rig_with(account: Account, offset: SourceOffset) -> Rig:
    rig = Rig(account, {**JAVA, "init.sync.segments": "4"})
    rig.offsets.stored[SourcePartition.of({"table_name": "orders"})] = offset
    return rig


@pytest.mark.parametrize(
    ("key_type", "letter"), [("S", "s"), ("N", "n"), ("S", "S")], ids=["s", "n", "wire"]
)
def test_a_scan_under_way_is_continued_from_its_key(key_type: str, letter: str) -> None:
    async def scenario() -> None:
        account = new_account()
        table = with_items(account, 40, key_type)
        ordered = sorted(table.items, key=place_of)
        key = json.dumps({"id": {letter: ordered[19]}})
        rig = rig_with(account, java_offset("RUNNING", exclusive_start_key=key))
        await rig.start()
        await rig.until(lambda: rig.is_in_sync("orders"))
        assert {segment for segment, _, _ in account.scans} == {0}, "one segment, whatever is set"
        assert json.loads(account.scans[0][1] or b"{}") == {"id": {key_type: ordered[19]}}
        assert {sent.key for sent in rig.log if sent.op == "r"} == set(ordered[20:])
        stored = rig.stored("orders")
        assert stored is not None
        assert stored["init_sync_start"] == START_MS
        assert stored["init_sync_count"] == 17 + 20
        assert "exclusive_start_key" not in stored
        await rig.stop()

    virtual(scenario)()


@virtual
async def test_a_takeover_that_crashes_continues_where_it_was() -> None:
    account = new_account()
    table = with_items(account, 60)
    ordered = sorted(table.items, key=place_of)
    key = json.dumps({"id": {"s": ordered[9]}})
    rig = rig_with(account, java_offset("RUNNING", exclusive_start_key=key))
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 20, step_s=0.001)
    await rig.crash()
    before = len(account.scans)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    resumed = json.loads(account.scans[before][1] or b"{}")["id"]["S"]
    assert place_of(resumed) > place_of(ordered[9])
    assert {sent.key for sent in rig.log if sent.op == "r"} == set(ordered[10:])
    await rig.stop()


@virtual
async def test_a_finished_table_is_followed_from_the_horizon_when_its_shard_is_listed() -> None:
    account = new_account()
    table = with_items(account, 5)
    assert table.stream is not None
    shard = table.stream.open_shards()[0]
    await asyncio.sleep(10 * 3600)
    rig = rig_with(
        account,
        java_offset(
            "FINISHED",
            src_shard_id=shard.shard_id,
            src_shard_sequence_no=shard.records[2].sequence,
            init_sync_start=START_MS - 90 * 86_400_000,
        ),
    )
    await rig.start()
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert account.scans == []
    assert [op for op, _, _ in rig.ops()] == ["c"] * 5
    assert rig.row("orders")["gaps"] == 0
    await rig.crash()
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.sleep(10)
    assert len(rig.log) == 5, "from then on our own positions count"
    await rig.stop()


@virtual
async def test_a_finished_table_whose_shard_is_gone_is_a_gap() -> None:
    account = new_account()
    table = with_items(account, 5)
    rig = rig_with(
        account,
        java_offset(
            "FINISHED",
            src_shard_id="shardId-00000001600000000000-deadbeef",
            src_shard_sequence_no="1",
        ),
    )
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.row("orders")["gaps"] == 1
    assert {sent.key for sent in rig.log if sent.op == "r"} == set(table.items)
    await rig.stop()


@pytest.mark.parametrize(("age_h", "gaps"), [(10, 0), (30, 1)])
def test_a_finished_table_without_stream_records_is_trusted_while_its_scan_is_recent(
    age_h: int, gaps: int
) -> None:
    async def scenario() -> None:
        account = new_account()
        with_items(account, 5)
        await asyncio.sleep(age_h * 3600)
        rig = rig_with(account, java_offset("FINISHED"))
        await rig.start()
        await rig.until(lambda: rig.is_in_sync("orders"))
        assert rig.row("orders")["gaps"] == gaps
        assert bool(account.scans) == bool(gaps)
        await rig.stop()

    virtual(scenario)()


@virtual
async def test_a_skipped_table_of_a_fork_is_followed_without_a_scan() -> None:
    account = new_account()
    table = with_items(account, 5)
    await asyncio.sleep(10)
    rig = rig_with(account, {**java_offset("SKIPPED"), "init_sync_start": 0})
    await rig.start()
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert account.scans == []
    assert rig.row("orders")["gaps"] == 0
    await rig.stop()


@virtual
async def test_a_crash_in_the_middle_of_a_takeover_is_no_gap() -> None:
    """Positions are durable before the state under which they count."""
    account = new_account()
    table = with_items(account, 5)
    assert table.stream is not None
    shard = table.stream.open_shards()[0]
    for _ in range(3):
        shard = table.stream.roll(shard)
    offset = java_offset("FINISHED", src_shard_id=shard.shard_id, src_shard_sequence_no="1")
    rig = rig_with(account, offset)
    rig.commits_held = True
    await rig.start()
    await asyncio.sleep(5)
    # A flush that was cut off: half of the positions reached the store.
    taken = rig._frontier.take()
    half = dict(list(taken.offsets.items())[: len(taken.offsets) // 2])
    assert half
    rig.offsets.put(half)
    await rig.crash()
    rig.commits_held = False
    await rig.start()
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert rig.row("orders")["gaps"] == 0
    assert account.scans == []
    await rig.stop()
