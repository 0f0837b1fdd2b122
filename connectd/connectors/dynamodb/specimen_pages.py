"""Pages of a scan and of a stream, encoded by specimens (``specimens``). Pure.

The compiled scanner does it where what becomes of the records has the form that it writes: the
key's parts in their order, the document once in the value, one topic.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from connectd.connectors.dynamodb import record_parts
from connectd.connectors.dynamodb.decode import Raw, StreamRecord
from connectd.connectors.dynamodb.document import parse_item
from connectd.connectors.dynamodb.envelope import Operation, SourceInfo
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.specimens import (
    DOCUMENT,
    DOCUMENT_MARK,
    KEY_MARKS,
    KEY_PARTS_MAX,
    OLD_DOCUMENT,
    OLD_DOCUMENT_MARK,
    Moulds,
    Pour,
    PouredPage,
    Route,
    Shape,
)
from connectd.connectors.dynamodb.tiers import Tier
from connectd.model.record import Conversion, Encoded, EncodedPage, EncodedRecord
from connectd.model.text_marks import Pattern


def scan_page(
    plan: TablePlan,
    info: SourceInfo,
    items: Sequence[Raw],
    last_info: SourceInfo | None,
    conversion: Conversion,
) -> Encoded:
    """The records of ``payload.ScanPayload``.

    Raises:
        NoSpecimenError: it cannot be told.
        Exception: what transforms and converters raise.
    """
    page, moulds = PouredPage(), Moulds(conversion)
    lasts = 1 if last_info and items else 0
    _pour_items(plan, info, items[: len(items) - lasts], moulds, page)
    if last_info is not None:
        _pour_items(plan, last_info, items[len(items) - lasts :], moulds, page)
    return page.encoded()


def _pour_items(
    plan: TablePlan, info: SourceInfo, items: Sequence[Raw], moulds: Moulds, page: PouredPage
) -> None:
    if not items:
        return
    value = plan.envelope.value(info, record_parts.read_facts(info), DOCUMENT_MARK)
    shape = moulds.shape(record_parts.source_record(plan, _key_marks(plan), value))
    texts_of = functools.partial(_texts, plan)
    if shape is None:
        for raw in items:
            texts_of(raw)  # what is dropped has to be sound all the same
        return
    page.begin(shape.route)
    pour = moulds.pour(shape)

    def portable(raw: Raw) -> EncodedRecord:
        return pour(texts_of(raw))

    frame = _Frame.of(plan, shape)
    scanner = frame and moulds.scanner(plan, frame.key)
    if frame and scanner:
        page.records += scanner.items(items, frame.head, frame.tail, portable)
    else:
        page.records += [portable(raw) for raw in items]


def stream_page(
    plan: TablePlan, info: SourceInfo, records: Sequence[StreamRecord], conversion: Conversion
) -> Encoded:
    """The records of ``payload.StreamPayload``.

    Raises:
        NoSpecimenError: it cannot be told.
        Exception: what transforms and converters raise.
    """
    changes = _Changes(plan, info, Moulds(conversion))
    return changes.scanned(records) or changes.poured(records)


class _Kind(NamedTuple):
    """What becomes of all changes that say the same happened at the same time."""

    is_document_empty: bool
    shapes: tuple[Shape, ...]
    pours: tuple[tuple[Route, Pour], ...]


class _Mould(NamedTuple):
    """The same for the compiled tier, which reads it by position, as it does ``payload.Mould``."""

    head: bytes
    tail: bytes
    tail_after: Callable[[bytes], bytes]
    is_deletion: bool
    is_document_empty: bool
    kinds: tuple[_Kind, _Kind]
    """Without an old image, and with one."""


class _NotScannableError(Exception):
    """The scanner does not write records of this form."""


class _Changes:
    """The changes of one page."""

    def __init__(self, plan: TablePlan, info: SourceInfo, moulds: Moulds) -> None:
        self._plan = plan
        self._info = info
        self._moulds = moulds

    def poured(self, records: Sequence[StreamRecord]) -> Encoded:
        """By the portable tier."""
        page, current = PouredPage(), None
        envelope, texts_of = self._plan.envelope, self._texts
        wants_old, tells_who = envelope.old_image, envelope.user_identity
        kinds: dict[tuple[str, float, bytes | None, bool], _Kind] = {}
        for record in records:
            has_old = wants_old and bool(record.old_image)
            who = record.user_identity if tells_who else None
            alike = (record.event_name, record.created_s, who, has_old)
            kind = kinds.get(alike)
            if kind is None:
                kind = kinds[alike] = self._kind(record, has_old=has_old)
            texts = texts_of(record, not kind.is_document_empty, has_old)
            for route, pour in kind.pours:
                if route is not current:
                    page.begin(route)
                    current = route
                page.records.append(pour(texts))
        return page.encoded()

    def scanned(self, records: Sequence[StreamRecord]) -> EncodedPage | None:
        """By the compiled tier; None: it is not there, or does not write such records."""
        plan = self._plan
        if not records or plan.tier is Tier.PORTABLE:
            return None
        try:
            kind = self._kind(records[0], has_old=False)
            key, first = self._frame(kind).key, kind.shapes[0]
            scanner = self._moulds.scanner(plan, key)
            if scanner is None:
                return None
            tells_who = plan.envelope.user_identity
            written = scanner.changes(
                records,
                functools.partial(self._mould, first),
                self._portable,
                identity_of=functools.partial(record_parts.identity, plan) if tells_who else None,
                wants_old=plan.envelope.old_image,
            )
        except _NotScannableError:
            return None
        return EncodedPage(first.route.topic, written)

    def _kind(self, record: StreamRecord, *, has_old: bool) -> _Kind:
        plan = self._plan
        facts = record_parts.change_facts(plan, record)
        is_empty = record_parts.is_document_empty(plan, facts.operation)
        value = plan.envelope.value(
            self._info,
            facts,
            "" if is_empty else DOCUMENT_MARK,
            OLD_DOCUMENT_MARK if has_old else None,
        )
        key = _key_marks(plan)
        specimens = [record_parts.source_record(plan, key, value)]
        if facts.operation is Operation.DELETE:
            specimens.append(record_parts.source_record(plan, key, None))
        shapes = tuple(filter(None, map(self._moulds.shape, specimens)))
        pours = tuple((shape.route, self._moulds.pour(shape)) for shape in shapes)
        return _Kind(is_empty, shapes, pours)

    def _texts(self, record: StreamRecord, has_document: bool, has_old: bool) -> Sequence[Any]:
        plan = self._plan
        texts = _texts(plan, record_parts.attributes(record), has_document=has_document)
        if not has_old:
            return texts
        return (*texts, plan.write_document(parse_item(record.old_image)))

    def _frame(self, kind: _Kind) -> _Frame:
        """Raises ``_NotScannableError``."""
        frame = kind.shapes and _Frame.of(
            self._plan, kind.shapes[0], has_document=not kind.is_document_empty
        )
        if not frame:
            raise _NotScannableError
        return frame

    def _mould(self, first: Shape, record: StreamRecord) -> _Mould:
        kind = self._kind(record, has_old=False)
        frame = self._frame(kind)
        shape, tombstones = kind.shapes[0], kind.shapes[1:]
        with_old, tail_after = kind, _same(frame.tail)
        if self._plan.envelope.old_image:
            with_old = self._kind(record, has_old=True)
            old_frame = self._frame(with_old)
            if old_frame.head != frame.head or with_old.shapes[1:] != tombstones:
                raise _NotScannableError
            tail_after = old_frame.tail_after
        are_plain = all(
            each.value is None and each.key == shape.key and each.route == shape.route
            for each in tombstones
        )
        if not are_plain or (shape.key, shape.route) != (first.key, first.route):
            raise _NotScannableError
        return _Mould(
            frame.head,
            frame.tail,
            tail_after,
            bool(tombstones),
            kind.is_document_empty,
            (kind, with_old),
        )

    def _portable(self, record: StreamRecord, mould: _Mould) -> tuple[bytes, bytes]:
        has_old = record_parts.old_image(self._plan, record) is not None
        kind = mould.kinds[has_old]
        _, pour = kind.pours[0]
        key, value = pour(self._texts(record, not kind.is_document_empty, has_old))
        assert key is not None
        assert value is not None
        return key, value


class _Frame(NamedTuple):
    """A record for the scanner: its key, and ``head``, the document, ``tail`` of its value.

    Where the document is empty, there is nothing between ``head`` and ``tail``.
    """

    key: Pattern
    head: bytes
    tail: bytes
    tail_after: Callable[[bytes], bytes]
    """The tail with an old document in its form, where there is one in the value."""

    @classmethod
    def of(cls, plan: TablePlan, shape: Shape, *, has_document: bool = True) -> _Frame | None:
        """None: the scanner does not write such records."""
        key, value = shape.key, shape.value
        if key is None or value is None or not shape.route.is_plain:
            return None
        if key.marks != tuple(range(len(plan.key_schema.attributes))):
            return None
        pieces, marks = value.pieces, value.marks
        if not has_document:
            pieces, marks = (b"", *pieces), (DOCUMENT, *marks)
        head = pieces[0]
        if marks == (DOCUMENT,):
            tail = pieces[1]
            return cls(key, head, tail, _same(tail))
        if marks == (DOCUMENT, OLD_DOCUMENT):
            middle, end = pieces[1:]
            return cls(key, head, b"", lambda old: middle + old + end)
        return None


def _same(tail: bytes) -> Callable[[bytes], bytes]:
    return lambda old: tail


def _key_marks(plan: TablePlan) -> tuple[str, ...]:
    return KEY_MARKS[: len(plan.key_schema.attributes)]


def _texts(plan: TablePlan, raw: Raw, *, has_document: bool = True) -> Sequence[Any]:
    """The texts of an item, by the positions of their marks."""
    if has_document:
        key, document = plan.item_texts.texts(raw)
    else:
        key, document = plan.key_schema.values(parse_item(raw)), b""
    return (*key, document) if len(key) == KEY_PARTS_MAX else (*key, "", document)
