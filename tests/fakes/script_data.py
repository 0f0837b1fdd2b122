"""Commands about data: tables, writes that the API has no call for, bulk data, the oracles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from tests.fakes import bulk
from tests.fakes.attributes import Item
from tests.fakes.items import Page
from tests.fakes.keys import HASH_SPACE, HashRange, KeySchema
from tests.fakes.script_parts import Commands
from tests.fakes.service_items import checked_put
from tests.fakes.streams import SEQUENCE_STEP

ITEMS_SHOWN_MAX = 200_000


@dataclass(frozen=True, slots=True)
class ItemHistory:
    """All states of one item, in the order in which they became true; None: deleted."""

    key: dict[str, Any]
    states: list[dict[str, Any] | None]
    sequences: list[str | None]  # of the stream records; None while there was no stream


class DataCommands(Commands):
    """Items and keys are in DynamoDB's wire form, e.g. ``{"id": {"S": "a"}}``."""

    def set_default_partitions(self, count: int) -> None:
        """Let tables created from now on have so many partitions (open shards)."""
        self._parts.account.default_partitions = count

    def create_table(
        self,
        table: str,
        hash_key: str = "id",
        hash_type: str = "S",
        range_key: str | None = None,
        range_type: str = "S",
        view_type: str | None = "NEW_AND_OLD_IMAGES",
        tags: dict[str, str] | None = None,
        partitions: int | None = None,
    ) -> str | None:
        """Create a table in one line; the ARN of its stream."""
        schema = KeySchema(hash_key, hash_type, range_key, range_type)
        types = {hash_key: hash_type} | ({range_key: range_type} if range_key else {})
        description: dict[str, Any] = {
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": type_} for name, type_ in types.items()
            ],
            "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
            "KeySchema": [
                {"AttributeName": name, "KeyType": kind}
                for name, kind in zip(types, ("HASH", "RANGE"), strict=False)
            ],
        }
        account = self._parts.account
        created = account.create_table(table, schema, description, partitions=partitions)
        created.tags = dict(tags or {})
        if view_type is None:
            return None
        return account.enable_stream(created, view_type).name.arn

    def drop_table(self, table: str) -> None:
        """DeleteTable without a call."""
        self._parts.account.delete_table(table)

    def set_table_status(self, table: str, status: str) -> None:
        """Show a table as CREATING, UPDATING, DELETING, ACTIVE."""
        self._table(table).status = status

    # -- writes --------------------------------------------------------------------------------

    def put(self, table: str, item: Item) -> bool:
        """PutItem without a call; whether it changed anything."""
        found = self._table(table)
        new, key = checked_put(found, item)
        return found.write(key, new)

    def delete(self, table: str, key: Item) -> bool:
        """DeleteItem without a call; whether it changed anything."""
        found = self._table(table)
        return found.write(found.schema.canonical_key(key), None)

    def ttl_delete(self, table: str, key: Item, replicated: bool = False) -> bool:
        """Delete as Time to Live does; ``replicated`` as in another region: without identity."""
        found = self._table(table)
        return found.write(found.schema.canonical_key(key), None, by_service=not replicated)

    def global_write(
        self, table: str, item: Item, from_region: str = "us-east-1", version: str = "2019.11.21"
    ) -> None:
        """Write as a global table's replication does.

        Version 2017.11.29 shows its own attributes and a second, extra MODIFY for each write.
        """
        self.put(table, item)
        if version == "2017.11.29":
            marks: Item = {
                "aws:rep:deleting": {"BOOL": False},
                "aws:rep:updatetime": {"N": f"{self._now_s():.6f}"},
                "aws:rep:updateregion": {"S": from_region},
            }
            self.put(table, {**item, **marks})

    # -- bulk ----------------------------------------------------------------------------------

    def bulk_load(self, table: str, count: int, item_bytes: int = 400, seed: int = 1) -> int:
        """Fill an empty table with items of ``item_bytes`` bytes of wire JSON; how many."""
        found = self._table(table)
        filling = bulk.filler(_bulk_key(found.schema), item_bytes, seed)
        found.items.load([bulk.LoadedItems(filling, HashRange(0, HASH_SPACE), count, seed)])
        return count

    def bulk_stream(
        self,
        table: str,
        count: int,
        item_bytes: int = 400,
        seed: int = 1,
        mix: tuple[int, int, int] = (50, 25, 25),
    ) -> int:
        """Fill the open shards of an empty table's stream; how many records.

        ``mix`` weighs INSERT, MODIFY and REMOVE. The table then holds what the records leave.
        """
        found = self._table(table)
        stream = self._stream(table)
        cycle = bulk.Cycle(*mix)
        leaves = [leaf for leaf in stream.leaves if leaf.is_open and not leaf.log.end]
        if found.items.count or len(leaves) != len(stream.leaves):
            raise ValueError(f"bulk stream on {table}: expected an empty table and empty shards")
        cycles, rest = divmod(count, len(leaves) * cycle.length)
        if rest or not cycles:
            raise ValueError(
                f"bulk stream of {count} records: expected a multiple of {len(leaves)} shards "
                f"times a cycle of {cycle.length} records"
            )
        filling = bulk.filler(_bulk_key(found.schema), item_bytes, seed)
        survivors = []
        for leaf in leaves:
            run = bulk.ChangeRun(
                filling,
                stream.format,
                cycle,
                leaf.hashes,
                cycles=cycles,
                first_sequence=stream.reserve_sequences(cycles * cycle.length),
                sequence_step=SEQUENCE_STEP,
                created_s=int(self._now_s()),
                seed=seed,
            )
            leaf.log.fill(run)
            survivors.append(bulk.SurvivingItems(run))
        found.items.load(list(survivors))
        return count

    # -- oracles -------------------------------------------------------------------------------

    def table_items(self, table: str) -> list[dict[str, Any]]:
        """All current items, in scan order.

        Raises:
            ValueError: for more than 200,000 items; scan such a table.
        """
        items = self._table(table).items
        if items.count > ITEMS_SHOWN_MAX:
            raise ValueError(f"table {table} has {items.count} items: scan it instead")
        page = Page(count_max=ITEMS_SHOWN_MAX + 1, bytes_max=items.size_total)
        items.read(page, 0, HASH_SPACE)
        return [orjson.loads(wire) for wire in page.wires]

    def history(self, table: str) -> list[ItemHistory]:
        """The true sequence of states of every item that was written one by one."""
        return [
            ItemHistory(
                orjson.loads(key),
                [None if s.wire is None else orjson.loads(s.wire) for s in states],
                [None if s.sequence is None else str(s.sequence) for s in states],
            )
            for key, states in self._table(table).history.items()
        ]


def _bulk_key(schema: KeySchema) -> str:
    if schema.range_name is not None or schema.hash_type != "S":
        raise ValueError("bulk data needs a table with one key attribute of type S")
    return schema.hash_name
