"""Lost changes: detected from state, never silent, handled by policy. Row ids: field cases."""

from __future__ import annotations

import asyncio

import pytest

from connectd.aio.clock import LoopClock
from connectd.errors import DataGapError, StreamGoneError, TableGoneError, TrimmedDataError
from connectd.model.record import SourcePartition
from tests.component.dynamodb.account import Account, FakeTable
from tests.component.dynamodb.rig import WALL_S, Rig, new_account, virtual

HOUR_S = 3600.0
SLOW = {"stream.poll.interval.max.ms": "30000"}


async def stopped_rig(config: dict[str, str] | None = None) -> tuple[Account, FakeTable, Rig]:
    """A table that was followed, with one change of each kind behind it; the worker is stopped."""
    account = new_account()
    table = account.add_table("orders")
    for number in range(5):
        table.put(f"k{number}", number)
    rig = Rig(account, {**SLOW, **(config or {})})
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    table.put("k0", 100)
    table.delete("k1")
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    await rig.stop()
    return account, table, rig


def roll_all(table: FakeTable) -> None:
    """What happens to open shards within hours."""
    assert table.stream is not None
    for shard in table.stream.open_shards():
        table.stream.roll(shard)


@virtual
async def test_s06_a_worker_away_for_longer_than_the_retention_scans_again() -> None:
    """S06: the stored shard no longer exists: shown, counted, repaired."""
    _, table, rig = await stopped_rig()
    table.put("lost", 7)
    roll_all(table)
    await asyncio.sleep(40 * HOUR_S)
    table.put("seen", 8)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    row = rig.row("orders")
    assert row["gaps"] == 1
    assert row["state"] == "SYNC"
    assert ("r", "lost", 7) in rig.ops()
    stored = rig.stored("orders")
    assert stored is not None
    assert stored["gaps"] == 1
    assert stored["resyncs"] == 1
    await rig.stop()


@virtual
async def test_a_worker_away_for_hours_misses_nothing_and_scans_nothing() -> None:
    account, table, rig = await stopped_rig()
    table.put("late", 7)
    roll_all(table)
    table.put("later", 8)
    await asyncio.sleep(15 * HOUR_S)
    scans = len(account.scans)
    await rig.start()
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert rig.row("orders")["gaps"] == 0
    assert len(account.scans) == scans
    await rig.stop()


@pytest.mark.parametrize("hours", [-30, -2, 2, 30])
def test_a_worker_whose_clock_is_wrong_sees_no_gaps_and_loses_nothing(hours: int) -> None:
    """What counts is the time of the service, before the first decision already."""

    async def scenario() -> None:
        account = new_account()
        table = account.add_table("orders")
        table.put("k", 1)
        rig = Rig(account, SLOW, clock=LoopClock(wall_anchor_s=WALL_S + hours * HOUR_S))
        await rig.start()
        await rig.until(lambda: rig.is_in_sync("orders"))
        table.put("k", 2)
        await rig.until(lambda: rig.topic_view("orders") == {"k": 2})
        await rig.crash()
        table.put("k", 3)
        await rig.start()
        await rig.until(lambda: rig.topic_view("orders") == {"k": 3})
        assert rig.row("orders")["gaps"] == 0
        stored = rig.stored("orders")
        assert stored is not None
        assert abs(int(str(stored["init_sync_start"])) - int(WALL_S * 1000)) < 60_000
        await rig.crash()
        await asyncio.sleep(30 * HOUR_S)
        await rig.start()
        await rig.until(lambda: rig.is_in_sync("orders"))
        assert rig.row("orders")["gaps"] == 1
        await rig.stop()

    virtual(scenario)()


@virtual
async def test_a_quiet_table_is_a_gap_too_when_nobody_looked_for_two_days() -> None:
    """What the Java connector misses: no record of the dangerous hours is there to be seen."""
    _, table, rig = await stopped_rig()
    table.put("lost", 7)
    await asyncio.sleep(48 * HOUR_S)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert rig.row("orders")["gaps"] == 1
    await rig.stop()


@virtual
async def test_policy_fail_fails_the_table_and_moves_nothing() -> None:
    account, table, rig = await stopped_rig({"gap.policy": "fail"})
    before = dict(rig.offsets.stored)
    table.put("lost", 7)
    await asyncio.sleep(48 * HOUR_S)
    scans = len(account.scans)
    await rig.start()
    await rig.until(lambda: rig.error is not None)
    assert isinstance(rig.error.__cause__ if rig.error else None, DataGapError)
    assert "gap.policy is fail" in str(rig.error)
    assert rig.row("orders")["state"] == "FAILED"
    assert rig.row("orders")["gaps"] == 1
    assert len(account.scans) == scans
    assert rig.offsets.stored == before
    await rig.stop()


@virtual
async def test_policy_skip_goes_on_with_what_is_there_and_counts() -> None:
    account, table, rig = await stopped_rig({"gap.policy": "skip"})
    table.put("lost", 7)
    roll_all(table)
    await asyncio.sleep(30 * HOUR_S)
    table.put("seen", 8)
    scans = len(account.scans)
    await rig.start()
    await rig.until(lambda: ("c", "seen", 8) in rig.ops())
    assert rig.row("orders")["state"] == "SYNC"
    assert int(str(rig.row("orders")["gaps"])) >= 1
    assert len(account.scans) == scans
    assert "lost" not in rig.topic_view("orders")
    await rig.until(lambda: int(str((rig.stored("orders") or {}).get("gaps", 0))) >= 1)
    await rig.crash()
    gaps = (rig.stored("orders") or {})["gaps"]
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.sleep(60)
    assert rig.row("orders")["gaps"] == gaps, "one gap is counted once"
    await rig.stop()


@virtual
async def test_deletions_in_a_gap_are_not_repaired_by_a_resync() -> None:
    """Said in the log and the documentation, and held here so that nobody believes otherwise."""
    _, table, rig = await stopped_rig()
    table.delete("k2")
    await asyncio.sleep(48 * HOUR_S)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert "k2" in rig.topic_view("orders")
    assert "k2" not in table.items
    await rig.stop()


@virtual
async def test_s04_trimmed_data_on_a_fresh_position_is_no_gap() -> None:
    """S04: an emulator refuses the first read of a new table: reading goes on at the horizon."""
    account = new_account()
    table = account.add_table("orders")
    refusals = iter([TrimmedDataError("trimmed")])
    account.refuse = lambda operation, subject: (
        next(refusals, None) if operation == "GetRecords" else None
    )
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    table.put("k", 1)
    await rig.until(lambda: rig.topic_view("orders") == {"k": 1})
    assert rig.row("orders")["gaps"] == 0
    await rig.stop()


@virtual
async def test_s04_after_a_trim_nothing_is_delivered_twice_or_lost() -> None:
    account, table, rig = await stopped_rig()
    refusals = iter([TrimmedDataError("trimmed")] * 2)
    account.refuse = lambda operation, subject: (
        next(refusals, None) if operation == "GetShardIterator" else None
    )
    table.put("next", 9)
    before = len(rig.log)
    await rig.start()
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert rig.ops()[before:] == [("c", "next", 9)]
    assert rig.row("orders")["gaps"] == 0
    await rig.stop()


@virtual
async def test_s04_data_that_is_always_trimmed_is_a_gap_in_the_end() -> None:
    account, _, rig = await stopped_rig({"gap.resync.max": "1"})
    account.refuse = lambda operation, subject: (
        TrimmedDataError("trimmed") if operation == "GetShardIterator" else None
    )
    await rig.start()
    await rig.until(lambda: rig.error is not None)
    assert "after 1 resyncs in a row" in str(rig.error)
    assert "trimmed" in str(rig.error)
    await rig.stop()


@pytest.mark.parametrize("is_running", [True, False])
def test_s10_a_stream_enabled_anew_is_noticed_and_the_table_scanned_again(
    is_running: bool,
) -> None:
    """S10: disable, enable: another ARN. The old stream is drained before the resync."""

    async def scenario() -> None:
        _, table, rig = await stopped_rig()
        if is_running:
            await rig.start()
            await rig.until(lambda: rig.is_in_sync("orders"))
        table.put("before", 1)
        table.delete("k3")
        table.disable_stream()
        table.put("between", 2)
        old = table.stream
        new = table.enable_stream()
        table.put("after", 3)
        if not is_running:
            await rig.start()
        await rig.until(lambda: (rig.stored("orders") or {})["stream_arn"] == new.arn, within_s=900)
        await rig.until(lambda: rig.topic_view("orders") == table.items)
        assert ("c", "before", 1) in rig.ops(), "the old stream is read to its end"
        assert ("d", "k3", None) in rig.ops()
        assert ("r", "between", 2) in rig.ops()
        assert rig.row("orders")["gaps"] == 1
        await rig.until(lambda: rig.is_in_sync("orders"))
        shards = rig.stored_shards("orders")
        assert {offset["stream_arn"] for offset in shards.values()} == {new.arn}
        assert old is not None
        assert not set(shards) & set(old.shards)
        await rig.stop()

    virtual(scenario)()


@virtual
async def test_s10_policy_skip_goes_on_with_the_new_stream() -> None:
    account, table, rig = await stopped_rig({"gap.policy": "skip"})
    scans = len(account.scans)
    table.disable_stream()
    table.put("between", 2)
    new = table.enable_stream()
    table.put("after", 3)
    await rig.start()
    await rig.until(lambda: ("c", "after", 3) in rig.ops(), within_s=900)
    assert len(account.scans) == scans
    assert (rig.stored("orders") or {})["stream_arn"] == new.arn
    assert "between" not in rig.topic_view("orders")
    assert rig.row("orders")["gaps"] == 1
    await rig.stop()


@virtual
async def test_s11_positions_of_a_dropped_table_do_not_poison_its_successor() -> None:
    """S11: the same name, another table: scanned anew, old positions cleaned away."""
    account, _, rig = await stopped_rig()
    account.drop_table("orders")
    account.tagged.clear()
    await asyncio.sleep(60)
    successor = account.add_table("orders")
    successor.put("fresh", 1)
    await rig.start()
    await rig.until(lambda: ("r", "fresh", 1) in rig.ops(), within_s=900)
    assert successor.stream is not None
    await rig.until(lambda: rig.is_in_sync("orders"))
    stored = rig.stored_shards("orders")
    assert set(stored) == set(successor.stream.shards)
    assert rig.row("orders")["gaps"] == 1
    await rig.stop()


@virtual
async def test_a_table_deleted_while_it_is_followed_is_drained_then_failed() -> None:
    account, table, rig = await stopped_rig()
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    table.put("last", 1)
    account.drop_table("orders")
    await rig.until(lambda: rig.error is not None, within_s=900)
    assert ("c", "last", 1) in rig.ops()
    assert isinstance(rig.error.__cause__ if rig.error else None, TableGoneError)
    await rig.stop()


@virtual
async def test_a_stream_disabled_and_left_so_is_waited_for() -> None:
    _, table, rig = await stopped_rig()
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    table.put("last", 1)
    table.disable_stream()
    await rig.until(lambda: ("c", "last", 1) in rig.ops())
    await rig.until(lambda: "disabled" in str(rig.row("orders")["reason"]), within_s=900)
    assert rig.row("orders")["state"] == "SYNC"
    await rig.stop()


@virtual
async def test_i03_a_scan_longer_than_the_retention_is_a_gap_at_its_end() -> None:
    """I03: the start of the stream is trimmed when the scan ends: said, and scanned again."""
    account = new_account()
    table = account.add_table("orders")
    for number in range(100):
        table.put(f"k{number}", number)
    rig = Rig(account, {**SLOW, "task.buffer.pages": "2"})
    await rig.start()
    await rig.until(lambda: len(account.scans) >= 2, step_s=0.001)
    rig.is_paused = True
    table.put("k0", 1000)
    roll_all(table)
    await asyncio.sleep(30 * HOUR_S)
    rig.is_paused = False
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert rig.row("orders")["gaps"] == 1
    assert [key for _, key, _ in account.scans].count(None) == 2
    await rig.stop()


@virtual
async def test_resyncs_within_a_day_are_bounded_and_the_bound_survives_restarts() -> None:
    account, table, rig = await stopped_rig({"gap.resync.max": "2"})
    for expected in (1, 2):
        table.disable_stream()
        stream = table.enable_stream()
        await rig.start()
        while (rig.stored("orders") or {})["stream_arn"] != stream.arn:
            rig.settle()
            await asyncio.sleep(1)
        await rig.until(lambda: rig.is_in_sync("orders"))
        await rig.stop()
        stored = rig.stored("orders")
        assert stored is not None
        assert stored["resyncs"] == expected
    table.disable_stream()
    table.enable_stream()
    scans = len(account.scans)
    await rig.start()
    await rig.until(lambda: rig.error is not None, within_s=900)
    assert "gap.resync.max" in str(rig.error)
    assert len(account.scans) == scans
    await rig.stop()


@virtual
async def test_a_day_without_a_gap_lets_the_count_begin_anew() -> None:
    _, table, rig = await stopped_rig({"gap.resync.max": "1"})
    for _ in range(3):
        roll_all(table)
        await asyncio.sleep(48 * HOUR_S)
        await rig.start()
        await rig.until(lambda: rig.is_in_sync("orders"))
        await rig.sleep(60)
        assert rig.error is None
        await rig.stop()
    assert (rig.stored("orders") or {})["resyncs"] == 1
    assert (rig.stored("orders") or {})["gaps"] == 3


@virtual
async def test_a_crash_in_the_middle_of_a_resync_ends_in_a_resync() -> None:
    """The start of another scan is durable before anything of the old state is given up."""
    account, table, rig = await stopped_rig()
    for number in range(50):
        table.put(f"n{number}", number)
    await asyncio.sleep(48 * HOUR_S)
    for after_scans in (0, 1, 3):
        wanted = len(account.scans) + after_scans
        await rig.start()
        while len(account.scans) < wanted:
            rig.settle()
            await asyncio.sleep(0.001)
        await rig.crash()
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    stored = rig.stored("orders")
    assert stored is not None
    assert stored["resyncs"] == 1
    await rig.stop()


@virtual
async def test_without_scans_a_gap_is_passed_over_loudly() -> None:
    account, table, rig = await stopped_rig(
        {"init.sync.skip": "true", "stream.start.position": "TRIM_HORIZON"}
    )
    table.put("lost", 1)
    await asyncio.sleep(48 * HOUR_S)
    table.put("seen", 2)
    await rig.start()
    await rig.until(lambda: ("c", "seen", 2) in rig.ops())
    assert account.scans == []
    assert int(str(rig.row("orders")["gaps"])) >= 1
    await rig.stop()


@virtual
async def test_a_stream_that_is_denied_although_the_table_has_it_fails_in_the_end() -> None:
    account, _, rig = await stopped_rig()
    account.refuse = lambda operation, subject: (
        StreamGoneError("stream not found") if operation == "DescribeStream" else None
    )
    await rig.start()
    await rig.until(lambda: rig.error is not None, within_s=600)
    assert isinstance(rig.error.__cause__ if rig.error else None, StreamGoneError)
    await rig.stop()


@virtual
async def test_a_shard_that_is_denied_although_it_is_listed_is_tried_again() -> None:
    account, table, rig = await stopped_rig()
    refusals = iter([StreamGoneError("shard not found")] * 3)
    account.refuse = lambda operation, subject: (
        next(refusals, None) if operation == "GetShardIterator" else None
    )
    table.put("k", 1)
    await rig.start()
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert rig.row("orders")["gaps"] == 0
    account.refuse = lambda operation, subject: (
        StreamGoneError("shard not found") if operation == "GetRecords" else None
    )
    await rig.until(lambda: rig.error is not None, within_s=900)
    assert "shard not found" in str(rig.error)
    await rig.stop()


@virtual
async def test_changes_keep_their_order_when_a_shard_is_denied_while_pages_wait_for_kafka() -> None:
    account, table, rig = await stopped_rig()
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.sleep(5)
    rig.acks_held = True
    for value in range(1, 15_001):  # more pages than Kafka is given at once
        table.put("k", value)
    await rig.sleep(20)
    refusals = iter([StreamGoneError("shard not found")])
    account.refuse = lambda operation, subject: (
        next(refusals, None) if operation == "GetRecords" else None
    )
    await rig.sleep(20)
    assert next(refusals, None) is None, "the shard has another reader"
    table.put("k", 99_999)
    await rig.sleep(20)
    rig.acks_held = False
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    values = [sent.value or 0 for sent in rig.log if sent.key == "k"]
    assert values == sorted(values)
    assert rig.task is not None
    assert not any(rig.task._progress["orders"].unacked.values())
    await rig.stop()


@virtual
async def test_a_gap_that_is_passed_over_takes_back_nothing_that_was_read_behind_it() -> None:
    """Its position waits for Kafka behind the pages of a busy table."""
    account = new_account()
    table, busy = account.add_table("orders"), account.add_table("busy")
    table.put("k", 0)
    rig = Rig(account, {**SLOW, "gap.policy": "skip"})
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders") and rig.is_in_sync("busy"))
    await rig.sleep(5)
    rig.acks_held = True
    for value in range(1, 15_001):  # more pages than Kafka is given at once
        busy.put("k", value)
    await rig.sleep(20)
    assert table.stream is not None
    (shard,) = table.stream.open_shards()
    refusals = iter([TrimmedDataError("trimmed")] * 6)
    account.refuse = lambda operation, subject: (
        next(refusals, None) if operation == "GetRecords" and shard.shard_id in subject else None
    )
    await rig.until(lambda: rig.row("orders")["gaps"] == 1)
    for value in (1, 2):
        table.put("k", value)
        await rig.sleep(10)
    rig.acks_held = False
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    await rig.sleep(1)
    stored = rig.stored("orders", shard_id=shard.shard_id)
    await rig.stop()
    assert stored is not None
    assert stored["position"] != "TRIM_HORIZON", stored


@virtual
async def test_a_shard_trimmed_away_behind_a_fresh_position_loses_nothing() -> None:
    _, table, rig = await stopped_rig()
    assert table.stream is not None
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.sleep(3 * HOUR_S)
    shard = table.stream.open_shards()[0]
    child = table.stream.roll(shard)
    del table.stream.shards[shard.shard_id]
    table.put("k", 1)
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert rig.row("orders")["gaps"] == 0
    stored = rig.stored("orders", shard_id=child.shard_id)
    assert stored is not None
    await rig.stop()


@virtual
async def test_positions_that_were_removed_by_hand_are_a_gap_unless_the_scan_is_recent() -> None:
    account, table, rig = await stopped_rig()
    for partition in list(rig.offsets.stored):
        if "shard_id" in partition.to_dict():
            del rig.offsets.stored[partition]
    table.put("k", 1)
    scans = len(account.scans)
    await rig.start()
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert rig.row("orders")["gaps"] == 0
    assert len(account.scans) == scans
    await rig.stop()
    for partition in list(rig.offsets.stored):
        if "shard_id" in partition.to_dict():
            del rig.offsets.stored[partition]
    await asyncio.sleep(30 * HOUR_S)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.row("orders")["gaps"] == 1
    assert len(account.scans) > scans
    assert SourcePartition.of({"table_name": "orders"}) in rig.offsets.stored
    await rig.stop()
