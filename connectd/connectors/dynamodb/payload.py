"""Pages as the rest of the worker sees them: the roads from raw items to records.

``ScanPayload`` is a page of the initial scan, ``StreamPayload`` one of a shard. Both offer the
general road (``source_records``: Connect data, one record at a time, for any transform and any
converter), for JsonConverter on both sides the direct one (``page_encoder``: bytes from the table's
``PageLayout``), and for transforms and converters that never look into texts the one by specimens
(``specimen_pages``). All roads give the same bytes; ``test_payload_roads`` and ``test_specimens``
hold them to it.

Order is that of the page; a deletion is two records, the value and then its tombstone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from connectd.connectors.dynamodb import record_parts, specimen_pages
from connectd.connectors.dynamodb.decode import Raw, StreamRecord
from connectd.connectors.dynamodb.document import parse_item
from connectd.connectors.dynamodb.envelope import Operation, SourceInfo
from connectd.connectors.dynamodb.plan import PageLayout, TablePlan
from connectd.errors import ConvertError
from connectd.model import java_json
from connectd.model.record import (
    Conversion,
    ConverterSpec,
    Encoded,
    EncodedPage,
    EncodedRecord,
    SourceOffset,
    SourceRecord,
)
from connectd.model.schema import Struct

_ValueOf = Callable[[str, str | None], Struct]
"""Makes the value of a record of its documents."""


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

    def source_records(self) -> Iterator[SourceRecord | ConvertError]:
        """See ``BatchPayload``."""
        plan, last = self.plan, len(self.items) - 1
        value_of = plan.envelope.values(self.info, record_parts.read_facts(self.info))
        for index, raw in enumerate(self.items):
            if self.last_info and index == last:
                facts = record_parts.read_facts(self.last_info)
                value_of = plan.envelope.values(self.last_info, facts)
            key = None
            try:
                item = parse_item(raw)
                key = plan.key_schema.values(item)
                value = value_of(plan.write_document(item).decode(), None)
            except ConvertError as error:
                yield _named(error, record_parts.origin(plan, key, index))
            else:
                origin = record_parts.origin(plan, key, index)
                yield record_parts.source_record(plan, key, value, origin)

    def page_encoder(
        self, key: ConverterSpec, value: ConverterSpec
    ) -> Callable[[], EncodedPage] | None:
        """See ``BatchPayload``."""
        layout = self.plan.layout(key, value)
        return None if layout is None else functools.partial(self._encode, layout)

    def encoded_by_specimens(self, conversion: Conversion) -> Encoded:
        """See ``HasSpecimens``."""
        return specimen_pages.scan_page(
            self.plan, self.info, self.items, self.last_info, conversion
        )

    def _encode(self, layout: PageLayout) -> EncodedPage:
        frame = layout.frame(self.info, record_parts.read_facts(self.info))
        head, tail = frame.head, frame.tail
        texts_of = self.plan.item_texts.quoted_texts

        def portable(raw: Raw) -> EncodedRecord:
            key, document = texts_of(raw)
            return layout.key(key), head + document + tail

        scanner = layout.scanner()
        if scanner is None:
            records = [portable(raw) for raw in self.items]
        else:
            records = scanner.items(self.items, head, tail, portable)
        if records and self.last_info:
            last_tail = layout.frame(self.last_info, record_parts.read_facts(self.last_info)).tail
            key_bytes, value_bytes = records[-1]
            assert value_bytes is not None
            records[-1] = (key_bytes, value_bytes[: -len(tail)] + last_tail)
        return EncodedPage(self.plan.topic, records)


@dataclass(frozen=True)
class StreamPayload:
    """Records of one GetRecords page, as ``c``, ``u`` and ``d``.

    The document shows the new image, or the key attributes where the stream has none (always on a
    deletion, which in envelope 0.1 has an empty document instead). ``offset_after`` gives the
    position of the shard behind the record with this sequence number and time (epoch seconds),
    should the page have to end there.
    """

    plan: TablePlan
    info: SourceInfo
    records: Sequence[StreamRecord]
    offset_after: Callable[[str, float], SourceOffset] | None = None

    def __len__(self) -> int:
        return len(self.records)

    def source_records(self) -> Iterator[SourceRecord | ConvertError]:
        """See ``BatchPayload``."""
        plan = self.plan
        # Records of one page share few seconds and operations.
        values: dict[tuple[str, float, bytes | None], tuple[Operation, _ValueOf]] = {}
        for index, record in enumerate(self.records):
            key = None
            try:
                alike = (record.event_name, record.created_s, record_parts.identity(plan, record))
                if alike not in values:
                    facts = record_parts.change_facts(plan, record)
                    values[alike] = facts.operation, plan.envelope.values(self.info, facts)
                operation, value_of = values[alike]
                item = parse_item(record_parts.attributes(record))
                key = plan.key_schema.values(item)
                is_empty = record_parts.is_document_empty(plan, operation)
                document = "" if is_empty else plan.write_document(item).decode()
                old = self._old_document(record)
                value = value_of(document, None if old is None else old.decode())
            except ConvertError as error:
                yield _named(error, record_parts.origin(plan, key, index))
                continue
            origin = record_parts.origin(plan, key, index)
            change = record_parts.source_record(plan, key, value, origin)
            if operation is Operation.DELETE:
                yield change
                change = record_parts.source_record(plan, key, None, origin)
            if self.offset_after is not None:  # behind the last of them: an entry is not cut
                change.offset_after = functools.partial(
                    self.offset_after, record.sequence_number, record.created_s
                )
            yield change

    def page_encoder(
        self, key: ConverterSpec, value: ConverterSpec
    ) -> Callable[[], EncodedPage] | None:
        """See ``BatchPayload``."""
        layout = self.plan.layout(key, value)
        return None if layout is None else functools.partial(self._encode, layout)

    def encoded_by_specimens(self, conversion: Conversion) -> Encoded:
        """See ``HasSpecimens``."""
        return specimen_pages.stream_page(self.plan, self.info, self.records, conversion)

    def _encode(self, layout: PageLayout) -> EncodedPage:
        mould_of = functools.partial(self._mould, layout)
        portable = functools.partial(self._portable, layout)
        envelope, scanner = self.plan.envelope, layout.scanner()
        if scanner is None:
            records = self._changes(mould_of, portable)
        else:
            records = scanner.changes(
                self.records,
                mould_of,
                portable,
                identity_of=(
                    functools.partial(record_parts.identity, self.plan)
                    if envelope.user_identity
                    else None
                ),
                wants_old=envelope.old_image,
            )
        return EncodedPage(self.plan.topic, records)

    def _changes(
        self,
        mould_of: Callable[[StreamRecord], Mould],
        portable: Callable[[StreamRecord, Mould], tuple[bytes, bytes]],
    ) -> list[EncodedRecord]:
        # Records of one page share few seconds and operations, hence few moulds.
        moulds: dict[tuple[str, float, bytes | None], Mould] = {}
        records: list[EncodedRecord] = []
        for record in self.records:
            alike = (record.event_name, record.created_s, record_parts.identity(self.plan, record))
            mould = moulds.get(alike)
            if mould is None:
                mould = moulds[alike] = mould_of(record)
            encoded = portable(record, mould)
            records.append(encoded)
            if mould.is_deletion:
                records.append((encoded[0], None))
        return records

    def _portable(
        self, layout: PageLayout, record: StreamRecord, mould: Mould
    ) -> tuple[bytes, bytes]:
        raw = record_parts.attributes(record)
        if mould.is_document_empty:
            key, document = self.plan.key_schema.values(parse_item(raw)), b""
        else:
            key, document = self.plan.item_texts.quoted_texts(raw)
        old = self._old_document(record)
        tail = mould.tail if old is None else mould.tail_after(java_json.quoted(old))
        return layout.key(key), mould.head + document + tail

    def _mould(self, layout: PageLayout, record: StreamRecord) -> Mould:
        facts = record_parts.change_facts(self.plan, record)
        frame = layout.frame(self.info, facts)
        is_empty = record_parts.is_document_empty(self.plan, facts.operation)
        return Mould(
            frame.head + b'""' if is_empty else frame.head,
            frame.tail,
            frame.tail_after,
            is_deletion=facts.operation is Operation.DELETE,
            is_document_empty=is_empty,
        )

    def _old_document(self, record: StreamRecord) -> bytes | None:
        old = record_parts.old_image(self.plan, record)
        return None if old is None else self.plan.write_document(parse_item(old))


class Mould(NamedTuple):
    """What all records have in common that say the same happened at the same time.

    The compiled tier reads it by position. A value is ``head``, the document unless that is empty,
    and ``tail``.
    """

    head: bytes
    tail: bytes
    tail_after: Callable[[bytes], bytes]
    """The tail with an old document, see ``ValueFrame``."""
    is_deletion: bool
    is_document_empty: bool


def _named(error: ConvertError, origin: str) -> ConvertError:
    named = ConvertError(f"{origin}: {error}")
    named.__cause__ = error
    return named
