"""SYNC of the whole task, on virtual time. Row ids are those of the field cases."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from connectd.connectors.dynamodb.emission_queue import EmissionQueue
from connectd.connectors.dynamodb.table_scope import Unacked
from connectd.errors import (
    InvalidRequestError,
    ThrottledError,
    TransientNetworkError,
)
from connectd.model.record import RecordBatch, Seal, SourceRecord
from tests.component.dynamodb.account import Account, FakeTable
from tests.component.dynamodb.rig import Rig, new_account, virtual

SLOW = {"position.heartbeat.ms": "3600000", "stream.poll.interval.max.ms": "60000"}
"""For tests of days: fewer polls."""


async def in_sync(
    config: Mapping[str, str] | None = None, *, shards: int = 1
) -> tuple[Account, FakeTable, Rig]:
    """A table that is followed."""
    account = new_account()
    table = account.add_table("orders", shards=shards)
    rig = Rig(account, config)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    return account, table, rig


@pytest.mark.parametrize("hidden", [0, 1, 2, 5])
def test_s01_a_child_that_is_listed_late_is_read(hidden: int) -> None:
    """S01: after the end of a shard the stream is listed again until its child is there."""

    async def scenario() -> None:
        _, table, rig = await in_sync()
        assert table.stream is not None
        parent = table.stream.open_shards()[0]
        table.put("k", 1)
        table.stream.roll(parent, hidden=hidden)
        table.put("k", 2)
        await rig.until(lambda: rig.topic_view("orders") == {"k": 2}, within_s=60)
        assert [value for _, _, value in rig.ops()] == [1, 2]
        await rig.stop()

    virtual(scenario)()


@virtual
async def test_the_position_behind_a_change_is_that_of_a_page_which_ends_there() -> None:
    _, table, rig = await in_sync()
    pages: list[RecordBatch] = []

    def keep(emission: RecordBatch | Seal) -> None:
        if isinstance(emission, RecordBatch) and len(emission.payload):
            pages.append(emission)

    rig.on_emission = keep
    for number in range(3):
        table.put(f"k{number}", number)
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    offsets = [
        (entry.offset_after and entry.offset_after(), page.source_offset)
        for page in pages
        for entry in page.payload.source_records()
        if isinstance(entry, SourceRecord)
    ]
    assert len({str(after) for after, _ in offsets}) == 3
    assert offsets[-1][0] == offsets[-1][1]
    await rig.stop()


@virtual
async def test_s01_of_two_children_one_may_be_listed_late() -> None:
    """Nothing tells that a shard had two children: so the stream is listed a few times more."""
    _, table, rig = await in_sync()
    assert table.stream is not None
    parent = table.stream.open_shards()[0]
    _, second = table.stream.split(parent)
    second.hidden = 3
    for number in range(20):
        table.put(f"k{number}", number)
    await rig.until(lambda: rig.topic_view("orders") == table.items, within_s=70)
    await rig.stop()


@virtual
async def test_s01_while_no_shard_is_open_the_table_says_so() -> None:
    account, table, rig = await in_sync()
    assert table.stream is not None
    parent = table.stream.open_shards()[0]
    table.stream.roll(parent, hidden=10**6)
    await rig.until(lambda: "no open shard" in str(rig.row("orders")["reason"]))
    assert parent.shard_id in str(rig.row("orders")["reason"])
    listings = account.calls["DescribeStream"]
    await rig.sleep(200)
    assert 5 < account.calls["DescribeStream"] - listings < 30, "again and again, with a pause"
    await rig.stop()


@virtual
async def test_s02_all_of_150_shards_are_known() -> None:
    """S02: the client lists all pages; here: every one of 150 shards is followed."""
    _, table, rig = await in_sync(shards=150)
    await rig.until(lambda: rig.row("orders")["shards_open"] == 150)
    for number in range(300):
        table.put(f"k{number}", number)
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    await rig.stop()


@virtual
async def test_s05_one_failing_shard_does_not_stop_the_others() -> None:
    """S05: 60 shards, the iterator of one fails for ten minutes; the others flow, it is retried."""
    account = new_account()
    table = account.add_table("orders", shards=60)
    assert table.stream is not None
    bad = table.stream.open_shards()[7]
    account.latency_s = 0.1
    account.refuse = lambda operation, subject: (
        TransientNetworkError("internal server error")
        if (operation, subject) == ("GetShardIterator", bad.shard_id)
        else None
    )
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "SYNC")
    for number in range(200):
        table.put(f"k{number}", number)
    healthy = {key: v for key, v in table.items.items() if table.stream.shard_of(key) is not bad}
    assert len(healthy) < len(table.items)
    await rig.until(lambda: healthy.items() <= rig.topic_view("orders").items())
    await rig.sleep(600)
    row = rig.row("orders")
    assert row["state"] == "SYNC"
    assert bad.shard_id in str(row["reason"])
    assert float(str(row["progress_age_s"])) > 500, "P07: the age of the last read shows it"
    account.refuse = lambda operation, subject: None
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert rig.row("orders")["reason"] == ""
    await rig.stop()


@virtual
async def test_s07_children_are_read_from_their_beginning_whatever_the_start_was() -> None:
    """S07: LATEST holds for the very first start only."""
    account, table, rig = await in_sync({"init.sync.skip": "true"})
    assert table.stream is not None
    account.refuse = lambda operation, subject: (
        ThrottledError("rate exceeded") if operation == "DescribeStream" else None
    )
    table.stream.split(table.stream.open_shards()[0])
    table.put("early", 1)
    await rig.sleep(20)
    account.refuse = lambda operation, subject: None
    await rig.until(lambda: ("c", "early", 1) in rig.ops())
    await rig.stop()


@virtual
async def test_latest_is_pinned_before_anything_is_read() -> None:
    """A restart before the first numeric position loses nothing and repeats nothing older."""
    account = new_account()
    table = account.add_table("orders")
    table.put("old", 1)
    await asyncio.sleep(10)
    rig = Rig(account, {"init.sync.skip": "true"})
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.crash()
    table.put("meanwhile", 2)
    await asyncio.sleep(10)
    await rig.start()
    await rig.until(lambda: rig.ops() == [("c", "meanwhile", 2)])
    await rig.crash()
    await rig.start()
    await rig.sleep(30)
    assert ("c", "old", 1) not in rig.ops()
    await rig.stop()


@pytest.mark.parametrize("children", [1, 2])
def test_s08_a_child_waits_for_the_durable_end_of_its_parent(children: int) -> None:
    """S08: v1 in the parent, v2 in the child, both there: v1 before v2, always."""

    async def scenario() -> None:
        account = new_account()
        table = account.add_table("orders")
        assert table.stream is not None
        shard = table.stream.open_shards()[0]
        for number in range(20):
            table.put("k", number)
        if children == 2:
            table.stream.split(shard)
        else:
            table.stream.roll(shard)
        for number in range(20, 40):
            table.put("k", number)
        rig = Rig(account, {"stream.page.limit": "3"})
        rig.acks_held = True
        await rig.start()
        rig.acks_held = False
        await rig.until(lambda: rig.state("orders") == "SYNC", step_s=0.001)
        rig.commits_held = True
        await rig.sleep(120)
        changes = [sent.value for sent in rig.log if sent.op != "r"]
        assert changes == list(range(20)), "the parent is read, its end is not durable"
        assert rig.row("orders")["shards_waiting"] == children
        rig.commits_held = False
        await rig.until(lambda: rig.topic_view("orders") == {"k": 39})
        changes = [sent.value for sent in rig.log if sent.op != "r"]
        assert changes == list(range(40))
        await rig.stop()

    virtual(scenario)()


@virtual
async def test_s12_an_error_that_will_not_pass_is_visible_at_once() -> None:
    """S12: a ValidationException of one reader fails the table now, not at the next listing."""
    account, table, rig = await in_sync(shards=3)
    assert table.stream is not None
    bad = table.stream.open_shards()[1].shard_id
    account.refuse = lambda operation, subject: (
        InvalidRequestError(f"ValidationException for {subject}") if subject == bad else None
    )
    await rig.until(lambda: rig.state("orders") == "FAILED", within_s=5)
    assert bad in str(rig.row("orders")["reason"])
    assert rig.context is not None
    assert len(rig.context.failures) == 1
    await rig.stop()


async def with_a_full_buffer() -> tuple[FakeTable, Rig, EmissionQueue]:
    """500 shards with changes, eight places for pages, and nobody takes any."""
    _, table, rig = await in_sync({"task.buffer.pages": "8"}, shards=500)
    rig.is_paused = True
    for number in range(5000):
        table.put(f"k{number}", number)
    rig.account.calls.clear()
    await asyncio.sleep(600)
    assert rig.task is not None
    assert rig.task._queue is not None
    return table, rig, rig.task._queue


@virtual
async def test_s13_many_shards_and_a_slow_producer_stay_within_the_buffer() -> None:
    """S13: 500 shards with full pages; nobody holds more pages than there are places."""
    table, rig, queue = await with_a_full_buffer()
    statistics = queue.statistics()
    assert statistics.places_taken == 8
    assert statistics.emissions <= 8 + 500, "pages, and at most one position per shard"
    assert rig.account.calls["GetRecords"] < 2000
    rig.is_paused = False
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    await rig.stop()


@virtual
async def test_s13_a_turn_of_a_slow_producer_lets_no_more_pages_in_than_there_is_room_for() -> None:
    """S13: of 500 shards with a few changes each, all of which wait for room at once."""
    table, rig, queue = await with_a_full_buffer()
    assert rig.task is not None
    for _ in range(3):
        assert 8 <= queue.statistics().emissions <= 8 + 64, "and polls that were in flight"
        for emission in await rig.task.poll():
            rig._take(emission)
        await asyncio.sleep(60)
    rig.is_paused = False
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    await rig.stop()


@virtual
async def test_s14_throttled_reads_back_off() -> None:
    """S14: three readers on a shard: throttling slows this one down, no more."""
    account, table, rig = await in_sync()
    account.refuse = lambda operation, subject: (
        ThrottledError("rate exceeded") if operation == "GetRecords" else None
    )
    reads = account.calls["GetRecords"]
    await rig.sleep(300)
    assert account.calls["GetRecords"] - reads < 300 / 5 + 10
    assert "rate exceeded" in str(rig.row("orders")["reason"])
    assert rig.state("orders") == "SYNC"
    table.put("k", 1)
    account.refuse = lambda operation, subject: None
    await rig.until(lambda: rig.topic_view("orders") == {"k": 1}, within_s=15)
    await rig.stop()


@virtual
async def test_s15_a_stream_of_closed_shards_is_waited_for() -> None:
    """S15: all shards closed is no failure: a new one is waited for."""
    account = new_account()
    table = account.add_table("orders")
    assert table.stream is not None
    shard = table.stream.open_shards()[0]
    shard.closed_s = account.clock.wall_s()
    rig = Rig(account)
    await rig.start()
    await rig.sleep(120)
    assert rig.state("orders") == "SYNC"
    assert "no open shard" in str(rig.row("orders")["reason"])
    table.stream.new_shard(0.0, 1.0, shard.shard_id)
    table.put("k", 1)
    await rig.until(lambda: rig.topic_view("orders") == {"k": 1}, within_s=60)
    assert rig.row("orders")["reason"] == ""
    await rig.stop()


@pytest.mark.parametrize(("policy", "expected"), [("include", ["a", "b"]), ("drop", ["b"])])
def test_s16_deletions_by_time_to_live_can_be_left_out(policy: str, expected: list[str]) -> None:
    """S16: told from people's deletions by who made them."""

    async def scenario() -> None:
        _, table, rig = await in_sync({"ttl.deletes": policy})
        table.put("a", 1)
        table.put("b", 2)
        table.delete("a", by_ttl=True)
        table.delete("b")
        await rig.until(lambda: ("d", "b", None) in rig.ops())
        assert [key for op, key, _ in rig.ops() if op == "d"] == expected
        await rig.stop()

    virtual(scenario)()


@virtual
async def test_s19_a_shard_whose_last_record_is_left_out_still_ends() -> None:
    """S19: what is filtered is done: the child starts."""
    _, table, rig = await in_sync({"ttl.deletes": "drop"})
    assert table.stream is not None
    table.put("a", 1)
    table.delete("a", by_ttl=True)
    table.stream.roll(table.stream.open_shards()[0])
    table.put("b", 2)
    await rig.until(lambda: ("c", "b", 2) in rig.ops(), within_s=60)
    await rig.stop()


@virtual
async def test_s25_shards_are_read_in_parallel() -> None:
    """S25: 5,000 changes a second over four shards, one second of latency per read."""
    account, table, rig = await in_sync(shards=4)
    account.latency_s = 0.5
    for number in range(20_000):
        table.put(f"k{number}", number)
    started = account.clock.monotonic()
    await rig.until(lambda: len(rig.log) >= 20_000, within_s=60)
    assert account.clock.monotonic() - started < 6.0
    await rig.stop()


@virtual
async def test_o06_the_position_of_a_quiet_table_does_not_age() -> None:
    """O06: 30 hours without a change, then a restart: no gap, nothing repeated."""
    _, table, rig = await in_sync(SLOW)
    assert table.stream is not None
    table.put("k", 1)
    await rig.until(lambda: ("c", "k", 1) in rig.ops())
    moves = rig.committed_moves
    await rig.sleep(30 * 3600)
    assert rig.committed_moves - moves <= 31, "one position per heartbeat"
    await rig.crash()
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    table.put("k", 2)
    await rig.until(lambda: ("u", "k", 2) in rig.ops())
    assert rig.row("orders")["gaps"] == 0
    assert len(rig.log) == 2
    await rig.stop()


@virtual
async def test_o06_the_position_of_a_filtered_table_moves_with_every_page() -> None:
    _, table, rig = await in_sync({"ttl.deletes": "drop"})
    assert table.stream is not None
    shard = table.stream.open_shards()[0]
    table.put("k", 1)
    await rig.until(lambda: len(rig.log) == 1)
    table.delete("k", by_ttl=True)
    last = shard.records[-1].sequence
    await rig.until(
        lambda: (rig.stored("orders", shard_id=shard.shard_id) or {})["sequence_number"] == last
    )
    assert len(rig.log) == 1
    await rig.stop()


@virtual
async def test_an_iterator_that_expired_is_renewed_after_what_was_delivered() -> None:
    """Back-pressure of an hour: no loss, no repetition, no resync."""
    _, table, rig = await in_sync({"task.buffer.pages": "2", "stream.page.limit": "1"})
    for number in range(5):
        table.put(f"k{number}", number)
    rig.is_paused = True
    await asyncio.sleep(3600)
    for number in range(5, 10):
        table.put(f"k{number}", number)
    rig.is_paused = False
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert [value for _, _, value in rig.ops()] == list(range(10))
    assert rig.row("orders")["gaps"] == 0
    await rig.stop()


@virtual
async def test_empty_pages_in_the_middle_of_a_shard_end_nothing() -> None:
    account, table, rig = await in_sync()
    account.empty_pages = 30
    table.put("k", 1)
    await rig.until(lambda: rig.topic_view("orders") == {"k": 1}, within_s=120)
    await rig.stop()


@virtual
async def test_the_last_page_may_come_with_the_end() -> None:
    _, table, rig = await in_sync()
    assert table.stream is not None
    table.put("k", 1)
    table.stream.roll(table.stream.open_shards()[0])
    await rig.until(lambda: rig.topic_view("orders") == {"k": 1})
    await rig.stop()


@virtual
async def test_positions_of_finished_shards_are_forgotten_in_time() -> None:
    """A table that rolls over for three days keeps a handful of positions, not hundreds."""
    _, table, rig = await in_sync(SLOW)
    assert table.stream is not None
    for number in range(6 * 3):
        table.put("k", number)
        table.stream.roll(table.stream.open_shards()[0])
        await rig.sleep(4 * 3600)
    assert len(rig.stored_shards("orders")) <= 9
    assert rig.row("orders")["gaps"] == 0
    assert [value for _, _, value in rig.ops()] == list(range(18))
    await rig.crash()
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.sleep(60)
    assert rig.row("orders")["gaps"] == 0
    assert len(rig.log) == 18, "nothing is replayed"
    await rig.stop()


@virtual
async def test_an_idle_table_is_polled_slowly_and_a_busy_one_at_once() -> None:
    account, table, rig = await in_sync()
    await rig.sleep(60)
    reads = account.calls["GetRecords"]
    await rig.sleep(60)
    assert 10 <= account.calls["GetRecords"] - reads <= 13
    table.put("k", 1)
    await rig.until(lambda: len(rig.log) == 1, within_s=5.1)
    await rig.stop()


@virtual
async def test_a_table_that_changes_now_and_then_is_read_all_the_more_often() -> None:
    """After a twelfth of its quiet time: one change in two seconds is never waited for for long."""
    _, table, rig = await in_sync()
    await rig.sleep(60)
    for number in range(20):
        table.put("k", number)
        await rig.until(
            lambda expected=number + 1: len(rig.log) == expected,  # type: ignore[misc]
            within_s=0.4 if number else 5.1,
            step_s=0.05,
        )
        await rig.sleep(2)
    await rig.stop()


@virtual
async def test_the_lag_is_that_of_the_shard_furthest_behind() -> None:
    _, table, rig = await in_sync({"stream.page.limit": "1"}, shards=2)
    assert rig.row("orders")["lag_s"] == 0.0
    rig.is_paused = True
    for number in range(200):
        table.put(f"k{number}", number)
    await asyncio.sleep(600)
    rig.is_paused = False
    await rig.until(lambda: len(rig.log) > 60, step_s=0.001)
    assert float(str(rig.row("orders")["lag_s"])) >= 599
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    await rig.until(lambda: rig.row("orders")["lag_s"] == 0.0)
    await rig.stop()


@virtual
async def test_seals_come_after_everything_of_their_shard() -> None:
    _, table, rig = await in_sync({"stream.page.limit": "2"})
    assert table.stream is not None
    shard = table.stream.open_shards()[0]
    order: list[str] = []

    def note(emission: RecordBatch | Seal) -> None:
        if emission.source_partition.to_dict().get("shard_id") == shard.shard_id:
            order.append(type(emission).__name__)

    rig.on_emission = note
    for number in range(9):
        table.put(f"k{number}", number)
    table.stream.roll(shard)
    await rig.until(lambda: "Seal" in order)
    assert order[-1] == "Seal"
    assert order.count("Seal") == 1
    await rig.stop()


@virtual
async def test_a_reader_passes_no_page_of_its_table_that_was_under_way_before_it() -> None:
    """Another shard's, too: it may be one that this one follows, given up in a gap."""
    account = new_account()
    table = account.add_table("orders")
    rig = Rig(account)
    urgent: list[bool] = []

    def on_emission(emission: RecordBatch | Seal) -> None:
        if isinstance(emission, RecordBatch) and len(emission.payload):
            urgent.append(emission.is_urgent)

    rig.on_emission = on_emission
    await rig.start()
    assert rig.task is not None
    elder = rig.task._progress["orders"].under_way("shard-before")
    elder.append(Unacked(born_s=0.0, emitted_s=0.0))
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.sleep(5)
    for value in range(3):
        table.put("k", value)
        await rig.sleep(20)
    assert urgent == [False] * 3
    elder.append(Unacked(born_s=99.0, emitted_s=99.0))  # what came later does not count
    elder.popleft()
    for value in range(2):  # the first is waited for in the long lane
        table.put("k", value)
        await rig.sleep(20)
    assert urgent[-1]
    await rig.stop()
