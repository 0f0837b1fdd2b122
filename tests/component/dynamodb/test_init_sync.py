"""INIT_SYNC of the whole task, on virtual time. Row ids are those of the field cases."""

from __future__ import annotations

import asyncio
import json

import pytest

from connectd.errors import AccessDeniedError, ThrottledError
from connectd.model.record import RecordBatch, Seal, SourcePartition
from connectd.plugins.internal_topics import InternalTopics
from tests.component.dynamodb.rig import Rig, new_account, virtual


@virtual
async def test_a_table_is_scanned_then_followed() -> None:
    account = new_account()
    table = account.add_table("orders")
    for number in range(25):
        table.put(f"k{number}", number)
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    reads = [sent for sent in rig.log if sent.op == "r"]
    assert {sent.key: sent.value for sent in reads} == table.items
    table.put("k1", 99)
    table.delete("k2")
    table.put("new", 1)
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    row = rig.row("orders")
    assert row["items_scanned"] == 25
    assert row["topic"] == "dynamodb-orders"
    assert row["state"] == "SYNC"
    await rig.stop()
    assert rig.pool.users == 0


@virtual
async def test_the_items_of_a_finished_scan_are_still_told_after_a_restart() -> None:
    account = new_account()
    table = account.add_table("orders")
    for number in range(25):
        table.put(f"k{number}", number)
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.stop()
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.row("orders")["items_scanned"] == 25
    await rig.stop()


@virtual
async def test_a_table_whose_topic_is_the_workers_own_fails_and_the_others_go_on() -> None:
    account = new_account()
    for name in ("configs", "good"):
        account.add_table(name).put("k", 1)
    rig = Rig(account, {"kafka.topic.prefix": "connect-"})
    rig.resources[InternalTopics] = InternalTopics(frozenset({"connect-configs"}))
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("good") and rig.state("configs") == "FAILED")
    assert "a topic of the worker's own" in str(rig.row("configs")["reason"])
    assert rig.topic_view("configs") == {}
    await rig.stop()


@virtual
async def test_without_any_lookback_a_change_in_the_second_of_the_start_is_not_lost() -> None:
    """Creation times are whole seconds: such a change looks older than the scan."""
    account = new_account()
    table = account.add_table("orders")
    table.put("k1", 1)
    rig = Rig(account, {"init.sync.lookback.ms": "0"})

    def change(emission: RecordBatch | Seal) -> None:
        if isinstance(emission, RecordBatch) and "segment" in emission.source_partition.to_dict():
            table.put("k1", 99)

    await rig.sleep(0.4)
    rig.on_emission = change
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert table.items["k1"] == 99
    await rig.stop()


@virtual
async def test_the_state_is_durable_before_the_first_page_and_finished_after_the_last() -> None:
    account = new_account()
    table = account.add_table("orders")
    for number in range(25):
        table.put(f"k{number}", number)
    rig = Rig(account)
    rig.commits_held = True
    await rig.start()
    await asyncio.sleep(60)
    assert account.scans == []
    rig.commits_held = False
    rig.acks_held = True
    await rig.until(lambda: len(account.scans) == 3)
    await rig.sleep(60)
    stored = rig.stored("orders")
    assert stored is not None
    assert stored["init_sync_state"] == "RUNNING"
    assert rig.stored_shards("orders") != {}, "the baseline is durable before the first page"
    rig.acks_held = False
    await rig.until(lambda: (rig.stored("orders") or {}).get("init_sync_state") == "FINISHED")
    assert (rig.stored("orders") or {})["init_sync_count"] == 25
    await rig.until(lambda: rig.stored("orders", segment=0) is None)
    await rig.stop()


@virtual
async def test_the_map_of_the_table_is_the_java_connectors_with_ours_behind_it() -> None:
    account = new_account()
    table = account.add_table("orders")
    table.put("k", 1)
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    stored = dict(rig.stored("orders") or {})
    assert list(stored)[:8] == [
        "version",
        "table_name",
        "init_sync_state",
        "init_sync_start",
        "init_sync_end",
        "init_sync_count",
        "src_shard_id",
        "src_shard_sequence_no",
    ]
    assert stored["version"] == "1.0"
    assert stored["src_shard_id"] is None
    await rig.stop()


@virtual
async def test_an_empty_table_is_scanned_once() -> None:
    account = new_account()
    account.add_table("orders")
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.log == []
    assert len(account.scans) == 1
    await rig.crash()
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert len(account.scans) == 1
    await rig.stop()


@virtual
async def test_the_last_record_of_one_segment_says_finished() -> None:
    account = new_account()
    table = account.add_table("orders")
    for number in range(20):
        table.put(f"k{number}", number)
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    states = [sent.state for sent in rig.log if sent.op == "r"]
    assert states == ["RUNNING"] * 19 + ["FINISHED"]
    await rig.stop()


@virtual
async def test_i05_pages_that_kafka_has_not_acknowledged_are_read_again() -> None:
    """I05: the position moves with acknowledgements, not with reads."""
    account = new_account()
    table = account.add_table("orders")
    for number in range(100):
        table.put(f"k{number}", number)
    rig = Rig(account, seed=3)
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 20, step_s=0.001)
    rig.acks_held = True
    await rig.until(lambda: len(account.scans) >= 6, step_s=0.001)
    await rig.crash()
    rig.acks_held = False
    before = len(account.scans)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert account.scans[before][1] is not None, "it continues, and not at the beginning"
    assert rig.topic_view("orders") == table.items
    await rig.stop()


@virtual
async def test_i12_segments_continue_each_at_its_own_key() -> None:
    """I12: four segments, a crash in the middle, nothing lost, nothing begun again."""
    account = new_account()
    account.page_items = 5
    table = account.add_table("orders")
    for number in range(200):
        table.put(f"k{number}", number)
    rig = Rig(account, {"init.sync.segments": "4"})
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 60, step_s=0.001)
    rig.settle()
    stored = {segment: rig.stored("orders", segment=segment) for segment in range(4)}
    assert all(offset is not None for offset in stored.values())
    await rig.crash()
    before = len(account.scans)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    resumed = account.scans[before:]
    for segment, offset in stored.items():
        assert offset is not None
        first = next((key for number, key, _ in resumed if number == segment), None)
        if offset["state"] == "RUNNING":
            assert first is not None
            assert (
                json.loads(first)["id"]["S"]
                == json.loads(str(offset["exclusive_start_key"]))["id"]["s"]
            )
    assert rig.topic_view("orders") == table.items
    await rig.stop()


@pytest.mark.parametrize(
    ("key_type", "keys"),
    [
        ("S", [f'name ünï "{number}"' for number in range(30)]),
        ("N", [str(10**30 + number) for number in range(30)]),
        ("B", ["AAEC" + "AAAA" * number for number in range(30)]),
    ],
)
def test_i10_keys_of_all_types_survive_a_restart(key_type: str, keys: list[str]) -> None:
    """I10: the exact key comes back to DynamoDB, binary and 31-digit numbers included."""

    async def scenario() -> None:
        account = new_account()
        table = account.add_table("orders", key_type=key_type)
        for number, key in enumerate(keys):
            table.put(key, number)
        rig = Rig(account)
        await rig.start()
        await rig.until(lambda: len(rig.log) >= 10, step_s=0.001)
        await rig.crash()
        before = len(account.scans)
        await rig.start()
        await rig.until(lambda: rig.is_in_sync("orders"))
        start = account.scans[before][1]
        assert start is not None
        assert json.loads(start)["id"][key_type] in keys
        assert rig.topic_view("orders") == table.items
        await rig.stop()

    virtual(scenario)()


@virtual
async def test_i06_consumed_capacity_stays_under_the_share() -> None:
    """I06: 10 units, items of 40 KB, half of it is ours: never more in any 30 seconds."""
    account = new_account()
    account.page_items = 25
    table = account.add_table("orders")
    table.read_capacity_units = 10
    table.item_bytes = 40_960
    for number in range(120):
        table.put(f"k{number}", number)
    rig = Rig(account, {"init.sync.segments": "2"})
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"), within_s=3600)
    at = account.consumed
    for start, _ in at:
        units = sum(units for moment, units in at if start <= moment < start + 30)
        assert units <= 5 * 30 + 5, f"{units} units within 30 s from {start}"
    total_s = at[-1][0] - at[0][0]
    assert total_s < 120 * 5 / 5 * 1.2, "and the share is used"
    await rig.stop()


@virtual
async def test_tables_on_demand_are_not_paced_unless_asked() -> None:
    account = new_account()
    table = account.add_table("orders")
    table.item_bytes = 8_192
    for number in range(100):
        table.put(f"k{number}", number)
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert account.consumed[-1][0] < 1.0
    await rig.stop()
    paced = new_account()
    slow = paced.add_table("orders")
    slow.item_bytes = 8_192
    for number in range(100):
        slow.put(f"k{number}", number)
    rig = Rig(paced, {"init.sync.read.capacity.units": "10"})
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert 8.0 < paced.consumed[-1][0] - paced.consumed[0][0] < 13.0
    await rig.stop()


@virtual
async def test_i07_a_throttled_page_is_asked_for_again() -> None:
    """I07: five refusals, then it works; no page lost, the table never failed."""
    account = new_account()
    table = account.add_table("orders")
    for number in range(30):
        table.put(f"k{number}", number)
    refusals = iter([ThrottledError("throughput exceeded")] * 5)
    account.refuse = lambda operation, subject: (
        next(refusals, None) if operation == "Scan" else None
    )
    rig = Rig(account)
    reasons = set()
    await rig.start()
    while not rig.is_in_sync("orders"):
        rig.settle()
        reasons.add(str(rig.row("orders")["reason"]))
        assert rig.state("orders") != "FAILED"
        await asyncio.sleep(0.05)
    assert any("throughput exceeded (attempt 5)" in reason for reason in reasons)
    assert rig.topic_view("orders") == table.items
    assert next(key for _, key, _ in account.scans) is None
    await rig.stop()


@virtual
async def test_i11_a_refusal_for_good_fails_the_table_with_its_cause() -> None:
    """I11: AccessDenied for ever is no retry loop behind RUNNING; other tables go on."""
    account = new_account()
    for name in ("bad", "good"):
        account.add_table(name).put("k", 1)
    account.refuse = lambda operation, subject: (
        AccessDeniedError("dynamodb:Scan on table bad: allow the action")
        if (operation, subject) == ("Scan", "bad")
        else None
    )
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("good") and rig.state("bad") == "FAILED")
    assert rig.context is not None
    (failure,) = rig.context.failures
    assert "table bad" in str(failure)
    assert "dynamodb:Scan" in str(failure)
    assert isinstance(failure.__cause__, AccessDeniedError)
    assert "dynamodb:Scan" in str(rig.row("bad")["reason"])
    account.tables["good"].put("k", 2)
    await rig.until(lambda: rig.topic_view("good") == {"k": 2})
    assert rig.error is None
    await rig.stop()


@virtual
async def test_when_the_last_table_has_failed_the_task_fails() -> None:
    account = new_account()
    account.add_table("bad")
    account.refuse = lambda operation, subject: (
        AccessDeniedError("dynamodb:Scan") if operation == "Scan" else None
    )
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.error is not None)
    assert "table bad" in str(rig.error)
    await rig.stop()


@virtual
async def test_i14_a_start_delay_says_until_when() -> None:
    """I14: the first minute is no hang, and stopping does not wait for it."""
    account = new_account()
    account.add_table("orders").put("k", 1)
    rig = Rig(account, {"init.sync.delay.period": "60"})
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "DELAYED")
    # The test began at 22:13:20Z.
    assert "INIT_SYNC begins at 2023-11-14T22:14:20" in str(rig.row("orders")["reason"])
    await rig.sleep(30)
    assert account.scans == []
    started = account.clock.monotonic()
    await rig.stop()
    assert account.clock.monotonic() - started < 1
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"), within_s=70)
    await rig.stop()
    scans = len(account.scans)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"), within_s=5)
    assert len(account.scans) == scans
    await rig.stop()


@virtual
async def test_a_scan_that_is_continued_is_not_delayed() -> None:
    account = new_account()
    table = account.add_table("orders")
    for number in range(50):
        table.put(f"k{number}", number)
    rig = Rig(account, {"init.sync.delay.period": "5"})
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 20, step_s=0.001)
    await rig.crash()
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"), within_s=3)
    await rig.stop()


@pytest.mark.parametrize("position", ["TRIM_HORIZON", "LATEST"])
def test_i01_without_a_scan_the_stream_alone_is_copied(position: str) -> None:
    """I01: no `r` records; the stream from its horizon, or from now on."""

    async def scenario() -> None:
        account = new_account()
        table = account.add_table("orders")
        for number in range(5):
            table.put(f"k{number}", number)
        await asyncio.sleep(10)
        rig = Rig(account, {"init.sync.skip": "true", "stream.start.position": position})
        await rig.start()
        await rig.until(lambda: rig.is_in_sync("orders"))
        await rig.sleep(5)
        old = [("c", f"k{number}", number) for number in range(5)]
        assert rig.ops() == (old if position == "TRIM_HORIZON" else [])
        table.put("k1", 11)
        await rig.until(lambda: ("u", "k1", 11) in rig.ops())
        assert account.scans == []
        assert (rig.stored("orders") or {})["init_sync_state"] == "SKIPPED"
        await rig.stop()

    virtual(scenario)()


@virtual
async def test_i02_a_scan_that_takes_too_long_goes_on_and_says_so() -> None:
    """I02: the clock jumps 20 hours between two pages; nothing is begun again because of that."""
    account = new_account()
    table = account.add_table("orders")
    for number in range(100):
        table.put(f"k{number}", number)
    rig = Rig(account, {"gap.policy": "skip", "task.buffer.pages": "2"})
    await rig.start()
    await rig.until(lambda: len(account.scans) >= 2, step_s=0.001)
    rig.acks_held = rig.is_paused = True
    await asyncio.sleep(20 * 3600)
    rig.acks_held = rig.is_paused = False
    notes = set()
    while rig.state("orders") != "SYNC":
        rig.settle()
        notes.add(str(rig.row("orders")["reason"]))
        await asyncio.sleep(0.001)
    assert [key for _, key, _ in account.scans].count(None) == 1
    assert any("more than 19 hours" in note for note in notes), notes
    await rig.stop()


@virtual
async def test_i04_a_shard_is_finished_only_when_its_iterator_is() -> None:
    """I04: read half of a shard, close it, crash: the tail is not lost."""
    account = new_account()
    table = account.add_table("orders")
    rig = Rig(account, {"stream.page.limit": "3"})
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert table.stream is not None
    shard = table.stream.open_shards()[0]
    for number in range(10):
        table.put(f"k{number}", number)
    await rig.until(lambda: len(rig.log) >= 3, step_s=0.001)
    table.stream.roll(shard)
    await rig.crash()
    await rig.start()
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    await rig.until(
        lambda: (rig.stored("orders", shard_id=shard.shard_id) or {})["position"] == "SHARD_END"
    )
    await rig.stop()


@virtual
async def test_changes_during_the_scan_come_after_it() -> None:
    """The last word on every key is the table's, although the scan and the stream overlap."""
    account = new_account()
    account.page_items = 2
    account.latency_s = 0.2
    table = account.add_table("orders", shards=2)
    for number in range(40):
        table.put(f"k{number}", number)
    rig = Rig(account)
    await rig.start()
    for number in range(40):
        await rig.sleep(0.1)
        table.put(f"k{number}", number + 1000)
        table.delete(f"k{39 - number}")
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    await rig.stop()


@virtual
async def test_changes_long_before_the_scan_are_not_copied_again() -> None:
    account = new_account()
    table = account.add_table("orders")
    table.put("old", 1)
    await asyncio.sleep(2 * 3600)
    table.put("recent", 2)
    await asyncio.sleep(1800)
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: ("c", "recent", 2) in rig.ops())
    assert ("r", "old", 1) in rig.ops()
    assert ("c", "old", 1) not in rig.ops()
    await rig.stop()


@virtual
async def test_a_position_without_its_state_is_stale_and_removed() -> None:
    account = new_account()
    account.add_table("orders").put("k", 1)
    rig = Rig(account)
    stale = SourcePartition.of({"table_name": "orders", "segment": 7})
    rig.offsets.stored[stale] = {
        "init_sync_start": 1,
        "total_segments": 8,
        "state": "RUNNING",
        "count": 3,
    }
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert stale not in rig.offsets.stored
    await rig.stop()


@virtual
async def test_an_offset_that_cannot_be_read_fails_the_table_and_says_what_to_do() -> None:
    account = new_account()
    account.add_table("orders").put("k", 1)
    rig = Rig(account)
    rig.offsets.stored[SourcePartition.of({"table_name": "orders"})] = {
        "init_sync_state": "WAITING"
    }
    await rig.start()
    await rig.until(lambda: rig.error is not None)
    assert "init_sync_state is 'WAITING'" in str(rig.error)
    assert "PATCH" in str(rig.error)
    assert account.scans == []
    await rig.stop()


@virtual
async def test_a_slow_broker_bounds_what_is_read_ahead() -> None:
    """Back-pressure of the scan: no more pages than places are read while nobody polls."""
    account = new_account()
    account.page_items = 1
    table = account.add_table("orders")
    for number in range(100):
        table.put(f"k{number}", number)
    rig = Rig(account, {"init.sync.segments": "8", "task.buffer.pages": "4"})
    batches = 0

    def count(emission: object) -> None:
        nonlocal batches
        batches += isinstance(emission, RecordBatch)

    rig.on_emission = count
    await rig.start()
    await rig.until(lambda: len(account.scans) > 0, step_s=0.001)
    rig.is_paused = True
    await asyncio.sleep(1)
    scanned, taken = len(account.scans), batches
    await asyncio.sleep(3600)
    assert len(account.scans) == scanned
    assert scanned - taken <= 4 + 1
    assert "waiting for Kafka" in str(rig.row("orders")["reason"])
    rig.is_paused = False
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.topic_view("orders") == table.items
    await rig.stop()
