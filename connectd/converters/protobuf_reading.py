"""Protobuf messages as Connect's structs (spec kafka-connect E.8): one function per message. Pure.

The way back of ``protobuf_layout`` and ``protobuf_values``. Every field keeps its number, and an
integer the type that it has in Protobuf, in the parameters of its schema, so that what was read is
written as it was. A field that is not there is null where Protobuf can tell, and its type's zero
elsewhere. A choice (``oneof``) is a struct of its own, before all other fields.

The wire is read as all readers of Protobuf do: what is not known is left out, the last of several
values counts, parts of one message are one message, and lists may be packed or not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from connectd.converters import protobuf_layout as layout
from connectd.converters import protobuf_logical
from connectd.converters import protobuf_wire as wire
from connectd.converters.protobuf_file import Enum, ProtoField, ProtoMessage
from connectd.converters.protobuf_layout import ProtobufForm
from connectd.converters.protobuf_types import EnumType, MessageType, Types
from connectd.errors import ConvertError
from connectd.model.schema import Field, Schema, SchemaType, Struct

_DEPTH_MAX: Final = 64
"""Messages inside of messages."""

_TYPES: Final = {
    "int32": SchemaType.INT32,
    "sint32": SchemaType.INT32,
    "sfixed32": SchemaType.INT32,
    "int64": SchemaType.INT64,
    "sint64": SchemaType.INT64,
    "sfixed64": SchemaType.INT64,
    "uint32": SchemaType.INT64,
    "uint64": SchemaType.INT64,
    "fixed32": SchemaType.INT64,
    "fixed64": SchemaType.INT64,
    "float": SchemaType.FLOAT32,
    "double": SchemaType.FLOAT64,
    "bool": SchemaType.BOOLEAN,
    "string": SchemaType.STRING,
    "bytes": SchemaType.BYTES,
}
_NARROW_BITS: Final = {SchemaType.INT8: 8, SchemaType.INT16: 16}
_KEYS: Final = _TYPES.keys() - {"float", "double", "bytes"}
"""What Protobuf's maps may have as keys, more than Connect's become (``layout.KEY_TYPES``)."""

_EMPTY_VALUE: Final = wire.tag(2, wire.LENGTH) + b"\0"
"""A message of a map without its value has an empty one; what follows adds to it."""

Read = Callable[[Any], object]
"""A raw value, as ``protobuf_wire.fields`` has it, to a Connect value."""

_Raw = dict[int, list[Any]]
"""The raw values of a message by the numbers of their fields."""


class Reader(NamedTuple):
    """What a message is in Connect, and how its bytes are read."""

    schema: Schema
    read: Callable[[bytes], object]


def reader(types: Types, found: MessageType, form: ProtobufForm, version: int) -> Reader:
    """The reader of records that are such a message; ``version`` is the registry's.

    Raises:
        ConvertError: Connect has nothing like it.
    """
    translation = _Translation(types, form)
    if form.unwraps_root and layout.wrapped_type(found.full_name):
        kind = translation.wrapper(found.full_name)
        return Reader(replace(kind.schema, version=version), kind.read(kind.schema))
    body = translation.body(found.full_name, found.message)
    schema = Schema(
        SchemaType.STRUCT,
        name=translation.name(found.full_name),
        version=version,
        fields=body.fields,
    )
    return Reader(schema, lambda data: Struct(schema, body.values(data)))


class _Kind(NamedTuple):
    """A type: its schema, where it is required, and how a value of such a schema is read."""

    schema: Schema
    wire_type: int
    read: Callable[[Schema], Read]
    zero: object = None
    """What stands for it where it is absent; null for a message."""


class _Slot(NamedTuple):
    """What a message may have under a number."""

    wire_type: int
    is_list: bool = False
    rivals: frozenset[int] = frozenset()
    """Numbers of the other fields of a choice, which a later one replaces."""

    def raws(self, wire_type: int, raw: Any) -> Iterable[Any]:
        """The raw values of a field; none if it is of another type, as if it was not known."""
        if wire_type == self.wire_type:
            return (raw,)
        if self.is_list and wire_type == wire.LENGTH:
            return wire.unpacked(self.wire_type, raw)
        return ()


class _Member(NamedTuple):
    """A field of the struct, and how its value is found."""

    field: Field
    value: Callable[[_Raw], object]


@dataclass(frozen=True)
class _Body:
    """The fields of a message; ``values`` has one value for each."""

    members: tuple[_Member, ...]
    slots: dict[int, _Slot]

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(member.field for member in self.members)

    def values(self, data: bytes) -> tuple[object, ...]:
        found: _Raw = {}
        for number, wire_type, raw in wire.fields(data):
            slot = self.slots.get(number)
            if slot is None:
                continue
            raws = list(slot.raws(wire_type, raw))
            if raws:
                for rival in slot.rivals:
                    found.pop(rival, None)
                found.setdefault(number, []).extend(raws)
        return tuple([member.value(found) for member in self.members])


@dataclass
class _Translation:
    types: Types
    form: ProtobufForm
    bodies: dict[str, _Body] = field(default_factory=dict)
    begun: list[str] = field(default_factory=list)

    def name(self, full_name: str) -> str:
        """The name of a schema."""
        return full_name if self.form.reads_packages else full_name.rpartition(".")[2]

    def body(self, full_name: str, message: ProtoMessage) -> _Body:
        """What is known of a message; made once for all fields of its type."""
        known = self.bodies.get(full_name)
        if known is not None:
            return known
        if full_name in self.begun:
            raise ConvertError(f"{full_name} is inside of itself, which is not supported")
        if len(self.begun) > _DEPTH_MAX:
            raise ConvertError(f"more than {_DEPTH_MAX} messages are inside of one another")
        self.begun.append(full_name)
        found = self._body(full_name, message)
        self.begun.pop()
        self.bodies[full_name] = found
        return found

    def _body(self, full_name: str, message: ProtoMessage) -> _Body:
        slots: dict[int, _Slot] = {}
        members: list[_Member] = []
        choices: dict[str, list[_Member]] = {}
        for line in message.fields:
            if line.number in slots:
                raise ConvertError(f"two fields of {full_name} have the number {line.number}")
            member, slots[line.number] = self._field(full_name, line)
            group = members if line.one_of is None else choices.setdefault(line.one_of, [])
            group.append(member)
        for name in choices:
            numbers = frozenset(line.number for line in message.fields if line.one_of == name)
            for number in numbers:
                slots[number] = slots[number]._replace(rivals=numbers - {number})
        unions = [
            self._union(full_name, name, position, choice)
            for position, (name, choice) in enumerate(choices.items())
        ]
        return _Body((*unions, *members), slots)

    def _union(self, scope: str, name: str, position: int, choice: list[_Member]) -> _Member:
        full_name = f"{scope}.{name}" if self.form.reads_packages else name
        schema = Schema(
            SchemaType.STRUCT,
            optional=True,
            name=f"{layout.UNION}.{full_name}",
            fields=tuple(member.field for member in choice),
        )

        def value(found: _Raw) -> object:
            values = tuple([member.value(found) for member in choice])
            return Struct(schema, values) if any(each is not None for each in values) else None

        known_as = f"{name}_{position}" if self.form.numbers_unions else name
        return _Member(Field(known_as, schema), value)

    def _field(self, scope: str, line: ProtoField) -> tuple[_Member, _Slot]:
        entry = self._entry(scope, line)
        if entry is not None:
            return self._map(line, *entry)
        kind = self._kind(scope, line)
        tag = (layout.TAG, str(line.number))
        if line.label == "repeated":
            element = replace(kind.schema, optional=True)
            schema = Schema(
                SchemaType.ARRAY, optional=True, parameters=(tag,), value_schema=element
            )
            member = _Member(Field(line.name, schema), _list(line.number, kind.read(element)))
            return member, _Slot(kind.wire_type, is_list=True)
        has_presence = line.label == "optional" or line.one_of is not None or kind.zero is None
        tells_nulls = self.form.marks_optional or self.form.wraps_nullables
        schema = replace(
            kind.schema,
            optional=has_presence or not tells_nulls,
            parameters=(*kind.schema.parameters, tag),
        )
        absent = None if has_presence else kind.zero
        value = _single(line.number, kind, kind.read(schema), absent)
        return _Member(Field(line.name, schema), value), _Slot(kind.wire_type)

    def _entry(self, scope: str, line: ProtoField) -> tuple[str, ProtoMessage] | None:
        """The message of a map's pairs, and its full name; nothing if the field is no map."""
        if line.key is not None:
            fields = [
                ProtoField("key", 1, line.key),
                ProtoField("value", 2, line.type, params=line.params),
            ]
            name = _entry_name(line.name)
            return f"{scope}.{name}", ProtoMessage(name, fields, is_map_entry=True)
        if line.label != "repeated" or line.type in _TYPES:
            return None
        found = self.types.named(line.type, scope)
        if isinstance(found, MessageType) and found.message.is_map_entry:
            return found.full_name, found.message
        return None

    def _map(self, line: ProtoField, full_name: str, entry: ProtoMessage) -> tuple[_Member, _Slot]:
        if not _is_pair(entry):
            raise ConvertError(f"{line.name} is a map whose pairs are none that Protobuf has")
        body = self.body(full_name, entry)
        key, member = body.fields
        parent, _, name = self.name(full_name).rpartition(".")
        name = _in_lower_case(name.removesuffix("Entry"))
        schema = Schema(
            SchemaType.MAP,
            optional=True,
            name=f"{parent}.{name}" if parent else name,
            parameters=((layout.TAG, str(line.number)),),
            key_schema=key.schema,
            value_schema=member.schema,
        )
        begin = _EMPTY_VALUE if self._kind(full_name, entry.fields[1]).zero is None else b""

        def value(found: _Raw) -> object:
            pairs = [body.values(begin + raw) for raw in found.get(line.number, ())]
            return {pair[0]: pair[1] for pair in pairs}

        return _Member(Field(line.name, schema), value), _Slot(wire.LENGTH)

    def _kind(self, scope: str, line: ProtoField) -> _Kind:
        if line.type in _TYPES:
            return _scalar(line.type, line.params.get("connect.type"))
        found = self.types.named(line.type, scope)
        if isinstance(found, EnumType):
            return _enum(self.name(found.full_name), found.symbols)
        logical_type = protobuf_logical.TYPES.get(found.full_name)
        if logical_type is not None:
            schema = protobuf_logical.schema_of(logical_type, line.params)
            return _Kind(schema, wire.LENGTH, protobuf_logical.read)
        if self.form.wraps_nullables and layout.wrapped_type(found.full_name):
            return self.wrapper(found.full_name)
        body = self.body(found.full_name, found.message)
        schema = Schema(SchemaType.STRUCT, name=self.name(found.full_name), fields=body.fields)
        return _Kind(schema, wire.LENGTH, lambda known: _struct(known, body))

    def wrapper(self, full_name: str) -> _Kind:
        """A message of one scalar, taken for the scalar."""
        kind = _scalar(layout.wrapped_type(full_name) or "")
        schema = Schema(kind.schema.type)
        slots = {1: _Slot(kind.wire_type)}
        value = _single(1, kind, kind.read(schema), kind.zero)
        body = _Body((_Member(Field("value", schema), value),), slots)
        return _Kind(schema, wire.LENGTH, lambda _: lambda data: body.values(data)[0])


def _single(number: int, kind: _Kind, read: Read, absent: object) -> Callable[[_Raw], object]:
    """The last value, or all parts of a message."""

    def value(found: _Raw) -> object:
        raws = found.get(number)
        if raws is None:
            return absent
        return read(b"".join(raws) if kind.zero is None else raws[-1])

    return value


def _list(number: int, read: Read) -> Callable[[_Raw], object]:
    return lambda found: [read(raw) for raw in found.get(number, ())]


def _struct(schema: Schema, body: _Body) -> Read:
    return lambda data: Struct(schema, body.values(data))


def _scalar(name: str, narrow: str | None = None) -> _Kind:
    wire_type, decode, zero = wire.READING[name]
    if name == "int32" and narrow in ("int8", "int16"):
        schema = Schema(SchemaType(narrow))
        return _Kind(schema, wire_type, lambda known: _narrow(known, decode), zero)
    schema = Schema(_TYPES[name])
    if layout.SCALARS[schema.type] != name:
        schema = replace(schema, parameters=((layout.TYPE, name),))
    return _Kind(schema, wire_type, lambda _: decode, zero)


def _narrow(schema: Schema, decode: Read) -> Read:
    end = 1 << _NARROW_BITS[schema.type] - 1

    def read(raw: Any) -> object:
        value = decode(raw)
        if not isinstance(value, int) or not -end <= value < end:
            raise ConvertError(f"{value} is too large for {schema.type.name}")
        return value

    return read


def _enum(name: str, symbols: Enum) -> _Kind:
    """Symbols by their numbers; one that the schema does not know is named as Java does."""
    parameters = [(layout.ENUM, name)]
    parameters += [(f"{layout.ENUM}.{symbol}", str(each)) for symbol, each in symbols.items()]
    schema = Schema(SchemaType.STRING, name=name, parameters=tuple(parameters))
    names = {number: symbol for symbol, number in reversed(symbols.items())}
    as_number = wire.READING["int32"].read

    def read(raw: Any) -> str:
        number = as_number(raw)
        simple_name = name.rpartition(".")[2]
        return names.get(number) or f"UNKNOWN_ENUM_VALUE_{simple_name}_{number}"

    return _Kind(schema, wire.VARINT, lambda _: read, read(0))


def _is_pair(entry: ProtoMessage) -> bool:
    """Whether a message has a key and a value as a map needs them."""
    if [each.number for each in entry.fields] != [1, 2]:
        return False
    key, value = entry.fields
    return (
        key.type in _KEYS
        and (key.label, value.label == "repeated") == ("", False)
        and (key.one_of, value.one_of) == (None, None)
    )


def _entry_name(name: str) -> str:
    """The message of a map's pairs is named for its field, with capitals for underscores."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_")) + "Entry"


def _in_lower_case(name: str) -> str:
    """With underscores before capitals, which are none then."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
