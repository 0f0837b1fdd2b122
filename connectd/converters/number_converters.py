"""Numbers and booleans as big-endian bytes, one converter for each type (spec kafka-connect E.3).

Each takes values of its own type alone: an INT32 is no long. A value without schema is INT64 or
FLOAT64, as everywhere.
"""

from __future__ import annotations

import struct
from typing import ClassVar, Final

from connectd.configdef.definition import ConfigDef
from connectd.converters.declared import TYPE_ALONE, ForHeaders
from connectd.errors import ConvertError
from connectd.model import java_types, logical
from connectd.model.record import ConverterSpec
from connectd.model.schema import Schema, SchemaAndValue, SchemaType

_PACKAGE: Final = "org.apache.kafka.connect.converters."
_OPTIONAL_BOOLEAN: Final = Schema(SchemaType.BOOLEAN, optional=True)
_TYPE_WITHOUT_SCHEMA: Final[dict[type, SchemaType]] = {
    int: SchemaType.INT64,
    float: SchemaType.FLOAT64,
}


class _NumberConverter(ForHeaders):
    """What the number converters do; each says for which type, and how it is laid out."""

    number: ClassVar[str]
    type: ClassVar[SchemaType]
    layout: ClassVar[struct.Struct]

    def __init__(self, spec: ConverterSpec) -> None:
        self.spec = spec

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Kafka's key."""
        return TYPE_ALONE

    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """See ``spi.Converter``."""
        if value is None:
            return None
        if self._type_of(schema, value) is not self.type:
            raise self._refused(schema, value)
        try:
            return self.layout.pack(value)
        except (struct.error, OverflowError) as error:
            raise self._refused(schema, value) from error

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """See ``spi.Converter``."""
        schema = Schema(self.type, optional=True)
        if data is None:
            return schema, None
        if len(data) != self.layout.size:
            raise ConvertError(f"Failed to deserialize {self.number}: ")
        (value,) = self.layout.unpack(data)
        return schema, value

    def _type_of(self, schema: Schema | None, value: object) -> SchemaType | None:
        found = _TYPE_WITHOUT_SCHEMA.get(type(value))
        if schema is None or found is None or logical.is_logical(schema):
            return found
        return schema.type

    def _refused(self, schema: Schema | None, value: object) -> ConvertError:
        found = java_types.class_name(value, schema)
        return ConvertError(f"Failed to serialize to {self.number} (was class {found}): ")


class ShortConverter(_NumberConverter):
    """INT16 in two bytes."""

    class_name: ClassVar[str] = f"{_PACKAGE}ShortConverter"
    number, type, layout = "short", SchemaType.INT16, struct.Struct(">h")


class IntegerConverter(_NumberConverter):
    """INT32 in four bytes."""

    class_name: ClassVar[str] = f"{_PACKAGE}IntegerConverter"
    number, type, layout = "integer", SchemaType.INT32, struct.Struct(">i")


class LongConverter(_NumberConverter):
    """INT64 in eight bytes."""

    class_name: ClassVar[str] = f"{_PACKAGE}LongConverter"
    number, type, layout = "long", SchemaType.INT64, struct.Struct(">q")


class FloatConverter(_NumberConverter):
    """FLOAT32 in four bytes."""

    class_name: ClassVar[str] = f"{_PACKAGE}FloatConverter"
    number, type, layout = "float", SchemaType.FLOAT32, struct.Struct(">f")


class DoubleConverter(_NumberConverter):
    """FLOAT64 in eight bytes."""

    class_name: ClassVar[str] = f"{_PACKAGE}DoubleConverter"
    number, type, layout = "double", SchemaType.FLOAT64, struct.Struct(">d")


class BooleanConverter(ForHeaders):
    """BOOLEAN in one byte."""

    class_name: ClassVar[str] = f"{_PACKAGE}BooleanConverter"

    def __init__(self, spec: ConverterSpec) -> None:
        self.spec = spec

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Kafka's key."""
        return TYPE_ALONE

    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """See ``spi.Converter``."""
        if schema is not None and schema.type is not SchemaType.BOOLEAN:
            raise ConvertError(f"Invalid schema type for BooleanConverter: {schema.type.name}")
        if value is None:
            return None
        if not isinstance(value, bool):
            raise ConvertError(
                "BooleanConverter is not compatible with objects of type class "
                f"{java_types.class_name(value, schema)}"
            )
        return b"\x01" if value else b"\x00"

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """See ``spi.Converter``."""
        if data is None:
            return _OPTIONAL_BOOLEAN, None
        if data not in (b"\x00", b"\x01"):
            raise ConvertError("Failed to deserialize boolean: ")
        return _OPTIONAL_BOOLEAN, data == b"\x01"
