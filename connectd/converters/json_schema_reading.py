"""JSON Schema and the JSON that fulfils it as Connect's data (spec kafka-connect E.7). Pure.

The way back of ``json_schema_layout`` and ``json_schema_values``. What stands under ``connect.``
names is believed; a schema of somebody else, without them, gives the widest types. A schema that
has nothing in it is no schema: its data are what JSON says they are.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from connectd.converters.json_schema_layout import ENUM, ONE_OF
from connectd.errors import ConvertError
from connectd.model import logical
from connectd.model.schema import Field, Schema, SchemaType, Struct

Read = Callable[[Any], Any]
"""JSON, with its fractions as ``Decimal``, to a Connect value."""

_TYPES: Final = {
    "integer": SchemaType.INT64,
    "number": SchemaType.FLOAT64,
    "boolean": SchemaType.BOOLEAN,
    "string": SchemaType.STRING,
}
_CONNECT_TYPES: Final = {
    "int8": SchemaType.INT8,
    "int16": SchemaType.INT16,
    "int32": SchemaType.INT32,
    "int64": SchemaType.INT64,
    "float32": SchemaType.FLOAT32,
    "float64": SchemaType.FLOAT64,
    "bytes": SchemaType.BYTES,
}
_NAMES_OF_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")
_DEPTH_MAX: Final = 64
"""Types inside of types: a schema that refers to itself has no end."""


@dataclass(frozen=True)
class Reader:
    """What a JSON schema is in Connect, and how its values are read. No schema: anything."""

    schema: Schema | None
    read: Read

    def versioned(self, version: int) -> Reader:
        """With the version that a registry gives the schema, unless it says its own."""
        if self.schema is None or self.schema.version is not None:
            return self
        known, read = replace(self.schema, version=version), self.read

        def read_versioned(node: Any) -> object:
            value = read(node)
            return Struct(known, value.values) if isinstance(value, Struct) else value

        return Reader(known, read_versioned)


def reader(root: Any, *, is_optional_unless_required: bool = False) -> Reader:
    """The reader of a JSON schema.

    Raises:
        ConvertError: Connect has nothing like it.
    """
    return _Translation(root, is_optional_unless_required).of(root, 0)


def anything(node: Any) -> object:
    """A value without schema."""
    match node:
        case Decimal():
            return float(node)
        case list():
            return [anything(each) for each in node]
        case dict():
            return {name: anything(each) for name, each in node.items()}
    return node


@dataclass(frozen=True)
class _Translation:
    root: Any
    is_optional_unless_required: bool

    def of(self, node: Any, depth: int) -> Reader:
        if depth > _DEPTH_MAX:
            raise ConvertError("the JSON schema is inside of itself, which is not supported")
        if node is True or node == {}:
            return Reader(None, anything)
        match node:
            case {"$ref": str(reference)}:
                return self.of(self._referred(reference), depth + 1)
            case {"oneOf": list(branches)} | {"anyOf": list(branches)}:
                return self._one_of(node, branches, depth + 1)
            case {"allOf": list(parts)}:
                return self._all_of(node, parts, depth + 1)
            case {"enum": list(symbols)}:
                return _finished(_enum(node, symbols), node, _scalar)
            case {"const": symbol}:
                return _finished(_enum(node, [symbol]), node, _scalar)
            case {"type": list(kinds)}:
                branches = [{**node, "type": kind} for kind in kinds]
                return self._one_of({}, branches, depth + 1)
            case {"type": "array", "connect.type": "map", "items": items}:
                return self._pairs(node, items, depth + 1)
            case {"type": "array"}:
                return self._array(node, depth + 1)
            case {"type": "object", "connect.type": "map", "additionalProperties": values}:
                return self._map(node, values, depth + 1)
            case {"type": "object"}:
                return self._object(node, depth + 1)
            case {"type": str(kind)} if kind in _TYPES:
                found = _CONNECT_TYPES.get(node.get("connect.type", ""), _TYPES[kind])
                if node.get("title") == logical.DECIMAL:
                    found = SchemaType.BYTES
                return _finished(Schema(found), node, _scalar)
        raise ConvertError(f"Unsupported schema type {node}")

    def _referred(self, reference: str) -> Any:
        found = self.root
        try:
            for step in reference.removeprefix("#").strip("/").split("/"):
                if step:
                    found = found[step.replace("~1", "/").replace("~0", "~")]
        except (KeyError, TypeError, IndexError):
            raise ConvertError(f"the schema has nothing at {reference}") from None
        return found

    def _one_of(self, node: dict[str, Any], branches: list[Any], depth: int) -> Reader:
        others = [each for each in branches if each != {"type": "null"}]
        is_optional = len(others) < len(branches)
        found = [self.of(each, depth) for each in others]
        if len(found) == 1 and is_optional:
            return _optional(found[0], node)
        fields = tuple(
            Field(f"{ONE_OF}.field.{position}", replace(each.schema, optional=True))
            for position, each in enumerate(found)
            if each.schema is not None
        )
        schema = Schema(SchemaType.STRUCT, is_optional, ONE_OF, fields=fields)
        return Reader(_described(schema, node), _union_reading(schema, found))

    def _all_of(self, node: dict[str, Any], parts: list[Any], depth: int) -> Reader:
        """Objects become one; what is no object describes the one that is."""
        properties: dict[str, Any] = {}
        required: list[str] = []
        merged: dict[str, Any] = {}
        for part in parts:
            known = self._referred(part["$ref"]) if "$ref" in part else part
            merged |= known
            properties |= known.get("properties", {})
            required += known.get("required", [])
        if properties:
            merged |= {"type": "object", "properties": properties, "required": required}
        rest = {name: each for name, each in node.items() if name != "allOf"}
        return self.of(merged | rest, depth)

    def _array(self, node: dict[str, Any], depth: int) -> Reader:
        element = self.of(node.get("items", True), depth)
        return _finished(
            Schema(SchemaType.ARRAY, value_schema=element.schema),
            node,
            lambda schema, value: [element.read(each) for each in _of_type(schema, value, list)],
        )

    def _map(self, node: dict[str, Any], values: Any, depth: int) -> Reader:
        value = self.of(values, depth)
        schema = Schema(
            SchemaType.MAP, key_schema=Schema(SchemaType.STRING), value_schema=value.schema
        )
        return _finished(
            schema,
            node,
            lambda known, found: {
                name: value.read(each) for name, each in _of_type(known, found, dict).items()
            },
        )

    def _pairs(self, node: dict[str, Any], items: Any, depth: int) -> Reader:
        properties = items.get("properties", {})
        key, value = (self.of(properties.get(name, True), depth) for name in ("key", "value"))
        return _finished(
            Schema(SchemaType.MAP, key_schema=key.schema, value_schema=value.schema),
            node,
            lambda schema, found: {
                key.read(each.get("key")): value.read(each.get("value"))
                for each in _of_type(schema, found, list)
            },
        )

    def _object(self, node: dict[str, Any], depth: int) -> Reader:
        properties = node.get("properties", {})
        order = sorted(
            enumerate(properties.items()),
            key=lambda entry: entry[1][1].get("connect.index", entry[0]),
        )
        members = [(name, self.of(each, depth)) for _, (name, each) in order]
        if self.is_optional_unless_required:
            required = node.get("required", [])
            members = [
                (name, each if name in required else _optional(each, {})) for name, each in members
            ]
        fields = tuple(
            Field(name, each.schema) for name, each in members if each.schema is not None
        )
        if len(fields) < len(members):
            raise ConvertError("a property may be anything, which is not supported in a struct")
        schema = _described(Schema(SchemaType.STRUCT, fields=fields), node)

        def read(value: Any) -> object:
            found = _of_type(schema, value, dict)
            return Struct(schema, tuple(each.read(found.get(name)) for name, each in members))

        return Reader(schema, read)


def _union_reading(schema: Schema, found: list[Reader]) -> Read:
    def read(value: Any) -> object:
        if value is None and schema.optional:
            return None
        position = _branch([each.schema for each in found], value)
        values: list[object] = [None] * len(found)
        values[position] = found[position].read(value)
        return Struct(schema, tuple(values))

    return read


def _branch(schemas: list[Schema | None], value: Any) -> int:
    """The first simple type that the value is of, or the struct with most of its members."""
    for position, schema in enumerate(schemas):
        if schema is not None and schema.type in _JSON_TYPES:
            is_boolean = schema.type is SchemaType.BOOLEAN
            if (
                isinstance(value, _JSON_TYPES[schema.type])
                and isinstance(value, bool) is is_boolean
            ):
                return position
    if isinstance(value, dict):
        shared = [
            len(value.keys() & {each.name for each in schema.fields}) if schema is not None else -1
            for schema in schemas
        ]
        if max(shared, default=0) > 0:
            return shared.index(max(shared))
    raise ConvertError("Did not find matching oneof field for data")


def _optional(found: Reader, node: dict[str, Any]) -> Reader:
    """The same where null is allowed."""
    if found.schema is None:
        return found
    schema, read = replace(found.schema, optional=True), found.read
    if "default" in node:
        schema = replace(schema, default=read(node["default"]))

    def read_optional(value: Any) -> object:
        if value is None:
            return None
        known = read(value)
        return Struct(schema, known.values) if isinstance(known, Struct) else known

    return Reader(schema, read_optional)


def _finished(schema: Schema, node: dict[str, Any], read: Callable[[Schema, Any], Any]) -> Reader:
    described = _described(schema, node)

    def read_value(value: Any) -> object:
        if value is None:
            if described.default is None:
                raise ConvertError(f"Invalid null value for required {schema.type.name} field")
            return described.default
        return read(described, value)

    if "default" in node:
        described = replace(described, default=read(described, node["default"]))
    return Reader(described, read_value)


def _described(schema: Schema, node: dict[str, Any]) -> Schema:
    """With what is known of a schema beside its type."""
    parameters = node.get("connect.parameters")
    return replace(
        schema,
        name=node.get("title", schema.name),
        doc=node.get("description"),
        version=node.get("connect.version"),
        parameters=schema.parameters if parameters is None else tuple(parameters.items()),
    )


def _enum(node: dict[str, Any], symbols: list[Any]) -> Schema:
    parameters = [(ENUM, str(node.get("title", "")))]
    parameters += [(f"{ENUM}.{each}", str(each)) for each in symbols]
    return Schema(SchemaType.STRING, parameters=tuple(parameters))


def _scalar(schema: Schema, value: Any) -> object:
    if schema.name == logical.DECIMAL and isinstance(value, int | Decimal):
        return Decimal(value)
    return logical.from_stored(schema, _stored(schema, value))


def _stored(schema: Schema, value: Any) -> object:
    match schema.type:
        case SchemaType.BYTES:
            try:
                return base64.b64decode(_of_type(schema, value, str), validate=True)
            except binascii.Error as error:
                raise ConvertError(f"Invalid type for BYTES: no base64: {error}") from error
        case SchemaType.FLOAT32 | SchemaType.FLOAT64:
            if value in _NAMES_OF_NUMBERS:
                return float(value)
            return float(_of_type(schema, value, int, Decimal))
        case SchemaType.STRING:
            return _of_type(schema, value, str)
        case SchemaType.BOOLEAN:
            return _of_type(schema, value, bool)
    return _of_type(schema, value, int)


def _of_type(schema: Schema, value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise ConvertError(f"Invalid type for {schema.type.name}: {type(value).__name__}")
    return value


_JSON_TYPES: Final[dict[SchemaType, tuple[type, ...]]] = {
    SchemaType.BOOLEAN: (bool,),
    SchemaType.STRING: (str,),
    SchemaType.BYTES: (str,),
    SchemaType.INT8: (int,),
    SchemaType.INT16: (int,),
    SchemaType.INT32: (int,),
    SchemaType.INT64: (int,),
    SchemaType.FLOAT32: (int, Decimal),
    SchemaType.FLOAT64: (int, Decimal),
    SchemaType.ARRAY: (list,),
}
