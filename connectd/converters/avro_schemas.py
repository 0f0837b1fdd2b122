"""Connect schemas as Avro schemas, as the Java AvroConverter lays them out (spec E.6.1).

The layout matters to the byte, since a registry compares texts: members and properties stand in the
order in which Avro's own library writes them, a named type is written out where it first occurs
and is a name afterwards, and a namespace is left out where it is that of the type around. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from connectd.converters import avro_defaults
from connectd.converters import registry_checks as checking
from connectd.errors import ConvertError
from connectd.model import java_json, logical
from connectd.model.schema import Field, Schema, SchemaType

NAMESPACE: Final = "io.confluent.connect.avro"
UNION: Final = f"{NAMESPACE}.Union"
ENUM: Final = f"{NAMESPACE}.Enum"
ENUM_DOC: Final = f"{NAMESPACE}.enum.doc"
RECORD_DOC: Final = f"{NAMESPACE}.record.doc"
FIELD_DOC: Final = f"{NAMESPACE}.field.doc."
MAP_ENTRY: Final = "MapEntry"
ANYTHING: Final = f"{NAMESPACE}.Anything"
_FIXED_SIZE: Final = "connect.fixed.size"
_PRECISION: Final = "connect.decimal.precision"
_PRECISION_DEFAULT: Final = 64
_UNNAMED: Final = "ConnectDefault"

PRIMITIVES: Final[Mapping[SchemaType, str]] = {
    SchemaType.INT8: "int",
    SchemaType.INT16: "int",
    SchemaType.INT32: "int",
    SchemaType.INT64: "long",
    SchemaType.FLOAT32: "float",
    SchemaType.FLOAT64: "double",
    SchemaType.BOOLEAN: "boolean",
    SchemaType.STRING: "string",
    SchemaType.BYTES: "bytes",
}
_CONNECT_TYPES: Final = {SchemaType.INT8: "int8", SchemaType.INT16: "int16"}
_LOGICAL: Final = {
    logical.DATE: "date",
    logical.TIME: "time-millis",
    logical.TIMESTAMP: "timestamp-millis",
}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

AvroSchema = Any
"""An Avro schema as JSON has it: a name, a list for a union, or an object."""

ANYTHING_BRANCHES: Final = ("boolean", "bytes", "double", "float", "int", "long", "string")


@dataclass(frozen=True)
class AvroForm:
    """What settings change about Avro schemas."""

    has_meta_data: bool = True
    is_enhanced: bool = False
    scrubs_names: bool = False
    allows_optional_map_keys: bool = False
    drops_docs_and_defaults: bool = False
    ignores_default_for_nullables: bool = False

    def schema(self, schema: Schema | None) -> AvroSchema:
        """The Avro schema; data without schema has a record with a field for every type.

        Raises:
            ConvertError: Avro has no name like one of these, or a name stands for two types.
        """
        return _Translation(self).of(schema)

    def text(self, schema: Schema | None) -> str:
        """The same as text, as registered."""
        return java_json.dumps_text(self.schema(schema)).decode()

    def full_name(self, name: str) -> str:
        """The name of a type as it is in Avro.

        Raises:
            ConvertError: it is none, and names are not scrubbed.
        """
        return ".".join(self.simple_name(part) for part in name.split("."))

    def simple_name(self, name: str) -> str:
        """The name of a field, or a part of the name of a type; see ``full_name``."""
        if self.scrubs_names:
            return checking.scrubbed(name)
        if not _NAME.fullmatch(name):
            raise ConvertError(
                f"Avro has no name like {name!r}: letters, digits and _ are allowed, and no digit "
                "at the beginning; rename it with a transform (ReplaceField, SetSchemaMetadata), "
                "or set scrub.invalid.names=true on the converter"
            )
        return name

    def is_string_map(self, schema: Schema) -> bool:
        """Whether a map is one of Avro's, whose keys are texts."""
        key = schema.key_schema
        return (
            key is not None
            and key.type is SchemaType.STRING
            and (not key.optional or self.allows_optional_map_keys)
        )

    def is_enum(self, schema: Schema) -> bool:
        """Whether texts of the schema are symbols."""
        return self.is_enhanced and schema.parameter(ENUM) is not None

    def is_fixed(self, schema: Schema) -> bool:
        """Whether all bytes of the schema have one length."""
        return schema.type is SchemaType.BYTES and schema.parameter(_FIXED_SIZE) is not None


@dataclass
class _Translation:
    """Of one schema, with all that is inside of it: the names given so far."""

    form: AvroForm
    seen: dict[str, Schema | None] = field(default_factory=dict)
    unnamed: int = 0

    def of(self, schema: Schema | None, space: str | None = None) -> AvroSchema:
        """A schema inside of a type with that namespace."""
        if schema is None:
            return self._anything(space)
        if is_union(schema):
            return self._union(schema, space)
        base = self._base(schema, space)
        if not schema.optional:
            return base
        has_default = schema.default is not None and schema.type is not SchemaType.STRUCT
        return [base, "null"] if has_default else ["null", base]

    def _union(self, schema: Schema, space: str | None) -> AvroSchema:
        branches = [self._base(each.schema, space) for each in schema.fields]
        return ["null", *branches] if schema.optional else branches

    def _base(self, schema: Schema, space: str | None) -> AvroSchema:
        """Without regard to whether it is optional."""
        match schema.type:
            case SchemaType.ARRAY:
                return self._finished(
                    schema, {"type": "array", "items": self.of(schema.value_schema, space)}
                )
            case SchemaType.MAP if self.form.is_string_map(schema):
                values = self.of(schema.value_schema, space)
                return self._finished(schema, {"type": "map", "values": values})
            case SchemaType.MAP:
                return self._finished(
                    schema, {"type": "array", "items": self._entries(schema, space)}
                )
            case SchemaType.STRUCT:
                return self._record(schema, space)
            case SchemaType.STRING if self.form.is_enum(schema):
                return self._enum(schema, space)
            case SchemaType.BYTES if self.form.is_fixed(schema):
                return self._fixed(schema, space)
        return self._primitive(schema)

    def _primitive(self, schema: Schema) -> AvroSchema:
        name = PRIMITIVES[schema.type]
        found: dict[str, Any] = {"type": name}
        if schema.name == logical.DECIMAL:
            found["scale"] = logical.scale_of(schema)
            found["precision"] = _precision(schema)
        finished = self._finished(schema, found)
        return name if len(finished) == 1 else finished

    def _record(self, schema: Schema, space: str | None) -> AvroSchema:
        if schema.name is None:
            self.unnamed += 1
            name = f"{NAMESPACE}.{_UNNAMED}{self.unnamed if self.unnamed > 1 else ''}"
        else:
            name = self.form.full_name(schema.name)
        own_space = name.rpartition(".")[0]
        head = self._named("record", name, space)
        doc = schema.parameter(RECORD_DOC)
        if doc is not None and not self.form.drops_docs_and_defaults:
            head["doc"] = doc
        head["fields"] = [self._field(schema, each, own_space) for each in schema.fields]
        return self._once(name, _required(schema), self._finished(schema, head), space)

    def _field(self, record: Schema, member: Field, space: str) -> AvroSchema:
        found: dict[str, Any] = {
            "name": self.form.simple_name(member.name),
            "type": self.of(member.schema, space),
        }
        if self.form.drops_docs_and_defaults:
            return found
        doc = record.parameter(f"{FIELD_DOC}{member.name}")
        if doc is not None:
            found["doc"] = doc
        schema = member.schema
        if schema.default is not None and not self._ignores_default(schema):
            if not (schema.optional and (schema.type is SchemaType.STRUCT or is_union(schema))):
                found["default"] = avro_defaults.of(schema, schema.default, self.form)
        elif schema.optional:
            found["default"] = None
        return found

    def _entries(self, schema: Schema, space: str | None) -> AvroSchema:
        """The record of a key and its value, for maps whose keys are no texts."""
        name = f"{NAMESPACE}.{MAP_ENTRY}"
        if schema.name is not None:
            name = self.form.full_name(schema.name)
        own_space = name.rpartition(".")[0]
        head = self._named("record", name, space)
        pair = Schema(
            SchemaType.STRUCT,
            fields=(
                Field("key", schema.key_schema or Schema(SchemaType.STRING)),
                Field("value", schema.value_schema or Schema(SchemaType.STRING)),
            ),
        )
        head["fields"] = [self._field(pair, each, own_space) for each in pair.fields]
        if schema.name is not None:
            head["connect.internal.type"] = MAP_ENTRY
        return self._once(name, pair, head, space)

    def _enum(self, schema: Schema, space: str | None) -> AvroSchema:
        name = self.form.full_name(schema.parameter(ENUM) or "")
        head = self._named("enum", name, space)
        doc = schema.parameter(ENUM_DOC)
        if doc is not None:
            head["doc"] = doc
        begin = f"{ENUM}."
        head["symbols"] = [
            key.removeprefix(begin) for key, _ in schema.parameters if key.startswith(begin)
        ]
        return self._once(name, _required(schema), self._finished(schema, head), space)

    def _fixed(self, schema: Schema, space: str | None) -> AvroSchema:
        name = self.form.full_name(schema.name or f"{NAMESPACE}.Fixed")
        head = self._named("fixed", name, space)
        head["size"] = int(schema.parameter(_FIXED_SIZE) or 0)
        return self._once(name, _required(schema), self._finished(schema, head), space)

    def _anything(self, space: str | None) -> AvroSchema:
        head = self._named("record", ANYTHING, space)
        fields: list[dict[str, Any]] = [
            {"name": each, "type": ["null", each], "default": None} for each in ANYTHING_BRANCHES
        ]
        inner = "Anything"
        array = {"type": "array", "items": inner}
        entry: dict[str, Any] = {"type": "record", "name": MAP_ENTRY}
        entry["fields"] = [
            {"name": name, "type": ["null", inner], "default": None} for name in ("key", "value")
        ]
        pairs = {"type": "array", "items": entry}
        fields.append({"name": "array", "type": ["null", array], "default": None})
        fields.append({"name": "map", "type": ["null", pairs], "default": None})
        head["fields"] = fields
        return self._once(ANYTHING, None, head, space)

    def _named(self, kind: str, name: str, space: str | None) -> dict[str, Any]:
        own_space, _, simple = name.rpartition(".")
        head: dict[str, Any] = {"type": kind, "name": simple}
        if own_space and own_space != space:
            head["namespace"] = own_space
        return head

    def _once(
        self, name: str, source: Schema | None, found: dict[str, Any], space: str | None
    ) -> AvroSchema:
        """The type, or its name where it has been written out before."""
        if name not in self.seen:
            self.seen[name] = source
            return found
        if self.seen[name] != source:
            raise ConvertError(
                f"Can't redefine: {name}: the schema has two types of that name; rename one with "
                "a transform (SetSchemaMetadata)"
            )
        own_space, _, simple = name.rpartition(".")
        return simple if own_space == space else name

    def _finished(self, schema: Schema, found: dict[str, Any]) -> dict[str, Any]:
        """With what Avro itself does not know of the schema."""
        if self.form.has_meta_data:
            self._add_meta_data(schema, found)
        if schema.name == logical.DECIMAL:
            found["logicalType"] = "decimal"
        elif schema.name in _LOGICAL:
            found["logicalType"] = _LOGICAL[schema.name]
        properties = {key: text for key, text in schema.parameters if key.startswith("avro.")}
        return found | properties

    def _add_meta_data(self, schema: Schema, found: dict[str, Any]) -> None:
        if schema.doc is not None:
            found["connect.doc"] = schema.doc
        if schema.version is not None:
            found["connect.version"] = schema.version
        if schema.parameters:
            found["connect.parameters"] = dict(schema.parameters)
        if schema.default is not None and not self._ignores_default(schema):
            found["connect.default"] = avro_defaults.of(schema, schema.default, self.form)
        if schema.name is not None:
            found["connect.name"] = schema.name
        if schema.type in _CONNECT_TYPES:
            found["connect.type"] = _CONNECT_TYPES[schema.type]

    def _ignores_default(self, schema: Schema) -> bool:
        return self.form.ignores_default_for_nullables and schema.optional


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for one of several types."""
    return schema.type is SchemaType.STRUCT and schema.name == UNION


def _required(schema: Schema) -> Schema:
    return replace(schema, optional=False) if schema.optional else schema


def _precision(schema: Schema) -> int:
    text = schema.parameter(_PRECISION)
    try:
        return _PRECISION_DEFAULT if text is None else int(text)
    except ValueError:
        raise ConvertError(f"{_PRECISION} is {text}, expected a number") from None
