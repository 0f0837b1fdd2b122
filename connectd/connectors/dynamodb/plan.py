"""What is known about a table's records before the first one arrives, compiled once.

A ``TablePlan`` fixes topic, schemas and document writer; a ``PageLayout`` adds the pair of
converters, so that of all the bytes of a record only the document and the key remain to be encoded
(DESIGN section 4), by the ``tier`` that the plan has chosen. Plans are shared by all pages of a
table and owned by nobody: they are values.

A layout is not written by hand: it is the general path's own output for a record with an empty
document, cut open where the document goes. What the cut cannot prove, a property test does: both
paths give the same bytes.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from connectd.connectors.dynamodb import document, tiers
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, RecordFacts, SourceInfo
from connectd.connectors.dynamodb.item_texts import ItemTexts, MouldedItemTexts
from connectd.connectors.dynamodb.keys import KeySchema
from connectd.connectors.dynamodb.tiers import Tier
from connectd.errors import InvariantError
from connectd.model import connect_json, java_json
from connectd.model.record import ConverterSpec
from connectd.model.schema import Schema, Struct
from connectd.model.text_marks import TextForm

if TYPE_CHECKING:
    from connectd.connectors.dynamodb.page_scanner import PageScanner

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"

_EMPTY_DOCUMENT = b'"document":""'
_OLD_DOCUMENT = b',"old_document":'


@dataclass(frozen=True)
class TablePlan:
    """How one table's items become records; ``tier`` says who writes the bytes."""

    table: str
    topic: str
    key_schema: KeySchema
    envelope: EnvelopeSettings
    tier: Tier = field(default_factory=tiers.active, compare=False)

    @functools.cached_property
    def key_connect_schema(self) -> Schema:
        """The schema of the Kafka key."""
        return self.key_schema.connect_schema(self.topic, sanitise=self.envelope.sanitises_names)

    @functools.cached_property
    def origin_names(self) -> tuple[str, ...]:
        """What stands before each part of its key where a record is named, for messages."""
        first, *others = (each.name for each in self.key_schema.attributes)
        return f"table {self.table}, key {first}=", *(f", {name}=" for name in others)

    @functools.cached_property
    def write_document(self) -> document.DocumentWriter:
        """Writes an item as the text of ``document``; uses the item up."""
        return document.document_writer(
            self.envelope.document, sanitise=self.envelope.sanitises_names
        )

    @functools.cached_property
    def item_texts(self) -> ItemTexts:
        """Reads an item's key and document, where the compiled tier does not."""
        is_moulded = self.tier is Tier.PORTABLE and self.envelope.document == "typed"
        reader = MouldedItemTexts if is_moulded else ItemTexts
        return reader(self.key_schema, self.write_document)

    def scanner(
        self,
        key_heads: tuple[bytes, ...],
        key_tail: bytes,
        *,
        key_form: TextForm = TextForm.JSON,
        value_form: TextForm = TextForm.JSON,
    ) -> PageScanner | None:
        """A compiled scanner for the items of one page, in one thread; None: the portable tier.

        A key is each head with its part behind it, and the tail; parts and documents have forms.
        """
        scanner_class = tiers.scanner_class() if self.tier is Tier.COMPILED else None
        if scanner_class is None:
            return None
        is_plain = self.envelope.document == "plain"
        return scanner_class(
            self._key_names(value_form),
            "".join(each.type for each in self.key_schema.attributes),
            key_heads,
            key_tail,
            is_plain=is_plain,
            sanitises=self.envelope.sanitises_names and not is_plain,
            key_form=key_form.name,
            value_form=value_form.name,
        )

    def _key_names(self, form: TextForm) -> tuple[bytes, ...]:
        """Names of the key attributes as they stand in a document, which is a text in a value."""
        return tuple(_name_in_value(each.name, form) for each in self.key_schema.attributes)

    def layout(self, key: ConverterSpec, value: ConverterSpec) -> PageLayout | None:
        """The layout for a pair of converters, or None when one of them is not JsonConverter.

        Nothing else that JsonConverter can be told changes these bytes: there are no decimals, no
        defaults and no external schemas in them.
        """
        if key.class_name != JSON_CONVERTER or value.class_name != JSON_CONVERTER:
            return None
        carried = (_carries_schema(key), _carries_schema(value))
        layout = self._layouts.get(carried)
        if layout is None:
            layout = self._layouts[carried] = PageLayout.compile(self, *carried)
        return layout

    @functools.cached_property
    def _layouts(self) -> dict[tuple[bool, bool], PageLayout]:
        """Layouts made so far, at most four."""
        return {}


@dataclass(frozen=True)
class ValueFrame:
    """The constant bytes around a document: a value is ``head``, a JSON string, ``tail``."""

    head: bytes
    tail: bytes

    def tail_after(self, old_document: bytes) -> bytes:
        """The tail with an old document (a JSON string) instead of null.

        Promise: only called where the envelope has the field.
        """
        return _OLD_DOCUMENT + old_document + self.tail.removeprefix(_OLD_DOCUMENT + b"null")


@dataclass(frozen=True)
class PageLayout:
    """The bytes of keys and values, but for what differs from record to record."""

    plan: TablePlan
    key_heads: tuple[bytes, ...]
    """What stands before the value of each key field."""
    key_tail: bytes
    value_head: bytes
    value_tail: bytes

    @classmethod
    def compile(
        cls, plan: TablePlan, key_carries_schema: bool, value_carries_schema: bool
    ) -> PageLayout:
        """Prepare a plan for JsonConverter with or without ``schemas.enable`` on either side."""
        key_head, key_tail = _schema_envelope(plan.key_connect_schema, key_carries_schema)
        value_head, value_tail = _schema_envelope(plan.envelope.value_schema, value_carries_schema)
        return cls(
            plan=plan,
            key_heads=tuple(
                (b"," if index else key_head + b"{") + document.json_bytes(field.name) + b":"
                for index, field in enumerate(plan.key_connect_schema.fields)
            ),
            key_tail=b"}" + key_tail,
            value_head=value_head,
            value_tail=value_tail,
        )

    def scanner(self) -> PageScanner | None:
        """See ``TablePlan.scanner``."""
        return self.plan.scanner(self.key_heads, self.key_tail)

    def key(self, values: tuple[str, ...]) -> bytes:
        """The Kafka key."""
        heads = self.key_heads
        text = heads[0] + java_json.dumps(values[0])
        if len(heads) == 2:
            text += heads[1] + java_json.dumps(values[1])
        return text + self.key_tail

    def frame(self, info: SourceInfo, facts: RecordFacts) -> ValueFrame:
        """The bytes around the documents of all records with these facts.

        Raises:
            ConvertError: the user identity is asked for and is not a JSON object.
        """
        value = document.json_bytes(_members(self.plan.envelope.value(info, facts, document="")))
        before, cut, after = value.partition(_EMPTY_DOCUMENT)
        if not cut:
            raise InvariantError(f"envelope {self.plan.envelope} has no document to cut at")
        return ValueFrame(
            head=self.value_head + before + b'"document":', tail=after + self.value_tail
        )


def _name_in_value(name: str, form: TextForm) -> bytes:
    in_document = java_json.dumps_text(name)
    if form is TextForm.JSON:
        return java_json.quoted(in_document)[3:-3]
    return in_document[1:-1]


def _carries_schema(converter: ConverterSpec) -> bool:
    return converter.setting("schemas.enable", "true").strip().lower() == "true"


def _schema_envelope(schema: Schema, is_carried: bool) -> tuple[bytes, bytes]:
    if not is_carried:
        return b"", b""
    members = connect_json.JsonForm().schema(schema)
    return b'{"schema":' + java_json.dumps(members) + b',"payload":', b"}"


def _members(value: object) -> Any:
    """A struct as a JSON object with all its fields; anything else as it is."""
    if not isinstance(value, Struct):
        return value
    return {
        field.name: _members(member)
        for field, member in zip(value.schema.fields, value.values, strict=True)
    }
