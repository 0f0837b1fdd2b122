"""The matrix of cases: every transform, predicate and converter with every form of value.

Generated, so that adding a type or a setting adds the whole row. A case is the JSON that
``Vectors.java`` reads, without an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = Any
TRANSFORMS = "org.apache.kafka.connect.transforms."
CONNECT = "org.apache.kafka.connect.data."
MOMENT_MS = 1_614_834_367_089

PRIMITIVES: dict[str, list[Json]] = {
    "INT8": [{"int8": 7}, {"int8": -128}],
    "INT16": [{"int16": 300}],
    "INT32": [{"int32": 70_000}, {"int32": -1}],
    "INT64": [{"int64": 1_614_834_367_089}, {"int64": 0}],
    "FLOAT32": [{"float32": "1.5"}, {"float32": "0.1"}, {"float32": "1.0E10"}],
    "FLOAT64": [{"float64": "-1.75"}, {"float64": "1.0E20"}, {"float64": "1.0E-5"}],
    "BOOLEAN": [{"boolean": True}, {"boolean": False}],
    "STRING": [{"string": "12"}, {"string": "true"}, {"string": ""}, {"string": "2021-03-04"}],
    "BYTES": [{"bytes": "AP8="}],
}
DEFAULTS = {name: values[-1] for name, values in PRIMITIVES.items()}
LOGICAL: list[tuple[Json, Json]] = [
    (
        {"type": "BYTES", "name": f"{CONNECT}Decimal", "version": 1, "parameters": {"scale": "2"}},
        {"decimal": "12.50"},
    ),
    ({"type": "INT32", "name": f"{CONNECT}Date", "version": 1}, {"date": 1_614_816_000_000}),
    ({"type": "INT32", "name": f"{CONNECT}Time", "version": 1}, {"date": 18_367_089}),
    ({"type": "INT64", "name": f"{CONNECT}Timestamp", "version": 1}, {"date": MOMENT_MS}),
]
LOOSE: list[Json] = [
    {"int64": 7},
    {"int64": 300},
    {"int64": MOMENT_MS},
    {"float64": "-1.75"},
    {"float64": "1.0E20"},
    {"float64": "NaN"},
    {"boolean": True},
    {"string": "12"},
    {"string": "abc"},
    {"string": "2021-03-04"},
    {"bytes": "AP8="},
    {"date": MOMENT_MS},
    {"list": [{"int64": 1}]},
    {"map": [[{"string": "x"}, {"int64": 1}]]},
    None,
]
INNER = {
    "type": "STRUCT",
    "name": "inner",
    "optional": True,
    "fields": [
        {"name": "c", "schema": {"type": "INT32"}},
        {"name": "d", "schema": {"type": "STRING", "optional": True, "default": {"string": "z"}}},
    ],
}
DEFAULTED = {"type": "STRING", "optional": True, "default": {"string": "bb"}}
ARRAY = {"type": "ARRAY", "value": {"type": "INT32"}}
MAP = {"type": "MAP", "key": {"type": "STRING"}, "value": {"type": "INT64"}}


def schema_and_value() -> Iterator[tuple[Json, Json]]:
    """Every type, required, optional and with a default, with values and with null."""
    for name, values in PRIMITIVES.items():
        for value in values:
            yield {"type": name}, value
        yield {"type": name, "optional": True}, None
        yield {"type": name, "optional": True}, values[0]
        yield {"type": name, "optional": True, "default": DEFAULTS[name]}, None
        yield {"type": name, "optional": True, "default": DEFAULTS[name]}, values[0]
    for schema, value in LOGICAL:
        yield schema, value
        yield {**schema, "optional": True}, None
    yield ARRAY, {"list": [{"int32": 1}, {"int32": 2}]}
    yield MAP, {"map": [[{"string": "x"}, {"int64": 1}]]}
    yield INNER, {"struct": {"fields": {"c": {"int32": 1}, "d": {"string": "y"}}}}
    yield INNER, None


def in_field(schema: Json, value: Json) -> tuple[Json, Json]:
    """A struct with such a field ``a``, and others around it."""
    struct = {
        "type": "STRUCT",
        "name": "rec",
        "version": 3,
        "doc": "a record",
        "parameters": {"p": "q"},
        "fields": [
            {"name": "a", "schema": schema},
            {
                "name": "b",
                "schema": {"type": "STRING", "optional": True, "default": {"string": "bb"}},
            },
            {"name": "n", "schema": INNER},
        ],
    }
    fields = {"a": value, "b": None, "n": {"struct": {"fields": {"c": {"int32": 5}, "d": None}}}}
    return struct, {"struct": {"fields": fields}}


def record(schema: Json, value: Json, **others: Json) -> Json:
    """A record with that value, and the same as its key."""
    return {
        "topic": "orders-v1",
        "partition": 3,
        "keySchema": schema,
        "key": value,
        "valueSchema": schema,
        "value": value,
        "timestamp": MOMENT_MS,
        "headers": [{"name": "h", "schema": {"type": "STRING"}, "value": {"string": "x"}}],
        **others,
    }


def records() -> Iterator[Json]:
    """Records with every form of value: whole, in a struct, in a map, none."""
    yield record(None, None)
    for schema, value in schema_and_value():
        yield record(schema, value)
        yield record(*in_field(schema, value))
    for value in LOOSE:
        yield record(None, value)
        yield record(
            None,
            {"map": [[{"string": "a"}, value], [{"string": "b"}, {"string": "kept"}]]},
        )


_NULLS: tuple[dict[str, str], ...] = ({}, {"replace.null.with.default": "false"})

SETTINGS: dict[str, list[dict[str, str]]] = {
    "Cast": [
        {"spec": f"{prefix}{kind}"}
        for kind in (
            "int8",
            "int16",
            "int32",
            "int64",
            "float32",
            "float64",
            "boolean",
            "string",
        )
        for prefix in ("", "a:")
    ],
    "ExtractField": [{"field": "a", **nulls} for nulls in _NULLS]
    + [
        {"field": "n.c", "field.syntax.version": "V2"},
        {"field": "n.d", "field.syntax.version": "V2"},
        {"field": "nope"},
    ],
    "Flatten": [{}, {"delimiter": "_"}],
    "HeaderFrom": [
        {"fields": "a,b", "headers": "x,y", "operation": operation, **nulls}
        for operation in ("move", "copy")
        for nulls in _NULLS
    ],
    "HoistField": [{"field": "f"}],
    "InsertField": [
        {"topic.field": "topic", "partition.field": "part?", "timestamp.field": "at!", **nulls}
        for nulls in _NULLS
    ]
    + [{"static.field": "s", "static.value": "v"}, {"offset.field": "o"}],
    "MaskField": [
        {"fields": "a"},
        {"fields": "a", "replacement": "42"},
        {"fields": "a,b", "replacement": "none"},
        {"fields": "b", "replace.null.with.default": "false"},
    ],
    "ReplaceField": [
        {"exclude": "a"},
        {"include": "a,b", **_NULLS[1]},
        {"renames": "a:z"},
        {"exclude": "b", "include": "a,b", "renames": "a:z,b:y"},
    ],
    "SetSchemaMetadata": [
        {"schema.name": "other"},
        {"schema.version": "9", **_NULLS[1]},
    ],
    "TimestampConverter": [
        {"target.type": target, **field, "format": "yyyy-MM-dd"}
        for target in ("string", "unix", "Date", "Time", "Timestamp")
        for field in ({}, {"field": "a"})
    ]
    + [
        {"target.type": "unix", "field": "a", "format": "yyyy-MM-dd", "unix.precision": precision}
        for precision in ("seconds", "microseconds", "nanoseconds")
    ],
}
WHOLE_RECORD: dict[str, list[dict[str, str]]] = {
    "DropHeaders": [{"headers": "h"}, {"headers": "other"}],
    "Filter": [{}],
    "InsertHeader": [
        {"header": "i", "value.literal": text}
        for text in (
            "x",
            "1",
            "1.5",
            "true",
            "null",
            "",
            "[1,300]",
            '{"a":1}',
            "2021-03-04",
            "12:13:14.555Z",
            "2021-03-04T05:06:07.089Z",
            "[a",
            "99999999999999999999",
            '["a","b"]',
            "1.0",
            "-5",
            "1e3",
            '{"a":null}',
            "[]",
            "{}",
            "  7  ",
        )
    ],
    "RegexRouter": [
        {"regex": regex, "replacement": replacement}
        for regex, replacement in (
            ("(.*)-v1", "$1-v2"),
            ("orders", "x"),
            ("(o)(r).*", "$2$1$10"),
            (".*", r"\$1\\"),
        )
    ],
    "TimestampRouter": [
        {},
        {"timestamp.format": "yyyy-MM-dd'T'HH:mm:ss.SSS"},
        {"timestamp.format": "EEE D w"},
        {
            "topic.format": "${timestamp}_${topic}_${topic}",
            "timestamp.format": "yyMMddHHhhKkmmss a",
        },
    ],
    "ValueToKey": [{"fields": "a"}, {"fields": "b,a", **_NULLS[1]}, {"fields": "nope"}],
}
PREDICATES: dict[str, list[dict[str, str]]] = {
    "HasHeaderKey": [{"name": "h"}, {"name": "H"}],
    "RecordIsTombstone": [{}],
    "TopicNameMatches": [{"pattern": "orders-.*"}, {"pattern": "orders"}],
}
BAD_SETTINGS: list[tuple[str, dict[str, str]]] = [
    ("Cast$Value", {"spec": "a:array"}),
    ("Cast$Value", {"spec": "a:b:c"}),
    ("Cast$Value", {"spec": "int8,int16"}),
    ("Cast$Value", {"spec": "nope"}),
    ("Cast$Value", {"spec": ""}),
    ("Cast$Value", {}),
    ("ExtractField$Value", {"field": "a.`b", "field.syntax.version": "V2"}),
    ("HeaderFrom$Value", {"fields": "a,b", "headers": "x", "operation": "copy"}),
    ("HeaderFrom$Value", {"fields": "a", "headers": "x", "operation": "both"}),
    ("InsertField$Value", {}),
    ("InsertField$Value", {"static.field": "s"}),
    ("MaskField$Value", {"fields": ""}),
    ("MaskField$Value", {"fields": "a", "replacement": ""}),
    ("ReplaceField$Value", {"renames": "a"}),
    ("SetSchemaMetadata$Value", {}),
    ("TimestampConverter$Value", {"target.type": "string"}),
    ("TimestampConverter$Value", {"target.type": "x"}),
    ("TimestampConverter$Value", {"target.type": "unix", "format": "bbb"}),
    ("TimestampConverter$Value", {"target.type": "unix", "unix.precision": "x"}),
    ("ValueToKey", {"fields": ""}),
]

CONVERTER_SETTINGS: dict[str, list[dict[str, str]]] = {
    "org.apache.kafka.connect.json.JsonConverter": [
        {"schemas.enable": enabled, "decimal.format": decimals, "replace.null.with.default": nulls}
        for enabled in ("true", "false")
        for decimals in ("BASE64", "NUMERIC")
        for nulls in ("true", "false")
    ],
    "org.apache.kafka.connect.storage.StringConverter": [
        {},
        {"converter.encoding": "UTF-16BE"},
        {"converter.encoding": "nope"},
    ],
    **{
        f"org.apache.kafka.connect.converters.{name}Converter": [{}]
        for name in ("Boolean", "ByteArray", "Double", "Float", "Integer", "Long", "Short")
    },
}
HEADER_CONVERTERS = ("org.apache.kafka.connect.storage.SimpleHeaderConverter",)


def transform_cases() -> Iterator[Json]:
    """Every transform with every record."""
    every = list(records())
    for name, many in SETTINGS.items():
        for settings in many:
            for side in ("Key", "Value") if settings is many[0] else ("Value",):
                for each in every:
                    yield case("transform", f"{TRANSFORMS}{name}${side}", settings, record=each)
    few = [record(None, None), record(*in_field({"type": "INT32"}, {"int32": 1})), every[-1]]
    few.append(record(None, {"map": [[{"string": "a"}, {"int64": 1}]]}, timestamp=None, headers=[]))
    for name, many in WHOLE_RECORD.items():
        for settings in many:
            for each in few:
                yield case("transform", f"{TRANSFORMS}{name}", settings, record=each)
    for name, settings in BAD_SETTINGS:
        yield case("transform", f"{TRANSFORMS}{name}", settings, record=few[0])
    for name, many in PREDICATES.items():
        for settings in many:
            for each in few:
                yield case("predicate", f"{TRANSFORMS}predicates.{name}", settings, record=each)


def converter_cases() -> Iterator[Json]:
    """Every converter, writing every value."""
    values = [*schema_and_value(), *((None, value) for value in LOOSE)]
    values += [in_field(schema, value) for schema, value in schema_and_value()]
    for name, many in CONVERTER_SETTINGS.items():
        for settings in many:
            config = {"converter.type": "value", **settings}
            for schema, value in values:
                yield case("write", name, config, isKey=False, schema=schema, value=value)

    for name in HEADER_CONVERTERS:
        for schema, value in values:
            yield case("header.write", name, {}, schema=schema, value=value)


def case(kind: str, name: str, config: dict[str, str], **others: Json) -> Json:
    """A question to a class."""
    return {"kind": kind, "class": name, "config": config, **others}
