"""Scan's request as bytes, its answer as bytes, and the description of a table."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.aws.dynamodb import DynamoDbClient, KeyAttribute, parse_table, scan_body
from connectd.aws.transport import HttpAnswer
from connectd.errors import InvariantError, TransientNetworkError
from tests.unit.aws.doubles import ScriptedTransport, wire_over


def body(**more: Any) -> bytes:
    given_ones: dict[str, Any] = {
        "segment": 0,
        "total_segments": 1,
        "exclusive_start_key": None,
        "limit": None,
        "consistent": False,
    }
    return scan_body("orders", **{**given_ones, **more})


def test_the_plain_request_asks_for_consumed_capacity_and_nothing_odd() -> None:
    assert body() == (
        b'{"TableName":"orders","Segment":0,"TotalSegments":1,"ReturnConsumedCapacity":"TOTAL"}'
    )


def test_options_are_sent_when_they_say_something() -> None:
    request = json.loads(
        body(segment=2, total_segments=4, limit=1000, consistent=True, exclusive_start_key=b"{}")
    )
    assert request == {
        "TableName": "orders",
        "Segment": 2,
        "TotalSegments": 4,
        "ReturnConsumedCapacity": "TOTAL",
        "Limit": 1000,
        "ConsistentRead": True,
        "ExclusiveStartKey": {},
    }


def test_the_start_key_goes_in_byte_for_byte() -> None:
    key = b'{"id":{"N":"123456789012345678901234567890.00000001"},"b":{"B":"AA=="}}'
    assert b',"ExclusiveStartKey":' + key + b"}" in body(exclusive_start_key=key)


@given(table=st.text(max_size=300), limit=st.none() | st.integers(1, 10**6))
def test_every_table_name_makes_a_valid_request(table: str, limit: int | None) -> None:
    if any(0xD800 <= ord(character) <= 0xDFFF for character in table):
        return  # not text that JSON could carry
    request = scan_body(
        table,
        segment=0,
        total_segments=1,
        exclusive_start_key=None,
        limit=limit,
        consistent=False,
    )
    parsed = json.loads(request)
    assert parsed["TableName"] == table
    assert parsed.get("Limit") == limit


@pytest.mark.parametrize(
    "wrong",
    [
        {"segment": 1},
        {"segment": -1},
        {"total_segments": 0},
        {"total_segments": 1_000_001},
        {"limit": 0},
    ],
)
def test_requests_that_cannot_be_meant_are_bugs(wrong: dict[str, int]) -> None:
    with pytest.raises(InvariantError, match="scanning table orders"):
        body(**wrong)


def test_a_page_is_returned_as_it_came() -> None:
    page = b'{"Count":1,"Items":[{"id":{"N":"1.0"}}]}'
    transport = ScriptedTransport(HttpAnswer(200, page, 9.0))
    client = DynamoDbClient(wire=wire_over(transport))
    answer = asyncio.run(
        client.scan("orders", segment=0, total_segments=1, exclusive_start_key=None, limit=None)
    )
    assert (answer.body, answer.date_s) == (page, 9.0)
    assert transport.sent[0].body == body()
    assert transport.sent[0].headers["X-Amz-Target"] == "DynamoDB_20120810.Scan"


MINIMAL: dict[str, Any] = {
    "TableName": "orders",
    "TableArn": "arn:aws:dynamodb:eu-west-1:111122223333:table/orders",
    "TableStatus": "ACTIVE",
    "AttributeDefinitions": [
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "indexed", "AttributeType": "B"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
}


def described(**more: Any) -> Any:
    return parse_table({**MINIMAL, **more})  # type: ignore[typeddict-item]


def test_the_key_schema_carries_the_types() -> None:
    schema = described().key_schema
    assert schema == (("pk", "HASH", "S"), ("sk", "RANGE", "N"))
    assert schema[0] == KeyAttribute(attribute="pk", role="HASH", type="S")


def test_what_is_missing_is_absent() -> None:
    table = described()
    assert table.stream_arn is None
    assert table.stream_view_type is None
    assert not table.stream_enabled
    assert (table.item_count, table.size_bytes, table.read_capacity_units) == (0, 0, 0)
    assert table.table_id is None


def test_a_full_description_is_read() -> None:
    table = described(
        LatestStreamArn="arn:stream",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        ItemCount=7,
        TableSizeBytes=700,
        ProvisionedThroughput={"ReadCapacityUnits": 25, "WriteCapacityUnits": 5},
        TableId="b0c5-id",
    )
    assert table.name == "orders"
    assert table.status == "ACTIVE"
    assert (table.stream_arn, table.stream_view_type) == ("arn:stream", "NEW_IMAGE")
    assert table.stream_enabled
    assert (table.item_count, table.size_bytes, table.read_capacity_units) == (7, 700, 25)
    assert table.table_id == "b0c5-id"


def test_a_disabled_stream_keeps_its_arn() -> None:
    table = described(LatestStreamArn="arn:stream", StreamSpecification={"StreamEnabled": False})
    assert table.stream_arn == "arn:stream"
    assert not table.stream_enabled


def test_on_demand_means_no_capacity_to_share() -> None:
    """Such a table may still show the numbers that it was provisioned with."""
    table = described(
        BillingModeSummary={"BillingMode": "PAY_PER_REQUEST"},
        ProvisionedThroughput={"ReadCapacityUnits": 25},
    )
    assert table.read_capacity_units == 0


def test_a_table_is_described_over_the_wire() -> None:
    table = {
        "TableName": "orders",
        "TableArn": "arn:aws:dynamodb:eu-west-1:1:table/orders",
        "TableStatus": "ACTIVE",
        "CreationDateTime": 1.7145576e9,
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "ItemCount": 7,
    }
    transport = ScriptedTransport(HttpAnswer(200, json.dumps({"Table": table}).encode(), 9.0))
    found = asyncio.run(DynamoDbClient(wire=wire_over(transport)).describe_table("orders"))
    assert (found.name, found.item_count, found.stream_enabled) == ("orders", 7, False)
    (sent,) = transport.sent
    assert sent.headers["X-Amz-Target"] == "DynamoDB_20120810.DescribeTable"
    assert json.loads(sent.body) == {"TableName": "orders"}


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b'{"Table":{}}', b'{"Table":null}'])
def test_an_answer_that_describes_no_table_may_be_better_next_time(answer: bytes) -> None:
    transport = ScriptedTransport(HttpAnswer(200, answer, 9.0))
    with pytest.raises(TransientNetworkError, match="table orders: the answer is no description"):
        asyncio.run(DynamoDbClient(wire=wire_over(transport)).describe_table("orders"))
