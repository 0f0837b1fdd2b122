"""``ByteArrayConverter``: bytes as they are (spec kafka-connect E.3)."""

from __future__ import annotations

from typing import ClassVar, Final

from connectd.configdef.definition import ConfigDef
from connectd.converters.declared import TYPE_ALONE, ForHeaders
from connectd.errors import ConvertError
from connectd.model import java_types
from connectd.model.record import ConverterSpec
from connectd.model.schema import Schema, SchemaAndValue, SchemaType

_OPTIONAL_BYTES: Final = Schema(SchemaType.BYTES, optional=True)


class ByteArrayConverter(ForHeaders):
    """Writes and reads bytes, and nothing else."""

    class_name: ClassVar[str] = "org.apache.kafka.connect.converters.ByteArrayConverter"

    def __init__(self, spec: ConverterSpec) -> None:
        self.spec = spec

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Kafka's key."""
        return TYPE_ALONE

    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """See ``spi.Converter``."""
        if schema is not None and schema.type is not SchemaType.BYTES:
            raise ConvertError(f"Invalid schema type for ByteArrayConverter: {schema.type.name}")
        if value is None or isinstance(value, bytes):
            return value
        if isinstance(value, bytearray | memoryview):
            return bytes(value)
        raise ConvertError(
            "ByteArrayConverter is not compatible with objects of type class "
            f"{java_types.class_name(value, schema)}"
        )

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """See ``spi.Converter``."""
        return _OPTIONAL_BYTES, data
