"""A table read once: all segments, all pages, and what becomes of trouble."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from connectd.aio.clock import LoopClock
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.decode import Raw
from connectd.connectors.dynamodb.source_api import KeyAttribute, RawResponse, TableDescription
from connectd.connectors.dynamodb.table_reading import ITEM_READS_MAX, PAGES_AHEAD, TableReading
from connectd.errors import AccessDeniedError, ConnectdError, InvalidRequestError, ThrottledError
from tests.kit.virtual_time import run_virtual

PAGES = 3
ORDERS = TableDescription(
    name="orders",
    arn="arn:aws:dynamodb:eu-west-1:1:table/orders",
    status="ACTIVE",
    key_schema=(KeyAttribute("id", "HASH", "S"),),
    stream_arn=None,
    stream_view_type=None,
    stream_enabled=False,
    item_count=100,
    size_bytes=100 * 8192,
    read_capacity_units=0,
    table_id=None,
)


class Api:
    """Each segment has three pages of two items, the last of them empty."""

    def __init__(self) -> None:
        self.scans: list[tuple[int, bytes | None]] = []
        self.failures: list[ConnectdError] = []
        self.reads = self.reads_max = 0
        self.on_scan: Callable[[int], None] = lambda segment: None

    async def describe_table(self, table: str) -> TableDescription:
        return ORDERS

    async def scan(
        self, table: str, *, segment: int, exclusive_start_key: bytes | None, **_: Any
    ) -> RawResponse:
        self.on_scan(segment)
        if self.failures:
            raise self.failures.pop()
        self.scans.append((segment, exclusive_start_key))
        page = 0 if exclusive_start_key is None else json.loads(exclusive_start_key)["n"]
        body: dict[str, Any] = {"Items": [], "ConsumedCapacity": {"CapacityUnits": 10.0}}
        if page + 1 < PAGES:
            body["Items"] = [{"id": {"S": f"{segment}-{page}-{item}"}} for item in range(2)]
            body["LastEvaluatedKey"] = {"n": page + 1}
        return RawResponse(json.dumps(body).encode(), None)

    async def get_item(self, table: str, key: bytes) -> RawResponse:
        if self.failures:
            raise self.failures.pop()
        self.reads += 1
        self.reads_max = max(self.reads, self.reads_max)
        await LoopClock().sleep(0.01)
        self.reads -= 1
        body = {} if key == b"gone" else {"Item": {"id": {"S": key.decode()}}}
        return RawResponse(json.dumps(body).encode(), None)


def reading(api: Api, description: TableDescription = ORDERS, **settings: Any) -> TableReading:
    scan = replace(DynamoDbConfig.from_config({}).scan, **{"segments": 3, **settings})
    return TableReading(api, description, scan, LoopClock())


async def ids(table: TableReading) -> list[str]:
    found = []
    async with table.pages() as pages:
        async for page in pages:
            found += [json.loads(bytes(item))["id"]["S"] for item in page.items]
    return found


EVERYTHING = sorted(f"{s}-{p}-{i}" for s in range(3) for p in range(2) for i in range(2))


def test_every_item_of_every_segment_comes_once() -> None:
    assert sorted(run_virtual(ids(reading(Api())))) == EVERYTHING


def test_a_refused_page_is_asked_again_with_the_same_key() -> None:
    api = Api()
    api.failures = [ThrottledError("busy") for _ in range(5)]
    assert sorted(run_virtual(ids(reading(api)))) == EVERYTHING
    assert len(set(api.scans)) == len(api.scans) == 3 * PAGES


def test_what_waiting_does_not_mend_ends_the_reading() -> None:
    api = Api()
    api.failures = [AccessDeniedError("dynamodb:Scan")]
    with pytest.raises(AccessDeniedError):
        run_virtual(ids(reading(api)))


def test_few_pages_are_ahead_of_who_takes_them() -> None:
    api = Api()

    async def take_one() -> None:
        async with reading(api, segments=50).pages() as pages:
            await anext(pages)
            await LoopClock().sleep(60)

    run_virtual(take_one())
    assert len(api.scans) <= 50 + PAGES_AHEAD + 1


def test_the_pace_is_that_of_the_table() -> None:
    async def timed() -> float:
        clock = LoopClock()
        began_s = clock.monotonic()
        await ids(reading(Api(), capacity_units=5))
        return clock.monotonic() - began_s

    # Nine pages of 10 units each, 5 units a second; the last one is not waited off.
    assert run_virtual(timed()) >= 14


def test_a_key_that_is_refused_spoils_no_other() -> None:
    api = Api()
    refusal = InvalidRequestError("ValidationException")
    api.failures = [refusal]
    first, second = run_virtual(reading(api).items([b"1", b"2"]))
    assert first is refusal
    assert isinstance(second, Raw)


def test_items_are_read_in_their_order_and_not_all_at_once() -> None:
    api = Api()
    keys = [b"%d" % number for number in range(100)]
    api.failures = [ThrottledError("busy") for _ in range(30)]
    found = run_virtual(reading(api).items([*keys, b"gone"]))
    assert found[-1] is None
    assert [json.loads(bytes(item))["id"]["S"] for item in found if isinstance(item, Raw)] == [
        key.decode() for key in keys
    ]
    assert 1 < api.reads_max <= ITEM_READS_MAX
