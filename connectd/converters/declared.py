"""What converters of primitive values share: Kafka's one key, and their use for headers."""

from __future__ import annotations

from typing import Final, Protocol

from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance
from connectd.model.schema import Schema, SchemaAndValue

CONVERTER_TYPE: Final = ConfigKey(
    "converter.type",
    ConfigType.STRING,
    "What the converter is used for (key, value or header); set by the worker.",
    Importance.LOW,
    validator=validators.one_of("key", "value", "header"),
)

TYPE_ALONE: Final = ConfigDef([CONVERTER_TYPE])


class _OfData(Protocol):
    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """See ``spi.Converter``."""
        ...

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """See ``spi.Converter``."""
        ...


class ForHeaders:
    """Makes a converter a header converter too: a header's value becomes what any value does."""

    def from_connect_header(
        self: _OfData, topic: str, name: str, schema: Schema | None, value: object
    ) -> bytes | None:
        """See ``spi.HeaderConverter``."""
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(
        self: _OfData, topic: str, name: str, data: bytes | None
    ) -> SchemaAndValue:
        """See ``spi.HeaderConverter``."""
        return self.to_connect_data(topic, data)
