"""Schemas with a value each, for all that a converter with schemas is asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Final, NamedTuple

from connectd.connectors.dynamodb import envelope
from connectd.model import logical
from connectd.model.schema import Field, Schema, SchemaType, Struct


class Case(NamedTuple):
    """A value of a schema, and the settings that matter to it."""

    schema: Schema | None
    value: object
    settings: tuple[tuple[str, str], ...] = ()


PLAIN: Final[dict[str, tuple[Schema, object]]] = {
    "int8": (Schema(SchemaType.INT8), -128),
    "int16": (Schema(SchemaType.INT16), 32767),
    "int32": (Schema(SchemaType.INT32), -(1 << 31)),
    "int64": (Schema(SchemaType.INT64), (1 << 63) - 1),
    "float32": (Schema(SchemaType.FLOAT32), 1.5),
    "float64": (Schema(SchemaType.FLOAT64), 1e10),
    "boolean": (Schema(SchemaType.BOOLEAN), True),
    "string": (Schema(SchemaType.STRING), 'a"ä\U0001f600\x01'),
    "bytes": (Schema(SchemaType.BYTES), b"\x00\xff\x80a"),
    "decimal": (logical.decimal_schema(2), Decimal("-123.45")),
    "date": (logical.date_schema(), date(2026, 1, 31)),
    "time": (logical.time_schema(), time(23, 59, 59, 999_000)),
    "timestamp": (logical.timestamp_schema(), datetime(2026, 1, 31, 12, tzinfo=UTC)),
}


def struct(*fields: tuple[str, Schema], name: str | None = "a.b.Outer") -> Schema:
    """A struct schema of these fields."""
    return Schema(
        SchemaType.STRUCT, name=name, fields=tuple(Field(each, schema) for each, schema in fields)
    )


def array_of(schema: Schema) -> Schema:
    """The schema of lists of it."""
    return Schema(SchemaType.ARRAY, value_schema=schema)


def map_of(key: Schema, value: Schema) -> Schema:
    """The schema of maps."""
    return Schema(SchemaType.MAP, key_schema=key, value_schema=value)


def _of_plain() -> dict[str, Case]:
    cases = {}
    for name, (schema, value) in PLAIN.items():
        optional = replace(schema, optional=True)
        cases[name] = Case(schema, value)
        cases[f"optional-{name}"] = Case(optional, value)
        cases[f"documented-{name}"] = Case(
            replace(schema, doc="what it is", version=schema.version or 3), value
        )
        if not logical.is_logical(schema):
            cases[f"named-{name}"] = Case(replace(schema, name="x.y.Name"), value)
            cases[f"parameters-{name}"] = Case(
                replace(schema, parameters=(("p", "1"), ("avro.java.string", "String"))), value
            )
        for kind, base in (("required", schema), ("optional", optional)):
            with_default = replace(base, default=value)
            record = struct((name, with_default))
            cases[f"{kind}-field-{name}-with-default"] = Case(record, Struct(record, (value,)))
            cases[f"{kind}-field-{name}-null-with-default"] = Case(record, Struct(record, (None,)))
        record = struct((name, optional))
        cases[f"field-{name}-null"] = Case(record, Struct(record, (None,)))
        cases[f"array-{name}"] = Case(array_of(optional), [value, None, value])
        cases[f"map-{name}"] = Case(
            map_of(Schema(SchemaType.STRING), optional), {"k": value, "l": None}
        )
        cases[f"keys-{name}"] = Case(
            map_of(schema, Schema(SchemaType.INT32)), {} if name == "bytes" else {value: 1}
        )
    return cases


def _nested() -> dict[str, Case]:
    text, number = Schema(SchemaType.STRING), Schema(SchemaType.INT32)
    inner = struct(("x", number), name="a.b.Inner")
    far = struct(("x", number), name="c.Inner")
    unnamed = struct(("x", number), name=None)
    other = struct(("y", unnamed), name=None)
    optional_inner = replace(inner, optional=True)
    twice = struct(("one", inner), ("two", inner), ("three", optional_inner), ("far", far))
    value = Struct(inner, (1,))
    cases = {
        "nested": Case(
            twice,
            Struct(twice, (value, value, Struct(optional_inner, (3,)), Struct(far, (4,)))),
        ),
        "unnamed": Case(other, Struct(other, (Struct(unnamed, (7,)),))),
        "array-of-structs": Case(array_of(inner), [value, Struct(inner, (2,))]),
        "map-of-structs": Case(map_of(text, inner), {"k": value}),
        "optional-array": Case(replace(array_of(text), optional=True), ["a"]),
        "optional-map": Case(replace(map_of(text, text), optional=True), {"a": "b"}),
        "optional-keys": Case(map_of(replace(text, optional=True), number), {"a": 1}),
        "named-keys": Case(replace(map_of(number, text), name="a.b.Pairs"), {1: "a"}),
        "no-namespace": Case(struct(("x", number), name="Plain"), None),
        "optional-struct": Case(optional_inner, Struct(optional_inner, (1,))),
        "array-with-default": Case(struct(("a", replace(array_of(text), default=["x"]))), None),
        "map-with-default": Case(
            struct(("m", replace(map_of(text, number), default={"x": 1}))), None
        ),
        "documents": Case(
            replace(
                inner,
                parameters=(
                    ("io.confluent.connect.avro.record.doc", "of the record"),
                    ("io.confluent.connect.avro.field.doc.x", "of x"),
                ),
            ),
            None,
        ),
        "bare": Case(replace(inner, doc="d", version=2), None, (("connect.meta.data", "false"),)),
        "precision": Case(
            replace(
                logical.decimal_schema(2),
                parameters=(("scale", "2"), ("connect.decimal.precision", "9")),
            ),
            Decimal("1.00"),
        ),
        "negative-scale": Case(logical.decimal_schema(-2), Decimal("1E+2")),
    }
    return {name: _filled(case) for name, case in cases.items()}


def _filled(case: Case) -> Case:
    """A struct case without a value gets one: the defaults, or ones."""
    schema = case.schema
    if case.value is not None or schema is None:
        return case
    values = tuple(1 if each.schema.default is None else None for each in schema.fields)
    return case._replace(value=Struct(schema, values))


def _envelopes() -> dict[str, Case]:
    info = envelope.SourceInfo("table", envelope.InitSyncState.FINISHED, 1, 2, 3)
    facts = envelope.RecordFacts(envelope.Operation.UPDATE, 4)
    cases = {}
    for version in ("0.1", "1.0"):
        for with_old in (False, True):
            settings = envelope.EnvelopeSettings(
                "0.1" if version == "0.1" else "1.0", old_image=with_old, user_identity=with_old
            )
            value = settings.value(info, facts, '{"a":{"s":"b"}}', '{"a":{"s":"a"}}')
            cases[f"envelope-{version}{'-all' if with_old else ''}"] = Case(
                settings.value_schema, value
            )
    return cases


def all_cases() -> dict[str, Case]:
    """Every case by its name."""
    return {**_of_plain(), **_nested(), **_envelopes()}
