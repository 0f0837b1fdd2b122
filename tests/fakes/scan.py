"""One page of a Scan, assembled from wire bytes.

A page ends with the item that takes it over 1 MB (by DynamoDB's sizes), after ``Limit`` items, or
where the segment ends; only the last leaves ``LastEvaluatedKey`` out. So a scan whose last page
was full by the item count ends on an empty page, as on AWS.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import orjson

from tests.fakes.attributes import encode
from tests.fakes.items import Page
from tests.fakes.keys import HASH_SPACE, HashRange, Position
from tests.fakes.tables import Table
from tests.fakes.wire import Payload, Reply, refuse_unknown, validation

SCAN_BYTES_MAX = 1 << 20
SEGMENTS_MAX = 1_000_000
READ_UNIT_BYTES = 4096

_KNOWN = frozenset(
    {
        "ConsistentRead",
        "ExclusiveStartKey",
        "Limit",
        "ReturnConsumedCapacity",
        "Segment",
        "Select",
        "TableName",
        "TotalSegments",
    }
)


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """The checked parameters of one call."""

    hashes: HashRange
    after: Position | None
    limit: int | None
    is_consistent: bool
    counts_only: bool
    capacity: str  # NONE, TOTAL or INDEXES

    @classmethod
    def of(cls, table: Table, payload: Payload) -> ScanRequest:
        """Check a request's parameters against a table."""
        refuse_unknown("Scan", payload, _KNOWN)
        limit = payload.get("Limit")
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise validation(
                f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy "
                "constraint: Member must have value greater than or equal to 1"
            )
        select = payload.get("Select", "ALL_ATTRIBUTES")
        if select not in ("ALL_ATTRIBUTES", "COUNT"):
            raise validation(f"the scripted fake does not implement Select={select}")
        hashes = _segment(payload)
        after = None
        if payload.get("ExclusiveStartKey") is not None:
            after = _start(table, payload, hashes)
        return cls(
            hashes,
            after,
            limit,
            bool(payload.get("ConsistentRead")),
            select == "COUNT",
            payload.get("ReturnConsumedCapacity", "NONE"),
        )


def _segment(payload: Payload) -> HashRange:
    segment, total = payload.get("Segment"), payload.get("TotalSegments")
    if segment is None and total is None:
        return HashRange(0, HASH_SPACE)
    if segment is None or total is None:
        missing, present = (
            ("Segment", "TotalSegments")
            if segment is None
            else (
                "TotalSegments",
                "Segment",
            )
        )
        raise validation(
            f"The {missing} parameter is required but was not present in the request when "
            f"{present} parameter is present"
        )
    if not 1 <= total <= SEGMENTS_MAX:
        raise validation(
            f"1 validation error detected: Value '{total}' at 'totalSegments' failed to satisfy "
            "constraint: Member must have value between 1 and 1000000"
        )
    if not 0 <= segment < total:
        raise validation(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total}"
        )
    return HashRange(HASH_SPACE * segment // total, HASH_SPACE * (segment + 1) // total)


def _start(table: Table, payload: Payload, hashes: HashRange) -> Position:
    start = payload["ExclusiveStartKey"]
    if not isinstance(start, dict) or set(start) != set(table.schema.names):
        raise validation("The provided starting key is invalid")
    position = table.schema.position(table.schema.canonical_key(start))
    if not hashes.low <= position.hash < hashes.high:
        raise validation(
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use "
            "ExclusiveStartKey with correct Segment. TotalSegments: "
            f"{payload.get('TotalSegments')} Segment: {payload.get('Segment')}"
        )
    return position


def scan_page(table: Table, request: ScanRequest) -> Reply:
    """Read one page."""
    page = Page(count_max=request.limit or SCAN_BYTES_MAX, bytes_max=SCAN_BYTES_MAX)
    table.items.read(page, *request.hashes, request.after)
    units = _units(table, request, page)
    return Reply(_body(table, request, page, units), len(page.wires), units)


def _units(table: Table, request: ScanRequest, page: Page) -> float:
    per_unit = 1.0 if request.is_consistent else 0.5
    low = request.after.hash if request.after else request.hashes.low
    high = page.last.hash if page.last else request.hashes.high - 1
    blocks = max(math.ceil(page.size / READ_UNIT_BYTES), table.partitions_touched(low, high))
    return per_unit * blocks


def _body(table: Table, request: ScanRequest, page: Page, units: float) -> bytes:
    parts = [b"{"]
    if request.capacity in ("TOTAL", "INDEXES"):
        consumed: dict[str, Any] = {"CapacityUnits": units, "TableName": table.name}
        if request.capacity == "INDEXES":
            consumed["Table"] = {"CapacityUnits": units}
        parts += (b'"ConsumedCapacity":', orjson.dumps(consumed), b",")
    parts.append(b'"Count":%d' % len(page.wires))
    if not request.counts_only:
        parts += (b',"Items":[', b",".join(page.wires), b"]")
    if page.last is not None:
        parts += (b',"LastEvaluatedKey":', encode(table.schema.key_at(page.last)))
    parts.append(b',"ScannedCount":%d}' % len(page.wires))
    return b"".join(parts)
