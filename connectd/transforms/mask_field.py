"""``MaskField``: fields lose their values, or get a fixed one (spec F.2)."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import ClassVar, Final

from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.errors import TransformError
from connectd.model import java_floats, java_types, logical
from connectd.model.record import SourceRecord
from connectd.model.schema import Schema, SchemaType
from connectd.transforms import declared, derived, expected, java_numbers
from connectd.transforms.side import Side

_PURPOSE: Final = "mask fields"


class MaskField:
    """The work of both sides."""

    side: ClassVar[Side]

    def __init__(self, settings: ParsedConfig) -> None:
        self._names = frozenset(settings.strings("fields"))
        self._replacement = settings.optional_string("replacement")
        self._with_default = settings.boolean("replace.null.with.default")

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _CONFIG_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with the fields masked; its schema stays."""
        schema, value = self.side.of(record)
        if schema is None:
            members = dict(expected.map_for(_PURPOSE, value))
            for name in self._names:
                members[name] = self._masked(members.get(name), None)
            return self.side.replaced(record, None, members)
        struct = expected.struct_for(_PURPOSE, value, schema)
        members = derived.members_of(struct, with_default=self._with_default)
        for field in struct.schema.fields:
            if field.name in self._names:
                members[field.name] = self._masked(members[field.name], field.schema)
        return self.side.replaced(record, schema, derived.struct_of(schema, members))

    def _masked(self, value: object, schema: Schema | None) -> object:
        if value is None:
            return None
        if self._replacement is None:
            return _emptied(value, schema)
        return _replaced(value, self._replacement, schema)


class MaskFieldKey(MaskField):
    """``MaskField$Key``."""

    ignores_texts = True
    side = Side.KEY


class MaskFieldValue(MaskField):
    """``MaskField$Value``."""

    ignores_texts = True
    side = Side.VALUE


def _emptied(value: object, schema: Schema | None) -> object:
    match value:
        case bool():
            return False
        case int():
            return 0
        case float():
            return 0.0
        case Decimal():
            return Decimal(0)
        case str():
            return ""
        case datetime():
            return logical.moment_of(0)
        case date():
            return logical.moment_of(0).date()
        case time():
            return time()
        case list():
            return []
        case dict():
            return {}
        case _:
            name = java_types.class_name(value, schema)
            raise TransformError(f"Cannot mask value of type: class {name}")


def _replaced(value: object, replacement: str, schema: Schema | None) -> object:
    try:
        match value:
            case bool():
                pass
            case int():
                kind = SchemaType.INT64 if schema is None else schema.type
                number = java_numbers.parse_number(replacement)
                return java_numbers.narrowed(number, java_numbers.BITS[kind])
            case float():
                double = java_floats.double(java_numbers.parse_number(replacement))
                is_single = schema is not None and schema.type is SchemaType.FLOAT32
                return java_floats.single(double) if is_single else double
            case Decimal():
                return Decimal(replacement)
            case str():
                return replacement
    except (ValueError, ArithmeticError):
        wanted = "number" if isinstance(value, Decimal) else "a number"
        raise TransformError(
            f"Unable to convert {replacement} (class java.lang.String) to {wanted}"
        ) from None
    name = java_types.class_name(value, schema)
    raise TransformError(f"Cannot mask value of type class {name} with custom replacement.")


_CONFIG_DEF: Final = ConfigDef(
    [
        declared.key(
            "fields",
            ConfigType.LIST,
            "Fields to mask.",
            declared.HIGH,
            validator=validators.distinct(is_empty_allowed=False),
        ),
        declared.key(
            "replacement",
            ConfigType.STRING,
            "Text or number that stands in the fields instead; not set: the empty value of their "
            "type.",
            declared.LOW,
            None,
            validators.non_empty,
        ),
        declared.REPLACE_NULL,
    ]
)
