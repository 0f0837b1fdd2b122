"""Which tables are copied, round after round, whatever AWS answers in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from connectd.aio.clock import LoopClock
from connectd.aio.scheduler import PollScheduler
from connectd.aws.clients import AwsClientPool
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.connector import ALL_TABLES, DynamoDbSourceConnector
from connectd.connectors.dynamodb.discovery import Discovered, TableDiscovery, stream_problem
from connectd.connectors.dynamodb.source_api import KeyAttribute, RawResponse, TableDescription
from connectd.errors import (
    AccessDeniedError,
    InvalidRequestError,
    RetriableError,
    TableGoneError,
    ThrottledError,
    TransientNetworkError,
)
from connectd.model.record import SourceOffset, SourcePartition
from connectd.plugins.spi import WorkerServices
from connectd.runtime.degradation import STILL_S, is_degraded
from tests.kit.virtual import virtual

_PERIOD_S = 60.0
_TAGS_DENIED = "denied: tag:GetResources on tables"


def _description(name: str, **members: Any) -> TableDescription:
    usual: dict[str, Any] = {
        "name": name,
        "arn": f"arn:{name}",
        "status": "ACTIVE",
        "key_schema": (KeyAttribute("id", "HASH", "S"),),
        "stream_arn": f"arn:{name}/stream/1",
        "stream_view_type": "NEW_AND_OLD_IMAGES",
        "stream_enabled": True,
        "item_count": 0,
        "size_bytes": 0,
        "read_capacity_units": 0,
        "table_id": None,
    }
    return TableDescription(**(usual | members))


class _Account:
    """Implements ``SourceApi`` as far as discovery may ask, and refuses to answer more.

    ``refuse(operation, subject)`` gives the error of a call, None to let it pass.
    """

    def __init__(self, *tagged: str) -> None:
        self.clock = LoopClock(wall_anchor_s=1_700_000_000)
        self.tagged = list(tagged)
        self.tables = {name: _description(name) for name in tagged}
        self.refuse: Callable[[str, str], Exception | None] = lambda operation, subject: None
        self.calls: Counter[str] = Counter()
        self.filters: list[tuple[str, Sequence[str]]] = []

    @property
    def dynamodb(self) -> _Account:
        return self

    @property
    def tagging(self) -> _Account:
        return self

    @property
    def streams(self) -> Any:
        raise AssertionError("discovery asked for streams")

    @property
    def exports(self) -> Any:
        raise AssertionError("discovery asked for exports")

    async def tables_by_tags(self, filters: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
        self.filters = list(filters)
        await self._call("GetResources", "tables")
        return list(self.tagged)

    async def describe_table(self, table: str) -> TableDescription:
        await self._call("DescribeTable", table)
        if table not in self.tables:
            raise TableGoneError(f"table {table} does not exist")
        return self.tables[table]

    async def scan(self, table: str, **parameters: Any) -> RawResponse:
        raise AssertionError("discovery scanned")

    async def _call(self, operation: str, subject: str) -> None:
        self.calls[operation] += 1
        await self.clock.sleep(0.02)
        error = self.refuse(operation, subject)
        if error is not None:
            raise error


def _refusing(operation: str, subject: str, error: Exception, times: int = 10**9) -> Any:
    """Refuse some calls, so many times."""
    left = times

    def refuse(asked: str, about: str) -> Exception | None:
        nonlocal left
        if (asked, about) != (operation, subject) or left == 0:
            return None
        left -= 1
        return error

    return refuse


def _discovery(account: _Account, **config: str) -> TableDiscovery:
    return TableDiscovery(DynamoDbConfig.from_config(config), account, account.clock)


# -- verdicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("view_type", ["NEW_IMAGE", "NEW_AND_OLD_IMAGES"])
def test_a_stream_with_new_images_can_be_followed(view_type: str) -> None:
    assert stream_problem(_description("orders", stream_view_type=view_type)) is None


@pytest.mark.parametrize("view_type", ["KEYS_ONLY", "OLD_IMAGE", None])
def test_a_stream_without_new_images_cannot(view_type: str | None) -> None:
    problem = stream_problem(_description("orders", stream_view_type=view_type))
    assert problem is not None
    assert f"{view_type}, expected NEW_IMAGE or NEW_AND_OLD_IMAGES" in problem


def test_a_stream_that_was_disabled_is_still_known_and_yet_not_enabled() -> None:
    problem = stream_problem(_description("orders", stream_enabled=False))
    assert problem is not None
    assert "not enabled" in problem


@virtual
async def test_tables_are_asked_for_by_both_tags() -> None:
    account = _Account("a", "b")
    found = await _discovery(
        account, **{"dynamodb.table.env.tag.key": "stage", "dynamodb.table.env.tag.value": "live"}
    ).discover()
    assert found == Discovered(tables=frozenset({"a", "b"}))
    assert account.filters == [("stage", ["live"]), ("datalake-ingest", [])]


@virtual
async def test_a_whitelist_replaces_tags_altogether() -> None:
    account = _Account("a", "b", "c")
    account.refuse = _refusing("GetResources", "tables", AccessDeniedError(_TAGS_DENIED))
    found = await _discovery(account, **{"dynamodb.table.whitelist": "a,c,missing"}).discover()
    assert found.tables == {"a", "c"}
    assert found.skipped == {"missing": "the table does not exist"}


@virtual
async def test_a_table_on_the_whitelist_is_found_when_it_appears() -> None:
    account = _Account()
    discovery = _discovery(account, **{"dynamodb.table.whitelist": "late"})
    assert (await discovery.discover()).tables == frozenset()
    account.tables["late"] = _description("late")
    assert (await discovery.discover()).tables == {"late"}


@virtual
async def test_a_table_whose_stream_does_not_serve_is_skipped_with_the_reason() -> None:
    account = _Account("a", "keys", "off")
    account.tables["keys"] = _description("keys", stream_view_type="KEYS_ONLY")
    account.tables["off"] = _description("off", stream_enabled=False, stream_view_type=None)
    found = await _discovery(account).discover()
    assert found.tables == {"a"}
    assert set(found.skipped) == {"keys", "off"}
    assert "KEYS_ONLY" in found.skipped["keys"]


@virtual
async def test_three_hundred_tables_are_judged_by_describing_tables_alone() -> None:
    """Field case D05: DescribeStream allows ten calls per second and account."""
    names = [f"table-{number:03d}" for number in range(300)]
    account = _Account(*names)
    found = await _discovery(account).discover()
    assert found.tables == set(names)
    # The account has no streams to ask.
    assert account.calls == {"GetResources": 1, "DescribeTable": 300}
    assert account.clock.monotonic() < _PERIOD_S


@virtual
async def test_the_order_of_the_answer_is_no_difference() -> None:
    """Field case D02: [a,b,c], then [c,a,b]."""
    account = _Account("a", "b", "c")
    discovery = _discovery(account)
    before = await discovery.discover()
    account.tagged = ["c", "a", "b"]
    assert await discovery.discover() == before


# -- answers that fail ----------------------------------------------------------------------------


@virtual
async def test_one_throttled_call_is_tried_again_within_the_round() -> None:
    """Field case D01."""
    account = _Account("a", "b", "c")
    account.refuse = _refusing("DescribeTable", "b", ThrottledError("slow down"), times=1)
    found = await _discovery(account).discover()
    assert found == Discovered(tables=frozenset({"a", "b", "c"}))


@pytest.mark.parametrize("error", [ThrottledError("slow down"), TransientNetworkError("reset")])
@virtual
async def test_a_table_that_cannot_be_judged_keeps_its_verdict(error: RetriableError) -> None:
    """Field case D01: its task was torn down, and built again a minute later."""
    account = _Account("a", "b", "off")
    account.tables["off"] = _description("off", stream_enabled=False)
    discovery = _discovery(account)
    before = await discovery.discover()
    account.refuse = lambda operation, table: error if table in {"b", "off"} else None
    for _ in range(3):
        found = await discovery.discover()
        assert found.tables == before.tables == {"a", "b"}
        assert found.skipped == before.skipped
        assert found.uncertain == {"b": str(error), "off": str(error)}
    account.refuse = lambda operation, table: None
    assert await discovery.discover() == before


@virtual
async def test_a_table_that_was_never_judged_is_shown_and_found_later() -> None:
    """Field case D01, in the first round."""
    account = _Account("a", "b")
    account.refuse = _refusing("DescribeTable", "b", ThrottledError("slow down"))
    discovery = _discovery(account)
    found = await discovery.discover()
    assert found.tables == {"a"}
    assert found.skipped == {}
    assert found.unjudged == {"b": "slow down"}
    account.refuse = lambda operation, table: None
    assert (await discovery.discover()).tables == {"a", "b"}


@virtual
async def test_a_table_deleted_a_moment_ago_is_skipped() -> None:
    """Field case D08: its tags outlive it for a while."""
    account = _Account("a", "b", "c")
    discovery = _discovery(account)
    await discovery.discover()
    del account.tables["b"]
    found = await discovery.discover()
    assert found.tables == {"a", "c"}
    assert found.skipped == {"b": "the table does not exist"}


@virtual
async def test_a_name_that_no_table_can_have_keeps_no_other_from_being_copied() -> None:
    account = _Account("a")
    account.refuse = _refusing("DescribeTable", "b c", InvalidRequestError("b c is no name"))
    found = await _discovery(account, **{"dynamodb.table.whitelist": "b c,a"}).discover()
    assert found.tables == {"a"}
    assert found.skipped == {"b c": "b c is no name"}
    with pytest.raises(InvalidRequestError):
        await _discovery(account, **{"dynamodb.table.whitelist": "b c"}).discover()


@virtual
async def test_a_list_that_fails_changes_nothing_that_is_known() -> None:
    account = _Account("a", "b")
    discovery = _discovery(account)
    before = await discovery.discover()
    account.refuse = _refusing("GetResources", "tables", ThrottledError("slow down"), times=1)
    with pytest.raises(ThrottledError):
        await discovery.discover()
    # Even the one that cannot be judged in the next round.
    account.refuse = _refusing("DescribeTable", "a", ThrottledError("slow down"))
    assert (await discovery.discover()).tables == before.tables


@virtual
async def test_a_list_that_is_denied_names_the_action() -> None:
    """Field case D13: IAM without tag:GetResources."""
    account = _Account("a")
    account.refuse = _refusing("GetResources", "tables", AccessDeniedError(_TAGS_DENIED))
    with pytest.raises(AccessDeniedError, match="tag:GetResources"):
        await _discovery(account).discover()
    assert account.calls == {"GetResources": 1}


@virtual
async def test_a_description_denied_for_every_table_is_an_error_and_not_a_reason() -> None:
    """Field case D13: IAM without dynamodb:DescribeTable."""
    account = _Account("a", "b")
    account.refuse = lambda operation, subject: (
        AccessDeniedError(f"denied: dynamodb:DescribeTable on table {subject}")
        if operation == "DescribeTable"
        else None
    )
    with pytest.raises(AccessDeniedError, match="dynamodb:DescribeTable on table a"):
        await _discovery(account).discover()


@virtual
async def test_a_description_denied_for_one_table_skips_that_one() -> None:
    """Field case D13: a policy that names tables, and not this one."""
    account = _Account("a", "b")
    account.refuse = _refusing("DescribeTable", "b", AccessDeniedError("denied: table b"))
    found = await _discovery(account).discover()
    assert found.tables == {"a"}
    assert found.skipped == {"b": "denied: table b"}


@virtual
async def test_no_table_at_all_is_no_error() -> None:
    assert await _discovery(_Account()).discover() == Discovered()


# -- the connector's watch ------------------------------------------------------------------------


class _NoOffsets:
    """Implements ``OffsetReader``: nothing is stored."""

    async def refresh(self) -> None:
        raise AssertionError("discovery asked for offsets")

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        return None

    def all(self) -> Mapping[SourcePartition, SourceOffset]:
        return {}


class _Pool:
    """Implements ``SourceApiPool`` for one account."""

    def __init__(self, account: _Account) -> None:
        self.account = account
        self.users = 0

    async def acquire(self, settings: object) -> _Account:
        self.users += 1
        return self.account

    async def release(self, clients: object) -> None:
        assert clients is self.account
        self.users -= 1


class _Context:
    """Implements ``ConnectorContext``; keeps what the connector has asked for."""

    def __init__(self, pool: _Pool) -> None:
        clock = pool.account.clock
        self.connector = "copy"
        self.services = WorkerServices(clock, PollScheduler(in_flight_max=1), {AwsClientPool: pool})
        self.offsets = _NoOffsets()
        self.reconfigurations = 0
        self.errors: list[Exception] = []

    def request_task_reconfiguration(self) -> None:
        self.reconfigurations += 1

    def raise_error(self, error: Exception) -> None:
        self.errors.append(error)


@asynccontextmanager
async def _running(
    account: _Account, **config: str
) -> AsyncIterator[tuple[DynamoDbSourceConnector, _Context]]:
    """A connector whose first round is due."""
    pool = _Pool(account)
    context = _Context(pool)
    connector = DynamoDbSourceConnector()
    await connector.start(context, {"name": "copy", **config})
    try:
        yield connector, context
    finally:
        await connector.stop()
    assert pool.users == 0


def _tables_of(configs: Sequence[Mapping[str, str]]) -> list[str]:
    return [config["tables"] for config in configs]


@virtual
async def test_each_task_gets_its_tables_and_the_connectors_settings() -> None:
    """Field case D03: three tables and two tasks."""
    async with _running(_Account("c", "a", "b"), **{"some.key": "x"}) as (connector, _):
        alone = await connector.task_configs(3)
        assert _tables_of(alone) == ["a", "b", "c"]
        assert alone[0] == {
            "name": "copy",
            "some.key": "x",
            "tables": "a",
            "table": "a",
            "task.id": "task-1",
        }
        shared = await connector.task_configs(2)
        assert _tables_of(shared) == ["a,c", "b"]
        assert "table" not in shared[0]


@virtual
async def test_rounds_without_a_change_ask_for_nothing() -> None:
    """Field case D02: no task is restarted because an answer came in another order."""
    account = _Account("a", "b", "c")
    async with _running(account) as (connector, context):
        await connector.task_configs(10)
        assert context.reconfigurations == 1
        for _ in range(5):
            account.tagged.reverse()
            await account.clock.sleep(_PERIOD_S)
    assert context.reconfigurations == 1
    assert account.calls["GetResources"] >= 5


@virtual
async def test_a_round_that_is_refused_does_not_end_rediscovery() -> None:
    """Field case D09: one AccessDenied ended it for ever, silently."""
    account = _Account("a")
    async with _running(account) as (connector, context):
        await connector.task_configs(10)
        account.refuse = _refusing(
            "GetResources", "tables", AccessDeniedError(_TAGS_DENIED), times=1
        )
        await account.clock.sleep(_PERIOD_S + 1)
        (row,) = connector.tables()
        assert row["table"] == ALL_TABLES
        assert _TAGS_DENIED in str(row["reason"])
        assert _tables_of(await connector.task_configs(10)) == ["a"]

        account.tagged.append("b")
        account.tables["b"] = _description("b")
        await account.clock.sleep(_PERIOD_S + 1)
        assert connector.tables() == []
        assert _tables_of(await connector.task_configs(10)) == ["a", "b"]
    assert context.reconfigurations == 2
    assert context.errors == []


@virtual
async def test_whatever_a_round_meets_the_next_one_comes() -> None:
    """Field case D09, with an error that nobody has thought of."""
    account = _Account("a")
    async with _running(account) as (connector, context):
        await connector.task_configs(10)
        account.refuse = _refusing("GetResources", "tables", KeyError("surprise"), times=2)
        account.tagged.append("b")
        account.tables["b"] = _description("b")
        await account.clock.sleep(4 * _PERIOD_S)
        assert _tables_of(await connector.task_configs(10)) == ["a", "b"]
    assert context.errors == []


@virtual
async def test_a_tag_that_is_removed_and_put_back_stops_and_starts_its_table() -> None:
    """Field case D12; that the position is kept and resumed from is a component test."""
    account = _Account("a", "b")
    async with _running(account) as (connector, context):
        await connector.task_configs(10)
        account.tagged.remove("b")
        await account.clock.sleep(_PERIOD_S + 1)
        assert _tables_of(await connector.task_configs(10)) == ["a"]
        account.tagged.append("b")
        await account.clock.sleep(_PERIOD_S + 1)
        assert _tables_of(await connector.task_configs(10)) == ["a", "b"]
    assert context.reconfigurations == 3


@virtual
async def test_a_first_round_that_is_refused_fails_the_connector_by_name() -> None:
    """Field case D13: nothing has ever worked, so the user must see why."""
    account = _Account("a")
    account.refuse = _refusing("GetResources", "tables", AccessDeniedError(_TAGS_DENIED), times=1)
    async with _running(account) as (connector, context):
        with pytest.raises(AccessDeniedError, match="tag:GetResources"):
            await connector.task_configs(10)
        assert [str(error) for error in context.errors] == [_TAGS_DENIED]
        # Once it is granted, the connector finds its tables by itself.
        await account.clock.sleep(_PERIOD_S)
        assert _tables_of(await connector.task_configs(10)) == ["a"]
    assert context.reconfigurations == 1


@virtual
async def test_a_first_round_that_takes_long_is_waited_for_and_goes_on() -> None:
    account = _Account("a")
    account.refuse = _refusing("GetResources", "tables", ThrottledError("slow down"))
    async with _running(account) as (connector, context):
        with pytest.raises(RetriableError, match=r"not ended within 60 s .*slow down.*it goes on"):
            await connector.task_configs(10)
        account.refuse = lambda operation, subject: None
        assert _tables_of(await connector.task_configs(10)) == ["a"]
    assert context.errors == []


@virtual
async def test_tables_that_cannot_be_judged_since_the_start_make_no_progress() -> None:
    """The database is away while a worker starts: tables that were copied are by nobody."""
    account = _Account("a", "b")
    account.refuse = _refusing("DescribeTable", "b", ThrottledError("could not connect"))
    async with _running(account) as (connector, context):
        assert _tables_of(await connector.task_configs(10)) == ["a"]
        await account.clock.sleep(400)
        (row,) = connector.tables()
        assert (row["table"], row["state"]) == ("b", "DISCOVERY")
        assert row["reason"] == "not known yet: could not connect"
        assert is_degraded(row, STILL_S)
        account.refuse = lambda operation, subject: None
        await account.clock.sleep(40)  # sooner than the next round is due
        assert connector.tables() == []
        assert _tables_of(await connector.task_configs(10)) == ["a", "b"]
    assert context.errors == []


@virtual
async def test_a_list_of_tables_that_never_was_had_is_no_progress_a_later_one_is_missed() -> None:
    account = _Account("a")
    away = _refusing("GetResources", "tables", ThrottledError("could not connect"))
    account.refuse = away
    async with _running(account) as (connector, _):
        await account.clock.sleep(400)
        (row,) = connector.tables()
        assert (row["table"], is_degraded(row, STILL_S)) == ("*", True)
        account.refuse = lambda operation, subject: None
        await account.clock.sleep(40)
        assert connector.tables() == []
        account.refuse = away
        await account.clock.sleep(_PERIOD_S + 400)
        (row,) = connector.tables()
        assert (row["table"], is_degraded(row, STILL_S)) == ("*", False)


@virtual
async def test_what_is_found_and_not_copied_is_shown() -> None:
    account = _Account("a", "off", "torn")
    account.tables["off"] = _description("off", stream_enabled=False)
    async with _running(account) as (connector, _):
        await connector.task_configs(10)
        account.refuse = _refusing("DescribeTable", "torn", ThrottledError("slow down"))
        await account.clock.sleep(_PERIOD_S + 5)
        rows = [(row["table"], row["state"], str(row["reason"])) for row in connector.tables()]
    assert [(table, state) for table, state, _ in rows] == [
        ("off", "SKIPPED"),
        ("torn", "DISCOVERY"),
    ]
    assert "not enabled" in rows[0][2]
    assert "slow down" in rows[1][2]
