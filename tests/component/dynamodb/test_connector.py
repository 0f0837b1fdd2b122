"""Discovery and sharing of tables, on virtual time. Row ids are those of the field cases."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
import structlog

from connectd.aio.scheduler import PollScheduler
from connectd.aws.clients import AwsClientPool
from connectd.connectors.dynamodb.connector import DynamoDbSourceConnector
from connectd.errors import (
    AccessDeniedError,
    ConfigError,
    ConnectdError,
    RetriableError,
    TableGoneError,
    ThrottledError,
)
from connectd.model.record import SourceOffset, SourcePartition
from connectd.plugins.spi import WorkerServices
from tests.component.dynamodb.account import Account, AccountPool
from tests.component.dynamodb.rig import MemoryOffsets, Rig, new_account, virtual


class Desk:
    """A connector with the worker's side of its context."""

    def __init__(self, account: Account, config: Mapping[str, str] | None = None) -> None:
        self.connector = "copy"
        self.account = account
        self.pool = AccountPool(account)
        self.services = WorkerServices(account.clock, PollScheduler(), {AwsClientPool: self.pool})
        self.offsets = MemoryOffsets()
        self.requests = 0
        self.errors: list[Exception] = []
        self.config = {"name": "copy", **(config or {})}
        self.plugin = DynamoDbSourceConnector()

    def request_task_reconfiguration(self) -> None:
        self.requests += 1

    def raise_error(self, error: Exception) -> None:
        self.errors.append(error)

    async def start(self) -> None:
        await self.plugin.start(self, self.config)

    async def groups(self, tasks_max: int) -> list[str]:
        return [config["tables"] for config in await self.plugin.task_configs(tasks_max)]

    def skipped(self) -> dict[object, object]:
        return {row["table"]: row["reason"] for row in self.plugin.tables()}


def with_tables(*names: str) -> Account:
    account = new_account()
    for name in names:
        account.add_table(name)
    return account


def refuse_once(error: Exception, operation: str, subject: str | None = None) -> Any:
    """Refuse the first such call."""
    left = [error]

    def refusal(found: str, about: str) -> Exception | None:
        is_it = found == operation and subject in (None, about)
        return left.pop() if is_it and left else None

    return refusal


@virtual
async def test_tagged_tables_with_a_fitting_stream_are_accepted_others_say_why() -> None:
    account = with_tables("orders", "keys-only", "disabled", "streamless")
    account.tables["keys-only"].enable_stream(view_type="KEYS_ONLY")
    account.tables["disabled"].disable_stream()
    account.tables["streamless"].stream = None
    desk = Desk(account)
    await desk.start()
    assert await desk.groups(10) == ["orders"]
    skipped = desk.skipped()
    assert "KEYS_ONLY" in str(skipped["keys-only"])
    assert "not enabled" in str(skipped["disabled"])
    assert "not enabled" in str(skipped["streamless"])
    assert all(row["state"] == "SKIPPED" for row in desk.plugin.tables())
    await desk.plugin.stop()
    assert desk.pool.users == 0


@virtual
async def test_a_whitelist_replaces_tags_and_waits_for_tables_that_are_missing() -> None:
    account = with_tables("a", "b")
    desk = Desk(account, {"dynamodb.table.whitelist": "b, later"})
    await desk.start()
    assert await desk.groups(10) == ["b"]
    assert desk.skipped() == {"later": "the table does not exist"}
    assert account.calls["GetResources"] == 0
    account.add_table("later")
    await asyncio.sleep(61)
    assert desk.requests == 2
    assert await desk.groups(10) == ["b", "later"]
    await desk.plugin.stop()


@virtual
async def test_an_empty_whitelist_means_discovery_by_tags() -> None:
    desk = Desk(with_tables("a"), {"dynamodb.table.whitelist": ""})
    await desk.start()
    assert await desk.groups(10) == ["a"]
    await desk.plugin.stop()


@virtual
async def test_d01_a_throttled_table_keeps_its_verdict() -> None:
    """D01: no reconfiguration, and the reason is shown."""
    account = with_tables("a", "b", "c")
    desk = Desk(account)
    await desk.start()
    assert await desk.groups(10) == ["a", "b", "c"]
    assert desk.requests == 1
    account.refuse = lambda operation, subject: (
        ThrottledError("rate exceeded") if (operation, subject) == ("DescribeTable", "b") else None
    )
    await asyncio.sleep(200)
    assert desk.requests == 1
    assert await desk.groups(10) == ["a", "b", "c"]
    assert "rate exceeded" in str(desk.skipped()["b"])
    account.refuse = lambda operation, subject: None
    await asyncio.sleep(61)
    assert desk.skipped() == {}
    await desk.plugin.stop()


@virtual
async def test_d02_another_order_is_no_change() -> None:
    """D02: tables are compared as a set, and tasks come in the order of names."""
    account = with_tables("a", "b", "c")
    desk = Desk(account)
    await desk.start()
    before = await desk.plugin.task_configs(10)
    account.tagged = ["c", "a", "b"]
    await asyncio.sleep(200)
    assert desk.requests == 1
    assert await desk.plugin.task_configs(10) == before
    await desk.plugin.stop()


@pytest.mark.parametrize("grouping", ["balanced", "stable"])
def test_d03_more_tables_than_tasks_share_them(grouping: str) -> None:
    """D03: no table is dropped, no task is empty, equal inputs give equal configs."""

    async def scenario() -> None:
        names = [f"table-{number}" for number in range(7)]
        desk = Desk(with_tables(*names), {"table.grouping": grouping})
        await desk.start()
        groups = await desk.groups(3)
        assert 1 <= len(groups) <= 3
        assert sorted(name for group in groups for name in group.split(",")) == names
        assert await desk.groups(3) == groups
        assert await desk.groups(1) == [",".join(names)]
        await desk.plugin.stop()

    virtual(scenario)()


@virtual
async def test_a_task_with_one_table_has_the_java_keys_too() -> None:
    desk = Desk(with_tables("a", "b"), {"kafka.topic.prefix": "x-"})
    await desk.start()
    first, second = await desk.plugin.task_configs(2)
    assert first == {**desk.config, "tables": "a", "table": "a", "task.id": "task-1"}
    assert second["table"] == "b"
    (both,) = await desk.plugin.task_configs(1)
    assert "table" not in both
    assert "task.id" not in both
    await desk.plugin.stop()


@virtual
async def test_d05_discovery_asks_for_no_stream() -> None:
    """D05: 300 tables are discovered without a single DescribeStream."""
    account = with_tables(*(f"t{number}" for number in range(300)))
    desk = Desk(account)
    await desk.start()
    assert len(await desk.groups(300)) == 300
    assert account.calls["DescribeStream"] == 0
    assert account.calls["DescribeTable"] == 300
    await desk.plugin.stop()


@virtual
async def test_d06_a_throttled_listing_is_no_failure() -> None:
    """D06: "Rate exceeded" from DescribeStream three times: back-off, then SYNC."""
    account = with_tables("orders")
    left = [ThrottledError("Rate exceeded")] * 3
    account.refuse = lambda operation, subject: (
        left.pop() if operation == "DescribeStream" and left else None
    )
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    assert rig.context is not None
    assert rig.context.failures == []
    await rig.stop()


@virtual
async def test_d08_a_table_deleted_between_list_and_look_is_passed_over() -> None:
    """D08: tags outlive their table for a while."""
    account = with_tables("a", "gone", "z")
    account.refuse = lambda operation, subject: (
        TableGoneError("no such table") if subject == "gone" else None
    )
    desk = Desk(account)
    await desk.start()
    assert await desk.groups(10) == ["a", "z"]
    assert "does not exist" in str(desk.skipped()["gone"])
    await desk.plugin.stop()


@pytest.mark.parametrize(
    "error",
    [
        AccessDeniedError("tag:GetResources: allow the action"),
        ThrottledError("rate exceeded"),
        RuntimeError("something nobody thought of"),
    ],
)
def test_d09_discovery_survives_every_error_and_shows_it(error: Exception) -> None:
    """D09: the next round runs; a new table is found within a period."""

    async def scenario() -> None:
        account = with_tables("a")
        desk = Desk(account)
        await desk.start()
        assert await desk.groups(10) == ["a"]
        account.refuse = refuse_once(error, "GetResources")
        await asyncio.sleep(60.5)
        assert str(error) in str(desk.skipped()["*"])
        assert await desk.groups(10) == ["a"], "what was known stays"
        assert desk.errors == []
        account.add_table("b")
        await asyncio.sleep(61)
        assert desk.requests == 2
        assert await desk.groups(10) == ["a", "b"]
        assert desk.skipped() == {}
        await desk.plugin.stop()

    virtual(scenario)()


@virtual
async def test_d12_a_table_that_comes_back_goes_on_where_it_was() -> None:
    """D12: untagged for an hour, then tagged again: no scan, nothing lost."""
    account = with_tables("orders")
    table = account.tables["orders"]
    table.put("k", 1)
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.is_in_sync("orders"))
    await rig.stop()
    desk = Desk(account)
    await desk.start()
    assert await desk.groups(1) == ["orders"]
    account.tagged.clear()
    await asyncio.sleep(61)
    assert await desk.groups(1) == []
    assert desk.requests == 2
    table.put("k", 2)
    await asyncio.sleep(3600)
    account.tagged.append("orders")
    await asyncio.sleep(61)
    assert await desk.groups(1) == ["orders"]
    scans = len(account.scans)
    await rig.start()
    await rig.until(lambda: ("u", "k", 2) in rig.ops())
    assert len(account.scans) == scans
    await desk.plugin.stop()
    await rig.stop()


@virtual
async def test_d13_a_first_round_that_is_refused_fails_the_connector() -> None:
    """D13: without tag:GetResources nothing has ever worked: FAILED, with the action's name."""
    account = with_tables("a")
    account.refuse = lambda operation, subject: (
        AccessDeniedError("tag:GetResources: allow the action")
        if operation == "GetResources"
        else None
    )
    desk = Desk(account)
    with structlog.testing.capture_logs() as lines:
        await desk.start()
        with pytest.raises(AccessDeniedError, match="tag:GetResources"):
            await desk.groups(1)
    assert "tag:GetResources" in str(desk.errors[0])
    assert not any("tried again" in line["event"] for line in lines), "it is not"
    await desk.plugin.stop()


@virtual
async def test_tables_that_share_a_topic_are_named_once() -> None:
    account = with_tables("a", "b", "c")
    desk = Desk(account, {"kafka.topic.map": '{"a": "x", "b": "x"}'})
    with structlog.testing.capture_logs() as lines:
        await desk.start()
        await desk.groups(1)
        await asyncio.sleep(600.0)
    shared = [line for line in lines if line["event"].startswith("tables share a topic")]
    assert [(line["topic"], line["tables"]) for line in shared] == [("dynamodb-x", ["a", "b"])]
    await desk.plugin.stop()


@virtual
async def test_d13_tables_that_may_not_be_described_say_so() -> None:
    account = with_tables("a", "secret")
    account.refuse = lambda operation, subject: (
        AccessDeniedError("dynamodb:DescribeTable on table secret: allow the action")
        if subject == "secret"
        else None
    )
    desk = Desk(account)
    await desk.start()
    assert await desk.groups(10) == ["a"]
    assert "dynamodb:DescribeTable" in str(desk.skipped()["secret"])
    await desk.plugin.stop()
    only = Desk(account, {"dynamodb.table.whitelist": "secret"})
    await only.start()
    with pytest.raises(AccessDeniedError, match="dynamodb:DescribeTable"):
        await only.groups(10)
    await only.plugin.stop()


@virtual
async def test_d13_a_stream_that_may_not_be_listed_fails_the_table_before_any_scan() -> None:
    account = with_tables("orders")
    account.tables["orders"].put("k", 1)
    account.refuse = lambda operation, subject: (
        AccessDeniedError("dynamodb:DescribeStream on stream: allow the action")
        if operation == "DescribeStream"
        else None
    )
    rig = Rig(account)
    await rig.start()
    await rig.until(lambda: rig.error is not None)
    assert "dynamodb:DescribeStream" in str(rig.error)
    assert account.calls["DescribeStream"] == 1, "no endless retry"
    assert account.scans == []
    await rig.stop()


@virtual
async def test_a_first_round_without_an_answer_is_retried_and_says_so() -> None:
    account = with_tables("a")
    account.refuse = lambda operation, subject: ThrottledError("rate exceeded")
    desk = Desk(account)
    await desk.start()
    with pytest.raises(RetriableError, match="rate exceeded"):
        await desk.groups(1)
    assert desk.errors == []
    account.refuse = lambda operation, subject: None
    assert await desk.groups(1) == ["a"]
    assert desk.requests == 1
    await desk.plugin.stop()


@virtual
async def test_no_table_is_no_task_and_no_error() -> None:
    desk = Desk(new_account())
    await desk.start()
    assert await desk.groups(1) == []
    assert desk.errors == []
    await desk.plugin.stop()


@virtual
async def test_a_wrong_configuration_fails_at_the_start() -> None:
    desk = Desk(with_tables("a"), {"gap.policy": "hope"})
    with pytest.raises(ConfigError, match=r"gap\.policy"):
        await desk.start()
    await desk.plugin.stop()
    assert desk.pool.users == 0


@virtual
async def test_stop_is_idempotent_and_quick() -> None:
    desk = Desk(with_tables("a"))
    await desk.start()
    await desk.plugin.stop()
    await desk.plugin.stop()
    assert desk.pool.users == 0


def test_offsets_that_users_write_are_checked() -> None:
    connector = DynamoDbSourceConnector
    table = SourcePartition.of({"table_name": "orders"})
    shard = SourcePartition.of({"table_name": "orders", "shard_id": "shardId-1"})
    foreign = SourcePartition.of({"anything": 1})
    assert connector.alter_offsets({}, {table: None, shard: None, foreign: None})
    finished: SourceOffset = {
        "init_sync_state": "FINISHED",
        "init_sync_start": 1,
        "init_sync_count": 2,
    }
    assert connector.alter_offsets({}, {table: finished})
    refused: list[tuple[SourcePartition, SourceOffset]] = [
        (foreign, finished),
        (SourcePartition.of({"segment": 1, "table_name": "orders"}), finished),
        (table, {"init_sync_state": "DONE", "init_sync_start": 1}),
        (table, {"init_sync_state": "RUNNING"}),
        (shard, {"sequence_number": "12"}),
        (shard, finished),
        (table, {**finished, "init_sync_start": 10**30}),
        (table, {**finished, "init_sync_start": -1}),
        (table, {**finished, "total_segments": -3}),
        (table, {**finished, "total_segments": 10**9}),
    ]
    for partition, offset in refused:
        with pytest.raises(ConfigError):
            connector.alter_offsets({}, {partition: offset})


def test_the_plugin_shows_its_keys_and_what_is_wrong_with_them_together() -> None:
    assert "dynamodb.table.env.tag.value" in DynamoDbSourceConnector.config_def()
    assert DynamoDbSourceConnector.validate({}) == {}
    found = DynamoDbSourceConnector.validate({"stream.safe.zone.ms": "90000000"})
    assert "stream.retention.ms" in found["stream.safe.zone.ms"][0]
    assert DynamoDbSourceConnector.task_class().__name__ == "DynamoDbSourceTask"
    assert issubclass(AccessDeniedError, ConnectdError)


@virtual
async def test_the_time_is_asked_once_for_all_tables_of_a_task() -> None:
    account = with_tables(*(f"t{number}" for number in range(20)))
    rig = Rig(account, {"stream.describe.interval.ms": "3600000"})
    await rig.start()
    await rig.until(lambda: all(rig.is_in_sync(name) for name in account.tables))
    # One listing for each table, and one for the time.
    assert account.calls["DescribeStream"] == 20 + 1
    await rig.stop()
