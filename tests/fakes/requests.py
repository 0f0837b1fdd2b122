"""What a request is about: its operation, its tables, its shard, the resource it names."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import orjson

from tests.fakes.account import Account
from tests.fakes.faults import Call
from tests.fakes.iterators import ShardIterator
from tests.fakes.wire import AwsError, Payload

_SERVICES = {
    "DynamoDB_20120810": "dynamodb",
    "DynamoDBStreams_20120810": "streams",
    "ResourceGroupsTaggingAPI_20170126": "tagging",
}
TARGETS = {service: prefix for prefix, service in _SERVICES.items()}


def service_and_operation(target: str) -> tuple[str, str]:
    """The two halves of ``X-Amz-Target``.

    Raises:
        AwsError: UnknownOperationException for a service that is not served here.
    """
    prefix, _, operation = target.rpartition(".")
    service = _SERVICES.get(prefix)
    if service is None:
        raise AwsError("UnknownOperationException", f"no service for the target {target!r}")
    return service, operation


def parse_json(body: bytes) -> Payload:
    """The parameters of a JSON request."""
    try:
        payload = orjson.loads(body or b"{}")
    except orjson.JSONDecodeError as error:
        raise AwsError("SerializationException", str(error)) from None
    if not isinstance(payload, dict):
        raise AwsError("SerializationException")
    return payload


def parse_query(body: bytes) -> dict[str, str]:
    """The parameters of a query-protocol request (STS)."""
    return dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))


def describe_call(account: Account, service: str, operation: str, payload: Payload) -> Call:
    """What a JSON request is about, as far as its parameters tell."""
    if service == "streams":
        return _stream_call(account, operation, payload)
    tables = _tables(payload)
    resource = account.table_arn(tables[0]) if tables else None
    if resource is None and service == "dynamodb":
        resource = account.table_arn("*")
    return Call(service, operation, tables, resource=resource)


def _tables(payload: Payload) -> tuple[str, ...]:
    names: list[Any] = [payload.get("TableName"), payload.get("ResourceArn")]
    requests = payload.get("RequestItems")
    if isinstance(requests, dict):
        names += requests
    for action in payload.get("TransactItems") or ():
        names += [arguments.get("TableName") for arguments in action.values()]
    found = [name.rpartition("table/")[2] for name in names if isinstance(name, str) and name]
    return tuple(dict.fromkeys(found))


def _stream_call(account: Account, operation: str, payload: Payload) -> Call:
    arn, shard_id = payload.get("StreamArn"), payload.get("ShardId")
    if operation == "GetRecords":
        try:
            iterator = ShardIterator.parse(payload.get("ShardIterator"))
        except AwsError:
            return Call("streams", operation)
        arn, shard_id = iterator.stream_arn, iterator.shard_id
    if not isinstance(arn, str):
        return Call(
            "streams", operation, _tables(payload), resource=account.table_arn("*/stream/*")
        )
    table = arn.rpartition("table/")[2].partition("/")[0]
    return Call("streams", operation, (table,), shard_id, arn)
