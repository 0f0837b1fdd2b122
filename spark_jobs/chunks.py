"""What the driver and the Python workers of a scan hand each other: an order, and its result.

A *chunk* is a bounded piece of one segment: pages are scanned, converted and produced from a
position until a few seconds have passed. Only these two values go through the JVM; records never
do. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connectd.connectors.dynamodb.export_files import DataFile
from connectd.connectors.dynamodb.offsets import SegmentPosition


@dataclass(frozen=True)
class ChunkOrder:
    """One chunk to do. ``job`` is the text of the whole ``ScanJob``, but for segments and files.

    ``aws_keys`` are those of the driver's environment, if the connector has keys of its own.
    ``units_per_s`` is this chunk's share of the read capacity, None: unlimited; ``item_bytes`` is
    what items have measured so far, None: unknown. ``file``: of an export,
    the data file that is the segment. It was handed out at ``issued_ms`` by the driver's clock, and
    may be worked at for ``lease_s`` from then on.
    """

    job: bytes = field(repr=False)
    position: SegmentPosition
    issued_ms: int
    lease_s: float
    aws_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    units_per_s: float | None = None
    item_bytes: float | None = None
    file: DataFile | None = None


@dataclass(frozen=True)
class ChunkResult:
    """What became of a chunk. Everything before ``position`` is acknowledged by Kafka.

    ``error`` is why it ended early; ``retriable``: the same may work later. ``consumed`` counts
    read capacity units, of pages too that are to be read again. ``attempt``: how often Spark itself
    has begun this order before; what became of those is not known. See
    ``scan_reports.SegmentMoved`` for the rest.
    """

    position: SegmentPosition
    items: int = 0
    records: int = 0
    skipped: int = 0
    topics: tuple[str, ...] = ()
    consumed: float = 0.0
    items_read: int = 0
    ended_ms: int | None = None
    error: str | None = None
    retriable: bool = False
    attempt: int = 0
