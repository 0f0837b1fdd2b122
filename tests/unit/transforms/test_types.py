"""Transforms that change types: Cast, TimestampConverter, and the date patterns under them."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import pytest
from hypothesis import given as generated
from hypothesis import strategies as st

from connectd.errors import ConfigError, TransformError
from connectd.model import logical
from connectd.model.date_format import DateFormat, DateFormatError
from connectd.model.schema import INT32, INT64, STRING, Schema, SchemaType
from connectd.transforms import cast, timestamp_converter
from tests.unit.transforms.given import made, record, schema, struct

INT8, INT16 = SchemaType.INT8, SchemaType.INT16
FLOAT = Schema(SchemaType.FLOAT32)
MOMENT = datetime(2021, 3, 4, 5, 6, 7, 89_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "kind", "wanted"),
    [
        (300, INT8, 44),
        (-129, INT8, 127),
        (2**31, SchemaType.INT32, -(2**31)),
        (1e20, SchemaType.INT64, 2**63 - 1),
        (1e20, INT8, -1),
        (float("nan"), SchemaType.INT32, 0),
        (-1.9, INT16, -1),
        (True, SchemaType.FLOAT64, 1.0),
        ("12", SchemaType.INT32, 12),
        ("+12", SchemaType.INT32, 12),
        (" 1.5f ", SchemaType.FLOAT64, 1.5),
        ("TRUE", SchemaType.BOOLEAN, True),
        ("yes", SchemaType.BOOLEAN, False),
        (0.5, SchemaType.BOOLEAN, False),
        (2, SchemaType.BOOLEAN, True),
        (1e10, SchemaType.STRING, "1.0E10"),
        (b"ab", SchemaType.STRING, "YWI="),
        (False, SchemaType.STRING, "false"),
        (None, INT8, None),
    ],
)
def test_cast_follows_java(value: object, kind: SchemaType, wanted: object) -> None:
    assert cast.cast(value, kind) == wanted


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ("abc", INT8, r"Value \(abc\) was out of range for requested data type"),
        ("300", INT8, r"Value \(300\) was out of range"),
        (" 1", SchemaType.INT32, "out of range"),
        ([1], INT8, "does not support casting from ARRAY; supported types are"),
        (b"1", INT8, r"Unexpected type in Cast transformation: class \[B"),
    ],
)
def test_cast_refuses_in_kafkas_words(value: object, kind: SchemaType, message: str) -> None:
    with pytest.raises(TransformError, match=message):
        cast.cast(value, kind)


def test_a_logical_value_is_cast_by_what_it_is_stored_as() -> None:
    assert cast.cast(date(1970, 1, 3), SchemaType.INT32, logical.date_schema()) == 2
    assert cast.cast(MOMENT, SchemaType.STRING, logical.timestamp_schema()) == (
        "2021-03-04T05:06:07.089Z"
    )
    assert cast.cast(0.1, SchemaType.STRING, FLOAT) == "0.1"


def test_cast_of_fields_keeps_the_others_and_casts_defaults() -> None:
    defaulted = schema(("a", Schema(SchemaType.INT32, optional=True, default=7)), ("b", STRING))
    found = made(cast.CastValue, spec="a:string").apply(record(struct(defaulted, b="x"), defaulted))
    assert found.value.values == ("7", "x")
    assert found.value_schema.field("a").schema == Schema(
        SchemaType.STRING, optional=True, default="7"
    )
    loose = made(cast.CastValue, spec="a:int8,c:int8").apply(record({"a": "1", "b": 2}))
    assert loose.value == {"a": 1, "b": 2, "c": None}
    whole = made(cast.CastKey, spec="string").apply(record("v"))
    assert whole.key is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "Must specify at least one field to cast"),
        ("a:b:c", r"Invalid value \[a:b:c\] for configuration renames: Invalid rename mapping"),
        ("array", "does not support casting to ARRAY"),
        ("int8,int16", "may only specify a single cast in their spec"),
        ("x:nope", "Invalid type found in casting spec: nope"),
    ],
)
def test_a_bad_spec_is_refused(spec: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        made(cast.CastValue, spec=spec)


# -- timestamps -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "others", "wanted"),
    [
        ("string", {"format": "yyyy-MM-dd"}, "2021-03-04"),
        ("unix", {}, 1614834367089),
        ("unix", {"unix__precision": "seconds"}, 1614834367),
        ("unix", {"unix__precision": "nanoseconds"}, 1614834367089000000),
        ("Date", {}, date(2021, 3, 4)),
        ("Time", {}, time(5, 6, 7, 89_000)),
        ("Timestamp", {}, MOMENT),
    ],
)
def test_a_moment_gets_every_form(target: str, others: dict[str, str], wanted: object) -> None:
    convert = made(timestamp_converter.TimestampConverterValue, target__type=target, **others)
    assert convert.apply(record(MOMENT)).value == wanted
    assert convert.apply(record(None)).value is None
    found = convert.apply(record(MOMENT, logical.timestamp_schema(optional=True)))
    assert found.value == wanted
    assert found.value_schema.optional


def test_a_field_is_converted_in_its_place() -> None:
    given = schema(("id", INT32), ("at", INT64))
    convert = made(
        timestamp_converter.TimestampConverterValue,
        field="at",
        target__type="Timestamp",
        unix__precision="seconds",
    )
    found = convert.apply(record(struct(given, id=1, at=60), given))
    assert found.value.values == (1, logical.moment_of(60_000))
    assert found.value_schema.field("at").schema == logical.timestamp_schema()
    assert convert.apply(record({"at": 60})).value == {"at": logical.moment_of(60_000)}


def test_texts_are_read_by_the_pattern() -> None:
    convert = made(
        timestamp_converter.TimestampConverterValue,
        target__type="unix",
        format="yyyy-MM-dd'T'HH:mm:ss.SSSX",
    )
    assert convert.apply(record("1970-01-02T01:00:00.500+01:00", STRING)).value == 86_400_500
    with pytest.raises(TransformError, match=r"value \(x\) does not match pattern \(yyyy"):
        convert.apply(record("x"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target__type": "string"}, "requires format option to be specified"),
        (
            {"target__type": "unix", "format": "bb"},
            "SimpleDateFormat-compatible pattern",
        ),
        ({"target__type": "x"}, "String must be one of: string, unix, Date, Time, Timestamp"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        made(timestamp_converter.TimestampConverterValue, **settings)


def test_values_that_are_no_moments_are_refused() -> None:
    convert = made(timestamp_converter.TimestampConverterValue, target__type="unix")
    with pytest.raises(TransformError, match=r"class java\.lang\.Boolean objects as timestamps"):
        convert.apply(record(True))
    with pytest.raises(TransformError, match=r"Schema\{INT32\} does not correspond"):
        convert.apply(record(1, INT32))


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("yyyyMMdd", "20210304"),
        ("yy-M-d", "21-3-4"),
        ("EEE, d MMM yyyy HH:mm:ss Z", "Thu, 4 Mar 2021 05:06:07 +0000"),
        ("EEEE MMMM", "Thursday March"),
        ("hh:mm a", "05:06 AM"),
        ("D 'o''clock' k", "63 o'clock 5"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2021-03-04T05:06:07.089Z"),
        ("w W F u G z", "10 1 1 4 AD UTC"),
    ],
)
def test_date_patterns_format_as_java_does(pattern: str, wanted: str) -> None:
    assert DateFormat(pattern).format(MOMENT) == wanted


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        ("yyyyMMddHHmmss", "20210304050607", datetime(2021, 3, 4, 5, 6, 7, tzinfo=UTC)),
        ("yyyy-MM-dd", "2021-01-32 and more", datetime(2021, 2, 1, tzinfo=UTC)),
        ("d MMMM yyyy", "4 mar 2021", datetime(2021, 3, 4, tzinfo=UTC)),
        ("hh a", "12 AM", datetime(1970, 1, 1, tzinfo=UTC)),
        ("HH:mm", "25:61", datetime(1970, 1, 2, 2, 1, tzinfo=UTC)),
    ],
)
def test_date_patterns_parse_leniently(pattern: str, text: str, wanted: datetime) -> None:
    assert DateFormat(pattern).parse(text) == wanted


@pytest.mark.parametrize("pattern", ["b", "yyyy'", "P"])
def test_what_is_no_date_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(DateFormatError):
        DateFormat(pattern)


@generated(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))  # noqa: DTZ001
def test_what_is_formatted_in_full_comes_back(moment: datetime) -> None:
    exact = moment.replace(tzinfo=UTC, microsecond=moment.microsecond // 1000 * 1000)
    full = DateFormat("yyyy-MM-dd HH:mm:ss.SSS")
    assert full.parse(full.format(exact)) == exact
