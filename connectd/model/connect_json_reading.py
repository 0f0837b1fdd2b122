"""Connect data from JSON, the way JsonConverter reads it: schemas and payloads (spec E.2.3).

The counterpart of ``connect_json``. Payloads are read as leniently as Jackson's accessors do: where
a number is wanted, anything else is 0; where a text is wanted, anything else is null; integers
wrap around. Structs then refuse null for fields that require a value. Pure.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from connectd.errors import ConvertError
from connectd.model import java_floats, logical
from connectd.model.connect_json_text import JsonNode, Missing
from connectd.model.schema import Field, Schema, SchemaType, Struct

_BITS: Final = {
    SchemaType.INT8: 8,
    SchemaType.INT16: 16,
    SchemaType.INT32: 32,
    SchemaType.INT64: 64,
}
_TYPES: Final = {kind.value: kind for kind in SchemaType}
_QUAD: Final = r"(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)"
_QUADS: Final = re.compile(_QUAD)
_BASE64: Final = re.compile(rf"(?:[\x00-\x20]*{_QUAD})*[\x00-\x20]*")


@dataclass(frozen=True)
class JsonReading:
    """JsonConverter's setting about values: ``replace.null.with.default``."""

    replaces_nulls: bool = True

    def schema(self, node: JsonNode) -> Schema | None:
        """The schema that a JSON object describes; None for ``null``.

        Raises:
            ConvertError: it describes none, with Kafka's own words.
        """
        if node is None:
            return None
        kind = node.get("type") if isinstance(node, dict) else None
        if not isinstance(node, dict) or not isinstance(kind, str):
            raise ConvertError("Schema must contain 'type' field")
        if kind not in _TYPES:
            raise ConvertError(f"Unknown schema type: {kind}")
        schema = self._without_metadata(_TYPES[kind], node)
        name, version, doc = node.get("name"), node.get("version"), node.get("doc")
        is_version = isinstance(version, int) and not isinstance(version, bool)
        schema = replace(
            schema,
            optional=node.get("optional") is True,
            name=name if isinstance(name, str) else None,
            version=_wrapped(_integer(version), 32) if is_version else None,
            doc=doc if isinstance(doc, str) else None,
            parameters=_parameters(node.get("parameters")),
        )
        if "default" not in node:
            return schema
        default = self.value(schema, node["default"])
        if isinstance(default, Struct):  # Kafka compares it with the schema that is not ready yet
            raise ConvertError("Invalid default value")
        try:
            _check_nulls(schema, default, "value")
        except ConvertError as error:
            raise ConvertError("Invalid default value") from error
        return replace(schema, default=default)

    def _without_metadata(self, kind: SchemaType, node: dict[str, JsonNode]) -> Schema:
        match kind:
            case SchemaType.ARRAY:
                if node.get("items") is None:
                    raise ConvertError("Array schema did not specify the element type")
                return Schema(kind, value_schema=self.schema(node["items"]))
            case SchemaType.MAP:
                for member, part in (("keys", "key"), ("values", "value")):
                    if member not in node:
                        raise ConvertError(f"Map schema did not specify the {part} type")
                keys, values = self.schema(node["keys"]), self.schema(node["values"])
                for part, schema in (("key", keys), ("value", values)):
                    if schema is None:
                        raise ConvertError(f"{part}Schema cannot be null.")
                return Schema(kind, key_schema=keys, value_schema=values)
            case SchemaType.STRUCT:
                return Schema(kind, fields=self._fields(node.get("fields")))
        return Schema(kind)

    def _fields(self, nodes: JsonNode) -> tuple[Field, ...]:
        if not isinstance(nodes, list):
            raise ConvertError('Struct schema\'s "fields" argument is not an array.')
        fields: dict[str, Field] = {}
        for node in nodes:
            name = node.get("field") if isinstance(node, dict) else None
            if not isinstance(name, str):
                raise ConvertError("Struct schema's field name not specified properly")
            schema = self.schema(node)
            if not name:
                raise ConvertError("fieldName cannot be null.")
            if name in fields:
                raise ConvertError(f"Cannot create field because of field name duplication {name}")
            assert schema is not None  # the node is no null
            fields[name] = Field(name, schema)
        return tuple(fields.values())

    def value(self, schema: Schema | None, node: JsonNode) -> object:
        """The value that a JSON value stands for under a schema, or by its own form.

        Raises:
            ConvertError: it does not fit the schema, with Kafka's own words.
        """
        if schema is None:
            return self._value_without_schema(node)
        if node is None:
            if schema.default is not None and self.replaces_nulls:
                return schema.default
            if schema.optional:
                return None
            raise ConvertError(f"Invalid null value for required {schema.type.name} field")
        read_logical = _LOGICAL.get(schema.name or "")
        if read_logical is not None:
            return read_logical(schema, node)
        return _READ[schema.type](self, schema, node)

    def _value_without_schema(self, node: JsonNode) -> object:
        match node:
            case Missing():
                return None
            case None | bool() | str():
                return node
            case int():
                return _wrapped(node, 64)
            case Decimal():
                return java_floats.double(node)
            case list():
                return [self._value_without_schema(element) for element in node]
            case dict():
                return {name: self._value_without_schema(node[name]) for name in node}


def _boolean(reading: JsonReading, schema: Schema, node: JsonNode) -> bool:
    return node is True


def _whole(reading: JsonReading, schema: Schema, node: JsonNode) -> int:
    # A byte and a short are cut out of the 32 bits of an int, which comes to the same.
    return _wrapped(_integer(node), _BITS[schema.type])


def _single(reading: JsonReading, schema: Schema, node: JsonNode) -> float:
    return java_floats.single(_number(node))


def _double(reading: JsonReading, schema: Schema, node: JsonNode) -> float:
    return java_floats.double(_number(node))


def _string(reading: JsonReading, schema: Schema, node: JsonNode) -> str | None:
    return node if isinstance(node, str) else None


def _bytes(reading: JsonReading, schema: Schema, node: JsonNode) -> bytes | None:
    if not isinstance(node, str):
        return None
    decoded = _from_base64(node)
    if decoded is None:
        raise ConvertError("Invalid bytes field")
    return decoded


def _array(reading: JsonReading, schema: Schema, node: JsonNode) -> list[object]:
    elements: Iterable[JsonNode] = ()
    if isinstance(node, list):
        elements = node
    elif isinstance(node, dict):
        elements = node.values()
    return [reading.value(schema.value_schema, element) for element in elements]


def _map(reading: JsonReading, schema: Schema, node: JsonNode) -> dict[object, object]:
    keys, values = schema.key_schema, schema.value_schema
    if keys is not None and keys.type is SchemaType.STRING:
        if not isinstance(node, dict):
            raise ConvertError(
                "Maps with string fields should be encoded as JSON objects, but found "
                f"{node_type(node)}"
            )
        return {name: reading.value(values, member) for name, member in node.items()}
    if not isinstance(node, list):
        raise ConvertError(
            "Maps with non-string fields should be encoded as JSON array of tuples, but found "
            f"{node_type(node)}"
        )
    members: dict[object, object] = {}
    for entry in node:
        if not isinstance(entry, list):
            raise ConvertError(
                f"Found invalid map entry instead of array tuple: {node_type(entry)}"
            )
        if len(entry) != 2:
            raise ConvertError(
                f"Found invalid map entry, expected length 2 but found :{len(entry)}"
            )
        key = reading.value(keys, entry[0])
        try:
            members[key] = reading.value(values, entry[1])
        except TypeError:
            raise ConvertError(
                f"reading a map: {type(key).__name__} is no type of keys; texts and numbers are"
            ) from None
    return members


def _struct(reading: JsonReading, schema: Schema, node: JsonNode) -> Struct:
    if not isinstance(node, dict):
        raise ConvertError(
            f"Structs should be encoded as JSON objects, but found {node_type(node)}"
        )
    values = []
    for field in schema.fields:
        value = reading.value(field.schema, node.get(field.name))
        _check_nulls(field.schema, value, f'field: "{field.name}"')
        values.append(value)
    return Struct(schema, tuple(values))


_READ: Final[dict[SchemaType, Callable[[JsonReading, Schema, JsonNode], object]]] = {
    **dict.fromkeys(_BITS, _whole),
    SchemaType.FLOAT32: _single,
    SchemaType.FLOAT64: _double,
    SchemaType.BOOLEAN: _boolean,
    SchemaType.STRING: _string,
    SchemaType.BYTES: _bytes,
    SchemaType.ARRAY: _array,
    SchemaType.MAP: _map,
    SchemaType.STRUCT: _struct,
}


# -- logical types --------------------------------------------------------------------------------


def _decimal(schema: Schema, node: JsonNode) -> object:
    if isinstance(node, int | Decimal) and not isinstance(node, bool):
        return Decimal(node)
    if not isinstance(node, str):
        raise _not_logical("Decimal", "numeric or bytes", node)
    decoded = _from_base64(node)
    if not decoded:
        raise ConvertError("Invalid bytes for Decimal field")
    try:
        return logical.from_stored(schema, decoded)
    except ConvertError as error:
        raise ConvertError("Invalid bytes for Decimal field") from error


def _date_or_time(schema: Schema, node: JsonNode) -> object:
    if not isinstance(node, int) or isinstance(node, bool) or _wrapped(node, 32) != node:
        raise _not_logical("Date" if schema.name == logical.DATE else "Time", "integer", node)
    return logical.from_stored(schema, node)


def _timestamp(schema: Schema, node: JsonNode) -> object:
    if not isinstance(node, int) or isinstance(node, bool):
        raise _not_logical("Timestamp", "integral", node)
    return logical.from_stored(schema, _wrapped(node, 64))


def _not_logical(kind: str, wanted: str, node: JsonNode) -> ConvertError:
    return ConvertError(
        f"Invalid type for {kind}, underlying representation should be {wanted} but was "
        f"{node_type(node)}"
    )


_LOGICAL: Final[dict[str, Callable[[Schema, JsonNode], object]]] = {
    logical.DECIMAL: _decimal,
    logical.DATE: _date_or_time,
    logical.TIME: _date_or_time,
    logical.TIMESTAMP: _timestamp,
}


# -- Jackson's accessors ------------------------------------------------------------------------


def node_type(node: JsonNode) -> str:
    """Jackson's name of a JSON value's type."""
    match node:
        case None:
            return "NULL"
        case bool():
            return "BOOLEAN"
        case int() | Decimal():
            return "NUMBER"
        case str():
            return "STRING"
        case list():
            return "ARRAY"
        case dict():
            return "OBJECT"
        case Missing():
            return "MISSING"


def _number(node: JsonNode) -> int | Decimal:
    return node if isinstance(node, int | Decimal) and not isinstance(node, bool) else 0


def _integer(node: JsonNode) -> int:
    """A number without its fraction; of one too large to write out, no more than its lowest bits,
    which are 0."""
    number = _number(node)
    if isinstance(number, int):
        return number
    is_fraction = number.adjusted() < 0
    return 0 if is_fraction or int(number.as_tuple().exponent) >= 64 else int(number)


def _wrapped(number: int, bits: int) -> int:
    lowest = number & ((1 << bits) - 1)
    return lowest - (1 << bits) if lowest >> (bits - 1) else lowest


def _from_base64(text: str) -> bytes | None:
    """The bytes, or None when it is no such text. Blanks between groups of four are fine."""
    if not _BASE64.fullmatch(text):
        return None
    return b"".join(base64.b64decode(quad) for quad in _QUADS.findall(text))


def _parameters(node: JsonNode) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for name, text in node.items() if isinstance(node, dict) else ():
        if not isinstance(text, str):
            raise ConvertError("Schema parameters must have string values.")
        found.append((name, text))
    return tuple(found)


def _check_nulls(schema: Schema, value: object, place: str) -> None:
    """No value that is required is null; all else is right by the way that it was read."""
    if value is None:
        if schema.optional:
            return
        raise ConvertError(
            f"Invalid value: null used for required {place}, schema type: {schema.type.name}"
        )
    match value:
        case list() if schema.value_schema is not None:
            for element in value:
                _check_nulls(schema.value_schema, element, f"element of array {place}")
        case dict() if schema.key_schema is not None and schema.value_schema is not None:
            for key, member in value.items():
                _check_nulls(schema.key_schema, key, f"key of map {place}")
                _check_nulls(schema.value_schema, member, f"value of map {place}")
