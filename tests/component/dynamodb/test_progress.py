"""What a table shows of its progress: quiet is not still, and still is not hidden."""

from __future__ import annotations

from connectd.errors import ConnectdError, ThrottledError
from connectd.runtime.degradation import STILL_S, is_degraded
from tests.component.dynamodb.account import Account
from tests.component.dynamodb.rig import Rig, new_account, virtual


def throttle(account: Account, *operations: str) -> None:
    """Refuse these calls from now on."""

    def refuse(operation: str, subject: str) -> ConnectdError | None:
        return ThrottledError("rate exceeded") if operation in operations else None

    account.refuse = refuse


async def followed(*, shards: int = 1) -> tuple[Account, Rig]:
    account = new_account()
    account.add_table("orders", shards=shards)
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    return account, rig


@virtual
async def test_a_table_that_nobody_writes_to_makes_progress() -> None:
    _, rig = await followed()
    for _ in range(6):
        await rig.sleep(600)
        assert not is_degraded(rig.row("orders"), STILL_S)
    assert rig.row("orders")["throttles"] == 0
    await rig.stop()


@virtual
async def test_a_table_that_cannot_be_read_stands_still_until_it_can() -> None:
    """P07."""
    account, rig = await followed(shards=2)
    throttle(account, "GetRecords")
    await rig.sleep(STILL_S / 2)
    assert not is_degraded(rig.row("orders"), STILL_S)
    await rig.sleep(STILL_S)
    row = rig.row("orders")
    assert is_degraded(row, STILL_S)
    assert int(str(row["throttles"])) >= 2
    throttle(account)
    await rig.until(lambda: not is_degraded(rig.row("orders"), STILL_S), within_s=60)
    await rig.stop()


@virtual
async def test_a_scan_that_reads_no_page_stands_still() -> None:
    account = new_account()
    table = account.add_table("orders")
    for number in range(10):
        table.put(f"k{number}", number)
    throttle(account, "Scan")
    rig = Rig(account)
    await rig.start()
    await rig.sleep(STILL_S + 60)
    row = rig.row("orders")
    assert row["state"] == "INIT_SYNC"
    assert is_degraded(row, STILL_S)
    throttle(account)
    await rig.until(lambda: rig.is_in_sync("orders"), within_s=120)
    assert not is_degraded(rig.row("orders"), STILL_S)
    await rig.stop()


@virtual
async def test_a_table_that_cannot_even_be_described_stands_still() -> None:
    account = new_account()
    account.add_table("orders")
    throttle(account, "DescribeTable", "DescribeStream", "GetRecords", "Scan")
    rig = Rig(account)
    await rig.start()
    await rig.sleep(STILL_S + 60)
    assert is_degraded(rig.row("orders"), STILL_S)
    await rig.stop()


@virtual
async def test_shards_that_were_read_to_their_end_are_counted() -> None:
    account, rig = await followed()
    stream = account.tables["orders"].stream
    assert stream is not None
    assert rig.row("orders")["shards_closed"] == 0
    stream.split(stream.open_shards()[0])
    await rig.until(lambda: rig.row("orders")["shards_closed"] == 1, within_s=60)
    await rig.until(lambda: rig.row("orders")["shards_open"] == 2, within_s=60)
    await rig.stop()


@virtual
async def test_an_estimate_that_this_life_has_not_asked_for_is_absent_and_not_0() -> None:
    account = new_account()
    table = account.add_table("orders")
    for number in range(10):
        table.put(f"k{number}", number)
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.row("orders")["items_estimated"] == 10
    await rig.stop()
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.row("orders")["items_estimated"] is None
    await rig.stop()


@virtual
async def test_changes_that_kafka_does_not_acknowledge_are_behind_although_reads_go_on() -> None:
    account, rig = await followed()
    rig.acks_held = True
    account.tables["orders"].put("k", 1)
    await rig.sleep(STILL_S / 2)
    row = rig.row("orders")
    assert float(str(row["last_read_age_s"])) < 5, "the stream is read on"
    assert float(str(row["lag_s"])) >= STILL_S / 2 - 5
    assert "not acknowledged" in str(row["reason"])
    assert not is_degraded(row, STILL_S)
    await rig.sleep(STILL_S)
    assert is_degraded(rig.row("orders"), STILL_S)
    rig.acks_held = False
    await rig.until(lambda: rig.row("orders")["lag_s"] == 0.0)
    row = rig.row("orders")
    assert row["reason"] == ""
    assert not is_degraded(row, STILL_S)
    await rig.stop()


@virtual
async def test_a_quiet_table_is_well_however_short_a_standstill_may_be() -> None:
    account = new_account()
    account.add_table("orders")
    rig = Rig(account, {"stream.poll.interval.max.ms": "60000"})
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    oldest_s = 0.0
    for _ in range(300):
        await rig.sleep(3)
        row = rig.row("orders")
        oldest_s = max(oldest_s, float(str(row["progress_age_s"])))
        assert not is_degraded(row, 1.0), row
        assert row["lag_s"] == 0.0
    assert oldest_s > 50, "the pauses have become long"
    await rig.stop()


@virtual
async def test_a_table_whose_stream_was_never_read_has_no_last_read_and_stands_still() -> None:
    account = new_account()
    account.add_table("orders")
    rig = Rig(account, {"init.sync.delay.period": "60"})
    await rig.start()
    await rig.until(lambda: rig.state("orders") == "DELAYED")
    throttle(account, "GetRecords")
    await rig.until(lambda: rig.state("orders") == "SYNC")
    await rig.sleep(STILL_S + 60)
    row = rig.row("orders")
    assert row["last_read_age_s"] is None
    assert row["lag_s"] is None
    assert is_degraded(row, STILL_S)
    throttle(account)
    await rig.until(lambda: rig.row("orders")["last_read_age_s"] is not None, within_s=60)
    assert not is_degraded(rig.row("orders"), STILL_S)
    await rig.stop()
