"""Connect values as Protobuf messages: one function per schema, made once. Pure.

Fields are written in the order of their numbers. What is null is not written; what has its type's
zero is not either, unless the field is one whose presence counts, or a choice of a union.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from connectd.converters import protobuf_layout as layout
from connectd.converters import protobuf_logical
from connectd.converters import protobuf_wire as wire
from connectd.converters import registry_checks as checking
from connectd.converters.protobuf_layout import Numbered, ProtobufForm
from connectd.errors import ConvertError
from connectd.model import logical
from connectd.model.schema import Schema, SchemaType

Encode = Callable[[Any], bytes]

_ZEROS: Final = {wire.VARINT: b"\0", wire.LENGTH: b"\0", wire.FOUR_BYTES: bytes(4)} | {
    wire.EIGHT_BYTES: bytes(8)
}
_UNSIGNED_BITS: Final = {"uint32": 32, "fixed32": 32}


class _Kind(NamedTuple):
    wire_type: int
    encode: Encode
    is_message: bool = False


def message(schema: Schema, form: ProtobufForm) -> Encode:
    """The function for values of a root schema: the content of the message.

    It raises ``ConvertError`` for a value that is none of the schema.
    """
    if layout.is_scalar(schema):
        content = _wrapped(schema)
        return checking.nullable(schema, content, ignores_default=False)
    return checking.nullable(
        schema, _content(schema, form), ignores_default=form.ignores_default_for_nullables
    )


def _content(schema: Schema, form: ProtobufForm) -> Encode:
    place = {member.name: position for position, member in enumerate(schema.fields)}
    writers: list[tuple[int, Encode]] = []
    for each in layout.numbered(schema):
        if each.union is None:
            writers.append((place[each.field.name], _field(each, form)))
        else:
            writers.append((place[each.union.name], _choice(each, each.union.schema, form)))

    def write(value: object) -> bytes:
        members = checking.members(schema, value)
        return b"".join([encode(members[position]) for position, encode in writers])

    return write


def _field(each: Numbered, form: ProtobufForm) -> Encode:
    schema = each.field.schema
    match schema.type:
        case SchemaType.ARRAY:
            encode = _list(each.number, schema, form)
        case SchemaType.MAP:
            encode = _map(each.number, schema, form)
        case _:
            encode = _single(each.number, schema, form)
    checked = checking.nullable(schema, encode, ignores_default=form.ignores_default_for_nullables)
    return lambda value: checked(value) or b""


def _choice(each: Numbered, union: Schema, form: ProtobufForm) -> Encode:
    """A field of a union: written even where it has its type's zero, since it is the choice."""
    position, schema = union.positions[each.field.name], each.field.schema
    kind = _wrapped_kind(schema) if form.is_wrapped(schema) else _kind(schema, form)
    head = wire.tag(each.number, kind.wire_type)

    def write(value: object) -> bytes:
        if value is None:
            return b""
        chosen = checking.members(union, value)[position]
        return b"" if chosen is None else head + kind.encode(chosen)

    return write


def _single(number: int, schema: Schema, form: ProtobufForm) -> Encode:
    kind = _wrapped_kind(schema) if form.is_wrapped(schema) else _kind(schema, form)
    head = wire.tag(number, kind.wire_type)
    if kind.is_message or form.has_presence(schema):
        return lambda value: head + kind.encode(value)
    return _unless_zero(head, kind)


def _unless_zero(head: bytes, kind: _Kind) -> Encode:
    zero = _ZEROS[kind.wire_type]

    def write(value: object) -> bytes:
        encoded = kind.encode(value)
        return b"" if encoded == zero else head + encoded

    return write


def _wrapped_kind(schema: Schema) -> _Kind:
    content = _wrapped(schema)
    return _Kind(wire.LENGTH, lambda value: wire.delimited(content(value)), is_message=True)


def _wrapped(schema: Schema) -> Encode:
    kind = _scalar_kind(schema, layout.SCALARS[schema.type])
    return _unless_zero(wire.tag(1, kind.wire_type), kind)


def _list(number: int, schema: Schema, form: ProtobufForm) -> Encode:
    kind = _kind(_part(schema.value_schema), form)
    is_packed = kind.wire_type != wire.LENGTH
    head = wire.tag(number, wire.LENGTH if is_packed else kind.wire_type)

    def write(value: object) -> bytes:
        if not isinstance(value, list | tuple):
            raise checking.invalid(schema, value)
        if any(each is None for each in value):
            raise ConvertError("a list has a null, which Protobuf's lists cannot have")
        if is_packed:
            content = b"".join(map(kind.encode, value))
            return head + wire.delimited(content) if content else b""
        return b"".join([head + kind.encode(each) for each in value])

    return write


def _map(number: int, schema: Schema, form: ProtobufForm) -> Encode:
    head = wire.tag(number, wire.LENGTH)
    key, member = _kind(_part(schema.key_schema), form), _kind(_part(schema.value_schema), form)
    key_head, member_head = wire.tag(1, key.wire_type), wire.tag(2, member.wire_type)

    def write(value: object) -> bytes:
        if not isinstance(value, dict):
            raise checking.invalid(schema, value)
        found = []
        for name, each in value.items():
            if name is None or each is None:
                raise ConvertError("a map has a null, which Protobuf's maps cannot have")
            entry = key_head + key.encode(name) + member_head + member.encode(each)
            found.append(head + wire.delimited(entry))
        return b"".join(found)

    return write


def _kind(schema: Schema, form: ProtobufForm) -> _Kind:
    """How a value that is not null is written after its tag."""
    if layout.is_enum(schema):
        return _Kind(wire.VARINT, _enum(schema))
    if schema.type is SchemaType.STRUCT:
        content = _content(schema, form)
        return _Kind(wire.LENGTH, lambda value: wire.delimited(content(value)), is_message=True)
    if logical.is_logical(schema):
        encode = protobuf_logical.write(schema)
        checked = checking.scalar(schema)  # refuses what is none of the type

        def write(value: object) -> bytes:
            checked(value)
            return wire.delimited(encode(value))

        return _Kind(wire.LENGTH, write, is_message=True)
    return _scalar_kind(schema, layout.scalar_type(schema))


def _scalar_kind(schema: Schema, name: str) -> _Kind:
    wire_type, encode = wire.SCALARS[name]
    checked, bits = checking.scalar(schema), _UNSIGNED_BITS.get(name)

    def write(value: object) -> bytes:
        stored = checked(value)
        if bits is not None and not 0 <= stored < 1 << bits:
            raise ConvertError(f"Invalid value for {name}: {stored}")
        try:
            return encode(stored)
        except UnicodeEncodeError as error:
            raise ConvertError(f"a text is no Unicode: {error.reason}") from error

    return _Kind(wire_type, write)


def _enum(schema: Schema) -> Encode:
    numbers = layout.symbols(schema)

    def write(value: object) -> bytes:
        if not isinstance(value, str) or value not in numbers:
            raise ConvertError(f"{value!r} is none of the symbols {', '.join(numbers)}")
        return wire.varint(numbers[value])

    return write


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        raise ConvertError("Protobuf has no lists or maps of anything; give a schema")
    return schema
