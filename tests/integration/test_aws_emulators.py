"""Every call of the AWS adapter against moto and ministack, the emulators that we did not write."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import boto3
import msgspec
import orjson
import pytest
from botocore.config import Config

from connectd.aio.clock import LoopClock
from connectd.aws.clients import AwsClients
from connectd.aws.settings import AwsSettings
from connectd.errors import (
    InvalidRequestError,
    StreamGoneError,
    TableGoneError,
    TransientNetworkError,
)
from tests.harness.ministack import Ministack
from tests.harness.processes import ManagedProcess, accepts_connections, free_ports

pytestmark = pytest.mark.emulator

T = TypeVar("T")

REGION = "eu-west-1"
KEYS = {"access_key_id": "AKIDLOCAL", "secret_access_key": "secret"}
BIG = "12345678901234567890123456789012345678"
TAGGED_TABLES = 60


class ScanPage(msgspec.Struct):
    """A page of Scan, as far as these tests look into it."""

    Items: list[dict[str, Any]]
    ConsumedCapacity: dict[str, Any]
    LastEvaluatedKey: msgspec.Raw = msgspec.Raw()


@pytest.fixture(scope="module", params=["moto", "ministack"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the emulator listens."""
    home: Path = tmp_path_factory.mktemp(request.param)
    if request.param == "ministack":
        with Ministack(home=home) as ministack:
            yield ministack.url
        return
    (port,) = free_ports(1)
    argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    moto = ManagedProcess("moto", argv, log_path=home / "moto.log")
    moto.start()
    try:
        moto.wait_until(
            lambda: accepts_connections("127.0.0.1", port), what="a connection", deadline_s=30
        )
        yield f"http://127.0.0.1:{port}"
    finally:
        moto.stop(grace_s=5)


@pytest.fixture(scope="module")
def tables(url: str) -> Any:
    """A plain boto3 client that makes what the adapter then reads, tables included."""
    client = boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name=REGION,
        aws_access_key_id="AKIDLOCAL",
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 1}),
    )
    numeric_key(client)
    streamed(client)
    tagged(client)
    yield client
    client.close()


def numeric_key(client: Any) -> None:
    client.create_table(
        TableName="numbers",
        AttributeDefinitions=[
            {"AttributeName": "kind", "AttributeType": "S"},
            {"AttributeName": "at", "AttributeType": "N"},
        ],
        KeySchema=[
            {"AttributeName": "kind", "KeyType": "HASH"},
            {"AttributeName": "at", "KeyType": "RANGE"},
        ],
        ProvisionedThroughput={"ReadCapacityUnits": 25, "WriteCapacityUnits": 5},
    )
    for number in range(50):
        key = {"kind": {"S": f'"quoted" {number} ä'}, "at": {"N": BIG}}
        client.put_item(TableName="numbers", Item={**key, "payload": {"B": bytes([number])}})


def streamed(client: Any) -> None:
    client.create_table(
        TableName="streamed",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "B"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    for number in range(5):
        client.put_item(TableName="streamed", Item={"pk": {"B": bytes([number])}})
    client.delete_item(TableName="streamed", Key={"pk": {"B": b"\x00"}})


def tagged(client: Any) -> None:
    for number in range(TAGGED_TABLES):
        environment = "dev" if number % 2 else "prod"
        tags = {"environment": environment, "team": f"t{number % 3}"}
        if number != 1:
            tags["datalake-ingest"] = ""
        client.create_table(
            TableName=f"tagged-{number:02}",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
        )


def with_clients(url: str, use: Callable[[AwsClients], Awaitable[T]], **more: Any) -> T:
    """Run ``use`` with clients whose every endpoint is the emulator."""

    async def scenario() -> T:
        settings = AwsSettings(
            region=REGION,
            dynamodb_endpoint=url,
            tagging_endpoint=url,
            sts_endpoint=url,
            **{**KEYS, **more},
        )
        clients = AwsClients(settings, LoopClock())
        await clients.open()
        try:
            return await use(clients)
        finally:
            await clients.close()

    return asyncio.run(scenario())


async def scan_segment(clients: AwsClients, segment: int, total: int) -> list[dict[str, Any]]:
    """All items of a segment, seven at a time, going on from the raw key of each page."""
    items: list[dict[str, Any]] = []
    start: bytes | None = None
    for _ in range(100):
        answer = await clients.dynamodb.scan(
            "numbers", segment=segment, total_segments=total, exclusive_start_key=start, limit=7
        )
        assert answer.date_s is not None
        page = msgspec.json.decode(answer.body, type=ScanPage)
        assert page.ConsumedCapacity["TableName"].endswith("numbers")
        items += page.Items
        if not bytes(page.LastEvaluatedKey):
            return items
        start = bytes(page.LastEvaluatedKey)
        assert BIG.encode() in start
    raise AssertionError("the scan did not end")


@pytest.mark.parametrize("total", [1, 4])
def test_segments_together_are_the_table(url: str, tables: Any, total: int) -> None:
    async def use(clients: AwsClients) -> list[list[dict[str, Any]]]:
        return list(
            await asyncio.gather(*(scan_segment(clients, each, total) for each in range(total)))
        )

    segments = with_clients(url, use)
    found = [item["payload"]["B"] for items in segments for item in items]
    assert len(found) == 50
    assert len(set(found)) == 50
    assert {item["at"]["N"] for items in segments for item in items} == {BIG}


def test_a_consistent_scan_without_a_limit_is_accepted(url: str, tables: Any) -> None:
    async def use(clients: AwsClients) -> bytes:
        answer = await clients.dynamodb.scan(
            "numbers",
            segment=0,
            total_segments=1,
            exclusive_start_key=None,
            limit=None,
            consistent=True,
        )
        return answer.body

    assert orjson.loads(with_clients(url, use))["Count"] == 50


def test_tables_are_described(url: str, tables: Any) -> None:
    async def use(clients: AwsClients) -> tuple[Any, Any]:
        return (
            await clients.dynamodb.describe_table("numbers"),
            await clients.dynamodb.describe_table("streamed"),
        )

    numbers, streamed_table = with_clients(url, use)
    assert numbers.name == "numbers"
    assert numbers.status == "ACTIVE"
    assert numbers.key_schema == (("kind", "HASH", "S"), ("at", "RANGE", "N"))
    assert numbers.read_capacity_units == 25
    assert not numbers.stream_enabled
    assert numbers.stream_arn is None
    assert numbers.item_count == 50
    assert streamed_table.key_schema == (("pk", "HASH", "B"),)
    assert streamed_table.read_capacity_units == 0
    assert streamed_table.stream_enabled
    assert streamed_table.stream_view_type == "NEW_AND_OLD_IMAGES"
    assert streamed_table.stream_arn.startswith(streamed_table.arn + "/stream/")


def test_a_table_that_is_not_there_is_gone_on_both_roads(url: str, tables: Any) -> None:
    async def use(clients: AwsClients) -> None:
        with pytest.raises(TableGoneError, match="dynamodb:DescribeTable on table missing"):
            await clients.dynamodb.describe_table("missing")
        with pytest.raises(TableGoneError, match="dynamodb:Scan on table missing"):
            await clients.dynamodb.scan(
                "missing", segment=0, total_segments=1, exclusive_start_key=None, limit=None
            )

    with_clients(url, use)


def test_a_wrong_request_and_a_crash_are_told_apart(
    request: pytest.FixtureRequest, url: str, tables: Any
) -> None:
    """The same wrong key: ministack refuses it as AWS does, moto dies with a page of HTML."""
    expected = {
        "ministack": (InvalidRequestError, "ValidationException"),
        "moto": (TransientNetworkError, "HTTP 500"),
    }
    kind, said = expected[request.node.callspec.params["url"]]

    async def use(clients: AwsClients) -> None:
        with pytest.raises(kind, match=said):
            await clients.dynamodb.scan(
                "numbers",
                segment=0,
                total_segments=1,
                exclusive_start_key=b'{"unknown":{"S":"x"}}',
                limit=1,
            )

    with_clients(url, use)


async def read(clients: AwsClients, iterator: str, limit: int) -> Any:
    answer = await clients.streams.get_records(iterator, limit)
    return orjson.loads(answer.body)


def test_a_stream_is_read_from_its_shards(url: str, tables: Any) -> None:
    async def use(clients: AwsClients) -> None:
        table = await clients.dynamodb.describe_table("streamed")
        assert table.stream_arn is not None
        stream = await clients.streams.describe_stream(table.stream_arn)
        assert stream.arn == table.stream_arn
        assert stream.status == "ENABLED"
        assert stream.view_type == "NEW_AND_OLD_IMAGES"
        (shard,) = stream.shards
        assert shard.parent_shard_id is None
        assert shard.ending_sequence_number is None

        start = await clients.streams.shard_iterator(
            stream.arn, shard.shard_id, "TRIM_HORIZON", None
        )
        first = await read(clients, start, 4)
        assert [each["eventName"] for each in first["Records"]] == ["INSERT"] * 4
        rest = await read(clients, first["NextShardIterator"], 1000)
        assert [each["eventName"] for each in rest["Records"]] == ["INSERT", "REMOVE"]

        third = first["Records"][2]["dynamodb"]["SequenceNumber"]
        at = await clients.streams.shard_iterator(
            stream.arn, shard.shard_id, "AT_SEQUENCE_NUMBER", third
        )
        after = await clients.streams.shard_iterator(
            stream.arn, shard.shard_id, "AFTER_SEQUENCE_NUMBER", third
        )
        assert len((await read(clients, at, 1000))["Records"]) == 4
        assert len((await read(clients, after, 1000))["Records"]) == 3

        latest = await clients.streams.shard_iterator(stream.arn, shard.shard_id, "LATEST", None)
        assert (await read(clients, latest, 1000))["Records"] == []

    with_clients(url, use)


def test_a_stream_that_is_not_there_is_gone_on_both_roads(url: str, tables: Any) -> None:
    arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/missing/stream/2024-05-01T10:00:00.000"

    async def use(clients: AwsClients) -> None:
        with pytest.raises(StreamGoneError, match="dynamodb:DescribeStream on stream arn"):
            await clients.streams.describe_stream(arn)
        with pytest.raises(StreamGoneError, match="dynamodb:GetShardIterator on shard"):
            await clients.streams.shard_iterator(arn, "shardId-" + "0" * 20, "LATEST", None)

    with_clients(url, use)


def test_tables_are_found_by_all_their_tags_over_all_pages(url: str, tables: Any) -> None:
    async def use(clients: AwsClients) -> tuple[list[str], ...]:
        find = clients.tagging.tables_by_tags
        return (
            await find([("environment", ())]),
            await find([("environment", ("dev",)), ("datalake-ingest", ())]),
            await find([("environment", ("prod",)), ("team", ("t0", "t2"))]),
            await find([("environment", ("dev",)), ("nobody-has-this", ())]),
        )

    numbers = range(TAGGED_TABLES)
    every, dev, two_teams, nothing = with_clients(url, use)
    assert sorted(every) == [f"tagged-{each:02}" for each in numbers]
    assert sorted(dev) == [f"tagged-{each:02}" for each in numbers if each % 2 and each != 1]
    assert sorted(two_teams) == [
        f"tagged-{each:02}" for each in numbers if not each % 2 and each % 3 != 1
    ]
    assert nothing == []


def test_a_role_is_assumed_with_its_external_id(url: str, tables: Any) -> None:
    """Spec field-cases X06; who may assume what is checked against our own cloud in tests/unit."""

    # ministack keeps the tables of each account apart, as AWS does.
    account = tables.describe_table(TableName="numbers")["Table"]["TableArn"].split(":")[4]

    async def use(clients: AwsClients) -> tuple[str | None, str]:
        await clients.dynamodb.describe_table("numbers")
        await scan_segment(clients, 0, 1)
        assert clients._keys is not None
        keys = await clients._keys.current()
        return keys.session_token, keys.access_key_id

    token, access_key_id = with_clients(
        url,
        use,
        assume_role_arn=f"arn:aws:iam::{account}:role/reader",
        assume_role_external_id="external-1",
    )
    assert token
    assert access_key_id != KEYS["access_key_id"]
