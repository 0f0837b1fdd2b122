"""Pages as the rest of the worker sees them: the two roads from raw items to records.

``ScanPayload`` is a page of the initial scan, ``StreamPayload`` one of a shard. Both offer the
general road (``source_records``: Connect data, one record at a time, for any transform and any
converter) and, for JsonConverter on both sides, the direct one (``page_encoder``: bytes from the
table's ``PageLayout``). Both roads give the same bytes; ``test_payload_roads`` holds them to it.

Order is that of the page; a deletion is two records, the value and then its tombstone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import orjson

from connectd.connectors.dynamodb.decode import Raw, StreamRecord
from connectd.connectors.dynamodb.document import parse_item
from connectd.connectors.dynamodb.envelope import (
    Operation,
    RecordFacts,
    SourceInfo,
    operation_of,
)
from connectd.connectors.dynamodb.plan import PageLayout, TablePlan, ValueFrame
from connectd.errors import ConvertError
from connectd.model.record import (
    ConverterSpec,
    EncodedPage,
    EncodedRecord,
    SourceRecord,
)
from connectd.model.schema import Struct


@dataclass(frozen=True)
class ScanPayload:
    """Items of one Scan page, as records of operation ``r``.

    ``last_info`` replaces ``info`` for the last item: the record that ends an initial scan says
    FINISHED already (spec dynamodb-connector 4.2).
    """

    plan: TablePlan
    info: SourceInfo
    items: Sequence[Raw]
    last_info: SourceInfo | None = None

    def __len__(self) -> int:
        return len(self.items)

    def source_records(self) -> Iterator[SourceRecord]:
        """See ``BatchPayload``."""
        last = len(self.items) - 1
        for index, raw in enumerate(self.items):
            info = self.last_info if self.last_info and index == last else self.info
            origin = _Origin(self.plan, index)
            try:
                item = parse_item(raw)
                key = origin.key = self.plan.key_schema.values(item)
                document = self.plan.write_document(item).decode()
                value = self.plan.envelope.value(info, _read_facts(info), document)
            except ConvertError as error:
                raise ConvertError(f"{origin}: {error}") from error
            yield _source_record(self.plan, key, value, origin)

    def page_encoder(
        self, key: ConverterSpec, value: ConverterSpec
    ) -> Callable[[], EncodedPage] | None:
        """See ``BatchPayload``."""
        layout = self.plan.layout(key, value)
        return None if layout is None else functools.partial(self._encode, layout)

    def _encode(self, layout: PageLayout) -> EncodedPage:
        frame = layout.frame(self.info, _read_facts(self.info))
        head, tail = frame.head, frame.tail
        key_values, write_document = self.plan.key_schema.values, self.plan.write_document
        records: list[EncodedRecord] = []
        for raw in self.items:
            item = parse_item(raw)
            key = layout.key(key_values(item))
            text = write_document(item).decode()
            records.append((key, head + orjson.dumps(text) + tail))
        if records and self.last_info:
            last_tail = layout.frame(self.last_info, _read_facts(self.last_info)).tail
            key_bytes, value_bytes = records[-1]
            assert value_bytes is not None
            records[-1] = (key_bytes, value_bytes[: -len(tail)] + last_tail)
        return EncodedPage(self.plan.topic, records)


@dataclass(frozen=True)
class StreamPayload:
    """Records of one GetRecords page, as ``c``, ``u`` and ``d``.

    The document shows the new image, or the key attributes where the stream has none (always on a
    deletion, which in envelope 0.1 has an empty document instead).
    """

    plan: TablePlan
    info: SourceInfo
    records: Sequence[StreamRecord]

    def __len__(self) -> int:
        return len(self.records)

    def source_records(self) -> Iterator[SourceRecord]:
        """See ``BatchPayload``."""
        plan = self.plan
        for index, record in enumerate(self.records):
            origin = _Origin(plan, index)
            try:
                facts = self._facts(record)
                item = parse_item(_attributes(record))
                key = origin.key = plan.key_schema.values(item)
                is_empty = _is_document_empty(plan, facts.operation)
                document = "" if is_empty else plan.write_document(item).decode()
                old = self._old_document(record)
                value = plan.envelope.value(
                    self.info, facts, document, None if old is None else old.decode()
                )
            except ConvertError as error:
                raise ConvertError(f"{origin}: {error}") from error
            yield _source_record(plan, key, value, origin)
            if facts.operation is Operation.DELETE:
                yield _source_record(plan, key, None, origin)

    def page_encoder(
        self, key: ConverterSpec, value: ConverterSpec
    ) -> Callable[[], EncodedPage] | None:
        """See ``BatchPayload``."""
        layout = self.plan.layout(key, value)
        return None if layout is None else functools.partial(self._encode, layout)

    def _encode(self, layout: PageLayout) -> EncodedPage:
        plan = self.plan
        # Records of one page share few seconds and operations, hence few frames.
        frames: dict[tuple[str, float, bytes | None], ValueFrame] = {}
        records: list[EncodedRecord] = []
        for record in self.records:
            alike = (record.event_name, record.created_s, self._identity(record))
            frame = frames.get(alike)
            if frame is None:
                frame = frames[alike] = layout.frame(self.info, self._facts(record))
            item = parse_item(_attributes(record))
            key = layout.key(plan.key_schema.values(item))
            operation = operation_of(record.event_name)
            is_empty = _is_document_empty(plan, operation)
            document = b'""' if is_empty else _json_string(plan.write_document(item))
            old = self._old_document(record)
            if old is None:
                records.append((key, frame.head + document + frame.tail))
            else:
                records.append(
                    (
                        key,
                        frame.head
                        + document
                        + b',"old_document":'
                        + _json_string(old)
                        + frame.rest,
                    )
                )
            if operation is Operation.DELETE:
                records.append((key, None))
        return EncodedPage(plan.topic, records)

    def _facts(self, record: StreamRecord) -> RecordFacts:
        return RecordFacts(
            operation=operation_of(record.event_name),
            created_ms=round(record.created_s * 1000),
            user_identity=self._identity(record),
        )

    def _identity(self, record: StreamRecord) -> bytes | None:
        return record.user_identity if self.plan.envelope.user_identity else None

    def _old_document(self, record: StreamRecord) -> bytes | None:
        if not self.plan.envelope.old_image or not bytes(record.old_image):
            return None
        return self.plan.write_document(parse_item(record.old_image))


class _Origin:
    """Names a record for messages: its table, and its key once that is known."""

    def __init__(self, plan: TablePlan, index: int) -> None:
        self._plan = plan
        self._index = index
        self.key: tuple[str, ...] | None = None

    def __str__(self) -> str:
        if self.key is None:
            return f"table {self._plan.table}, record {self._index} of the page"
        names = (attribute.name for attribute in self._plan.key_schema.attributes)
        pairs = (f"{name}={value}" for name, value in zip(names, self.key, strict=True))
        return f"table {self._plan.table}, key {', '.join(pairs)}"


def _source_record(
    plan: TablePlan, key: tuple[str, ...], value: Struct | None, origin: _Origin
) -> SourceRecord:
    return SourceRecord(
        topic=plan.topic,
        key_schema=plan.key_connect_schema,
        key=Struct(plan.key_connect_schema, key),
        value_schema=None if value is None else value.schema,
        value=value,
        origin=str(origin),
    )


def _read_facts(info: SourceInfo) -> RecordFacts:
    """Items of a scan have no time of their own and carry that of its start."""
    return RecordFacts(Operation.READ, created_ms=info.init_sync_start_ms)


def _attributes(record: StreamRecord) -> Raw:
    return record.new_image if bytes(record.new_image) else record.keys


def _is_document_empty(plan: TablePlan, operation: Operation) -> bool:
    return operation is Operation.DELETE and not plan.envelope.deletes_carry_keys


def _json_string(document: bytes) -> bytes:
    """A document as a JSON string; it holds no control characters, so orjson writes as Jackson."""
    return orjson.dumps(document.decode())
