"""``TimestampConverter``: moments as text, as numbers, or as logical types (spec F.2).

Whatever the form, a value first becomes a moment in UTC, and then the other form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import ClassVar, Final

from connectd.aio.clock import LoopClock
from connectd.configdef import validators
from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.parsing import ParsedConfig
from connectd.configdef.values import invalid_value
from connectd.errors import ConfigError, TransformError
from connectd.model import java_types, logical, text_marks
from connectd.model.date_format import DateFormat, DateFormatError, DateRangeError
from connectd.model.record import SourceRecord
from connectd.model.schema import Field, Schema, SchemaType
from connectd.transforms import declared, derived, expected
from connectd.transforms.side import Side

_LONG_END: Final = 1 << 63
_PURPOSE: Final = "converting timestamp formats"
_FORMS: Final = ("string", "unix", "Date", "Time", "Timestamp")
_NS_PER_MS: Final = 1_000_000
_NS_PER: Final = {
    "nanoseconds": 1,
    "microseconds": 1000,
    "milliseconds": _NS_PER_MS,
    "seconds": 1_000_000_000,
}
_FORM_BY_LOGICAL: Final = {
    logical.DATE: "Date",
    logical.TIME: "Time",
    logical.TIMESTAMP: "Timestamp",
}


class TimestampConverter:
    """The work of both sides."""

    side: ClassVar[Side]

    def __init__(self, settings: ParsedConfig) -> None:
        self._field = settings.string("field")
        self._target = settings.string("target.type")
        self._pattern = settings.string("format")
        self._ns_per_unit = _NS_PER[settings.string("unix.precision")]
        self._with_default = settings.boolean("replace.null.with.default")
        if self._target == "string" and not self._pattern:
            raise ConfigError(
                "TimestampConverter requires format option to be specified when using string "
                "timestamps"
            )
        self._format = self._compiled() if self._pattern else None
        self._schemas = derived.SchemaCache()

    def _compiled(self) -> DateFormat:
        now = datetime.fromtimestamp(LoopClock().wall_s(), UTC)
        try:
            return DateFormat(self._pattern, now=now)
        except DateFormatError as error:
            raise invalid_value(
                "TimestampConverter requires a SimpleDateFormat-compatible pattern for string "
                f"timestamps: {self._pattern}",
                f"java.lang.IllegalArgumentException: {error}",
            ) from error

    @classmethod
    def config_def(cls) -> ConfigDef:
        """What it is told."""
        return _CONFIG_DEF

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with the moment in another form."""
        schema, value = self.side.of(record)
        if schema is None:
            return self.side.replaced(record, None, self._without_schema(value))
        if not self._field:
            other = self._schemas.get(schema, self._target_schema)
            return self.side.replaced(record, other, self._converted(value, schema))
        struct = None if value is None else expected.struct_for(_PURPOSE, value, schema)
        other = self._schemas.get(expected.with_fields(schema), self._struct_schema)
        if struct is None:
            return self.side.replaced(record, other, None)
        members = derived.members_of(struct, with_default=self._with_default)
        field = struct.schema.field(self._field)
        if field is not None:
            members[field.name] = self._converted(members[field.name], field.schema)
        return self.side.replaced(record, other, derived.struct_of(other, members))

    def _without_schema(self, value: object) -> object:
        if not self._field or value is None:
            return self._converted(value, None)
        members = expected.map_for(_PURPOSE, value)
        return {**members, self._field: self._converted(members.get(self._field), None)}

    # -- schemas ---------------------------------------------------------------------------------

    def _struct_schema(self, schema: Schema) -> Schema:
        fields = [
            Field(field.name, self._target_schema(field.schema))
            if field.name == self._field
            else field
            for field in schema.fields
        ]
        return replace(schema, fields=tuple(fields))

    def _target_schema(self, schema: Schema) -> Schema:
        _source_form(schema)
        match self._target:
            case "string":
                return Schema(SchemaType.STRING, optional=schema.optional)
            case "unix":
                return Schema(SchemaType.INT64, optional=schema.optional)
        return _LOGICAL_SCHEMAS[self._target](optional=schema.optional)

    # -- values ----------------------------------------------------------------------------------

    def _converted(self, value: object, schema: Schema | None) -> object:
        if value is None:
            return None
        form = _source_form(schema) if schema is not None else _form_of(value)
        return self._in_target(self._moment(value, form, schema))

    def _moment(self, value: object, form: str, schema: Schema | None) -> datetime:
        match form, value:
            case _, datetime():
                return value
            case _, date():
                return datetime(value.year, value.month, value.day, tzinfo=UTC)
            case _, time():
                return logical.moment_of(logical.ms_of_day(value))
            case "unix", int() if not isinstance(value, bool):
                return logical.moment_of(_in_unit(value * self._ns_per_unit, _NS_PER_MS))
            case "string", str():
                return self._parsed(value)
        name = java_types.class_name(value, schema)
        wanted = (
            "Unix timestamp to be a Long" if form == "unix" else "string timestamp to be a String"
        )
        raise TransformError(f"Expected {wanted}, but found class {name}")

    def _parsed(self, text: str) -> datetime:
        if self._format is None:
            raise TransformError(
                "TimestampConverter found a string timestamp; set 'format' to say how to read it"
            )
        try:
            return self._format.parse(text_marks.read(text))
        except DateRangeError as error:
            raise TransformError(f"Could not parse timestamp: value ({text}): {error}") from None
        except DateFormatError:
            raise TransformError(
                f"Could not parse timestamp: value ({text}) does not match pattern "
                f"({self._pattern})"
            ) from None

    def _in_target(self, moment: datetime) -> object:
        ms = logical.epoch_ms(moment)
        match self._target:
            case "string":
                return self._format.format(moment) if self._format is not None else None
            case "unix":
                return _in_unit(ms * _NS_PER_MS, self._ns_per_unit)
            case "Date":
                return moment.date()
            case "Time":
                return logical.time_of(ms % logical.MS_PER_DAY)
            case _:
                return moment


class TimestampConverterKey(TimestampConverter):
    """``TimestampConverter$Key``."""

    ignores_texts = True
    side = Side.KEY


class TimestampConverterValue(TimestampConverter):
    """``TimestampConverter$Value``."""

    ignores_texts = True
    side = Side.VALUE


def _in_unit(ns: int, unit_ns: int) -> int:
    """``TimeUnit.convert``: rounds towards zero, and stops at the ends of a long."""
    whole = ns // unit_ns if ns >= 0 else -(-ns // unit_ns)
    return max(-_LONG_END, min(_LONG_END - 1, whole))


def _source_form(schema: Schema) -> str:
    if schema.name in _FORM_BY_LOGICAL:
        return _FORM_BY_LOGICAL[schema.name]
    if schema.type is SchemaType.STRING:
        return "string"
    if schema.type is SchemaType.INT64:
        return "unix"
    named = f"{schema.name}:{schema.type.name}" if schema.name else schema.type.name
    raise TransformError(
        f"Schema Schema{{{named}}} does not correspond to a known timestamp type format"
    )


def _form_of(value: object) -> str:
    match value:
        case date() | time():
            return "Timestamp"
        case int() if not isinstance(value, bool):
            return "unix"
        case str():
            return "string"
    name = java_types.class_name(value)
    raise TransformError(f"TimestampConverter does not support class {name} objects as timestamps")


_LOGICAL_SCHEMAS: Final[dict[str, Callable[..., Schema]]] = {
    "Date": logical.date_schema,
    "Time": logical.time_schema,
    "Timestamp": logical.timestamp_schema,
}

_CONFIG_DEF: Final = ConfigDef(
    [
        declared.key(
            "field",
            ConfigType.STRING,
            "Field with the moment; empty: the whole key or value is it.",
            declared.HIGH,
            "",
        ),
        declared.key(
            "target.type",
            ConfigType.STRING,
            "The form that it gets: string, unix, Date, Time or Timestamp.",
            declared.HIGH,
            validator=validators.one_of(*_FORMS),
        ),
        declared.key(
            "format",
            ConfigType.STRING,
            "Pattern of Java's SimpleDateFormat, for texts that are read or written.",
            declared.MEDIUM,
            "",
        ),
        declared.key(
            "unix.precision",
            ConfigType.STRING,
            "Unit of numbers that are read or written.",
            declared.LOW,
            "milliseconds",
            validators.one_of(*_NS_PER),
        ),
        declared.REPLACE_NULL,
    ]
)
