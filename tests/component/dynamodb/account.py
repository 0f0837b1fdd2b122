"""An AWS account in memory: tables, streams with real lineages, tags; on virtual time.

Smaller than the scripted HTTP fake and without a socket: it answers ``SourceApi`` directly, with
the wire bodies that the record modules read. Everything happens when a test says so: writes,
splits, roll-overs, hidden shards, trimming (by the clock), refusals (``refuse``).
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectd.aio.clock import Clock
from connectd.connectors.dynamodb.source_api import (
    IteratorKind,
    KeyAttribute,
    RawResponse,
    Shard,
    StreamDescription,
    TableDescription,
)
from connectd.errors import (
    InvalidRequestError,
    IteratorExpiredError,
    StreamGoneError,
    TableGoneError,
    TrimmedDataError,
)
from tests.component.dynamodb.exports import FakeExports, change_line

RETENTION_S = 24 * 3600.0
HIDDEN_S = 300.0
ITERATOR_S = 15 * 60.0

Refusal = Callable[[str, str], Exception | None]
"""``refusal(operation, subject)``: what a call answers instead of working, None to let it pass."""


def place_of(key: str) -> float:
    """Where a key lies in the hash space [0, 1)."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:6]) / 2**48


@dataclass
class Record:
    """One change."""

    sequence: str
    created_s: float
    event: str
    key: str
    value: int | None
    by_ttl: bool = False


@dataclass
class FakeShard:
    """One shard; ``hidden`` counts the listings that do not show it, within its first minutes."""

    shard_id: str
    parent: str | None
    low: float
    high: float
    records: list[Record] = field(default_factory=list)
    closed_s: float | None = None
    hidden: int = 0
    born_s: float = 0.0
    trimmed_to: int = 0


class FakeStream:
    """The stream of a table, from enabling to disabling."""

    def __init__(self, arn: str, view_type: str, clock: Clock, numbers: Iterator[int]) -> None:
        self.arn = arn
        self.view_type = view_type
        self.is_enabled = True
        self.disabled_s: float | None = None
        self._clock = clock
        self._numbers = numbers
        self.shards: dict[str, FakeShard] = {}

    def new_shard(
        self, low: float, high: float, parent: str | None = None, *, hidden: int = 0
    ) -> FakeShard:
        number = next(self._numbers)
        shard_id = f"shardId-{int(self._clock.wall_s() * 1000):020d}-{number:08x}"
        shard = FakeShard(shard_id, parent, low, high, hidden=hidden, born_s=self._clock.wall_s())
        self.shards[shard_id] = shard
        return shard

    def open_shards(self) -> list[FakeShard]:
        return [shard for shard in self.shards.values() if shard.closed_s is None]

    def shard_of(self, key: str) -> FakeShard:
        place = place_of(key)
        return next(each for each in self.open_shards() if each.low <= place < each.high)

    def split(self, shard: FakeShard, *, hidden: int = 0) -> tuple[FakeShard, FakeShard]:
        """Close a shard, with two children."""
        shard.closed_s = self._clock.wall_s()
        middle = (shard.low + shard.high) / 2
        return (
            self.new_shard(shard.low, middle, shard.shard_id, hidden=hidden),
            self.new_shard(middle, shard.high, shard.shard_id, hidden=hidden),
        )

    def roll(self, shard: FakeShard, *, hidden: int = 0) -> FakeShard:
        """Close a shard, with one child."""
        shard.closed_s = self._clock.wall_s()
        return self.new_shard(shard.low, shard.high, shard.shard_id, hidden=hidden)

    def trim(self) -> None:
        """Forget what is older than the retention."""
        horizon_s = self._clock.wall_s() - RETENTION_S
        for shard in list(self.shards.values()):
            while (
                shard.trimmed_to < len(shard.records)
                and shard.records[shard.trimmed_to].created_s < horizon_s
            ):
                shard.trimmed_to += 1
            if shard.closed_s is not None and shard.closed_s < horizon_s:
                del self.shards[shard.shard_id]

    def append(self, event: str, key: str, value: int | None, *, by_ttl: bool = False) -> None:
        record = Record(
            sequence=f"{next(self._numbers):021d}",
            created_s=float(int(self._clock.wall_s())),
            event=event,
            key=key,
            value=value,
            by_ttl=by_ttl,
        )
        self.shard_of(key).records.append(record)


class FakeTable:
    """A table with one hash key ``id`` and a number ``v``."""

    def __init__(self, name: str, clock: Clock, numbers: Iterator[int], key_type: str) -> None:
        self.name = name
        self.key_type = key_type
        self.items: dict[str, int] = {}
        self.history: list[tuple[float, str, int | None]] = []
        """Time, key and value (None: deleted) of every change."""
        self.stream: FakeStream | None = None
        self.streams: dict[str, FakeStream] = {}
        self.read_capacity_units = 0
        self.item_bytes = 400
        self.table_id = f"id-{next(numbers)}"
        self._clock = clock
        self._numbers = numbers

    def enable_stream(
        self, *, shards: int = 1, view_type: str = "NEW_AND_OLD_IMAGES"
    ) -> FakeStream:
        label = next(self._numbers)
        arn = f"arn:aws:dynamodb:eu-west-1:000000000000:table/{self.name}/stream/{label}"
        stream = FakeStream(arn, view_type, self._clock, self._numbers)
        for index in range(shards):
            stream.new_shard(index / shards, (index + 1) / shards)
        self.stream = self.streams[arn] = stream
        return stream

    def disable_stream(self) -> None:
        assert self.stream is not None
        self.stream.is_enabled = False
        self.stream.disabled_s = self._clock.wall_s()
        for shard in self.stream.open_shards():
            shard.closed_s = self._clock.wall_s()

    def put(self, key: str, value: int) -> None:
        event = "MODIFY" if key in self.items else "INSERT"
        if self.items.get(key) == value:
            return
        self.items[key] = value
        self.history.append((self._clock.wall_s(), key, value))
        if self.stream is not None and self.stream.is_enabled:
            self.stream.append(event, key, value)

    def delete(self, key: str, *, by_ttl: bool = False) -> None:
        if self.items.pop(key, None) is None:
            return
        self.history.append((self._clock.wall_s(), key, None))
        if self.stream is not None and self.stream.is_enabled:
            self.stream.append("REMOVE", key, None, by_ttl=by_ttl)

    def key_json(self, key: str) -> dict[str, dict[str, str]]:
        return {"id": {self.key_type: key}}

    def item_json(self, key: str, value: int) -> dict[str, Any]:
        return {**self.key_json(key), "v": {"N": str(value)}}


class Account:
    """Implements ``SourceApi``; counts its calls, refuses what ``refuse`` says."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.tables: dict[str, FakeTable] = {}
        self.deleted_streams: dict[str, FakeStream] = {}
        self.tagged: list[str] = []
        self.refuse: Refusal = lambda operation, subject: None
        self.calls: Counter[str] = Counter()
        self.scans: list[tuple[int, bytes | None, int | None]] = []
        self.consumed: list[tuple[float, float]] = []
        self.page_items = 10
        self.latency_s = 0.002
        self.empty_pages = 0
        self.reads: list[str] = []
        self._numbers = itertools.count(1)
        self.exports = FakeExports(
            clock, self._items, self._changes, lambda *call: self.refuse(*call)
        )

    def _items(self, table: str) -> list[Any]:
        found = self.tables[table]
        return [found.item_json(key, found.items[key]) for key in sorted(found.items)]

    def _changes(self, table: str, from_s: float, to_s: float) -> list[Any]:
        found = self.tables[table]
        images: dict[str, list[int | None]] = {}  # before the window, and at its end
        written_s: dict[str, float] = {}
        for changed_s, key, value in found.history:
            pair = images.setdefault(key, [None, None])
            if changed_s < from_s:
                pair[:] = [value, value]
            elif changed_s < to_s:
                pair[1] = value
                written_s[key] = changed_s
        return [
            change_line(
                found.key_json(key),
                written_s[key],
                *(
                    None if value is None else found.item_json(key, value)
                    for value in reversed(images[key])
                ),
            )
            for key in sorted(written_s)
            if images[key] != [None, None]  # inserted and deleted: nothing is said of it
        ]

    @property
    def dynamodb(self) -> Account:
        return self

    @property
    def streams(self) -> Account:
        return self

    @property
    def tagging(self) -> Account:
        return self

    # -- what tests do --------------------------------------------------------------------------

    def add_table(
        self, name: str, *, shards: int = 1, key_type: str = "S", tag: bool = True
    ) -> FakeTable:
        table = FakeTable(name, self.clock, self._numbers, key_type)
        table.enable_stream(shards=shards)
        self.tables[name] = table
        if tag:
            self.tagged.append(name)
        return table

    def drop_table(self, name: str) -> FakeTable:
        table = self.tables.pop(name)
        if table.stream is not None and table.stream.is_enabled:
            table.disable_stream()
        self.deleted_streams.update(table.streams)
        return table

    def stream(self, arn: str) -> FakeStream:
        for table in self.tables.values():
            if arn in table.streams:
                return table.streams[arn]
        if arn in self.deleted_streams:
            return self.deleted_streams[arn]
        raise StreamGoneError(f"stream {arn} does not exist")

    # -- the API --------------------------------------------------------------------------------

    async def tables_by_tags(self, filters: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
        await self._call("GetResources", "tables")
        return list(self.tagged)

    async def describe_table(self, table: str) -> TableDescription:
        await self._call("DescribeTable", table)
        found = self.tables.get(table)
        if found is None:
            raise TableGoneError(f"table {table} does not exist")
        stream = found.stream
        return TableDescription(
            name=table,
            arn=f"arn:aws:dynamodb:eu-west-1:000000000000:table/{table}",
            status="ACTIVE",
            key_schema=(KeyAttribute("id", "HASH", found.key_type),),
            stream_arn=None if stream is None else stream.arn,
            stream_view_type=stream.view_type if stream and stream.is_enabled else None,
            stream_enabled=stream is not None and stream.is_enabled,
            item_count=len(found.items),
            size_bytes=len(found.items) * found.item_bytes,
            read_capacity_units=found.read_capacity_units,
            table_id=found.table_id,
        )

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
        await self._call("Scan", table)
        found = self.tables.get(table)
        if found is None:
            raise TableGoneError(f"table {table} does not exist")
        self.scans.append((segment, exclusive_start_key, limit))
        after = -1.0
        if exclusive_start_key is not None:
            start = json.loads(exclusive_start_key)["id"][found.key_type]
            after = place_of(start)
        keys = sorted(
            (
                key
                for key in found.items
                if int(place_of(key) * total_segments) == segment and place_of(key) > after
            ),
            key=place_of,
        )
        size = min(self.page_items, limit or self.page_items)
        page, rest = keys[:size], keys[size:]
        units = max(0.5, len(page) * found.item_bytes / 8192) * (2 if consistent else 1)
        self.consumed.append((self.clock.monotonic(), units))
        body: dict[str, Any] = {
            "Items": [found.item_json(key, found.items[key]) for key in page],
            "Count": len(page),
            "ScannedCount": len(page),
            "ConsumedCapacity": {"CapacityUnits": units},
        }
        if rest:
            body["LastEvaluatedKey"] = found.key_json(page[-1])
        return self._answer(body)

    async def describe_stream(self, arn: str, *, can_wait: bool = False) -> StreamDescription:
        await self._call("DescribeStream", arn)
        stream = self._live_stream(arn)
        listed = []
        for shard in stream.shards.values():
            if shard.hidden > 0 and self.clock.wall_s() - shard.born_s < HIDDEN_S:
                shard.hidden -= 1
                continue
            is_closed = shard.closed_s is not None
            first = shard.records[0].sequence if shard.records else None
            listed.append(
                Shard(shard.shard_id, shard.parent, first, "9" * 21 if is_closed else None)
            )
        status = "ENABLED" if stream.is_enabled else "DISABLED"
        return StreamDescription(arn, status, stream.view_type, tuple(listed))

    async def shard_iterator(
        self, arn: str, shard_id: str, kind: IteratorKind, sequence_number: str | None
    ) -> str:
        await self._call("GetShardIterator", shard_id)
        shard = self._shard(arn, shard_id)
        if kind == "TRIM_HORIZON":
            index = shard.trimmed_to
        elif kind == "LATEST":
            index = len(shard.records)
        else:
            numbers = [record.sequence for record in shard.records]
            if sequence_number not in numbers:
                raise InvalidRequestError(f"no record {sequence_number} in {shard_id}")
            index = numbers.index(sequence_number) + 1
            if index <= shard.trimmed_to:
                raise TrimmedDataError(f"{sequence_number} of {shard_id} is trimmed")
        return f"{arn}|{shard_id}|{index}|{self.clock.monotonic()}"

    async def get_records(self, iterator: str, limit: int) -> RawResponse:
        arn, shard_id, index_text, issued = iterator.split("|")
        await self._call("GetRecords", shard_id)
        if self.clock.monotonic() - float(issued) > ITERATOR_S:
            raise IteratorExpiredError(f"iterator of {shard_id} has expired")
        shard, index = self._shard(arn, shard_id), int(index_text)
        self.reads.append(shard_id)
        if index < shard.trimmed_to:
            raise TrimmedDataError(f"{shard_id} is trimmed to {shard.trimmed_to}")
        if self.empty_pages > 0:
            self.empty_pages -= 1
            page: list[Record] = []
        else:
            page = shard.records[index : index + limit]
        after = index + len(page)
        body: dict[str, Any] = {"Records": [self._record(each, arn) for each in page]}
        if shard.closed_s is None or after < len(shard.records):
            body["NextShardIterator"] = f"{arn}|{shard_id}|{after}|{self.clock.monotonic()}"
        return self._answer(body)

    # -- inside ---------------------------------------------------------------------------------

    async def _call(self, operation: str, subject: str) -> None:
        self.calls[operation] += 1
        await self.clock.sleep(self.latency_s)
        refusal = self.refuse(operation, subject)
        if refusal is not None:
            raise refusal

    def _answer(self, body: dict[str, Any]) -> RawResponse:
        text = json.dumps(body, separators=(",", ":")).encode()
        return RawResponse(text, float(int(self.clock.wall_s())))

    def _live_stream(self, arn: str) -> FakeStream:
        stream = self.stream(arn)
        stream.trim()
        if stream.disabled_s is not None and stream.disabled_s < self.clock.wall_s() - RETENTION_S:
            raise StreamGoneError(f"stream {arn} does not exist")
        return stream

    def _shard(self, arn: str, shard_id: str) -> FakeShard:
        shard = self._live_stream(arn).shards.get(shard_id)
        if shard is None:
            raise StreamGoneError(f"shard {shard_id} does not exist")
        return shard

    def _table_of(self, arn: str) -> str:
        return arn.split("table/")[1].split("/")[0]

    def _record(self, record: Record, arn: str) -> dict[str, Any]:
        key_type = "S"
        table = self.tables.get(self._table_of(arn))
        if table is not None:
            key_type = table.key_type
        keys = {"id": {key_type: record.key}}
        change: dict[str, Any] = {
            "Keys": keys,
            "SequenceNumber": record.sequence,
            "ApproximateCreationDateTime": int(record.created_s),
            "SizeBytes": 10,
        }
        if record.value is not None:
            change["NewImage"] = {**keys, "v": {"N": str(record.value)}}
        body: dict[str, Any] = {
            "eventID": f"event-{record.sequence}",
            "eventName": record.event,
            "dynamodb": change,
        }
        if record.by_ttl:
            body["userIdentity"] = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
        return body


class AccountPool:
    """Implements ``SourceApiPool`` for one account."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.users = 0

    async def acquire(self, settings: object) -> Account:
        self.users += 1
        return self.account

    async def release(self, clients: object) -> None:
        self.users -= 1
