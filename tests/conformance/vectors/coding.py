"""Schemas, values and records as the JSON that ``Vectors.java`` reads and writes."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from connectd.model import java_floats, java_text, logical
from connectd.model.record import SourceRecord
from connectd.model.schema import Field, Schema, SchemaType, Struct

Json = Any
_INTEGERS = ("int8", "int16", "int32", "int64")
_FLOATS = ("float32", "float64")
_NAMES = {SchemaType.FLOAT32: "float32", SchemaType.FLOAT64: "float64"}


def schema_of(node: Json) -> Schema | None:
    """A schema of its JSON."""
    if node is None:
        return None
    plain = Schema(
        SchemaType[node["type"]],
        optional=node.get("optional", False),
        name=node.get("name"),
        version=node.get("version"),
        doc=node.get("doc"),
        fields=tuple(
            Field(each["name"], _required(schema_of(each["schema"])))
            for each in node.get("fields", ())
        ),
        parameters=tuple(node.get("parameters", {}).items()),
        key_schema=schema_of(node.get("key")),
        value_schema=schema_of(node.get("value")),
    )
    if node.get("default") is None:
        return plain
    return replace(plain, default=value_of(node["default"], plain))


def _required(schema: Schema | None) -> Schema:
    if schema is None:
        raise ValueError("a field has no schema")
    return schema


def schema_json(schema: Schema | None) -> Json:
    """A schema as JSON."""
    if schema is None:
        return None
    node: dict[str, Json] = {"type": schema.type.name}
    if schema.optional:
        node["optional"] = True
    for name in ("name", "version", "doc"):
        if getattr(schema, name) is not None:
            node[name] = getattr(schema, name)
    if schema.parameters:
        node["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        node["default"] = value_json(schema.default, schema)
    if schema.type is SchemaType.STRUCT:
        node["fields"] = [
            {"name": field.name, "schema": schema_json(field.schema)} for field in schema.fields
        ]
    if schema.type is SchemaType.MAP:
        node["key"] = schema_json(schema.key_schema)
    if schema.type in (SchemaType.MAP, SchemaType.ARRAY):
        node["value"] = schema_json(schema.value_schema)
    return node


def value_of(node: Json, schema: Schema | None = None) -> object:
    """A value of its JSON; without schema a Java date is a moment."""
    if node is None:
        return None
    ((kind, content),) = node.items()
    match kind:
        case "float32":
            return java_floats.single(float(content))
        case "float64":
            return float(content)
        case "bytes":
            return base64.b64decode(content)
        case "decimal":
            return Decimal(content)
        case "date":
            return _date_of(content, schema)
        case "list":
            of = schema.value_schema if schema else None
            return [value_of(each, of) for each in content]
        case "map":
            keys = schema.key_schema if schema else None
            values = schema.value_schema if schema else None
            return {value_of(key, keys): value_of(value, values) for key, value in content}
        case "struct":
            of = schema_of(content["schema"]) if "schema" in content else schema
            assert of is not None
            given = content["fields"]
            return Struct(
                of,
                tuple(value_of(given.get(field.name), field.schema) for field in of.fields),
            )
    return content


def _date_of(ms: int, schema: Schema | None) -> object:
    moment = logical.moment_of(ms)
    if schema is not None and schema.name == logical.DATE:
        return moment.date()
    if schema is not None and schema.name == logical.TIME:
        return moment.time()
    return moment


def value_json(value: object, schema: Schema | None = None) -> Json:
    """A value as JSON, under the name that its schema or its own type gives it."""
    match value:
        case None:
            return None
        case bool():
            return {"boolean": value}
        case int():
            return {_kind(schema, "int64"): value}
        case float():
            return {_kind(schema, "float64"): java_text.of(schema, value)}
        case str():
            return {"string": value}
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case Decimal():
            return {"decimal": str(value)}
        case datetime():
            return {"date": logical.epoch_ms(value)}
        case date():
            return {"date": logical.epoch_ms(datetime.fromisoformat(f"{value}T00:00:00+00:00"))}
        case time():
            return {"date": logical.ms_of_day(value)}
        case list():
            of = schema.value_schema if schema else None
            return {"list": [value_json(each, of) for each in value]}
        case dict():
            keys = schema.key_schema if schema else None
            values = schema.value_schema if schema else None
            return {
                "map": [
                    [value_json(key, keys), value_json(each, values)] for key, each in value.items()
                ]
            }
        case Struct():
            return {
                "struct": {
                    "fields": {
                        field.name: value_json(member, field.schema)
                        for field, member in value.items()
                    }
                }
            }
    raise TypeError(f"no JSON for {type(value).__name__}")


def _kind(schema: Schema | None, default: str) -> str:
    """Java's name of a number's type: that of its schema, if the value is of such a type."""
    if schema is None:
        return default
    name = _NAMES.get(schema.type, schema.type.value)
    return name if name in (_FLOATS if default in _FLOATS else _INTEGERS) else default


def record_of(node: Json) -> SourceRecord:
    """A record of its JSON."""
    key_schema, value_schema = schema_of(node.get("keySchema")), schema_of(node.get("valueSchema"))
    headers = []
    for each in node.get("headers", ()):
        schema = schema_of(each.get("schema"))
        headers.append((each["name"], schema, value_of(each.get("value"), schema)))
    return SourceRecord(
        node["topic"],
        key_schema,
        value_of(node.get("key"), key_schema),
        value_schema,
        value_of(node.get("value"), value_schema),
        kafka_partition=node.get("partition"),
        timestamp_ms=node.get("timestamp"),
        headers=headers,
    )


def record_json(record: SourceRecord | None) -> Json:
    """A record as JSON."""
    if record is None:
        return None
    return {
        "topic": record.topic,
        "partition": record.kafka_partition,
        "keySchema": schema_json(record.key_schema),
        "key": value_json(record.key, record.key_schema),
        "valueSchema": schema_json(record.value_schema),
        "value": value_json(record.value, record.value_schema),
        "timestamp": record.timestamp_ms,
        "headers": [
            {"name": name, "schema": schema_json(schema), "value": value_json(value, schema)}
            for name, schema, value in record.headers
        ],
    }


def comparable(node: Json) -> Json:
    """JSON in which what Python cannot tell apart is written alike.

    Java's Byte and Long are both ``int`` here; their schemas tell them apart, and are compared.
    Maps have no order.
    """
    match node:
        case list():
            return [comparable(each) for each in node]
        case dict() if len(node) == 1 and next(iter(node)) in _INTEGERS:
            return {"int": int(next(iter(node.values())))}
        case dict() if len(node) == 1 and next(iter(node)) in _FLOATS:
            ((kind, text),) = node.items()
            number = float(text)
            return {"float": repr(java_floats.single(number) if kind == "float32" else number)}
        case dict() if len(node) == 1 and "map" in node:
            return {"map": sorted((comparable(each) for each in node["map"]), key=repr)}
        case dict():
            return {name: comparable(each) for name, each in node.items()}
    return node
