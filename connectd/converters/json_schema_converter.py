"""``JsonSchemaConverter``: JSON, with its JSON Schema in a schema registry (spec E.5, E.7).

Schemas are laid out by ``json_schema_layout``, values by ``json_schema_values``. A record is the
prefix and plain JSON. What JSON Schema could say about a value and Connect's schema does not is not
checked.

Needs the ``registry`` extra. One lookup per new schema and topic blocks the calling thread, see
``registry_targets``; otherwise the same in any thread.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, ClassVar, Final, NamedTuple

from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance
from connectd.converters import (
    json_schema_reading,
    json_schema_values,
    registry_checks,
    registry_targets,
)
from connectd.converters.json_schema_layout import JsonSchemaForm
from connectd.converters.registry_converter import RegistryConverter
from connectd.converters.registry_settings import REGISTRY_DEF, flag
from connectd.converters.registry_targets import Offered, Sources, Targets
from connectd.errors import ConvertError
from connectd.kafka.schema_registry import Registered, RegistryClient, SchemaText
from connectd.model import java_json
from connectd.model.record import ConverterSpec
from connectd.model.schema import Schema, SchemaAndValue
from connectd.model.text_marks import TextForm


class _Target(NamedTuple):
    prefix: bytes
    payload: registry_checks.Write


class JsonSchemaConverter(RegistryConverter[_Target]):
    """Keys and values as JSON."""

    class_name: ClassVar[str] = "io.confluent.connect.json.JsonSchemaConverter"
    text_form: ClassVar[TextForm] = TextForm.JSON
    writing_failed: ClassVar[str] = (
        "Converting Kafka Connect data to byte[] failed due to serialization error of"
    )

    def __init__(self, spec: ConverterSpec, client: RegistryClient | None = None) -> None:
        super().__init__(spec, client)
        settings = self.settings
        self._form = JsonSchemaForm(
            has_decimals_as_numbers=spec.setting("decimal.format", "BASE64").upper() == "NUMERIC",
            allows_additional_properties=flag(spec, "object.additional.properties", default=True),
            lists_required=flag(spec, "use.optional.for.nonrequired"),
            ignores_default_for_nullables=settings.ignore_default_for_nullables,
        )
        self._targets = Targets(settings, self.registry, offer=self._offer, build=self._build)
        self._sources: Sources[json_schema_reading.Reader] = Sources(
            settings, self.registry, record=_title, build=self._source
        )

    @classmethod
    def config_def(cls) -> ConfigDef:
        """The registry's keys, and its own."""
        return _CONFIG_DEF

    def _written(self, target: _Target, value: object) -> bytes:
        return target.prefix + _json_bytes(target.payload(value))

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """The key or value of the bytes; no bytes are null without schema.

        Raises:
            ConvertError: they are no JSON of a schema that the registry has.
            RetriableError: the registry is away; the same call may succeed later.
            AccessDeniedError: the registry refuses the login.
        """
        if data is None:
            return None, None
        try:
            schema_id, body = registry_targets.split(data)
            source = self._sources.of(topic, schema_id)
            return source.schema, source.read(_parsed(body))
        except ConvertError as error:
            raise ConvertError(
                "Converting byte[] to Kafka Connect data failed due to serialization error of "
                f"topic {topic}: {error}"
            ) from error

    def _source(self, registered: Registered, version: int) -> json_schema_reading.Reader:
        return json_schema_reading.reader(
            _parsed(registered.schema.text.encode()),
            is_optional_unless_required=self._form.lists_required,
        ).versioned(version)

    def _offer(self, schema: Schema | None) -> Offered:
        name = None if schema is None else schema.name
        return Offered(SchemaText("JSON", self._form.text(schema)), name)

    def _build(self, schema: Schema | None, registered: Registered) -> _Target:
        return _Target(
            registry_targets.prefix(registered.id), json_schema_values.writer(schema, self._form)
        )


def _title(registered: Registered) -> str | None:
    found = _parsed(registered.schema.text.encode())
    return found.get("title") if isinstance(found, dict) else None


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise ConvertError(f"reading JSON: {error}") from error


def _json_bytes(value: object) -> bytes:
    try:
        return java_json.dumps(value)
    except TypeError as error:
        raise ConvertError(f"writing JSON: {error}") from error


_CONFIG_DEF: Final = REGISTRY_DEF.merged(
    ConfigDef(
        [
            ConfigKey(
                "decimal.format",
                ConfigType.STRING,
                "How Decimal values are written: BASE64, the bytes of their digits as text, or "
                "NUMERIC, a JSON number.",
                Importance.LOW,
                default="BASE64",
                validator=validators.one_of("NUMERIC", "BASE64", ignore_case=True),
            ),
            ConfigKey(
                "object.additional.properties",
                ConfigType.BOOLEAN,
                "Let the schemas of objects allow other members too. A registry with the rule "
                "BACKWARD then refuses fields that are added later; set false for it to take "
                "optional ones.",
                Importance.MEDIUM,
                default=True,
            ),
            ConfigKey(
                "use.optional.for.nonrequired",
                ConfigType.BOOLEAN,
                "List the fields of a struct that are not optional as required.",
                Importance.MEDIUM,
                default=False,
            ),
        ]
    )
)
