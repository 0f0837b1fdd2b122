"""``JsonConverter``: Connect data as the JSON that Kafka Connect's converter of that name writes.

Two layouts, chosen by ``schemas.enable``: the bare payload, or ``{"schema":S,"payload":P}``. Both
are compact UTF-8 in the form of Jackson: members in schema order, nulls written, control characters
with upper-case hex, floating-point numbers in Java's notation (spec kafka-connect E.2.1, E.2.2).
No schema and no value is no bytes: a tombstone, not the text ``null`` (field case V16).

Pure and safe in any thread; the cache of schema texts is a matter of speed alone.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from typing import ClassVar

from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width
from connectd.errors import ConvertError
from connectd.model import java_json
from connectd.model.record import ConverterSpec
from connectd.model.schema import Schema, SchemaType, Struct

_INTEGER_BITS = {
    SchemaType.INT8: 8,
    SchemaType.INT16: 16,
    SchemaType.INT32: 32,
    SchemaType.INT64: 64,
}

_FLOAT32_DIGITS_MAX = 9
"""So many decimal digits tell any two single-precision numbers apart (IEEE 754)."""

_SCHEMAS_CACHED_MAX = 1000


class JsonConverter:
    """Writes keys and values as JSON."""

    class_name: ClassVar[str] = "org.apache.kafka.connect.json.JsonConverter"

    def __init__(self, spec: ConverterSpec) -> None:
        self.spec = spec
        self._carries_schema = spec.setting("schemas.enable", "true").strip().lower() == "true"
        self._cache_size = int(spec.setting("schemas.cache.size", str(_SCHEMAS_CACHED_MAX)))
        # By identity, because hashing a struct schema costs as much as writing it. The schema is
        # kept beside its text so that its identity is not given to another one.
        self._schema_json_by_id: dict[int, tuple[Schema, bytes]] = {}

    @property
    def cached_schemas(self) -> int:
        """How many schema texts are kept; bounded by ``schemas.cache.size``."""
        return len(self._schema_json_by_id)

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Kafka's keys; those about decimals and defaults change nothing that is written here."""
        return _CONFIG_DEF

    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """The bytes of a key or value; None for no schema and no value.

        Raises:
            ConvertError: the value does not fit its schema, with Kafka's own words where it has
                some (spec kafka-connect E.2.3).
        """
        if schema is None and value is None:
            return None
        payload = _json_bytes(_payload(schema, value))
        if not self._carries_schema:
            return payload
        return b'{"schema":' + self._schema_json(schema) + b',"payload":' + payload + b"}"

    def _schema_json(self, schema: Schema | None) -> bytes:
        if schema is None:
            return b"null"
        cached = self._schema_json_by_id.get(id(schema))
        if cached is not None:
            return cached[1]
        text = _json_bytes(java_json.schema_members(schema))
        if len(self._schema_json_by_id) >= self._cache_size:
            self._schema_json_by_id.clear()
        self._schema_json_by_id[id(schema)] = (schema, text)
        return text


def _payload(schema: Schema | None, value: object) -> object:
    """A value in a form whose JSON text is right."""
    if schema is None:
        return _payload_without_schema(value)
    if value is None:
        if not schema.optional:
            raise ConvertError(
                "Conversion error: null value for field that is required and has no default value"
            )
        return None
    return _PAYLOAD_BY_TYPE[schema.type](schema, value)


def _integer(schema: Schema, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _invalid_type(schema, value)
    bits = _INTEGER_BITS[schema.type]
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ConvertError(
            f"Invalid value for {schema.type.name}: {value} has more than {bits} bits"
        )
    return value


def _float64(schema: Schema, value: object) -> object:
    if not isinstance(value, float):
        raise _invalid_type(schema, value)
    return java_json.double(value)


def _float32(schema: Schema, value: object) -> object:
    if not isinstance(value, float):
        raise _invalid_type(schema, value)
    stored = _single_precision(value)
    if stored is None:
        raise ConvertError(f"Invalid value for FLOAT32: {value} is out of range")
    (single,) = struct.unpack(">f", stored)
    texts = (f"{single:.{digits}g}" for digits in range(1, _FLOAT32_DIGITS_MAX + 1))
    shortest = next((text for text in texts if _single_precision(float(text)) == stored), "")
    return java_json.double(single, shortest)


def _single_precision(value: float) -> bytes | None:
    """The nearest single-precision number; None: there is none in its range."""
    try:
        return struct.pack(">f", value)
    except OverflowError:
        return None


def _boolean(schema: Schema, value: object) -> bool:
    if not isinstance(value, bool):
        raise _invalid_type(schema, value)
    return value


def _string(schema: Schema, value: object) -> str:
    if not isinstance(value, str):
        raise _invalid_type(schema, value)
    return value


def _bytes(schema: Schema, value: object) -> str:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise _invalid_type(schema, value)
    return base64.b64encode(value).decode("ascii")


def _struct(schema: Schema, value: object) -> dict[str, object]:
    if not isinstance(value, Struct):
        raise _invalid_type(schema, value)
    if value.schema is not schema and value.schema != schema:
        raise ConvertError(
            f"Mismatching schema. Found a struct of {value.schema.name}, expected {schema.name}"
        )
    members: dict[str, object] = {}
    for field, member in zip(schema.fields, value.values, strict=True):
        try:
            members[field.name] = _payload(field.schema, member)
        except ConvertError as error:
            raise ConvertError(f"field {field.name} of {schema.name}: {error}") from error
    return members


_PAYLOAD_BY_TYPE: dict[SchemaType, Callable[[Schema, object], object]] = {
    SchemaType.INT8: _integer,
    SchemaType.INT16: _integer,
    SchemaType.INT32: _integer,
    SchemaType.INT64: _integer,
    SchemaType.FLOAT32: _float32,
    SchemaType.FLOAT64: _float64,
    SchemaType.BOOLEAN: _boolean,
    SchemaType.STRING: _string,
    SchemaType.BYTES: _bytes,
    SchemaType.STRUCT: _struct,
}


def _payload_without_schema(value: object) -> object:
    """What a value says about itself when no schema does: its own type, at every depth."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return _integer(Schema(SchemaType.INT64), value)
        case float():
            return java_json.double(value)
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode("ascii")
        case list() | tuple():
            return [_payload_without_schema(element) for element in value]
        case dict() if all(isinstance(name, str) for name in value):
            return {name: _payload_without_schema(member) for name, member in value.items()}
        case dict():
            return [
                [_payload_without_schema(name), _payload_without_schema(member)]
                for name, member in value.items()
            ]
        case _:
            raise ConvertError(
                f"{type(value).__name__} without a schema has no corresponding schema type; "
                "expected null, boolean, number, text, bytes, list or map"
            )


def _json_bytes(value: object) -> bytes:
    try:
        return java_json.dumps(value)
    except TypeError as error:
        raise ConvertError(f"writing JSON: {error}") from error


def _invalid_type(schema: Schema, value: object) -> ConvertError:
    return ConvertError(f"Invalid type for {schema.type.name}: {type(value).__name__}")


_CONFIG_DEF = ConfigDef(
    [
        ConfigKey(
            "converter.type",
            ConfigType.STRING,
            "What the converter is used for (key, value or header); set by the worker.",
            Importance.LOW,
            validator=validators.one_of("key", "value", "header"),
        ),
        ConfigKey(
            "schemas.enable",
            ConfigType.BOOLEAN,
            'Write {"schema":...,"payload":...} instead of the payload alone.',
            Importance.HIGH,
            default=True,
            group="Schemas",
            order=0,
            width=Width.MEDIUM,
            display_name="Enable Schemas",
        ),
        ConfigKey(
            "schemas.cache.size",
            ConfigType.INT,
            "How many schemas are kept in their JSON form.",
            Importance.HIGH,
            default=_SCHEMAS_CACHED_MAX,
            group="Schemas",
            order=1,
            width=Width.MEDIUM,
            display_name="Schema Cache Size",
        ),
        ConfigKey(
            "schema.content",
            ConfigType.STRING,
            "The schema of messages that have none; for sinks, which read messages.",
            Importance.HIGH,
            default=None,
            group="Schemas",
            order=2,
            width=Width.MEDIUM,
            display_name="Schema Content",
        ),
        ConfigKey(
            "decimal.format",
            ConfigType.STRING,
            "BASE64 or NUMERIC: how Decimal values are written. The connectors of this product "
            "make none.",
            Importance.LOW,
            default="BASE64",
            group="Serialization",
            order=0,
            width=Width.MEDIUM,
            display_name="Decimal Format",
            validator=validators.one_of("NUMERIC", "BASE64", ignore_case=True),
        ),
        ConfigKey(
            "replace.null.with.default",
            ConfigType.BOOLEAN,
            "Write a field's default where its value is null. The connectors of this product "
            "declare no defaults.",
            Importance.LOW,
            default=True,
            group="Serialization",
            order=1,
            width=Width.MEDIUM,
            display_name="Replace null with default",
        ),
    ]
)
