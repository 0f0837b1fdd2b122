"""``JsonConverter``: Connect data as the JSON that Kafka Connect's converter of that name has.

Two layouts, chosen by ``schemas.enable``: the bare payload, or ``{"schema":S,"payload":P}``. Both
are compact UTF-8 in the form of Jackson: members in schema order, nulls written, control characters
with upper-case hex, floating-point numbers in Java's notation (spec kafka-connect E.2.1, E.2.2).
No schema and no value is no bytes: a tombstone, not the text ``null`` (field case V16).

Reading is the way back, as lenient as Kafka's. With ``schema.content`` (KIP-1054) messages are bare
payloads of one known schema.

Pure and safe in any thread; the cache of schema texts is a matter of speed alone.
"""

from __future__ import annotations

from typing import ClassVar, Final

from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width
from connectd.converters.declared import CONVERTER_TYPE, ForHeaders
from connectd.errors import ConfigError, ConvertError
from connectd.model import connect_json, connect_json_reading, connect_json_text, java_json
from connectd.model.record import ConverterSpec
from connectd.model.schema import Schema, SchemaAndValue
from connectd.model.text_marks import TextForm

_SCHEMAS_CACHED_MAX = 1000
_ENVELOPE: Final = {"schema", "payload"}
_NO_JSON: Final = "Converting byte[] to Kafka Connect data failed due to serialization error: "
_NO_ENVELOPE: Final = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain '
    "additional fields. If you are trying to deserialize plain JSON data, set "
    "schemas.enable=false in your converter configuration."
)


class JsonConverter(ForHeaders):
    """Writes and reads keys and values as JSON."""

    class_name: ClassVar[str] = "org.apache.kafka.connect.json.JsonConverter"
    text_form: ClassVar[TextForm] = TextForm.JSON

    def __init__(self, spec: ConverterSpec) -> None:
        """Read the schema of ``schema.content``.

        Raises:
            ConfigError: it is none.
        """
        self.spec = spec
        self._carries_schema = _is_true(spec.setting("schemas.enable", "true"))
        replaces_nulls = _is_true(spec.setting("replace.null.with.default", "true"))
        self._reading = connect_json_reading.JsonReading(replaces_nulls)
        self._known_schema = self._schema_of_content(spec.setting("schema.content", ""))
        self._form = connect_json.JsonForm(
            replaces_nulls=replaces_nulls,
            has_decimals_as_numbers=spec.setting("decimal.format", "BASE64").upper() == "NUMERIC",
        )
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
        """Kafka's keys."""
        return _CONFIG_DEF

    def from_connect_data(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """The bytes of a key or value; None for no schema and no value.

        Raises:
            ConvertError: the value does not fit its schema, with Kafka's own words where it has
                some (spec kafka-connect E.2.3).
        """
        if schema is None and value is None:
            return None
        payload = _json_bytes(self._form.payload(schema, value))
        if not self._carries_schema:
            return payload
        return b'{"schema":' + self._schema_json(schema) + b',"payload":' + payload + b"}"

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """The key or value that the bytes stand for; no bytes are null without schema.

        Raises:
            ConvertError: they are no such JSON, with Kafka's own words (spec kafka-connect E.2.3).
        """
        if data is None:
            return None, None
        try:
            node = connect_json_text.parse(data)
        except connect_json_text.JsonTextError as error:
            raise ConvertError(_NO_JSON) from error
        if not self._carries_schema:
            return None, self._reading.value(None, node)
        if self._known_schema is not None:
            return self._known_schema, self._reading.value(self._known_schema, node)
        if not isinstance(node, dict) or node.keys() != _ENVELOPE:
            raise ConvertError(_NO_ENVELOPE)
        schema = self._reading.schema(node["schema"])
        return schema, self._reading.value(schema, node["payload"])

    def _schema_of_content(self, content: str) -> Schema | None:
        if not content:
            return None
        try:
            return self._reading.schema(connect_json_text.parse(content.encode()))
        except connect_json_text.JsonTextError as error:
            raise ConfigError(
                "Failed to parse schema in converter config due to serialization error: "
            ) from error
        except ConvertError as error:
            raise ConfigError(str(error)) from error

    def _schema_json(self, schema: Schema | None) -> bytes:
        if schema is None:
            return b"null"
        cached = self._schema_json_by_id.get(id(schema))
        if cached is not None:
            return cached[1]
        text = _json_bytes(self._form.schema(schema))
        if len(self._schema_json_by_id) >= self._cache_size:
            self._schema_json_by_id.clear()
        self._schema_json_by_id[id(schema)] = (schema, text)
        return text


def _is_true(text: str) -> bool:
    return text.strip().lower() == "true"


def _json_bytes(value: object) -> bytes:
    try:
        return java_json.dumps(value)
    except TypeError as error:
        raise ConvertError(f"writing JSON: {error}") from error


_CONFIG_DEF = ConfigDef(
    [
        CONVERTER_TYPE,
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
            "The schema of all messages that are read, which then are payloads alone.",
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
            "How Decimal values are written: BASE64, the bytes of their digits as text, or "
            "NUMERIC, a JSON number.",
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
            "Write a field's default where its value is null.",
            Importance.LOW,
            default=True,
            group="Serialization",
            order=1,
            width=Width.MEDIUM,
            display_name="Replace null with default",
        ),
    ]
)
