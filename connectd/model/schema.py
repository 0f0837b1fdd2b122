"""Connect's schemas: immutable descriptions of keys and values.

Enough for the envelopes of this product and for JsonConverter: primitives, structs and named
schemas. (Logical types, arrays and maps follow with the complete data path.)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
    STRUCT = "struct"


@dataclass(frozen=True)
class Field:
    """A named member of a struct."""

    name: str
    schema: Schema


@dataclass(frozen=True)
class Schema:
    """A type, whether null is allowed, and an optional name and version."""

    type: SchemaType
    optional: bool = False
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    fields: tuple[Field, ...] = ()

    def field(self, name: str) -> Field | None:
        """The member of that name, or None."""
        return next((member for member in self.fields if member.name == name), None)


STRING = Schema(SchemaType.STRING)
OPTIONAL_STRING = Schema(SchemaType.STRING, optional=True)
BOOLEAN = Schema(SchemaType.BOOLEAN)
INT64 = Schema(SchemaType.INT64)
OPTIONAL_INT64 = Schema(SchemaType.INT64, optional=True)


@dataclass(frozen=True)
class Struct:
    """A value of a struct schema: one value per field, in schema order."""

    schema: Schema
    values: tuple[object, ...]

    def __post_init__(self) -> None:
        if len(self.values) != len(self.schema.fields):
            raise ValueError(
                f"struct {self.schema.name} has {len(self.schema.fields)} fields, "
                f"got {len(self.values)} values"
            )

    def get(self, name: str) -> object:
        """The value of a field.

        Raises:
            KeyError: the schema has no such field.
        """
        for member, value in zip(self.schema.fields, self.values, strict=True):
            if member.name == name:
                return value
        raise KeyError(name)
