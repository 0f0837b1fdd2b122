"""A gap that incremental exports close: the whole task, on virtual time, S3 being a dictionary."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from connectd.connectors.dynamodb.export_windows import WINDOW_MIN_MS
from connectd.connectors.dynamodb.source_api import ExportWindow
from connectd.errors import AccessDeniedError, ThrottledError
from connectd.model.record import RecordBatch
from tests.component.dynamodb.account import FakeTable
from tests.component.dynamodb.exports import FakeExports
from tests.component.dynamodb.rig import Rig, new_account, virtual

HOUR_S = 3600.0
HOUR_MS = 3_600_000
REFUSED = "incremental exports cannot close the gap"


class Gap:
    """A table that was read and followed, and a worker that is away since."""

    def __init__(self, rig: Rig, table: FakeTable) -> None:
        self.rig = rig
        self.table = table

    @property
    def exports(self) -> FakeExports:
        return self.rig.account.exports

    @property
    def windows(self) -> list[ExportWindow]:
        """Of all incremental exports that were asked for, in order."""
        wanted = (each.request.window for each in self.exports.exports.values())
        return [window for window in wanted if window is not None]

    @property
    def full_exports(self) -> int:
        return sum(each.request.window is None for each in self.exports.exports.values())

    def ops(self, key: str) -> list[tuple[str, int | None]]:
        return [(op, value) for op, name, value in self.rig.ops("orders") if name == key]

    async def heal(self, within_s: float = 12 * HOUR_S) -> None:
        """The worker comes back; returns when the topic says what the table says."""
        await self.rig.start()
        await self.healed(within_s)

    async def healed(self, within_s: float = 12 * HOUR_S) -> None:
        rig = self.rig
        await rig.until(lambda: rig.is_in_sync("orders"), within_s=within_s, step_s=10.0)
        await rig.until(lambda: rig.topic_view("orders") == self.table.items)


async def gap(items: int = 30, shards: int = 1, **config: str) -> Gap:
    account = new_account()
    table = account.add_table("orders", shards=shards)
    for number in range(items):
        table.put(f"k{number}", number)
    keys = {name.replace("_", "."): value for name, value in config.items()}
    settings = {
        "init.sync.engine": "export",
        "init.sync.export.s3.bucket": "exports",
        "init.sync.export.s3.prefix": "some",
        "stream.poll.interval.max.ms": "60000",
        **keys,
    }
    found = Gap(Rig(account, settings), table)
    await found.heal()
    await found.rig.sleep(2 * HOUR_S)
    table.put("k1", 101)
    table.put("early", 1)
    await found.healed()
    await found.rig.sleep(5.0)
    await found.rig.stop()
    return found


def roll(table: FakeTable) -> None:
    """What happens to open shards within hours."""
    assert table.stream is not None
    for shard in table.stream.open_shards():
        table.stream.roll(shard)


@virtual
async def test_changes_and_deletions_come_from_exports_and_then_from_the_stream() -> None:
    found = await gap()
    rig, table = found.rig, found.table
    read = len(rig.log)
    table.put("k2", 102)
    table.delete("k3")
    table.put("new", 1)
    table.put("brief", 1)
    table.delete("brief")
    roll(table)
    await rig.clock.sleep(40 * HOUR_S)
    table.put("k2", 202)
    table.put("k2", 302)
    await found.heal()
    assert found.ops("k2")[-3:] == [("u", 102), ("u", 202), ("u", 302)]
    assert found.ops("k3")[-1] == ("d", None)
    assert found.ops("new") == [("c", 1)]
    assert found.ops("brief") == []
    assert not [each for each in rig.log[read:] if each.op == "r"]
    assert {each.state for each in rig.log[read:]} == {"FINISHED"}
    assert rig.account.calls["Scan"] == 0
    assert found.full_exports == 1
    row, stored = rig.row("orders"), rig.stored("orders") or {}
    assert (row["gaps"], row["reason"], row["scan"]) == (1, "", None)
    assert stored["export_ms"] == found.windows[-1].to_ms
    assert [name for name in stored if name.startswith("chain")] == []
    assert rig.stored("orders", segment=0) is None
    await rig.stop()


@virtual
async def test_what_was_sent_before_the_gap_and_deleted_in_it_does_not_stay() -> None:
    """An export that began before it was inserted would say nothing of it."""
    found = await gap()
    found.table.delete("early")
    await found.rig.clock.sleep(30 * HOUR_S)
    await found.heal()
    assert found.ops("early") == [("c", 1), ("c", 1), ("d", None)]
    await found.rig.stop()


@virtual
async def test_a_long_gap_takes_a_chain_each_beginning_where_the_last_one_ended() -> None:
    found = await gap()
    rig, table = found.rig, found.table
    left_ms = int(rig.clock.wall_s() * 1000)
    for day in range(6):
        await rig.clock.sleep(24 * HOUR_S)
        table.put("k5", 1000 + day)
        table.put(f"day{day}", day)
        table.delete(f"day{day - 2}")
        roll(table)
    await found.heal()
    windows = found.windows
    assert windows[0].from_ms <= left_ms - WINDOW_MIN_MS + 60_000
    assert [each.from_ms for each in windows[1:]] == [each.to_ms for each in windows[:-1]]
    assert all(WINDOW_MIN_MS <= each.to_ms - each.from_ms <= 24 * HOUR_MS for each in windows)
    now_ms = int(rig.clock.wall_s() * 1000)
    assert 10 * HOUR_MS <= now_ms - windows[-1].to_ms <= 11 * HOUR_MS
    values = [value for op, value in found.ops("k5") if op == "u"]
    assert values == [1000, 1001, 1002, 1003, 1004, 1005]
    assert found.full_exports == 1
    await rig.stop()


@virtual
async def test_the_row_says_what_is_waited_for_and_why() -> None:
    found = await gap()
    rig = found.rig
    await rig.clock.sleep(30 * HOUR_S)
    await rig.start()
    await rig.until(lambda: len(found.windows) == 2)
    await rig.sleep(5.0)
    row = rig.row("orders")
    assert row["state"] == "RESYNC"
    assert "is IN_PROGRESS, waited for 0 min" in str(row["reason"])
    assert "an incremental export closes a gap, with the changes from 2023-11-" in str(
        row["reason"]
    )
    await found.healed()
    await rig.stop()


@virtual
@pytest.mark.parametrize("seed", range(10))
async def test_crashes_at_any_moment_go_on_with_the_same_chain(seed: int) -> None:
    chance = random.Random(seed)
    found = await gap(items=40, shards=3, init_sync_page_size="3")
    rig, table = found.rig, found.table
    rig.random = chance
    for hour in range(70):
        await rig.clock.sleep(HOUR_S)
        for _ in range(3):
            _change(table, chance)
        if hour % 5 == 4:
            roll(table)
    for _ in range(8):
        await rig.start()
        rig.acks_held = chance.random() < 0.3
        rig.commits_held = chance.random() < 0.2
        await rig.sleep(chance.choice([0.2, 3.0, 130.0, 200.0, 400.0]))
        _change(table, chance)
        await rig.crash()
        rig.acks_held = rig.commits_held = False
    await found.heal()
    windows = found.windows
    assert len(set(windows)) == len(windows)
    assert [each.from_ms for each in windows[1:]] == [each.to_ms for each in windows[:-1]]
    assert found.full_exports == 1
    assert rig.row("orders")["gaps"] in {0, 1}  # of the last life: the chain may be over before
    table.put("k0", 7)
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    await rig.stop()


def _change(table: FakeTable, chance: random.Random) -> None:
    key = f"k{chance.randrange(60)}"
    if chance.random() < 0.4:
        table.delete(key)
    else:
        table.put(key, chance.randrange(10_000))


@virtual
async def test_one_shard_that_nobody_could_read_for_days_is_mended_with_the_others_going_on() -> (
    None
):
    found = await gap(items=40, shards=2)
    rig, table = found.rig, found.table
    assert table.stream is not None
    lost, _ = table.stream.open_shards()
    is_away = True
    rig.account.refuse = lambda operation, subject: (
        ThrottledError("slow down")
        if is_away and subject == lost.shard_id and operation.startswith("Get")
        else None
    )
    await rig.start()
    chance = random.Random(3)
    for _ in range(26):
        await rig.clock.sleep(HOUR_S)
        for _ in range(3):
            _change(table, chance)
    is_away = False
    await rig.until(lambda: bool(found.windows), within_s=HOUR_S)
    await found.healed()
    assert found.full_exports == 1
    await rig.stop()


@virtual
async def test_exports_that_take_half_a_day_are_followed_by_another_one() -> None:
    found = await gap()
    rig, table = found.rig, found.table
    await rig.clock.sleep(30 * HOUR_S)
    found.exports.duration_s = 12 * HOUR_S
    await rig.start()
    await rig.until(lambda: len(found.windows) == 1)
    await rig.clock.sleep(5 * HOUR_S)
    table.put("k7", 777)
    await found.healed(within_s=100 * HOUR_S)
    assert len(found.windows) == 4
    assert found.full_exports == 1
    assert rig.row("orders")["gaps"] == 1
    await rig.stop()


def _forgets(found: Gap) -> None:
    found.exports.recovery_s = 24 * HOUR_S


def _replaces_stream(found: Gap) -> None:
    found.table.disable_stream()
    found.table.enable_stream()


@virtual
@pytest.mark.parametrize(
    ("hours", "prepare", "config", "why"),
    [
        (30, _forgets, {}, "InvalidExportTimeException"),
        (30, _replaces_stream, {}, "the stream was replaced"),
        (30, lambda _: None, {"ttl.deletes": "drop"}, "who has deleted an item"),
        (900, lambda _: None, {}, "reaches back 35 at most"),
        (30, lambda _: None, {"stream.safe.zone.ms": "3600000"}, "stream.safe.zone.ms is below"),
    ],
)
async def test_what_they_cannot_close_is_exported_whole_and_it_is_said_why(
    hours: int, prepare: Callable[[Gap], None], config: dict[str, str], why: str
) -> None:
    found = await gap()
    rig, table = found.rig, found.table
    rig.config |= config
    table.put("lost", 7)
    prepare(found)
    roll(table)
    await rig.clock.sleep(hours * HOUR_S)
    with capture_logs() as logs:
        await rig.start()
        await rig.until(lambda: found.full_exports == 2)
        assert f"{REFUSED}: " in str(rig.row("orders")["reason"])
        assert why in str(rig.row("orders")["reason"])
        await found.healed()
    assert rig.row("orders")["reason"] == ""
    assert [each for each in logs if each["event"] == REFUSED and why in str(each["why"])]
    assert found.full_exports == 2
    assert ("r", "lost", 7) in rig.ops()
    stored = rig.stored("orders") or {}
    assert [name for name in stored if name.startswith("chain")] == []
    await rig.stop()


@virtual
async def test_a_stream_that_is_replaced_meanwhile_ends_the_chain() -> None:
    found = await gap()
    rig, table = found.rig, found.table
    await rig.clock.sleep(30 * HOUR_S)
    await rig.start()
    await rig.until(lambda: len(found.windows) == 1)
    table.disable_stream()
    table.put("between", 1)
    table.enable_stream()
    await found.healed()
    assert found.full_exports == 2
    assert ("r", "between", 1) in rig.ops()
    await rig.stop()


async def failure_of(rig: Rig) -> str:
    await rig.until(lambda: rig.state("orders") == "FAILED")
    return str(rig.row("orders")["reason"])


@virtual
async def test_a_failed_export_fails_the_table_and_the_next_start_asks_anew() -> None:
    found = await gap()
    rig, table = found.rig, found.table
    table.put("lost", 7)
    await rig.clock.sleep(30 * HOUR_S)
    found.exports.fails = "S3AccessDenied: the bucket refuses DynamoDB"
    await rig.start()
    assert "has failed: S3AccessDenied: the bucket refuses" in await failure_of(rig)
    await rig.stop()
    found.exports.fails = ""
    await found.heal()
    first, second = found.windows[:2]
    assert first == second
    assert found.full_exports == 1
    await rig.stop()


@virtual
async def test_an_export_that_nobody_confirmed_is_planned_anew_when_it_is_late() -> None:
    found = await gap()
    rig = found.rig
    await rig.clock.sleep(30 * HOUR_S)
    rig.account.refuse = lambda operation, subject: (
        AccessDeniedError("allow dynamodb:ExportTableToPointInTime")
        if operation == "ExportTableToPointInTime"
        else None
    )
    await rig.start()
    assert "allow dynamodb:ExportTableToPointInTime" in await failure_of(rig)
    await rig.stop()
    await rig.clock.sleep(20 * HOUR_S)
    rig.account.refuse = lambda operation, subject: None
    await found.heal()
    assert found.full_exports == 1
    await rig.stop()


@virtual
async def test_a_damaged_file_of_a_chain_is_named_and_read_again_when_it_is_mended() -> None:
    found = await gap()
    rig, table = found.rig, found.table
    table.put("lost", 7)
    await rig.clock.sleep(30 * HOUR_S)
    objects, whole = found.exports.objects, dict[tuple[str, str], bytes]()

    def damage(operation: str, subject: str) -> None:
        if operation == "GetObject" and "/AWSDynamoDB/data/" in subject and not whole:
            whole["exports", subject] = objects["exports", subject]
            objects["exports", subject] = b"damaged"

    rig.account.refuse = damage
    await rig.start()
    assert "its MD5 is" in await failure_of(rig)
    await rig.stop()
    objects |= whole
    await found.heal()
    assert ("c", "lost", 7) in rig.ops()
    assert len(found.windows) == 2
    await rig.stop()


@virtual
async def test_another_engine_scans_after_a_gap_and_a_chain_that_began_ends_as_one() -> None:
    found = await gap()
    rig, table = found.rig, found.table
    table.put("lost", 7)
    await rig.clock.sleep(30 * HOUR_S)
    await rig.start()
    await rig.until(lambda: len(found.windows) == 1)
    await rig.crash()
    rig.config["init.sync.engine"] = "daemon"
    await found.heal()
    assert rig.account.calls["Scan"] == 0
    await rig.stop()
    await rig.clock.sleep(30 * HOUR_S)
    await found.heal()
    assert rig.account.calls["Scan"] > 0
    await rig.stop()


class Never(random.Random):
    """Of what Kafka has not acknowledged, nothing has reached it."""

    def randint(self, a: int, b: int) -> int:
        return a


@virtual
async def test_what_is_done_of_a_file_is_not_sent_again() -> None:
    found = await gap(init_sync_page_size="5")
    rig, table = found.rig, found.table
    for number in range(40):
        table.put(f"k{number}", 1000 + number)
    found.exports.file_items = 100
    await rig.clock.sleep(30 * HOUR_S)
    rig.random = Never()
    pages: list[object] = []

    def hold(emission: object) -> None:
        if isinstance(emission, RecordBatch) and len(emission.payload):
            pages.append(emission)
            rig.acks_held = len(pages) >= 4

    rig.on_emission = hold
    await rig.start()
    await rig.until(lambda: rig.acks_held)
    await rig.sleep(1.0)
    done = int(str((rig.stored("orders", segment=0) or {})["count"]))
    await rig.crash()
    rig.on_emission, rig.acks_held = lambda emission: None, False
    sent = len(rig.log)
    await found.heal()
    changes = [each for each in rig.log[sent:] if each.op in {"c", "u"}]
    assert done >= 5
    assert len(changes) == 40 - done
    await rig.stop()


@virtual
async def test_a_chain_begins_behind_what_kafka_has_acknowledged() -> None:
    """Kafka is away until the stream has lost changes: what was read and not sent is not done."""
    found = await gap()
    rig, table = found.rig, found.table
    rig.random = Never()
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    rig.acks_held = True
    for key in ("first", "second"):  # further apart than an export begins before its position
        table.put(key, 1)
        await rig.clock.sleep(HOUR_S)
    is_away = True
    rig.account.refuse = lambda operation, subject: (
        ThrottledError("slow down") if is_away and operation.startswith("Get") else None
    )
    table.put("third", 1)
    await rig.clock.sleep(30 * HOUR_S)
    table.put("fourth", 1)
    is_away = False
    await rig.until(lambda: rig.row("orders")["gaps"] == 1, within_s=HOUR_S)
    await rig.sleep(10.0)
    await rig.crash()
    rig.acks_held = False
    await found.heal()
    assert found.full_exports == 1
    await rig.stop()


@virtual
async def test_a_full_export_that_takes_longer_than_the_stream_keeps_is_followed_by_a_chain() -> (
    None
):
    account = new_account()
    table = account.add_table("orders")
    for number in range(30):
        table.put(f"k{number}", number)
    account.exports.duration_s = 30 * HOUR_S
    rig = Rig(account, {"init.sync.engine": "export", "init.sync.export.s3.bucket": "exports"})
    found = Gap(rig, table)
    await rig.start()
    await rig.until(lambda: found.full_exports == 1)
    await rig.sleep(5.0)
    table.put("k1", 101)
    table.delete("k2")
    await rig.clock.sleep(29 * HOUR_S)
    account.exports.duration_s = 60.0
    roll(table)
    table.put("k3", 103)
    await found.healed()
    assert found.full_exports == 1
    assert found.windows
    assert found.ops("k2")[-1] == ("d", None)
    assert (rig.stored("orders") or {}).get("resyncs") is None
    await rig.stop()
