"""DynamoDB: what a table is (control plane) and its pages (data plane)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from connectd.aws.errors import Call
from connectd.aws.transport import RawResponse
from connectd.aws.wire import JsonWire
from connectd.errors import InvariantError, TransientNetworkError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import TableDescriptionTypeDef

SEGMENTS_MAX = 1_000_000

_SCAN_TARGET = "DynamoDB_20120810.Scan"
_DESCRIBE_TABLE_TARGET = "DynamoDB_20120810.DescribeTable"
_GET_ITEM_TARGET = "DynamoDB_20120810.GetItem"


class KeyAttribute(NamedTuple):
    """One part of the primary key: ``role`` HASH or RANGE, ``type`` S, N or B."""

    attribute: str
    role: str
    type: str


@dataclass(frozen=True, slots=True)
class TableDescription:
    """What DescribeTable says, as far as the connector wants to know it.

    ``stream_arn`` is that of the latest stream, which outlives being disabled; ``stream_enabled``
    tells whether changes are being recorded now. ``read_capacity_units`` is 0 for a table on
    demand. ``item_count`` and ``size_bytes`` are six hours old at worst. ``table_id`` changes when
    a table is dropped and made again under its name.
    """

    name: str
    arn: str
    status: str
    key_schema: tuple[KeyAttribute, ...]
    stream_arn: str | None
    stream_view_type: str | None
    stream_enabled: bool
    item_count: int
    size_bytes: int
    read_capacity_units: int
    table_id: str | None


class DynamoDbClient:
    """Reads tables. Shared by all jobs of the process; holds no state of its own."""

    def __init__(self, *, wire: JsonWire) -> None:
        self._wire = wire

    async def scan(
        self,
        table: str,
        *,
        segment: int,
        total_segments: int,
        exclusive_start_key: bytes | None,
        limit: int | None,
        consistent: bool = False,
    ) -> RawResponse:
        """One page of a segment, as the bytes that DynamoDB sent.

        ``exclusive_start_key`` is the JSON of ``LastEvaluatedKey`` of the page before, byte for
        byte, or None for the first page; it is valid for its segment and the same
        ``total_segments`` only. ``limit`` counts items (None: up to 1 MB). A page may be empty and
        yet not the last one. The answer carries ``ConsumedCapacity``.

        Raises ``ThrottledError`` (nothing consumed: ask again with the same key),
        ``TransientNetworkError``, ``TableGoneError``, ``AccessDeniedError`` and
        ``InvalidRequestError``.
        """
        body = scan_body(
            table,
            segment=segment,
            total_segments=total_segments,
            exclusive_start_key=exclusive_start_key,
            limit=limit,
            consistent=consistent,
        )
        return await self._wire.call(
            Call("dynamodb:Scan", f"table {table}"),
            target=_SCAN_TARGET,
            method="scan",
            parameters={"TableName": table},
            body=body,
        )

    async def get_item(self, table: str, key: bytes) -> RawResponse:
        """One item as it is now (strongly consistent), as the bytes that DynamoDB sent.

        ``key`` is JSON of the key attributes. An answer without ``Item``: there is none. Raises as
        ``scan`` does.
        """
        return await self._wire.call(
            Call("dynamodb:GetItem", f"table {table}"),
            target=_GET_ITEM_TARGET,
            method="scan",  # botocore is only asked where requests for the table go
            parameters={"TableName": table},
            body=b'{"TableName":%b,"ConsistentRead":true,"Key":%b}' % (orjson.dumps(table), key),
        )

    async def describe_table(self, table: str) -> TableDescription:
        """What the table is now. Raises as ``scan`` does.

        Over the wire and not through boto3, which takes ten times the processor time: every table
        is asked about in every round of discovery.
        """
        call = Call("dynamodb:DescribeTable", f"table {table}")
        answer = await self._wire.call(
            call,
            target=_DESCRIBE_TABLE_TARGET,
            method="describe_table",
            parameters={"TableName": table},
            body=b'{"TableName":%b}' % orjson.dumps(table),
        )
        try:
            return parse_table(orjson.loads(answer.body)["Table"])
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise TransientNetworkError(
                f"{call}: the answer is no description of a table ({error!r})"
            ) from error


def scan_body(
    table: str,
    *,
    segment: int,
    total_segments: int,
    exclusive_start_key: bytes | None,
    limit: int | None,
    consistent: bool,
) -> bytes:
    """The request of Scan. The start key goes in as it is: numbers must not be re-written."""
    if not 0 <= segment < total_segments <= SEGMENTS_MAX:
        raise InvariantError(
            f"scanning table {table}: segment {segment} of {total_segments} does not exist"
        )
    if limit is not None and limit < 1:
        raise InvariantError(f"scanning table {table}: limit is {limit}, expected at least 1")
    parts = [
        b'{"TableName":%b,"Segment":%d,"TotalSegments":%d,"ReturnConsumedCapacity":"TOTAL"'
        % (orjson.dumps(table), segment, total_segments)
    ]
    if limit is not None:
        parts.append(b',"Limit":%d' % limit)
    if consistent:
        parts.append(b',"ConsistentRead":true')
    if exclusive_start_key is not None:
        parts.append(b',"ExclusiveStartKey":%b' % exclusive_start_key)
    parts.append(b"}")
    return b"".join(parts)


def parse_table(table: TableDescriptionTypeDef) -> TableDescription:
    """The answer as ours. Emulators leave out much; what is missing counts as absent."""
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    stream: Any = table.get("StreamSpecification", {})
    return TableDescription(
        name=table["TableName"],
        arn=table["TableArn"],
        status=table["TableStatus"],
        key_schema=tuple(
            KeyAttribute(each["AttributeName"], each["KeyType"], types[each["AttributeName"]])
            for each in table["KeySchema"]
        ),
        stream_arn=table.get("LatestStreamArn"),
        stream_view_type=stream.get("StreamViewType"),
        stream_enabled=bool(stream.get("StreamEnabled")),
        item_count=table.get("ItemCount", 0),
        size_bytes=table.get("TableSizeBytes", 0),
        read_capacity_units=_read_capacity_units(table),
        table_id=table.get("TableId"),
    )


def _read_capacity_units(table: TableDescriptionTypeDef) -> int:
    billing: Any = table.get("BillingModeSummary", {})
    if billing.get("BillingMode") == "PAY_PER_REQUEST":
        return 0
    throughput: Any = table.get("ProvisionedThroughput", {})
    return int(throughput.get("ReadCapacityUnits", 0))
