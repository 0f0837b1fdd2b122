"""DynamoDB's data operations: single items, batches, transactions, Scan."""

from __future__ import annotations

import math
from typing import Any

import orjson

from tests.fakes.account import Account
from tests.fakes.attributes import (
    ITEM_BYTES_MAX,
    AttributeValue,
    Item,
    StoredItem,
    canonical_item,
    canonical_value,
    encode,
)
from tests.fakes.expressions import updated
from tests.fakes.scan import ScanRequest, scan_page
from tests.fakes.tables import Table
from tests.fakes.throttles import TableCapacity
from tests.fakes.wire import Operation, Payload, Reply, refuse_unknown, validation

BATCH_WRITES_MAX = 25
TRANSACTION_WRITES_MAX = 100
WRITE_UNIT_BYTES = 1024
READ_UNIT_BYTES = 4096

_COMMON = {"TableName", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics"}
_PUT = frozenset(_COMMON | {"Item", "ReturnValues"})
_DELETE = frozenset(_COMMON | {"Key", "ReturnValues"})
_UPDATE = frozenset(
    _DELETE | {"UpdateExpression", "ExpressionAttributeNames", "ExpressionAttributeValues"}
)
_GET = frozenset({"TableName", "Key", "ConsistentRead", "ReturnConsumedCapacity"})
_BATCH = frozenset({"RequestItems", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics"})
_TRANSACT = frozenset({"TransactItems", "ClientRequestToken", "ReturnConsumedCapacity"})


class ItemService:
    """PutItem, UpdateItem, DeleteItem, GetItem, BatchWriteItem, TransactWriteItems, Scan."""

    def __init__(self, account: Account, capacity: TableCapacity) -> None:
        self._account = account
        self._capacity = capacity
        self.operations: dict[str, Operation] = {
            "PutItem": self.put_item,
            "UpdateItem": self.update_item,
            "DeleteItem": self.delete_item,
            "GetItem": self.get_item,
            "BatchWriteItem": self.batch_write_item,
            "TransactWriteItems": self.transact_write_items,
            "Scan": self.scan,
        }

    # -- single writes -------------------------------------------------------------------------

    def put_item(self, payload: Payload) -> Reply:
        """Create or replace an item."""
        refuse_unknown("PutItem", payload, _PUT)
        table = self._account.table(payload.get("TableName"))
        new, key = checked_put(table, payload.get("Item"))
        return self._write_one(table, payload, key, new)

    def delete_item(self, payload: Payload) -> Reply:
        """Delete an item; deleting what is not there is no error."""
        refuse_unknown("DeleteItem", payload, _DELETE)
        table = self._account.table(payload.get("TableName"))
        return self._write_one(table, payload, table.schema.canonical_key(payload.get("Key")), None)

    def update_item(self, payload: Payload) -> Reply:
        """Change attributes of an item, or create it."""
        refuse_unknown("UpdateItem", payload, _UPDATE)
        table = self._account.table(payload.get("TableName"))
        key, new = _update_arguments(table, payload)
        return self._write_one(table, payload, key, new)

    def _write_one(
        self, table: Table, payload: Payload, key: Item, new: StoredItem | None
    ) -> Reply:
        wanted = payload.get("ReturnValues", "NONE")
        if wanted not in ("NONE", "ALL_OLD", "ALL_NEW"):
            raise validation(f"the scripted fake does not implement ReturnValues={wanted}")
        self._capacity.check_write(table.name, table.arn)
        old = table.item_at(table.schema.position(key))
        units = _write(table, key, new, old)
        self._capacity.spend(table.name, write=units)
        parts = []
        shown = {"NONE": None, "ALL_OLD": old, "ALL_NEW": new}[wanted]
        if shown is not None:
            parts.append(b'"Attributes":' + shown.wire)
        parts += _consumed_part(payload, {table.name: units})
        return Reply(b"{" + b",".join(parts) + b"}", 1, units)

    # -- several writes ------------------------------------------------------------------------

    def batch_write_item(self, payload: Payload) -> Reply:
        """Up to 25 puts and deletes; those beyond the capacity come back unprocessed."""
        refuse_unknown("BatchWriteItem", payload, _BATCH)
        requests: dict[str, list[dict[str, Any]]] = payload.get("RequestItems") or {}
        total = sum(len(of_table) for of_table in requests.values())
        if not 1 <= total <= BATCH_WRITES_MAX:
            raise validation(
                "1 validation error detected: Value at 'requestItems' failed to satisfy "
                f"constraint: between 1 and {BATCH_WRITES_MAX} write requests, found {total}"
            )
        checked = [
            (
                self._account.table(name),
                request,
                _batch_arguments(self._account.table(name), request),
            )
            for name, of_table in requests.items()
            for request in of_table
        ]
        keys = [(table.name, encode(key)) for table, _, (key, _) in checked]
        if len(set(keys)) != len(keys):
            raise validation("Provided list of item keys contains duplicates")
        for table, _, _ in checked[:1]:
            self._capacity.check_write(table.name, table.arn)
        units: dict[str, float] = {}
        unprocessed: dict[str, list[dict[str, Any]]] = {}
        for table, request, (key, new) in checked:
            if not self._capacity.has_write(table.name):
                unprocessed.setdefault(table.name, []).append(request)
                continue
            spent = _write(table, key, new, table.item_at(table.schema.position(key)))
            self._capacity.spend(table.name, write=spent)
            units[table.name] = units.get(table.name, 0.0) + spent
        body = {"UnprocessedItems": unprocessed}
        parts = [orjson.dumps(body)[1:-1], *_consumed_part(payload, units, as_list=True)]
        return Reply(b"{" + b",".join(parts) + b"}", total, sum(units.values()))

    def transact_write_items(self, payload: Payload) -> Reply:
        """Unconditional puts, updates and deletes, all or none; their records appear one by one."""
        refuse_unknown("TransactWriteItems", payload, _TRANSACT)
        actions = payload.get("TransactItems") or []
        if not 1 <= len(actions) <= TRANSACTION_WRITES_MAX:
            raise validation(
                "1 validation error detected: Value at 'transactItems' failed to satisfy "
                f"constraint: between 1 and {TRANSACTION_WRITES_MAX} actions, found {len(actions)}"
            )
        checked = [self._transact_arguments(action) for action in actions]
        keys = [(table.name, encode(key)) for table, key, _ in checked]
        if len(set(keys)) != len(keys):
            raise validation("Transaction request cannot include multiple operations on one item")
        units: dict[str, float] = {}
        for table, key, new in checked:
            spent = 2 * _write(table, key, new, table.item_at(table.schema.position(key)))
            units[table.name] = units.get(table.name, 0.0) + spent
        parts = _consumed_part(payload, units, as_list=True)
        return Reply(b"{" + b",".join(parts) + b"}", len(checked), sum(units.values()))

    def _transact_arguments(self, action: Payload) -> tuple[Table, Item, StoredItem | None]:
        ((verb, arguments),) = action.items()
        table = self._account.table(arguments.get("TableName"))
        if verb == "Put":
            refuse_unknown("Put", arguments, frozenset({"TableName", "Item"}))
            new, key = checked_put(table, arguments.get("Item"))
            return table, key, new
        if verb == "Update":
            refuse_unknown("Update", arguments, _UPDATE)
            key, updated_item = _update_arguments(table, arguments)
            return table, key, updated_item
        refuse_unknown(verb, arguments, frozenset({"TableName", "Key"} if verb == "Delete" else ()))
        return table, table.schema.canonical_key(arguments.get("Key")), None

    # -- reads ---------------------------------------------------------------------------------

    def get_item(self, payload: Payload) -> Reply:
        """Read one item."""
        refuse_unknown("GetItem", payload, _GET)
        table = self._account.table(payload.get("TableName"))
        key = table.schema.canonical_key(payload.get("Key"))
        self._capacity.check_read(table.name, table.arn)
        item = table.item_at(table.schema.position(key))
        blocks = max(1, math.ceil((item.size if item else 0) / READ_UNIT_BYTES))
        units = blocks * (1.0 if payload.get("ConsistentRead") else 0.5)
        self._capacity.spend(table.name, read=units)
        parts = _consumed_part(payload, {table.name: units})
        if item is not None:
            parts.append(b'"Item":' + item.wire)
        return Reply(b"{" + b",".join(parts) + b"}", 1, units)

    def scan(self, payload: Payload) -> Reply:
        """One page of a scan; see ``scan``."""
        table = self._account.table(payload.get("TableName"))
        request = ScanRequest.of(table, payload)
        self._capacity.check_read(table.name, table.arn)
        reply = scan_page(table, request)
        self._capacity.spend(table.name, read=reply.units)
        return reply


def checked_put(table: Table, item: object) -> tuple[StoredItem, Item]:
    """The stored form and the key of an item that is to be put.

    Raises:
        AwsError: ValidationException, also for an item above 400 KB.
    """
    canonical, size = canonical_item(item)
    key = table.schema.key_of_item(canonical)
    if size > ITEM_BYTES_MAX:
        raise validation("Item size has exceeded the maximum allowed size")
    return StoredItem(encode(canonical), size), key


def _batch_arguments(table: Table, request: Payload) -> tuple[Item, StoredItem | None]:
    ((verb, arguments),) = request.items()
    if verb == "PutRequest":
        new, key = checked_put(table, arguments.get("Item"))
        return key, new
    if verb == "DeleteRequest":
        return table.schema.canonical_key(arguments.get("Key")), None
    raise validation(f"Supplied write request {verb} is neither a put nor a delete")


def _update_arguments(table: Table, payload: Payload) -> tuple[Item, StoredItem]:
    key = table.schema.canonical_key(payload.get("Key"))
    old = table.item_at(table.schema.position(key))
    before: Item = orjson.loads(old.wire) if old else key
    expression = payload.get("UpdateExpression")
    after = before
    if expression is not None:
        values: dict[str, AttributeValue] = {
            name: canonical_value(value)[0]
            for name, value in (payload.get("ExpressionAttributeValues") or {}).items()
        }
        after = updated(before, expression, payload.get("ExpressionAttributeNames") or {}, values)
    canonical, size = canonical_item(after)
    if any(canonical.get(name) != key[name] for name in table.schema.names):
        raise validation(
            "One or more parameter values were invalid: Cannot update attribute "
            f"{table.schema.hash_name}. This attribute is part of the key"
        )
    if size > ITEM_BYTES_MAX:
        raise validation("Item size to update has exceeded the maximum allowed size")
    return key, StoredItem(encode(canonical), size)


def _write(table: Table, key: Item, new: StoredItem | None, old: StoredItem | None) -> float:
    table.write(key, new)
    size = max(new.size if new else 0, old.size if old else 0)
    return float(max(1, math.ceil(size / WRITE_UNIT_BYTES)))


def _consumed_part(
    payload: Payload, units: dict[str, float], *, as_list: bool = False
) -> list[bytes]:
    if payload.get("ReturnConsumedCapacity", "NONE") == "NONE":
        return []
    consumed = [{"CapacityUnits": spent, "TableName": name} for name, spent in units.items()]
    return [b'"ConsumedCapacity":' + orjson.dumps(consumed if as_list else consumed[0])]
