"""What an incremental export says: the changed items of a window, as the records of a stream.

A line is ``{"Metadata": {"WriteTimestampMicros": {"N": "..."}}, "Keys": {...}, "NewImage": {...},
"OldImage": {...}}``: with both images an update, without the old one an insert, without the new one
a deletion. Its items are compacted: of an item that was changed several times there is the last
state alone, and one that was inserted and deleted again may leave no line (developer guide,
"DynamoDB table export output format"; spec streams-and-leases 4.7). So each line becomes one record
of the operation that leads from the window's beginning to its end, and there is no order among the
lines: no key has two of them.

Not told, and therefore not in the records: who made a change (``userIdentity``).

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import IO

import msgspec

from connectd.connectors.dynamodb.decode import Raw, StreamChange, StreamRecord
from connectd.connectors.dynamodb.envelope import SourceInfo
from connectd.connectors.dynamodb.export_files import DataFile, LinePage, parsed_pages
from connectd.connectors.dynamodb.offsets import SegmentPosition
from connectd.connectors.dynamodb.payload import StreamPayload
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.stored_table import segment_partition
from connectd.connectors.dynamodb.tombstones import WithoutTombstones
from connectd.model.record import Acked, BatchPayload, RecordBatch


class _Micros(msgspec.Struct):
    digits: str = msgspec.field(name="N")


class _Metadata(msgspec.Struct, rename="pascal"):
    write_timestamp_micros: _Micros


class _Line(msgspec.Struct, rename="pascal"):
    metadata: _Metadata
    keys: Raw
    new_image: Raw = Raw()
    old_image: Raw = Raw()


_NONE = Raw()
_line_decoder = msgspec.json.Decoder(_Line)


def read_change_pages(
    where: str, content: IO[bytes], file: DataFile, *, skip: int, items_max: int
) -> Iterator[LinePage[StreamRecord]]:
    """The changes of a data file of an incremental export; see ``export_files.parsed_pages``."""
    return parsed_pages(where, content, file, parse_change, skip=skip, items_max=items_max)


def parse_change(line: bytes) -> StreamRecord:
    """One line as the record of a stream; it has no sequence number.

    Raises:
        msgspec.DecodeError: it is not such a line.
    """
    found = _line_decoder.decode(line)
    new, old = _image(found.new_image), _image(found.old_image)
    digits = found.metadata.write_timestamp_micros.digits
    if not (digits.isascii() and digits.isdigit()):
        raise msgspec.DecodeError(f"WriteTimestampMicros is {digits!r}, expected digits")
    event = "REMOVE" if not new else "MODIFY" if old else "INSERT"
    change = StreamChange(
        keys=found.keys,
        sequence_number="",
        approximate_creation_date_time=int(digits) / 1_000_000,
        new_image=new,
        old_image=old,
    )
    return StreamRecord(change=change, event_name=event)


def _image(raw: Raw) -> Raw:
    """An image that is not there may also be written as null."""
    return _NONE if bytes(raw) == b"null" else raw


def change_batch(
    plan: TablePlan,
    info: SourceInfo,
    changes: Sequence[StreamRecord],
    after: SegmentPosition,
    *,
    tombstones: bool,
    on_acked: Callable[[Acked], None],
) -> RecordBatch:
    """The emission of a page of changes, with the position after it."""
    payload: BatchPayload = StreamPayload(plan, info, changes)
    if not tombstones:
        payload = WithoutTombstones(payload)
    return RecordBatch(
        segment_partition(plan.table, after.segment), after.to_offset(), payload, on_acked
    )
