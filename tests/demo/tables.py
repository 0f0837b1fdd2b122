"""The three tables of the demo: a composite key, a binary key, and one that is empty at first."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tests.harness.processes import HarnessError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Item: TypeAlias = dict[str, Any]
"""DynamoDB JSON as boto3 takes it."""

INGEST_TAG = "datalake-ingest"
ENVIRONMENT_TAG = "environment"
ENVIRONMENT = "demo"

ORDERS = 6000
PICTURES = 1500
BATCH_ITEMS = 25
BATCH_TRIES = 20
"""DynamoDB takes at most 25 items in one BatchWriteItem, and may leave some for another try."""


@dataclass(frozen=True)
class Table:
    """One table: its name, its key attributes with their types, and its first items."""

    name: str
    key: tuple[tuple[str, Literal["S", "N", "B"]], ...]
    first_items: Sequence[Item] = ()


def order(number: int, *, total: str = "19.90") -> Item:
    """One order: nested values, a set, a number of 38 digits."""
    return {
        "customer": {"S": f"c-{number % 97:03d}"},
        "number": {"N": str(number)},
        "total": {"N": total},
        "checksum": {"N": str(10**37 + number)},
        "gift": {"BOOL": number % 7 == 0},
        "note": {"NULL": True},
        "labels": {"SS": ["new", f"w-{number % 5}"]},
        "lines": {"L": [{"M": {"sku": {"S": f"sku-{number % 300}"}, "quantity": {"N": "2"}}}]},
    }


def picture(number: int, *, width: int = 640) -> Item:
    """One picture with a binary key."""
    return {
        "digest": {"B": hashlib.sha256(str(number).encode()).digest()[:12]},
        "width": {"N": str(width)},
        "thumbnail": {"B": hashlib.sha512(str(number).encode()).digest()},
    }


def parcel(number: int) -> Item:
    """One parcel; the name of an attribute may hold any character."""
    return {"id": {"S": f"parcel-{number}"}, "weight, g": {"N": "1200"}, "état": {"S": "livré"}}


ALL_TABLES = (
    Table("orders", (("customer", "S"), ("number", "N")), [order(n) for n in range(ORDERS)]),
    Table("pictures", (("digest", "B"),), [picture(n) for n in range(PICTURES)]),
    Table("parcels", (("id", "S"),)),
)


def create(client: DynamoDBClient, table: Table) -> None:
    """Create a table with stream and tags, and load its first items."""
    client.create_table(
        TableName=table.name,
        KeySchema=[
            {"AttributeName": name, "KeyType": role}
            for (name, _), role in zip(table.key, _ROLES, strict=False)
        ],
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": letter} for name, letter in table.key
        ],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        Tags=[
            {"Key": INGEST_TAG, "Value": "true"},
            {"Key": ENVIRONMENT_TAG, "Value": ENVIRONMENT},
        ],
    )
    for start in range(0, len(table.first_items), BATCH_ITEMS):
        _write_batch(client, table.name, table.first_items[start : start + BATCH_ITEMS])


def _write_batch(client: DynamoDBClient, table: str, items: Sequence[Item]) -> None:
    waiting: Any = {table: [{"PutRequest": {"Item": item}} for item in items]}
    for _ in range(BATCH_TRIES):
        waiting = client.batch_write_item(RequestItems=waiting)["UnprocessedItems"]
        if not waiting:
            return
    raise HarnessError(f"{table}: items were left unprocessed {BATCH_TRIES} times in a row.")


@dataclass(frozen=True)
class Change:
    """One change of an item: what the demo did, and how many Kafka records become of it."""

    table: str
    key: Mapping[str, str]
    """As the key of a Kafka record has it."""
    what: str
    records: int


def change(client: DynamoDBClient) -> list[Change]:
    """Change, delete and add items."""
    puts = [
        *(("orders", order(number, total="24.90")) for number in range(3)),
        ("pictures", picture(0, width=1280)),
        *(("parcels", parcel(number)) for number in range(2)),
    ]
    deletes = [("orders", order(3)), ("pictures", picture(1)), ("parcels", parcel(1))]
    for table, item in puts:
        client.put_item(TableName=table, Item=item)
    for table, item in deletes:
        client.delete_item(TableName=table, Key={name: item[name] for name in _key_names(table)})
    return [
        *(Change(table, _key_text(table, item), "put", 1) for table, item in puts),
        *(Change(table, _key_text(table, item), "delete", 2) for table, item in deletes),
    ]


def items_of(client: DynamoDBClient, table: str) -> Iterator[Item]:
    """Every item of a table, read consistently."""
    pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    for page in pages:
        yield from page["Items"]


def _key_names(table: str) -> list[str]:
    (found,) = (each for each in ALL_TABLES if each.name == table)
    return [name for name, _ in found.key]


def _key_text(table: str, item: Item) -> dict[str, str]:
    values = {name: next(iter(item[name].values())) for name in _key_names(table)}
    return {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for name, value in values.items()
    }


_ROLES: tuple[Literal["HASH", "RANGE"], ...] = ("HASH", "RANGE")
