"""``AvroConverter``: Connect data as Avro, with the ids of a schema registry (spec E.5, E.6).

Schemas are laid out by ``avro_schemas``, values by ``avro_values``; the bytes are fastavro's. A
record is the prefix and one datum; a schema of plain bytes has them without a length, as in Java.

Needs the ``registry`` extra. One lookup per new schema and topic blocks the calling thread, see
``registry_targets``; otherwise the same in any thread.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.schema import SchemaParseException
from fastavro.types import Schema as ParsedSchema

from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance
from connectd.converters import (
    avro_reading,
    avro_references,
    avro_schemas,
    avro_values,
    registry_targets,
)
from connectd.converters.avro_schemas import AvroForm
from connectd.converters.registry_converter import RegistryConverter
from connectd.converters.registry_settings import REGISTRY_DEF, flag
from connectd.converters.registry_targets import Offered, Sources, Targets
from connectd.errors import ConvertError
from connectd.kafka.schema_registry import Registered, RegistryClient, SchemaText
from connectd.model.record import ConverterSpec
from connectd.model.schema import Schema, SchemaAndValue, SchemaType
from connectd.model.text_marks import TextForm


class _Target(NamedTuple):
    prefix: bytes
    parsed: ParsedSchema
    datum: Callable[[Any], Any]
    is_raw: bool


class _Source(NamedTuple):
    parsed: ParsedSchema
    reader: avro_reading.Reader
    is_raw: bool


class AvroConverter(RegistryConverter[_Target]):
    """Keys and values as Avro."""

    class_name: ClassVar[str] = "io.confluent.connect.avro.AvroConverter"
    text_form: ClassVar[TextForm] = TextForm.COUNTED
    writing_failed: ClassVar[str] = "Failed to serialize Avro data from"

    def __init__(self, spec: ConverterSpec, client: RegistryClient | None = None) -> None:
        super().__init__(spec, client)
        settings = self.settings
        self._form = AvroForm(
            has_meta_data=flag(spec, "connect.meta.data", default=True),
            is_enhanced=flag(spec, "enhanced.avro.schema.support"),
            scrubs_names=flag(spec, "scrub.invalid.names"),
            allows_optional_map_keys=flag(spec, "allow.optional.map.keys"),
            drops_docs_and_defaults=flag(spec, "discard.type.doc.default"),
            ignores_default_for_nullables=settings.ignore_default_for_nullables,
        )
        self._targets = Targets(settings, self.registry, offer=self._offer, build=self._build)
        self._sources: Sources[_Source] = Sources(
            settings, self.registry, record=self._name_of, build=self._source
        )

    @classmethod
    def config_def(cls) -> ConfigDef:
        """The registry's keys, and its own."""
        return _CONFIG_DEF

    def _written(self, target: _Target, value: object) -> bytes:
        datum = target.datum(value)
        body: bytes = datum if target.is_raw else _written(target.parsed, datum)
        return target.prefix + body

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """The key or value of the bytes; no bytes are null without schema.

        Raises:
            ConvertError: they are no Avro of a schema that the registry has.
            RetriableError: the registry is away; the same call may succeed later.
            AccessDeniedError: the registry refuses the login.
        """
        if data is None:
            return None, None
        try:
            schema_id, body = registry_targets.split(data)
            source = self._sources.of(topic, schema_id)
            datum = body if source.is_raw else _read(source.parsed, body)
            return source.reader.schema, source.reader.read(datum)
        except ConvertError as error:
            raise ConvertError(
                f"Failed to deserialize data for topic {topic} to Avro: {error}"
            ) from error

    def _source(self, registered: Registered, version: int) -> _Source:
        text = self._whole(registered)
        parsed = _parsed(text)
        reader = avro_reading.reader(json.loads(text))
        return _Source(parsed, reader.versioned(version), _is_bytes(parsed))

    def _name_of(self, registered: Registered) -> str | None:
        found = _parsed(self._whole(registered))
        return str(found["name"]) if isinstance(found, dict) and "name" in found else None

    def _whole(self, registered: Registered) -> str:
        others = self.registry.referenced(registered.schema)
        return avro_references.whole(registered.schema.text, [each.text for each in others])

    def _offer(self, schema: Schema | None) -> Offered:
        text = SchemaText("AVRO", self._form.text(schema))
        return Offered(text, self._record_name(schema))

    def _record_name(self, schema: Schema | None) -> str | None:
        if schema is None:
            return avro_schemas.ANYTHING
        if schema.type is not SchemaType.STRUCT or avro_schemas.is_union(schema):
            return None
        return self._form.full_name(schema.name or f"{avro_schemas.NAMESPACE}.ConnectDefault")

    def _build(self, schema: Schema | None, registered: Registered) -> _Target:
        parsed = _parsed(self._whole(registered))
        return _Target(
            registry_targets.prefix(registered.id),
            parsed,
            avro_values.writer(schema, self._form),
            is_raw=_is_bytes(parsed),
        )


def _is_bytes(parsed: ParsedSchema) -> bool:
    return parsed == "bytes" or (isinstance(parsed, dict) and parsed["type"] == "bytes")


def _parsed(text: str) -> ParsedSchema:
    try:
        return parse_schema(json.loads(text, object_hook=_as_stored))
    except (SchemaParseException, ValueError, KeyError) as error:
        raise ConvertError(f"the schema is no legal Avro: {error}") from error


def _as_stored(member: dict[str, Any]) -> dict[str, Any]:
    """Without what gives values a richer type: ours come in their stored one."""
    member.pop("logicalType", None)
    return member


def _written(parsed: ParsedSchema, datum: Any) -> bytes:
    written = io.BytesIO()
    try:
        schemaless_writer(written, parsed, datum)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise ConvertError(
            f"the value does not fit the schema that the registry has: {error}"
        ) from error
    return written.getvalue()


def _read(parsed: ParsedSchema, body: bytes) -> Any:
    found = io.BytesIO(body)
    try:
        return schemaless_reader(
            found, parsed, None, return_named_type=True, return_named_type_override=True
        )
    except (EOFError, ValueError, TypeError, IndexError, KeyError) as error:
        raise ConvertError(f"the data are not of the schema that they name: {error}") from error


def _flag_key(name: str, doc: str, *, default: bool = False) -> ConfigKey:
    return ConfigKey(name, ConfigType.BOOLEAN, doc, Importance.LOW, default=default)


_CONFIG_DEF: Final = REGISTRY_DEF.merged(
    ConfigDef(
        [
            _flag_key(
                "enhanced.avro.schema.support",
                "Write texts with the parameters of an Avro enum as such.",
            ),
            _flag_key(
                "connect.meta.data",
                "Write into Avro schemas what Avro itself does not know of Connect's.",
                default=True,
            ),
            _flag_key(
                "scrub.invalid.names",
                "Replace what Avro does not allow in names, and do not fail.",
            ),
            _flag_key(
                "discard.type.doc.default",
                "Leave out documentation and defaults of Avro types and fields.",
            ),
            _flag_key(
                "allow.optional.map.keys", "Write maps whose keys may be null as Avro maps too."
            ),
        ]
    )
)
