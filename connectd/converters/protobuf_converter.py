"""``ProtobufConverter``: Connect structs as Protobuf messages (spec kafka-connect E.5, E.8).

Messages are laid out by ``protobuf_layout``, values by ``protobuf_values``. A record is the prefix,
the place of the message in its file, and the message. With ``use.latest.version`` a record is
written with the numbers of its own schema, as the Java converter does: the check that the latest
version is compatible is what makes them the same. It writes, and does not read.

Needs the ``registry`` extra. One lookup per new schema and topic blocks the calling thread, see
``registry_targets``; otherwise the same in any thread.
"""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple

from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance
from connectd.converters import (
    protobuf_layout,
    protobuf_text,
    protobuf_values,
    protobuf_wire,
    registry_targets,
)
from connectd.converters.protobuf_layout import ProtobufForm
from connectd.converters.registry_converter import RegistryConverter
from connectd.converters.registry_settings import REGISTRY_DEF, flag
from connectd.converters.registry_targets import Offered, Targets
from connectd.errors import ConvertError
from connectd.kafka.schema_registry import Registered, RegistryClient, SchemaText
from connectd.model.record import ConverterSpec
from connectd.model.schema import Schema, SchemaAndValue

_FIRST_MESSAGE: Final = b"\x00"
"""Short for a list of one index, which is 0."""


class _Target(NamedTuple):
    prefix: bytes
    message: protobuf_values.Encode


class ProtobufConverter(RegistryConverter[_Target]):
    """Writes keys and values as Protobuf."""

    class_name: ClassVar[str] = "io.confluent.connect.protobuf.ProtobufConverter"
    writing_failed: ClassVar[str] = "Failed to serialize Protobuf data from"

    def __init__(self, spec: ConverterSpec, client: RegistryClient | None = None) -> None:
        super().__init__(spec, client)
        settings = self.settings
        self._form = ProtobufForm(
            scrubs_names=flag(spec, "scrub.invalid.names"),
            marks_optional=flag(spec, "optional.for.nullables"),
            wraps_nullables=flag(spec, "wrapper.for.nullables"),
            ignores_default_for_nullables=settings.ignore_default_for_nullables,
        )
        self._targets = Targets(settings, self.registry, offer=self._offer, build=self._build)

    @classmethod
    def config_def(cls) -> ConfigDef:
        """The registry's keys, and its own."""
        return _CONFIG_DEF

    def _written(self, target: _Target, value: object) -> bytes:
        return target.prefix + target.message(value)

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """Null of no bytes; messages are not read: no plugin of this worker reads records.

        Raises:
            ConvertError: there are bytes.
        """
        if data is None:
            return None, None
        raise ConvertError(
            f"Failed to deserialize data for topic {topic} to Protobuf: this converter writes "
            "messages and does not read them; use AvroConverter or JsonSchemaConverter to read"
        )

    def _offer(self, schema: Schema | None) -> Offered:
        known = _known(schema)
        text = protobuf_text.of(protobuf_layout.file_of(known, self._form))
        return Offered(SchemaText("PROTOBUF", text), protobuf_layout.record_name(known, self._form))

    def _build(self, schema: Schema | None, registered: Registered) -> _Target:
        known = _known(schema)
        index = protobuf_layout.wrapper_index(known) if protobuf_layout.is_scalar(known) else 0
        place = protobuf_wire.zigzag(1) + protobuf_wire.zigzag(index) if index else _FIRST_MESSAGE
        return _Target(
            registry_targets.prefix(registered.id) + place,
            protobuf_values.message(known, self._form),
        )


def _known(schema: Schema | None) -> Schema:
    if schema is None:
        raise ConvertError(
            "Protobuf needs to know what a message has in it, and this data has no schema; use "
            "another converter for it"
        )
    return schema


def _flag_key(name: str, doc: str) -> ConfigKey:
    return ConfigKey(name, ConfigType.BOOLEAN, doc, Importance.LOW, default=False)


_CONFIG_DEF: Final = REGISTRY_DEF.merged(
    ConfigDef(
        [
            _flag_key(
                "scrub.invalid.names",
                "Replace what Protobuf does not allow in names, and do not fail.",
            ),
            _flag_key(
                "optional.for.nullables",
                "Mark fields that may be null as optional, so that null and zero are told apart.",
            ),
            _flag_key(
                "wrapper.for.nullables",
                "Write fields that may be null as messages, so that null and zero are told apart.",
            ),
        ]
    )
)
