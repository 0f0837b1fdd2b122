"""What ``benchmarks.converters`` measures: a record, and every converter and transform on it.

The record is an order: a struct with a dozen fields, some of them nested. Each case has the record
as plain data too, which is what the yardstick writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

import orjson

from connectd.configdef import parsing
from connectd.configdef.catalogue import PluginKind
from connectd.connectors.dynamodb.envelope import (
    EnvelopeSettings,
    InitSyncState,
    Operation,
    RecordFacts,
    SourceInfo,
)
from connectd.model import connect_json
from connectd.model.record import ConverterSpec, SourceRecord
from connectd.model.schema import (
    BOOLEAN,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    Field,
    Schema,
    SchemaType,
    Struct,
)
from connectd.plugins.registry import PluginRegistry

Form = Literal["struct", "map"]
FORMS: Final[tuple[Form, ...]] = ("struct", "map")

_DOUBLE: Final = Schema(SchemaType.FLOAT64)
_TAGS: Final = Schema(SchemaType.ARRAY, value_schema=STRING)


def _struct_schema(name: str, **fields: Schema) -> Schema:
    return Schema(
        SchemaType.STRUCT, name=name, fields=tuple(Field(each, fields[each]) for each in fields)
    )


_ADDRESS: Final = _struct_schema("address", street=STRING, city=STRING, zip=STRING)
_ORDER: Final = _struct_schema(
    "shop.order",
    id=STRING,
    customer=STRING,
    status=STRING,
    quantity=INT32,
    price=_DOUBLE,
    paid=BOOLEAN,
    created=INT64,
    note=OPTIONAL_STRING,
    address=_ADDRESS,
    tags=_TAGS,
    currency=STRING,
    channel=STRING,
)
_VALUE: Final = Struct(
    _ORDER,
    (
        "0f8fad5b-d9cb-469f-a165-70867728950e",
        "customer-002417",
        "paid",
        3,
        129.95,
        True,
        1_557_387_726_273,
        None,
        Struct(_ADDRESS, ("1 Main Street", "Springfield", "12345")),
        ["new", "gift"],
        "EUR",
        "web",
    ),
)
_KEY_SCHEMA: Final = _struct_schema("orders.Key", id=STRING)
_KEY: Final = Struct(_KEY_SCHEMA, (_VALUE.values[0],))
_DOCUMENT: Final = orjson.dumps(
    {
        "id": {"s": _KEY.values[0]},
        "customer": {"s": "customer-002417"},
        "status": {"s": "paid"},
        "quantity": {"n": "3"},
        "price": {"n": "129.95"},
        "paid": {"bool": True},
        "created": {"n": "1557387726273"},
        "address": {"m": {"street": {"s": "1 Main Street"}, "city": {"s": "Springfield"}}},
        "tags": {"ss": ["new", "gift"]},
        "currency": {"s": "EUR"},
        "channel": {"s": "web"},
    }
).decode()


@dataclass(frozen=True)
class Case:
    """One thing to measure: ``run`` does it once; ``plain`` is what orjson writes meanwhile."""

    kind: PluginKind
    name: str
    form: str
    run: Callable[[], object]
    plain: object


_CONVERTERS: Final[dict[str, dict[str, str]]] = {
    "org.apache.kafka.connect.json.JsonConverter": {},
    "org.apache.kafka.connect.json.JsonConverter, schemas.enable=false": {
        "schemas.enable": "false"
    },
    "org.apache.kafka.connect.storage.StringConverter": {},
}
_REGISTRY: Final = {"schema.registry.url": "mock://bench"}
_SCALARS: Final[dict[str, tuple[Schema, object]]] = {
    "BooleanConverter": (BOOLEAN, True),
    "ByteArrayConverter": (Schema(SchemaType.BYTES), b"0123456789"),
    "DoubleConverter": (_DOUBLE, 129.95),
    "FloatConverter": (Schema(SchemaType.FLOAT32), 1.5),
    "IntegerConverter": (INT32, 3),
    "LongConverter": (INT64, 1_557_387_726_273),
    "ShortConverter": (Schema(SchemaType.INT16), 3),
    "SimpleHeaderConverter": (STRING, "customer-002417"),
}
_SETTINGS: Final[dict[str, dict[str, str]]] = {
    "Cast": {"spec": "quantity:int64,price:string"},
    "ContentRouter": {"field": "status", "topic.format": "orders-${field}"},
    "DropHeaders": {"headers": "one"},
    "ExtractField": {"field": "customer"},
    "Filter": {},
    "Flatten": {"delimiter": "_"},
    "HeaderFrom": {"fields": "customer", "headers": "customer", "operation": "copy"},
    "HoistField": {"field": "order"},
    "InsertField": {"static.field": "region", "static.value": "eu", "topic.field": "topic"},
    "InsertHeader": {"header": "two", "value.literal": "2"},
    "MaskField": {"fields": "customer,status"},
    "RegexRouter": {"regex": "(.*)-v1", "replacement": "$1-v2"},
    "ReplaceField": {"exclude": "note,channel", "renames": "id:order_id"},
    "SetSchemaMetadata": {"schema.name": "shop.renamed", "schema.version": "2"},
    "TimestampConverter": {
        "field": "created",
        "target.type": "string",
        "format": "yyyy-MM-dd HH:mm:ss.SSS",
    },
    "TimestampRouter": {},
    "UnwrapDynamoDb": {},
    "ValueToKey": {"fields": "id,customer"},
    "FieldValueMatches": {"field": "status", "pattern": "paid|open"},
    "HasHeaderKey": {"name": "one"},
    "RecordIsTombstone": {},
    "TopicNameMatches": {"pattern": "orders.*"},
}
_SCHEMA_ALONE: Final = {"SetSchemaMetadata"}
"""These refuse what has no schema."""


def cases(registry: PluginRegistry) -> Iterator[Case]:
    """All of them. Of a pair ``$Key``, ``$Value`` only the latter: they are one class.

    Raises:
        KeyError: the registry has a plugin that this module does not know how to measure.
    """
    for kind in (PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER):
        for name in registry.class_names(kind):
            yield from _converter_cases(registry, kind, name)
    for kind in (PluginKind.TRANSFORMATION, PluginKind.PREDICATE):
        for name in registry.class_names(kind):
            if not name.endswith("$Key"):
                yield from _record_cases(registry, kind, name)


def _converter_cases(registry: PluginRegistry, kind: PluginKind, name: str) -> Iterator[Case]:
    cls, simple = registry.find(kind, name).cls, name.rpartition(".")[2]
    if kind is PluginKind.HEADER_CONVERTER and simple != "SimpleHeaderConverter":
        return  # the same class as the converter
    if simple in _SCALARS:
        schema, value = _SCALARS[simple]
        made = cls(ConverterSpec(name))
        run = (
            partial(made.from_connect_data, "orders", schema, value)
            if kind is PluginKind.CONVERTER
            else partial(made.from_connect_header, "orders", "h", schema, value)
        )
        plain = value.decode() if isinstance(value, bytes) else value
        yield Case(kind, name, "", run, plain)
        return
    settings = {key: each for key, each in _CONVERTERS.items() if key.partition(",")[0] == name}
    for shown, given in (settings or {name: _REGISTRY}).items():
        spec = ConverterSpec(name, tuple(sorted({**given, "converter.type": "value"}.items())))
        for form in FORMS if settings else FORMS[:1]:
            yield _converter_case(kind, shown, form, cls(spec))


def _converter_case(kind: PluginKind, name: str, form: Form, made: Any) -> Case:
    record = order(form)
    if name.endswith("StringConverter"):
        schema, value = STRING if form == "struct" else None, _DOCUMENT
        return Case(kind, name, form, partial(made.from_connect_data, "t", schema, value), value)
    return Case(
        kind,
        name,
        form,
        partial(made.from_connect_data, record.topic, record.value_schema, record.value),
        plain_of(record),
    )


def _record_cases(registry: PluginRegistry, kind: PluginKind, name: str) -> Iterator[Case]:
    cls, simple = registry.find(kind, name).cls, name.rpartition(".")[2].partition("$")[0]
    made = cls(parsing.parse(cls.config_def(), _SETTINGS[simple]))
    run = made.apply if kind is PluginKind.TRANSFORMATION else made.test
    for form in FORMS[:1] if simple in _SCHEMA_ALONE else FORMS:
        record = change(form) if simple == "UnwrapDynamoDb" else order(form)
        yield Case(kind, name, form, partial(run, record), plain_of(record))


def order(form: Form) -> SourceRecord:
    """The order as a struct with schema, or as a map without."""
    return _record(form, _ORDER, _VALUE)


def change(form: Form) -> SourceRecord:
    """The same order in the envelope of a change in DynamoDB."""
    envelope = EnvelopeSettings("1.0")
    info = SourceInfo("orders", InitSyncState.FINISHED, 1_557_387_726_273, 1_557_387_736_273, 9)
    facts = RecordFacts(Operation.UPDATE, 1_557_387_746_000)
    return _record(form, envelope.value_schema, envelope.value(info, facts, _DOCUMENT))


def plain_of(record: SourceRecord) -> object:
    """The record's value as what ``json`` would have read."""
    if record.value_schema is None:
        return record.value
    return orjson.loads(
        orjson.dumps(connect_json.JsonForm().payload(record.value_schema, record.value))
    )


def _record(form: Form, schema: Schema, value: Struct) -> SourceRecord:
    headers: list[tuple[str, Schema | None, object]] = [("one", STRING, "1"), ("b", INT32, 2)]
    record = SourceRecord(
        "orders-v1",
        _KEY_SCHEMA,
        _KEY,
        schema,
        value,
        timestamp_ms=1_557_387_726_273,
        headers=headers,
        origin="orders k1",
    )
    if form == "map":
        record.value, record.value_schema = plain_of(record), None
    return record
