"""Structs of every shape that Protobuf has, and how they are compared with what comes back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from hypothesis import strategies as st

from connectd.model import logical
from connectd.model.schema import Field, Schema, SchemaType, Struct

ENUM: Final = "io.confluent.connect.protobuf.Enum"
UNION: Final = "io.confluent.connect.protobuf.Union"
_TYPE: Final = "io.confluent.connect.protobuf.Type"

_TEXTS: Final = st.text(st.characters(codec="utf-8"), max_size=8)


def integers(bits: int) -> st.SearchStrategy[int]:
    """Numbers that have so many bits."""
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


VALUES: Final[dict[SchemaType, st.SearchStrategy[Any]]] = {
    SchemaType.INT8: integers(8),
    SchemaType.INT16: integers(16),
    SchemaType.INT32: integers(32),
    SchemaType.INT64: integers(64),
    SchemaType.FLOAT32: st.floats(width=32, allow_nan=False),
    SchemaType.FLOAT64: st.floats(allow_nan=False),
    SchemaType.BOOLEAN: st.booleans(),
    SchemaType.STRING: _TEXTS,
    SchemaType.BYTES: st.binary(max_size=8),
}
_INTEGERS: Final = {
    SchemaType.INT32: ("sint32", "sfixed32"),
    SchemaType.INT64: ("sint64", "sfixed64", "uint64", "fixed64"),
}
_LOGICAL: Final[list[tuple[Schema, st.SearchStrategy[Any]]]] = [
    *(
        (
            logical.decimal_schema(scale),
            integers(80).map(lambda digits, scale=scale: Decimal(digits).scaleb(-scale)),  # type: ignore[misc]
        )
        for scale in (0, 2, 9)
    ),
    (logical.date_schema(), st.dates()),
    (logical.time_schema(), st.integers(0, logical.MS_PER_DAY - 1).map(logical.time_of)),
    (
        logical.timestamp_schema(),
        st.integers(-60_000_000_000_000, 250_000_000_000_000).map(logical.moment_of),
    ),
]
_ENUM_SCHEMA: Final = Schema(
    SchemaType.STRING,
    name="Colour",
    parameters=((ENUM, "Colour"), (f"{ENUM}.RED", "0"), (f"{ENUM}.BLUE", "-7")),
)

_ZEROS: Final = {
    **dict.fromkeys(VALUES, 0),
    SchemaType.FLOAT32: "0.0",
    SchemaType.FLOAT64: "0.0",
    SchemaType.STRING: "",
    SchemaType.BYTES: b"",
}

Shape = tuple[Schema, st.SearchStrategy[Any]]


@st.composite
def _plain(draw: st.DrawFn) -> Shape:
    kind = draw(st.sampled_from(list(VALUES)))
    types = _INTEGERS.get(kind)
    parameters: tuple[tuple[str, str], ...] = ()
    if types is not None and draw(st.booleans()):
        parameters = ((_TYPE, draw(st.sampled_from(types))),)
    return Schema(kind, parameters=parameters), VALUES[kind]


_SINGLE: Final[st.SearchStrategy[Shape]] = st.one_of(
    _plain(),
    st.sampled_from(_LOGICAL),
    st.just((_ENUM_SCHEMA, st.sampled_from(["RED", "BLUE"]))),
)


@dataclass
class _Names:
    """Names that none has got before: types of one message must not share theirs."""

    count: int = 0

    def next(self, begin: str) -> str:
        self.count += 1
        return f"{begin}{self.count}"


def _struct(draw: st.DrawFn, names: _Names, depth: int) -> Shape:
    name = names.next("Row")
    members = [_member(draw, names, depth) for _ in range(draw(st.integers(1, 4)))]
    fields = tuple(Field(names.next("f_"), schema) for schema, _ in members)
    schema = Schema(SchemaType.STRUCT, name=name, fields=fields)
    values = st.tuples(*(each for _, each in members))
    return schema, values.map(lambda found: Struct(schema, found))


def _member(draw: st.DrawFn, names: _Names, depth: int) -> Shape:
    def single() -> Shape:
        if depth and draw(st.integers(0, 3)) == 0:
            return _struct(draw, names, depth - 1)
        return draw(_SINGLE)

    match draw(st.sampled_from(["one", "one", "list", "map", "union"])):
        case "list":
            schema, values = single()
            return Schema(SchemaType.ARRAY, value_schema=schema), st.lists(values, max_size=3)
        case "map":
            key = draw(
                st.sampled_from(
                    [SchemaType.STRING, SchemaType.INT32, SchemaType.INT64, SchemaType.BOOLEAN]
                )
            )
            schema, values = single()
            whole = Schema(SchemaType.MAP, key_schema=Schema(key), value_schema=schema)
            return whole, st.dictionaries(VALUES[key], values, max_size=3)
        case "union":
            return _union(names, [single() for _ in range(draw(st.integers(1, 3)))])
    schema, values = single()
    if draw(st.booleans()):
        optional = replace(schema, optional=True)
        if schema.type is SchemaType.STRUCT:
            values = values.map(lambda found: Struct(optional, found.values))
        return optional, st.none() | values
    return schema, values


def _union(names: _Names, choices: list[Shape]) -> Shape:
    fields = tuple(Field(names.next("c_"), replace(schema, optional=True)) for schema, _ in choices)
    schema = Schema(
        SchemaType.STRUCT, optional=True, name=f"{UNION}.{names.next('u_')}", fields=fields
    )

    def chosen(position: int) -> st.SearchStrategy[Struct]:
        def made(found: Any) -> Struct:
            values: list[object] = [None] * len(fields)
            is_struct = isinstance(found, Struct)
            values[position] = Struct(fields[position].schema, found.values) if is_struct else found
            return Struct(schema, tuple(values))

        return choices[position][1].map(made)

    return schema, st.none() | st.one_of(*map(chosen, range(len(fields))))


@st.composite
def records(draw: st.DrawFn) -> Struct:
    """A value of a struct schema."""
    _, values = _struct(draw, _Names(), 2)
    record: Struct = draw(values)
    return record


def plain(schema: Schema, value: object, setting: str) -> object:
    """A value without its schema, so that it can be compared with what it comes back as.

    Structs are members by name, choices those of them that are there. Where ``setting``, the
    converter's for nulls, cannot tell null from zero, null is zero.
    """
    is_union = (schema.name or "").startswith(UNION)
    match value:
        case Struct():
            return {
                _known_as(field): plain(field.schema, each, setting)
                for field, each in value.items()
                if not is_union or each is not None
            }
        case list():
            element = schema.value_schema
            assert element is not None
            return [plain(element, each, setting) for each in value]
        case dict():
            member = schema.value_schema
            assert member is not None
            return {key: plain(member, each, setting) for key, each in value.items()}
        case float():
            return str(value)  # which tells zeros apart
        case None:
            return _plain_null(schema, setting)
    return value


def _plain_null(schema: Schema, setting: str) -> object:
    match schema.type:
        case SchemaType.ARRAY:
            return []
        case SchemaType.MAP:
            return {}
    is_enum = schema.parameter(ENUM) is not None
    tells_nulls = (
        schema.type is SchemaType.STRUCT
        or logical.is_logical(schema)
        or setting == "optional.for.nullables"
        or (setting == "wrapper.for.nullables" and not is_enum)
    )
    if tells_nulls:
        return None
    return "RED" if is_enum else _ZEROS[schema.type]


def _known_as(field: Field) -> str:
    """A choice is known by its name in Protobuf, which the field's name adds a position to."""
    if (field.schema.name or "").startswith(UNION):
        return (field.schema.name or "").rpartition(".")[2]
    return field.name
