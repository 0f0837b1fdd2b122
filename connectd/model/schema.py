"""Connect's schemas and structs: immutable descriptions of keys and values (spec E.1).

The Python types of values: ``int`` for INT8 to INT64, ``float``, ``bool``, ``str``, ``bytes``,
``list``, ``dict`` for MAP, ``Struct``. A schema that is named for a logical type has values of a
richer type, see ``logical``. A value without schema says by its own type what it is: ``int`` is
then INT64, ``float`` FLOAT64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from connectd.errors import RecordError


class SchemaType(Enum):
    """Type names as JsonConverter writes them (spec kafka-connect E.2.2)."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"

    # Types are keys of the tables that every value of every record is looked up in, and Enum's own
    # hash is a Python function. Members are compared by identity, so they may be hashed by it.
    __hash__ = object.__hash__


@dataclass(frozen=True)
class Field:
    """A named member of a struct."""

    name: str
    schema: Schema


@dataclass(frozen=True)
class Schema:
    """A type, whether null is allowed, and what else is known of it.

    ``default`` is a value of the schema, None for none. ``fields`` belong to STRUCT, ``key_schema``
    to MAP, ``value_schema`` to MAP and ARRAY (its elements). ``parameters`` are pairs in order.

    Raises:
        RecordError: two fields have one name; a transform may have renamed one to the other.
    """

    type: SchemaType
    optional: bool = False
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    fields: tuple[Field, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    default: object = None
    key_schema: Schema | None = None
    value_schema: Schema | None = None

    def __post_init__(self) -> None:
        names = [member.name for member in self.fields]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise RecordError(f"Cannot create field because of field name duplication {twice}")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its members, in order."""
        return tuple(member.name for member in self.fields)

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each member stands, by name; not to be changed."""
        return {name: index for index, name in enumerate(self.names)}

    def field(self, name: str) -> Field | None:
        """The member of that name, or None."""
        position = self.positions.get(name)
        return None if position is None else self.fields[position]

    def parameter(self, name: str) -> str | None:
        """The parameter of that name, or None."""
        return dict(self.parameters).get(name)


SchemaAndValue = tuple[Schema | None, object]
"""A value with its schema, None for one that tells by itself what it is: what converters read."""

STRING = Schema(SchemaType.STRING)
OPTIONAL_STRING = Schema(SchemaType.STRING, optional=True)
BOOLEAN = Schema(SchemaType.BOOLEAN)
INT32 = Schema(SchemaType.INT32)
OPTIONAL_INT32 = Schema(SchemaType.INT32, optional=True)
INT64 = Schema(SchemaType.INT64)
OPTIONAL_INT64 = Schema(SchemaType.INT64, optional=True)


@dataclass(frozen=True)
class Struct:
    """A value of a struct schema: one value per field, in schema order, None for null."""

    schema: Schema
    values: tuple[object, ...]

    def __post_init__(self) -> None:
        if len(self.values) != len(self.schema.fields):
            raise ValueError(
                f"struct {self.schema.name} has {len(self.schema.fields)} fields, "
                f"got {len(self.values)} values"
            )

    def get(self, name: str, *, with_default: bool = True) -> object:
        """The value of a field; the field's default where it is null, unless told otherwise.

        Raises:
            KeyError: the schema has no such field.
        """
        position = self.schema.positions[name]
        value = self.values[position]
        if value is None and with_default:
            return self.schema.fields[position].schema.default
        return value

    def items(self) -> Iterator[tuple[Field, object]]:
        """Every field with its value as it is stored."""
        return zip(self.schema.fields, self.values, strict=True)


def or_default(schema: Schema, value: object) -> object:
    """The value, or the schema's default where it is null."""
    return schema.default if value is None else value
