"""INIT_SYNC from an export, of the whole task and on virtual time; S3 is a dictionary."""

from __future__ import annotations

import errno
import random
import re
import tempfile
from typing import Any

import pytest

from connectd.aws.errors import Call, ServiceFault, translate_fault
from connectd.connectors.dynamodb.payload import ScanPayload
from connectd.errors import AccessDeniedError, ThrottledError
from connectd.model.record import RecordBatch
from tests.component.dynamodb.account import Account, FakeTable
from tests.component.dynamodb.exports import data_file, summary
from tests.component.dynamodb.rig import Rig, new_account, virtual
from tests.kit import source_rig

ITEMS = 47
HOUR_S = 3600.0


def new_rig(account: Account | None = None, **config: str) -> tuple[Rig, FakeTable]:
    account = account or new_account()
    table = account.add_table("orders")
    for number in range(ITEMS):
        table.put(f"k{number}", number)
    keys = {name.replace("_", "."): value for name, value in config.items()}
    settings = {
        "init.sync.engine": "export",
        "init.sync.export.s3.bucket": "exports",
        "init.sync.export.s3.prefix": "/some/",
        **keys,
    }
    return Rig(account, settings), table


async def failure_of(rig: Rig) -> str:
    await rig.until(lambda: rig.state("orders") == "FAILED")
    return str(rig.row("orders")["reason"])


@virtual
async def test_a_table_is_read_from_its_export_then_followed() -> None:
    rig, table = new_rig()
    exports = rig.account.exports
    await rig.start()
    await rig.until(lambda: len(exports.exports) == 1)
    await rig.sleep(5.0)
    table.put("k1", 1000)
    table.put("new", 1)
    table.delete("k2")
    row = rig.row("orders")
    assert row["state"] == "INIT_SYNC"
    assert "is IN_PROGRESS, waited for 0 min; asked for again at 2023-11-14T" in str(row["reason"])
    assert rig.log == []
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    reads = [each for each in rig.log if each.op == "r"]
    assert {each.key: each.value for each in reads} == {f"k{n}": n for n in range(ITEMS)}
    assert len(reads) == rig.row("orders")["items_scanned"] == ITEMS
    assert rig.account.calls["Scan"] == 0
    (export,) = exports.exports.values()
    assert (export.request.bucket, export.request.prefix) == ("exports", "some")
    state = rig.stored("orders")
    assert state is not None
    assert state["init_sync_state"] == "FINISHED"
    assert state["export_arn"] == export.arn
    assert state["export_ms"] == int(export.began_s) * 1000
    assert rig.stored("orders", segment=0) is None
    await rig.stop()


@virtual
async def test_the_row_counts_from_the_exports_beginning_and_tells_when_it_is_complete() -> None:
    rig, _ = new_rig()
    rig.account.exports.duration_s = 2 * HOUR_S
    await rig.start()
    await rig.sleep(HOUR_S)
    await rig.crash()
    await rig.start()
    await rig.sleep(60.0)
    # Asked for last at some moment of that minute.
    assert re.search(r"waited for 6[01] min", str(rig.row("orders")["reason"]))
    throttled = ThrottledError("s3:GetObject: SlowDown")
    rig.account.refuse = lambda operation, _: throttled if operation == "GetObject" else None
    await rig.sleep(HOUR_S)
    told = str(rig.row("orders")["reason"])
    assert "is complete, its manifests are read" in told
    assert "asking for an export" not in told
    assert "waited for" not in told
    rig.account.refuse = lambda operation, subject: None
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.stop()


@virtual
async def test_the_records_are_those_of_a_scan() -> None:
    values: dict[str, list[str]] = {}
    for engine in ("export", "daemon"):
        rig, _ = new_rig(init_sync_engine=engine, init_sync_segments="2")
        batches: list[RecordBatch] = []

        def remember(emission: Any, found: list[RecordBatch] = batches) -> None:
            if isinstance(emission, RecordBatch) and isinstance(emission.payload, ScanPayload):
                found.append(emission)

        rig.on_emission = remember
        await rig.start()
        while not rig.is_in_sync("orders"):
            await rig.sleep(1.0)
        start = (rig.stored("orders") or {})["init_sync_start"]
        values[engine] = sorted(
            f"{record.key} {record.value}".replace(str(start), "START")
            for record in source_rig.records_of(*batches)
        )
        await rig.stop()
    assert len(values["export"]) == ITEMS
    assert values["export"] == values["daemon"]


@virtual
@pytest.mark.parametrize("seed", range(12))
async def test_crashes_at_any_moment_continue_the_same_export(seed: int) -> None:
    chance = random.Random(seed)
    rig, table = new_rig(init_sync_page_size="3")
    rig.random = chance
    exports = rig.account.exports
    lives = 0
    await rig.start()
    for life in range(6):
        waits = chance.choice([0.01, 0.05, 0.2, 3.0, 130.0])
        rig.acks_held = chance.random() < 0.3
        await rig.sleep(waits) if waits > 1 else await _short(rig, waits)
        table.put(f"k{life}", 1000 + life)
        table.delete(f"k{life + 20}")
        await rig.crash()
        rig.acks_held = False
        lives += 1
        await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    (export,) = exports.exports.values()
    reads = len([each for each in rig.log if each.op == "r"])
    assert len(export.items) <= reads <= len(export.items) + lives * 8 * 3  # buffered pages
    await rig.stop()


async def _short(rig: Rig, duration_s: float) -> None:
    end_s = rig.clock.monotonic() + duration_s
    while rig.clock.monotonic() < end_s:
        rig.settle()
        await rig.clock.sleep(0.003)


@virtual
async def test_what_is_done_of_a_file_is_not_read_out_again() -> None:
    rig, table = new_rig(init_sync_page_size="5")
    rig.account.exports.file_items = ITEMS + 1
    rig.account.exports.duration_s = 0.0
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 20, step_s=0.001)
    rig.settle()
    done = rig.stored("orders", segment=0)
    await rig.crash()
    sent = len(rig.log)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.topic_view("orders") == table.items
    count = 0 if done is None else int(str(done["count"]))
    assert len(rig.log) - sent == ITEMS - count
    await rig.stop()


@virtual
async def test_without_point_in_time_recovery_it_is_said_what_to_switch_on() -> None:
    rig, table = new_rig()
    fault = ServiceFault(
        400, "PointInTimeRecoveryUnavailableException", "Point in time recovery is not enabled"
    )

    def refuse(operation: str, subject: str) -> Exception | None:
        call = Call("dynamodb:ExportTableToPointInTime", subject)
        is_export = operation == "ExportTableToPointInTime"
        return translate_fault(fault, call) if is_export else None

    rig.account.refuse = refuse
    await rig.start()
    assert "switch on point-in-time recovery of the table" in await failure_of(rig)
    await rig.stop()
    rig.account.refuse = lambda operation, subject: None
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.topic_view("orders") == table.items
    await rig.stop()


@virtual
async def test_throttled_and_broken_calls_are_tried_again() -> None:
    rig, table = new_rig()
    chance = random.Random(7)

    def refuse(operation: str, subject: str) -> Exception | None:
        exports = ("ExportTableToPointInTime", "DescribeExport", "GetObject")
        is_refused = operation in exports and chance.random() < 0.4
        return ThrottledError(f"{operation} on {subject}: slow down") if is_refused else None

    rig.account.refuse = refuse
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"), within_s=2 * HOUR_S)
    assert rig.topic_view("orders") == table.items
    assert len([each for each in rig.log if each.op == "r"]) == ITEMS
    await rig.stop()


@virtual
async def test_a_failed_export_fails_the_table_and_the_next_start_exports_anew() -> None:
    rig, table = new_rig()
    exports = rig.account.exports
    exports.fails = "S3AccessDenied: the bucket refuses DynamoDB"
    await rig.start()
    reason = await failure_of(rig)
    assert "has failed: S3AccessDenied: the bucket refuses DynamoDB" in reason
    await rig.stop()
    exports.fails = ""
    await rig.sleep(30 * HOUR_S)
    table.put("k1", 1000)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.topic_view("orders") == table.items
    assert len(exports.exports) == 2
    assert rig.row("orders")["gaps"] == 0
    await rig.stop()


@virtual
async def test_an_export_that_was_never_confirmed_is_not_asked_for_with_an_old_baseline() -> None:
    rig, table = new_rig()
    rig.account.refuse = lambda operation, subject: (
        AccessDeniedError("allow dynamodb:ExportTableToPointInTime")
        if operation == "ExportTableToPointInTime"
        else None
    )
    await rig.start()
    assert "allow dynamodb:ExportTableToPointInTime" in await failure_of(rig)
    await rig.stop()
    await rig.sleep(30 * HOUR_S)
    rig.account.refuse = lambda operation, subject: None
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.topic_view("orders") == table.items
    assert rig.row("orders")["gaps"] == 0
    await rig.stop()


@virtual
async def test_what_began_as_an_export_ends_as_one_and_so_does_a_scan() -> None:
    rig, table = new_rig(init_sync_page_size="3")
    await rig.start()
    await rig.sleep(5.0)
    await rig.crash()
    rig.config["init.sync.engine"] = "daemon"
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.account.calls["Scan"] == 0
    assert rig.topic_view("orders") == table.items
    await rig.stop()

    rig, table = new_rig(
        init_sync_engine="daemon", init_sync_page_size="3", init_sync_read_capacity_units="1"
    )
    await rig.start()
    await rig.until(lambda: len(rig.log) >= 9)
    await rig.crash()
    rig.config |= {"init.sync.engine": "export", "init.sync.read.capacity.units": "0"}
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.account.exports.exports == {}
    assert rig.topic_view("orders") == table.items
    await rig.stop()


@virtual
async def test_an_empty_table_and_an_export_without_files() -> None:
    account = new_account()
    account.add_table("orders")
    rig = Rig(account, {"init.sync.engine": "export", "init.sync.export.s3.bucket": "exports"})
    await rig.start()
    await rig.until(lambda: len(account.exports.exports) == 1)
    (export,) = account.exports.exports.values()
    account.exports.duration_s = 0.0
    export.is_written = True  # by hand:
    key = f"{export.folder}/manifest-files.json"
    account.exports.objects |= {
        ("exports", f"{export.folder}/manifest-summary.json"): summary(
            export.arn, export.request.table_arn, key, 0
        ),
        ("exports", key): b"",
    }
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.log == []
    await rig.stop()


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


@virtual
@pytest.mark.parametrize(
    ("ending", "damage", "problem"),
    [
        (".json.gz", _cut, "its MD5 is"),
        (".json.gz", lambda content: b"x" + content[1:], "its MD5 is"),
        (".json.gz", lambda content: None, "NoSuchKey"),
        ("manifest-files.json", lambda content: None, "NoSuchKey"),
        ("manifest-summary.json", lambda content: None, "NoSuchKey"),
        ("manifest-files.json", _cut, "names no data file"),
        ("manifest-files.json", lambda content: content.split(b"\n")[0], "the summary says 47"),
        ("manifest-summary.json", _cut, "it is no summary of an export"),
        (
            "manifest-summary.json",
            lambda content: content.replace(b"/export/", b"/export/other"),
            "exportArn is",
        ),
    ],
)
async def test_a_damaged_export_fails_the_table_and_goes_on_when_it_is_mended(
    ending: str, damage: Any, problem: str
) -> None:
    rig, table = new_rig()
    exports = rig.account.exports
    await rig.start()
    await rig.until(lambda: len(exports.exports) == 1)
    exports.duration_s = 0.0
    await exports.describe(next(iter(exports.exports)))
    place = ("exports", exports.keys(ending)[-1])
    whole = exports.objects.pop(place)
    damaged = damage(whole)
    if damaged is not None:
        exports.objects[place] = damaged
    reason = await failure_of(rig)
    assert problem in reason
    assert f"s3://exports/{place[1]}" in reason
    await rig.stop()
    exports.objects[place] = whole
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.topic_view("orders") == table.items
    assert len(exports.exports) == 1
    await rig.stop()


@virtual
async def test_nothing_of_a_damaged_file_becomes_a_record() -> None:
    rig, _ = new_rig(init_sync_page_size="1")
    exports = rig.account.exports
    exports.file_items = ITEMS + 1
    await rig.start()
    await rig.until(lambda: len(exports.exports) == 1)
    exports.duration_s = 0.0
    await exports.describe(next(iter(exports.exports)))
    place = ("exports", exports.keys(".json.gz")[0])
    exports.objects[place] += data_file([{"id": {"S": "forged"}, "v": {"N": "1"}}])
    await failure_of(rig)
    assert rig.log == []
    await rig.stop()


@virtual
async def test_a_disk_without_room_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    rig, _ = new_rig()
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    await rig.start()
    reason = await failure_of(rig)
    assert f"cannot be kept in {tempfile.gettempdir()}: " in reason
    assert "No space left on device; give it room for a few data files, or set TMPDIR" in reason
    await rig.stop()


@virtual
async def test_s3_that_refuses_is_named_and_the_same_export_is_read_later() -> None:
    rig, table = new_rig()
    rig.account.refuse = lambda operation, subject: (
        AccessDeniedError(f"allow the action s3:GetObject on {subject} to these credentials")
        if operation == "GetObject" and subject.endswith(".json.gz")
        else None
    )
    await rig.start()
    assert "allow the action s3:GetObject on some/AWSDynamoDB/" in await failure_of(rig)
    await rig.stop()
    rig.account.refuse = lambda operation, subject: None
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.topic_view("orders") == table.items
    assert len(rig.account.exports.exports) == 1
    await rig.stop()


@virtual
async def test_a_gap_that_cannot_be_recovered_from_is_mended_by_another_export() -> None:
    rig, table = new_rig()
    rig.account.exports.recovery_s = 24 * HOUR_S
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.stop()
    for hour in range(40):
        table.put("k1", 1000 + hour)
        await rig.clock.sleep(HOUR_S)
    table.put("after", 1)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    first, second = rig.account.exports.exports.values()
    assert first.request.token != second.request.token
    state = rig.stored("orders")
    assert state is not None
    assert state["export_arn"] == second.arn
    assert rig.row("orders")["gaps"] == 1
    await rig.stop()


@virtual
async def test_changes_long_before_the_export_are_not_told_again() -> None:
    """Its time, not the start of INIT_SYNC, is what the stream is read from."""
    rig, table = new_rig(init_sync_lookback_ms="0")
    exports = rig.account.exports
    is_busy = True
    rig.account.refuse = lambda operation, subject: (
        ThrottledError("too many exports at once")
        if is_busy and operation == "ExportTableToPointInTime"
        else None
    )
    await rig.start()
    await rig.sleep(600.0)
    table.put("k1", 1000)  # within INIT_SYNC, and before the picture
    await rig.sleep(600.0)
    is_busy = False
    await rig.until(lambda: len(exports.exports) == 1)
    table.put("k2", 2000)
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.until(lambda: rig.topic_view("orders") == table.items)
    assert ("r", "k1", 1000) in rig.ops()
    assert [each for each in rig.ops() if each[0] != "r"] == [("u", "k2", 2000)]
    await rig.stop()


@virtual
async def test_a_missing_bucket_is_said_before_anything_begins() -> None:
    rig, _ = new_rig(init_sync_export_s3_bucket="")
    with pytest.raises(Exception, match="which needs a bucket"):
        await rig.start()
