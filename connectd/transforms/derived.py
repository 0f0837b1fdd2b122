"""Schemas and structs made from others: what the transforms of fields have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from connectd.model.schema import Field, Schema, SchemaType, Struct

_KEPT_MAX: Final = 16


class SchemaCache:
    """Remembers the schemas that a transform has made, by the one that they were made of.

    By identity, because comparing struct schemas costs as much as making them. The oldest of 16 is
    forgotten first.
    """

    def __init__(self) -> None:
        # The schema is kept beside what was made of it, so that its identity stays its own.
        self._made: dict[int, tuple[Schema, Schema]] = {}

    def get(self, schema: Schema, make: Callable[[Schema], Schema]) -> Schema:
        """What was made of this schema, or is made now."""
        kept = self._made.get(id(schema))
        if kept is not None:
            return kept[1]
        made = make(schema)
        if len(self._made) >= _KEPT_MAX:
            del self._made[next(iter(self._made))]
        self._made[id(schema)] = (schema, made)
        return made


def struct_like(schema: Schema, fields: list[Field]) -> Schema:
    """A required struct with other fields and the name, version, doc and parameters of ``schema``.

    Whether it was optional and its default are not taken over (spec F.1).
    """
    return Schema(
        SchemaType.STRUCT,
        name=schema.name,
        version=schema.version,
        doc=schema.doc,
        fields=tuple(fields),
        parameters=schema.parameters,
    )


def made_optional(schema: Schema) -> Schema:
    """The same schema, null allowed."""
    return schema if schema.optional else replace(schema, optional=True)


def members_of(struct: Struct, *, with_default: bool) -> dict[str, object]:
    """A struct's values by field name, in order; nulls as defaults where there are some."""
    members = dict(zip(struct.schema.names, struct.values, strict=True))
    if with_default and None in struct.values:
        fields = struct.schema.fields
        for at, stored in enumerate(struct.values):
            if stored is None:
                members[fields[at].name] = fields[at].schema.default
    return members


def struct_of(schema: Schema, value_by_name: dict[str, object]) -> Struct:
    """A struct from values by field name; a field without value is null."""
    return Struct(schema, tuple(map(value_by_name.get, schema.names)))
