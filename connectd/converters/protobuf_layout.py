"""Connect schemas as Protobuf messages (proto3), as spec kafka-connect E.8 describes them. Pure.

Fields are numbered in their order, but for those that say their number themselves. A struct inside
of a struct is a message inside of its message; one that stands there twice is written once. A
message and a field of the same message cannot have one name in Protobuf, as ``source`` has in the
envelope of DynamoDB records: there the message begins with a capital (``Source``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from connectd.converters import protobuf_file
from connectd.converters import registry_checks as checking
from connectd.converters.protobuf_file import (
    WRAPPERS,
    WRAPPERS_FILE,
    WRAPPERS_PACKAGE,
    ProtoField,
    ProtoFile,
    ProtoMessage,
)
from connectd.converters.protobuf_wire import NUMBER_MAX
from connectd.errors import ConvertError
from connectd.model import logical
from connectd.model.schema import Field, Schema, SchemaType

_PACKAGE: Final = "io.confluent.connect.protobuf."
TAG: Final = f"{_PACKAGE}Tag"
TYPE: Final = f"{_PACKAGE}Type"
ENUM: Final = f"{_PACKAGE}Enum"
UNION: Final = f"{_PACKAGE}Union"
_UNNAMED: Final = "ConnectDefault"
PRECISION: Final = "connect.decimal.precision"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

SCALARS: Final = {
    SchemaType.INT8: "int32",
    SchemaType.INT16: "int32",
    SchemaType.INT32: "int32",
    SchemaType.INT64: "int64",
    SchemaType.FLOAT32: "float",
    SchemaType.FLOAT64: "double",
    SchemaType.BOOLEAN: "bool",
    SchemaType.STRING: "string",
    SchemaType.BYTES: "bytes",
}
INTEGER_TYPES: Final = {
    SchemaType.INT32: ("int32", "sint32", "sfixed32"),
    SchemaType.INT64: (
        "int64", "sint64", "sfixed64", "uint32", "uint64", "fixed32", "fixed64",
    ),
}  # fmt: skip
KEY_TYPES: Final = frozenset({"int32", "int64", "bool", "string"})
"""What Protobuf's maps may have as keys."""

LOGICAL: Final = {
    logical.DECIMAL: ("confluent.type.Decimal", "confluent/type/decimal.proto"),
    logical.DATE: ("google.type.Date", "google/type/date.proto"),
    logical.TIME: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    logical.TIMESTAMP: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}
_META_FILE: Final = "confluent/meta.proto"


@dataclass(frozen=True)
class ProtobufForm:
    """What settings change about messages."""

    scrubs_names: bool = False
    marks_optional: bool = False
    wraps_nullables: bool = False
    ignores_default_for_nullables: bool = False
    reads_packages: bool = False
    """Names of what is read begin with its package, and with the messages that it is in."""

    numbers_unions: bool = True
    """Names of unions that are read end with their position."""

    unwraps_root: bool = True
    """A record that is a wrapper is read as what it wraps."""

    def name(self, name: str) -> str:
        """A name as it is in Protobuf.

        Raises:
            ConvertError: it is none, and names are not scrubbed.
        """
        if self.scrubs_names:
            return checking.scrubbed(name)
        if not _NAME.fullmatch(name):
            raise ConvertError(
                f"Protobuf has no name like {name!r}: letters, digits and _ are allowed, and no "
                "digit at the beginning; rename it with a transform (ReplaceField, "
                "SetSchemaMetadata), or set scrub.invalid.names=true on the converter"
            )
        return name

    def is_wrapped(self, schema: Schema) -> bool:
        """Whether a field's scalar is in a message of its own, so that null can be told."""
        return self.wraps_nullables and schema.optional and is_scalar(schema)

    def has_presence(self, schema: Schema) -> bool:
        """Whether a scalar field is told from one that has its type's zero."""
        return self.marks_optional and schema.optional


class Numbered(NamedTuple):
    """A field with its number; ``union`` is the struct's field that it is a choice of."""

    number: int
    field: Field
    union: Field | None = None


def file_of(schema: Schema, form: ProtobufForm) -> ProtoFile:
    """The file of a schema.

    Raises:
        ConvertError: Protobuf has nothing like it; the message says what.
    """
    if is_scalar(schema):
        return protobuf_file.wrappers()
    if schema.type is not SchemaType.STRUCT and not logical.is_logical(schema):
        raise ConvertError(f"Unsupported root schema of type {schema.type.name}")
    if schema.type is not SchemaType.STRUCT or is_union(schema):
        raise ConvertError(f"Unsupported root schema of type {schema.type.name}, {schema.name}")
    package = (schema.name or "").rpartition(".")[0]
    found = ProtoFile(".".join(form.name(part) for part in package.split(".") if part))
    message = _Translation(form, found).message(schema)
    found.messages[message.name] = message
    return found


def record_name(schema: Schema, form: ProtobufForm) -> str:
    """The full name of the message of a schema."""
    if is_scalar(schema):
        return f"{WRAPPERS_PACKAGE}.{WRAPPERS[wrapper_index(schema)][0]}"
    return ".".join(form.name(part) for part in (schema.name or f"{_UNNAMED}1").split("."))


def numbered(schema: Schema) -> list[Numbered]:
    """The fields of a message, with those of unions in their places.

    Raises:
        ConvertError: two have the same number, or one has none that Protobuf allows.
    """
    found: list[Numbered] = []
    for member in schema.fields:
        union = member if is_union(member.schema) else None
        for each in (member,) if union is None else member.schema.fields:
            text = each.schema.parameter(TAG)
            number = len(found) + 1 if text is None else _number(each, text)
            found.append(Numbered(number, each, union))
    numbers = [each.number for each in found]
    if len(set(numbers)) < len(numbers):
        raise ConvertError(f"fields of {schema.name} have the same number: {numbers}")
    return sorted(found, key=lambda each: each.number)


def is_scalar(schema: Schema) -> bool:
    """Whether values of the schema are no messages, lists or maps."""
    return schema.type in SCALARS and not logical.is_logical(schema) and not is_enum(schema)


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for one of several types."""
    name = schema.name or ""
    return schema.type is SchemaType.STRUCT and (name == UNION or name.startswith(f"{UNION}."))


def is_enum(schema: Schema) -> bool:
    """Whether texts of the schema are symbols."""
    return schema.type is SchemaType.STRING and schema.parameter(ENUM) is not None


def symbols(schema: Schema) -> dict[str, int]:
    """Numbers of an enum by their names."""
    begin = f"{ENUM}."
    try:
        return {
            key.removeprefix(begin): int(text)
            for key, text in schema.parameters
            if key.startswith(begin)
        }
    except ValueError as error:
        raise ConvertError(f"the parameters {begin}* are to be numbers: {error}") from error


def scalar_type(schema: Schema) -> str:
    """The name of a scalar in Protobuf.

    Raises:
        ConvertError: the schema asks for one that cannot hold its values.
    """
    wanted = schema.parameter(TYPE)
    if wanted is None:
        return SCALARS[schema.type]
    if wanted not in INTEGER_TYPES.get(schema.type, ()):
        raise ConvertError(f"{TYPE} of a {schema.type.name} is {wanted}")
    return wanted


def wrapper_index(schema: Schema) -> int:
    """Which of ``WRAPPERS`` has values of the schema."""
    return [kind for _, kind in WRAPPERS].index(SCALARS[schema.type])


def wrapped_type(full_name: str) -> str | None:
    """The scalar that a message of that name wraps, if it is one of ``WRAPPERS``."""
    package, _, name = full_name.rpartition(".")
    return dict(WRAPPERS).get(name) if package == WRAPPERS_PACKAGE else None


def _number(member: Field, text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= NUMBER_MAX:
        raise ConvertError(f"{TAG} of the field {member.name} is {text}, expected 1 to 536870911")
    return int(text)


@dataclass
class _Parent:
    """A message that types are declared inside of, the names of its fields, and those types."""

    message: ProtoMessage
    taken: set[str]
    schemas: dict[str, Schema] = field(default_factory=dict)

    def free(self, name: str) -> str:
        """The name, or one like it, for a type that is declared inside of the message."""
        free = name
        if free in self.taken:
            free = f"{name[:1].upper()}{name[1:]}"
        while free in self.taken:
            free += "_"
        return free


@dataclass
class _Translation:
    form: ProtobufForm
    file: ProtoFile
    unnamed: int = 0

    def message(self, schema: Schema) -> ProtoMessage:
        found = ProtoMessage(self._message_name(schema))
        fields = numbered(schema)
        taken = {self.form.name(each.field.name) for each in fields}
        taken |= {self.form.name(_one_of_name(each.union)) for each in fields if each.union}
        parent = _Parent(found, taken)
        for number, member, union in fields:
            line = self._field(parent, number, member)
            if union is not None:
                line.one_of, line.label = self.form.name(_one_of_name(union)), ""
            found.fields.append(line)
        return found

    def _message_name(self, schema: Schema) -> str:
        if schema.name is not None:
            return self.form.name(schema.name.rpartition(".")[2])
        self.unnamed += 1
        return f"{_UNNAMED}{self.unnamed}"

    def _field(self, parent: _Parent, number: int, member: Field) -> ProtoField:
        schema, name, key_type = member.schema, self.form.name(member.name), None
        match schema.type:
            case SchemaType.ARRAY:
                element = _part(schema.value_schema)
                if element.type in (SchemaType.ARRAY, SchemaType.MAP):
                    raise ConvertError(f"{element.type.name.capitalize()} cannot be nested")
                kind, label = self._type(parent, element), "repeated"
            case SchemaType.MAP:
                key, value = _part(schema.key_schema), _part(schema.value_schema)
                if value.type in (SchemaType.ARRAY, SchemaType.MAP):
                    raise ConvertError(f"{value.type.name.capitalize()} cannot be nested")
                key_type = scalar_type(key) if is_scalar(key) else key.type.value
                if key_type not in KEY_TYPES:
                    raise ConvertError(f"Protobuf has no maps with keys of {key.type.name}")
                kind, label = self._type(parent, value), ""
            case _ if self.form.is_wrapped(schema):
                self.file.imports.add(WRAPPERS_FILE)
                kind = f"{WRAPPERS_PACKAGE}.{WRAPPERS[wrapper_index(schema)][0]}"
                label = ""
            case _:
                kind = self._type(parent, schema)
                is_plain = is_scalar(schema) or is_enum(schema)
                label = "optional" if self.form.has_presence(schema) and is_plain else ""
        params = self._params(schema.value_schema or schema)
        return ProtoField(name, number, kind, label, params, key=key_type)

    def _type(self, parent: _Parent, schema: Schema) -> str:
        if is_enum(schema):
            name = parent.free(self.form.name((schema.parameter(ENUM) or "").rpartition(".")[2]))
            found = symbols(schema)
            if parent.message.enums.setdefault(name, found) != found:
                raise self._named_twice(parent, name)
            return name
        if schema.type is SchemaType.STRUCT:
            return self._nested(parent, schema)
        if logical.is_logical(schema):
            kind, file = LOGICAL[schema.name or ""]
            self.file.imports.add(file)
            return kind
        return scalar_type(schema)

    def _nested(self, parent: _Parent, schema: Schema) -> str:
        if is_union(schema):
            raise ConvertError("a union can be the field of a struct, and nothing else")
        message = self.message(schema)
        message.name = name = parent.free(message.name)
        parent.message.messages.setdefault(name, message)
        earlier = parent.schemas.setdefault(name, schema)
        if (earlier.name, earlier.fields) != (schema.name, schema.fields):
            raise self._named_twice(parent, name)
        return name

    def _named_twice(self, parent: _Parent, name: str) -> ConvertError:
        return ConvertError(
            f"two types of {parent.message.name} would both be named {name}; rename one with a "
            "transform (SetSchemaMetadata)"
        )

    def _params(self, schema: Schema) -> dict[str, str]:
        """What Protobuf itself does not know of a field's schema, or of its elements."""
        found = {}
        if schema.name == logical.DECIMAL:
            precision = schema.parameter(PRECISION)
            if precision is not None:
                found["precision"] = precision
            found["scale"] = str(logical.scale_of(schema))
        elif schema.type in (SchemaType.INT8, SchemaType.INT16):
            found["connect.type"] = schema.type.value
        if found:
            self.file.imports.add(_META_FILE)
        return found


def _one_of_name(union: Field) -> str:
    return (union.schema.name or "").removeprefix(UNION).rpartition(".")[2] or union.name


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        raise ConvertError("Protobuf has no lists or maps of anything; give a schema")
    return schema
