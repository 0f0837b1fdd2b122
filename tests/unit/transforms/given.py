"""Records and settings for the tests of transforms."""

from __future__ import annotations

from typing import Any

from connectd.configdef import parsing
from connectd.model.record import SourceRecord
from connectd.model.schema import Field, Schema, SchemaType, Struct


def struct(schema: Schema, **values: object) -> Struct:
    """A struct by field names; what is not named is null."""
    return Struct(schema, tuple(values.get(field.name) for field in schema.fields))


def schema(*fields: tuple[str, Schema], name: str | None = "rec", **others: Any) -> Schema:
    """A struct schema."""
    members = tuple(Field(field, kind) for field, kind in fields)
    return Schema(SchemaType.STRUCT, name=name, fields=members, **others)


def record(value: object, value_schema: Schema | None = None, **others: Any) -> SourceRecord:
    """A record with that value, for topic t."""
    return SourceRecord("t", None, None, value_schema, value, **others)


def made(cls: type[Any], **settings: str) -> Any:
    """A plugin with those settings; a double underscore stands for a dot."""
    texts = {name.replace("__", "."): text for name, text in settings.items()}
    return cls(parsing.parse(cls.config_def(), texts))
