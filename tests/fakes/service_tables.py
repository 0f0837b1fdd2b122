"""DynamoDB's control operations: tables, their streams' switch, their tags."""

from __future__ import annotations

from typing import Any

from tests.fakes.account import Account
from tests.fakes.keys import KeySchema
from tests.fakes.tables import Table
from tests.fakes.throttles import TableCapacity
from tests.fakes.wire import (
    AwsError,
    Operation,
    Payload,
    Reply,
    not_implemented,
    refuse_unknown,
    validation,
)

LIST_TABLES_MAX = 100
TAGS_MAX = 50
_NAME_LENGTHS = range(3, 256)

_CREATE = frozenset(
    {
        "AttributeDefinitions",
        "BillingMode",
        "KeySchema",
        "ProvisionedThroughput",
        "StreamSpecification",
        "TableName",
        "Tags",
    }
)
_UPDATE = frozenset(
    {"AttributeDefinitions", "BillingMode", "ProvisionedThroughput", "StreamSpecification"}
    | {"TableName"}
)


class TableService:
    """CreateTable, DescribeTable, UpdateTable, DeleteTable, ListTables and the tag operations."""

    def __init__(self, account: Account, capacity: TableCapacity) -> None:
        self._account = account
        self._capacity = capacity
        self.operations: dict[str, Operation] = {
            "CreateTable": self.create_table,
            "DescribeTable": self.describe_table,
            "UpdateTable": self.update_table,
            "DeleteTable": self.delete_table,
            "ListTables": self.list_tables,
            "TagResource": self.tag_resource,
            "UntagResource": self.untag_resource,
            "ListTagsOfResource": self.list_tags_of_resource,
        }

    def create_table(self, payload: Payload) -> Reply:
        """Create a table; it is ACTIVE at once unless the script says otherwise."""
        refuse_unknown("CreateTable", payload, _CREATE)
        name = payload.get("TableName")
        if not isinstance(name, str) or len(name) not in _NAME_LENGTHS:
            raise validation(
                "TableName must be at least 3 characters long and at most 255 characters long"
            )
        schema = _key_schema(payload)
        throughput = payload.get("ProvisionedThroughput")
        is_provisioned = payload.get("BillingMode", "PROVISIONED") == "PROVISIONED"
        if is_provisioned and not throughput:
            raise validation(
                "One or more parameter values were invalid: ReadCapacityUnits and "
                "WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
            )
        stream = payload.get("StreamSpecification") or {}
        view_type = _view_type(stream)
        table = self._account.create_table(name, schema, _description(payload, schema))
        if view_type is not None:
            self._account.enable_stream(table, view_type)
        table.tags = _tags(payload.get("Tags") or [])
        if is_provisioned and throughput:
            self._bound(table, throughput)
        return Reply.of({"TableDescription": table.describe()})

    def _bound(self, table: Table, throughput: dict[str, int]) -> None:
        # AWS keeps up to 300 s of unused capacity; tests that want less set it by script.
        self._capacity.set(
            table.name,
            read_per_s=float(throughput["ReadCapacityUnits"]),
            write_per_s=float(throughput["WriteCapacityUnits"]),
            burst_s=300.0,
        )

    def describe_table(self, payload: Payload) -> Reply:
        """Describe a table."""
        refuse_unknown("DescribeTable", payload, frozenset({"TableName"}))
        return Reply.of({"Table": self._account.table(payload.get("TableName")).describe()})

    def update_table(self, payload: Payload) -> Reply:
        """Switch the stream on or off, or change the billing."""
        refuse_unknown("UpdateTable", payload, _UPDATE)
        table = self._account.table(payload.get("TableName"))
        stream = payload.get("StreamSpecification")
        throughput = payload.get("ProvisionedThroughput")
        if stream is None and throughput is None and "BillingMode" not in payload:
            raise validation(
                "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
                "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required"
            )
        if stream is not None:
            view_type = _view_type(stream)
            if view_type is not None:
                self._account.enable_stream(table, view_type)
            elif table.stream is None:
                raise validation("Table is already in the state of stream being disabled")
            else:
                table.detach()
        if throughput is not None:
            self._bound(table, throughput)
        elif payload.get("BillingMode") == "PAY_PER_REQUEST":
            self._capacity.remove(table.name)
        return Reply.of({"TableDescription": table.describe()})

    def delete_table(self, payload: Payload) -> Reply:
        """Delete a table; its stream stays readable for 24 h."""
        refuse_unknown("DeleteTable", payload, frozenset({"TableName"}))
        table = self._account.delete_table(payload.get("TableName") or "")
        self._capacity.remove(table.name)
        description = table.describe()
        return Reply.of({"TableDescription": {**description, "TableStatus": "DELETING"}})

    def list_tables(self, payload: Payload) -> Reply:
        """One page of table names, in alphabetical order."""
        refuse_unknown("ListTables", payload, frozenset({"ExclusiveStartTableName", "Limit"}))
        start = payload.get("ExclusiveStartTableName", "")
        limit = payload.get("Limit", LIST_TABLES_MAX)
        if not 1 <= limit <= LIST_TABLES_MAX:
            raise validation(
                f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy "
                "constraint: Member must have value between 1 and 100"
            )
        names = [name for name in sorted(self._account.tables) if name > start]
        body: dict[str, Any] = {"TableNames": names[:limit]}
        if len(names) > limit:
            body["LastEvaluatedTableName"] = names[limit - 1]
        return Reply.of(body, count=len(names[:limit]))

    # -- tags ----------------------------------------------------------------------------------

    def tag_resource(self, payload: Payload) -> Reply:
        """Add or overwrite tags of a table."""
        table = self._tagged(payload, "Tags")
        table.tags.update(_tags(payload.get("Tags") or []))
        return Reply(b"")

    def untag_resource(self, payload: Payload) -> Reply:
        """Remove tags of a table; keys that it has not are no error."""
        table = self._tagged(payload, "TagKeys")
        for key in payload.get("TagKeys") or []:
            table.tags.pop(key, None)
        return Reply(b"")

    def list_tags_of_resource(self, payload: Payload) -> Reply:
        """All tags of a table, on one page."""
        table = self._tagged(payload, "NextToken")
        tags = [{"Key": key, "Value": value} for key, value in table.tags.items()]
        return Reply.of({"Tags": tags}, count=len(tags))

    def _tagged(self, payload: Payload, parameter: str) -> Table:
        refuse_unknown("the tag operations", payload, frozenset({"ResourceArn", parameter}))
        arn = payload.get("ResourceArn")
        try:
            if not isinstance(arn, str) or not arn.startswith(self._account.table_arn("")):
                raise validation(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
            return self._account.table(arn)
        except AwsError as error:
            if error.code != "ResourceNotFoundException":
                raise
            raise AwsError(
                "ResourceNotFoundException",
                f"Requested resource not found: ResourcArn: {arn} not found",
            ) from None


def _view_type(stream: Payload) -> str | None:
    """The view type of a StreamSpecification that enables, None for one that does not."""
    if not stream.get("StreamEnabled"):
        if "StreamViewType" in stream:
            raise validation(
                "One or more parameter values were invalid: Table is being created with a stream "
                "disabled, UpdateViewType should not be specified"
            )
        return None
    return str(stream.get("StreamViewType"))


def _key_schema(payload: Payload) -> KeySchema:
    types = {
        definition["AttributeName"]: definition["AttributeType"]
        for definition in payload.get("AttributeDefinitions") or []
    }
    names = {
        element["KeyType"]: element["AttributeName"] for element in payload.get("KeySchema") or []
    }
    if "HASH" not in names or len(names) != len(payload["KeySchema"]):
        raise validation("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if set(names.values()) - set(types):
        raise validation(
            "One or more parameter values were invalid: Some index key attributes are not defined "
            f"in AttributeDefinitions. Keys: {sorted(names.values())}, AttributeDefinitions: "
            f"{sorted(types)}"
        )
    if set(types) - set(names.values()):
        raise validation(
            "One or more parameter values were invalid: Number of attributes in KeySchema does "
            "not exactly match number of attributes defined in AttributeDefinitions"
        )
    if set(types.values()) - {"S", "N", "B"}:
        raise not_implemented(f"key types {sorted(set(types.values()) - {'S', 'N', 'B'})}")
    range_name = names.get("RANGE")
    hash_name = names["HASH"]
    return KeySchema(
        hash_name, types[hash_name], range_name, types[range_name] if range_name else "S"
    )


def _description(payload: Payload, schema: KeySchema) -> Payload:
    """The part of a TableDescription that never changes."""
    throughput = payload.get("ProvisionedThroughput") or {}
    elements = [{"AttributeName": schema.hash_name, "KeyType": "HASH"}]
    if schema.range_name is not None:
        elements.append({"AttributeName": schema.range_name, "KeyType": "RANGE"})
    description: Payload = {
        "AttributeDefinitions": payload["AttributeDefinitions"],
        "KeySchema": elements,
        "ProvisionedThroughput": {
            "NumberOfDecreasesToday": 0,
            "ReadCapacityUnits": throughput.get("ReadCapacityUnits", 0),
            "WriteCapacityUnits": throughput.get("WriteCapacityUnits", 0),
        },
    }
    if payload.get("BillingMode") == "PAY_PER_REQUEST":
        description["BillingModeSummary"] = {"BillingMode": "PAY_PER_REQUEST"}
    return description


def _tags(tags: list[dict[str, str]]) -> dict[str, str]:
    checked = {tag["Key"]: tag.get("Value", "") for tag in tags}
    if len(checked) > TAGS_MAX or any(key.startswith("aws:") or not key for key in checked):
        raise validation("One or more parameter values were invalid: a tag is not allowed")
    return checked
