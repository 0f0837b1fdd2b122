"""``ProtobufConverter``: Connect structs as Protobuf messages (spec kafka-connect E.5, E.8).

Messages are laid out by ``protobuf_layout``, values by ``protobuf_values``. A record is the prefix,
the place of the message in its file, and the message. With ``use.latest.version`` a record is
written with the numbers of its own schema, as the Java converter does: the check that the latest
version is compatible is what makes them the same.

The way back begins with the text that the registry has for the id: ``protobuf_grammar`` reads it,
or ``protobuf_descriptor`` where it is none; ``protobuf_types`` finds its types, and
``protobuf_reading`` makes schemas and values.

Needs the ``registry`` extra. One lookup per new schema and topic blocks the calling thread, see
``registry_targets``; otherwise the same in any thread.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final, NamedTuple

from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance
from connectd.converters import (
    protobuf_layout,
    protobuf_reading,
    protobuf_text,
    protobuf_types,
    protobuf_values,
    protobuf_wire,
    registry_targets,
)
from connectd.converters.protobuf_layout import ProtobufForm
from connectd.converters.registry_converter import RegistryConverter
from connectd.converters.registry_settings import REGISTRY_DEF, flag
from connectd.converters.registry_targets import Offered, Sources, Targets
from connectd.errors import ConvertError
from connectd.kafka.schema_registry import Registered, RegistryClient, SchemaText
from connectd.model.record import ConverterSpec
from connectd.model.schema import Schema, SchemaAndValue

_FIRST_MESSAGE: Final = b"\x00"
"""Short for a list of one index, which is 0."""

_PLACES_MAX: Final = 100
"""Messages of one file that are told apart by their place, and messages inside of one another."""


_Place = tuple[int, ...]


class _Target(NamedTuple):
    prefix: bytes
    message: protobuf_values.Encode


class ProtobufConverter(RegistryConverter[_Target]):
    """Keys and values as Protobuf.

    Not read, and refused by name: proto2 and editions, groups, and messages that are inside of
    themselves. Of the Java converter's settings ``int.for.enums``, ``flatten.unions``,
    ``generate.struct.for.nulls`` and ``generalized.sum.type.support`` are not supported.
    """

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
            reads_packages=flag(spec, "enhanced.protobuf.schema.support"),
            numbers_unions=flag(spec, "generate.index.for.unions", default=True),
            unwraps_root=flag(spec, "wrapper.for.raw.primitives", default=True),
        )
        self._targets = Targets(settings, self.registry, offer=self._offer, build=self._build)
        # A subject may be named for the message: what is known of a schema differs by its place.
        self._sources: dict[_Place, Sources[protobuf_reading.Reader]] = {}

    @classmethod
    def config_def(cls) -> ConfigDef:
        """The registry's keys, and its own."""
        return _CONFIG_DEF

    def _written(self, target: _Target, value: object) -> bytes:
        return target.prefix + target.message(value)

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """The key or value of the bytes; no bytes are null without schema.

        Raises:
            ConvertError: they are no message of a schema that the registry has.
            RetriableError: the registry is away; the same call may succeed later.
            AccessDeniedError: the registry refuses the login.
        """
        if data is None:
            return None, None
        try:
            schema_id, body = registry_targets.split(data)
            place, message = _split_place(body)
            source = self._sources_at(place).of(topic, schema_id)
            return source.schema, source.read(message)
        except ConvertError as error:
            raise ConvertError(
                f"Failed to deserialize data for topic {topic} to Protobuf: {error}"
            ) from error

    def _sources_at(self, place: _Place) -> Sources[protobuf_reading.Reader]:
        known = self._sources.get(place)
        if known is None:
            if len(self._sources) >= _PLACES_MAX:
                self._sources.clear()
            known = self._sources[place] = Sources(
                self.settings,
                self.registry,
                record=partial(self._record_name, place),
                build=partial(self._source, place),
            )
        return known

    def _source(
        self, place: _Place, registered: Registered, version: int
    ) -> protobuf_reading.Reader:
        types = self._types(registered)
        return protobuf_reading.reader(types, types.at(place), self._form, version)

    def _record_name(self, place: _Place, registered: Registered) -> str:
        return self._types(registered).at(place).full_name

    def _types(self, registered: Registered) -> protobuf_types.Types:
        found = registered.schema
        if found.format != "PROTOBUF":
            raise ConvertError(f"schema {registered.id} is {found.format}, and not Protobuf")
        others = self.registry.referenced(found)
        return protobuf_types.types(found.text, [each.text for each in others])

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


def _split_place(body: bytes) -> tuple[_Place, bytes]:
    """Where the message stands in its file, and the message."""
    count, at = protobuf_wire.read_zigzag(body)
    if not 0 <= count <= _PLACES_MAX:
        raise ConvertError(f"the record names a message by {count} positions")
    place = []
    for _ in range(count):
        position, at = protobuf_wire.read_zigzag(body, at)
        place.append(position)
    return tuple(place) or (0,), body[at:]


def _known(schema: Schema | None) -> Schema:
    if schema is None:
        raise ConvertError(
            "Protobuf needs to know what a message has in it, and this data has no schema; use "
            "another converter for it"
        )
    return schema


def _flag_key(name: str, doc: str, *, default: bool = False) -> ConfigKey:
    return ConfigKey(name, ConfigType.BOOLEAN, doc, Importance.LOW, default=default)


_CONFIG_DEF: Final = REGISTRY_DEF.merged(
    ConfigDef(
        [
            _flag_key(
                "scrub.invalid.names",
                "Replace what Protobuf does not allow in names, and do not fail.",
            ),
            _flag_key(
                "optional.for.nullables",
                "Mark fields that may be null as optional, so that null and zero are told apart; "
                "fields without the mark are read as required.",
            ),
            _flag_key(
                "wrapper.for.nullables",
                "Write fields that may be null as messages, so that null and zero are told apart; "
                "other fields are read as required.",
            ),
            _flag_key(
                "wrapper.for.raw.primitives",
                "Read a record that is a message of one value as that value.",
                default=True,
            ),
            _flag_key(
                "enhanced.protobuf.schema.support",
                "Name what is read with its package, and with the messages that it is in.",
            ),
            _flag_key(
                "generate.index.for.unions",
                "Name the field for a choice that is read with its position: choice_0.",
                default=True,
            ),
        ]
    )
)
