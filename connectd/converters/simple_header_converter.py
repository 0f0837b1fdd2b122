"""``SimpleHeaderConverter``: header values as text that tells their type (spec kafka-connect E.4).

A text stands as it is; inside of lists, maps and structs texts are quoted, so that the whole can be
read back, and structs look like maps. Days, times and moments have ISO forms: what is within the
first day of 1970 is a time, what falls on midnight a day.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from datetime import date, time
from decimal import Decimal
from typing import ClassVar, Final

from connectd.configdef.definition import ConfigDef
from connectd.errors import ConvertError
from connectd.model import java_text, literals, logical
from connectd.model.record import ConverterSpec
from connectd.model.schema import Schema, SchemaAndValue, Struct, or_default

_NO_KEYS: Final = ConfigDef([])


class SimpleHeaderConverter:
    """Writes and reads header values."""

    class_name: ClassVar[str] = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

    def __init__(self, spec: ConverterSpec) -> None:
        self.spec = spec

    @classmethod
    def config_def(cls) -> ConfigDef:
        """It has none."""
        return _NO_KEYS

    def from_connect_header(
        self, topic: str, name: str, schema: Schema | None, value: object
    ) -> bytes | None:
        """See ``spi.HeaderConverter``."""
        if value is None:
            return None
        text = value if isinstance(value, str) else _text(schema, value, is_nested=False)
        return text.encode("utf-8", errors="replace")

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        """See ``spi.HeaderConverter``. Every text stands for something; no bytes are null."""
        if data is None:
            return None, None
        return literals.parse(data.decode("utf-8", errors="replace"))


def _text(schema: Schema | None, value: object, *, is_nested: bool = True) -> str:
    match value:
        case str():
            return _quoted(value)
        case bytes() | bytearray() | memoryview():
            encoded = base64.b64encode(value).decode("ascii")
            return _quoted(encoded) if is_nested else encoded
        case list() | tuple():
            element = None if schema is None else schema.value_schema
            return f"[{','.join(_text(element, each) for each in value)}]"
        case dict():
            keys = None if schema is None else schema.key_schema
            values = None if schema is None else schema.value_schema
            return _object(
                (_text(keys, key), _text(values, member)) for key, member in value.items()
            )
        case Struct():
            return _object(
                (_quoted(field.name), _text(field.schema, or_default(field.schema, member)))
                for field, member in value.items()
            )
        case date() | time():
            return _moment(value)
        case None | bool() | int() | float() | Decimal():
            return java_text.of(schema, value)
    raise ConvertError(f"a header's value is a {type(value).__name__}, which has no text form")


def _object(members: Iterable[tuple[str, str]]) -> str:
    return f"{{{','.join(f'{key}:{member}' for key, member in members)}}}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _moment(value: date | time) -> str:
    moment = java_text.moment(value)
    ms = logical.epoch_ms(moment)
    clock = f"{moment:%H:%M:%S}.{ms % 1000:03d}Z"
    if ms < logical.MS_PER_DAY:
        return clock
    day = f"{moment.year:04d}-{moment:%m-%d}"
    return day if ms % logical.MS_PER_DAY == 0 else f"{day}T{clock}"
