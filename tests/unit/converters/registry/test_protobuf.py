"""ProtobufConverter: protoc takes what it registers, and reads the data as they were."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectd.connectors.dynamodb import envelope
from connectd.converters.protobuf_converter import ProtobufConverter
from connectd.errors import ConvertError
from connectd.model import logical
from connectd.model.schema import (
    INT32,
    OPTIONAL_INT32,
    OPTIONAL_STRING,
    STRING,
    Schema,
    SchemaType,
    Struct,
)
from tests.unit.converters.registry import cases, protoc
from tests.unit.converters.registry.made import converter

_PREFIX_BYTES = 5
_TYPE: Final = "io.confluent.connect.protobuf.Type"
_TAG: Final = "io.confluent.connect.protobuf.Tag"
_ENUM: Final = "io.confluent.connect.protobuf.Enum"


def written(schema: Schema | None, value: object, *settings: tuple[str, str]) -> tuple[str, bytes]:
    """The text that the registry has, and what follows the id."""
    made = converter(ProtobufConverter, *settings)
    record = made.from_connect_data("topic", schema, value)
    assert record is not None
    found = made.registry.by_id(int.from_bytes(record[1:_PREFIX_BYTES], "big"), "topic-value")
    assert found.schema.format == "PROTOBUF"
    return found.schema.text, record[_PREFIX_BYTES:]


message_class = cache(protoc.message_class)


def read(schema: Schema, value: object, *settings: tuple[str, str]) -> Any:
    """The message, as protoc's code reads it."""
    text, data = written(schema, value, *settings)
    assert data[:1] == b"\x00"
    return message_class(text).FromString(data[1:])


def connect(schema: Schema, found: Any) -> object:
    """What a message or scalar is in Connect; null where a message is absent."""
    match schema.name:
        case logical.DECIMAL:
            assert found.scale == logical.scale_of(schema)
            return Decimal(int.from_bytes(found.value, "big", signed=True)).scaleb(-found.scale)
        case logical.DATE:
            return date(found.year, found.month, found.day)
        case logical.TIME:
            return time(found.hours, found.minutes, found.seconds, found.nanos // 1000)
        case logical.TIMESTAMP:
            return found.ToDatetime(tzinfo=UTC)
    if schema.type is SchemaType.ARRAY and schema.value_schema is not None:
        return [connect(schema.value_schema, each) for each in found]
    if schema.type is SchemaType.MAP and schema.value_schema is not None:
        return {key: connect(schema.value_schema, found[key]) for key in found}
    if schema.type is not SchemaType.STRUCT:
        return found
    values = []
    for field in schema.fields:
        is_message = field.schema.type is SchemaType.STRUCT or logical.is_logical(field.schema)
        is_there = not is_message or found.HasField(field.name)
        values.append(connect(field.schema, getattr(found, field.name)) if is_there else None)
    return Struct(schema, tuple(values))


def _integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


_TEXT = st.text(st.characters(codec="utf-8"))
_VALUES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "int8": _integers(8),
    "int16": _integers(16),
    "int32": _integers(32),
    "int64": _integers(64),
    "float32": st.floats(width=32, allow_nan=False),
    "float64": st.floats(allow_nan=False),
    "boolean": st.booleans(),
    "string": _TEXT,
    "bytes": st.binary(),
    "decimal": _integers(80).map(lambda unscaled: Decimal(unscaled).scaleb(-2)),
    "date": st.dates(),
    "time": st.integers(0, logical.MS_PER_DAY - 1).map(logical.time_of),
    "timestamp": st.integers(-60_000_000_000_000, 250_000_000_000_000).map(logical.moment_of),
}
_INNER = cases.struct(("x", INT32), ("y", STRING), name="a.b.Inner")
_RECORD = cases.struct(
    *((name, schema) for name, (schema, _) in cases.PLAIN.items()),
    *((f"list_{name}", cases.array_of(schema)) for name, (schema, _) in cases.PLAIN.items()),
    *((f"map_{name}", cases.map_of(STRING, schema)) for name, (schema, _) in cases.PLAIN.items()),
    ("inner", _INNER),
    ("list_inner", cases.array_of(_INNER)),
    ("by_number", cases.map_of(INT32, STRING)),
)
_INNERS = st.tuples(_integers(32), _TEXT).map(lambda values: Struct(_INNER, values))
_RECORDS = st.tuples(
    *_VALUES.values(),
    *(st.lists(each, max_size=3) for each in _VALUES.values()),
    *(st.dictionaries(_TEXT, each, max_size=2) for each in _VALUES.values()),
    _INNERS,
    st.lists(_INNERS, max_size=2),
    st.dictionaries(_integers(32), _TEXT, max_size=2),
).map(lambda values: Struct(_RECORD, values))


@settings(max_examples=40, deadline=None)
@given(_RECORDS)
def test_any_value_of_any_type_is_read_as_it_was(record: Struct) -> None:
    assert connect(_RECORD, read(_RECORD, record)) == record


@pytest.mark.parametrize(
    ("kind", "schema", "value"),
    [
        ("sint32", INT32, -5),
        ("sfixed32", INT32, -5),
        *(
            (kind, Schema(SchemaType.INT64), value)
            for kind, value in (
                ("sint64", -5),
                ("sfixed64", -(1 << 63)),
                ("uint32", (1 << 32) - 1),
                ("fixed32", (1 << 32) - 1),
                ("uint64", (1 << 63) - 1),
                ("fixed64", (1 << 63) - 1),
            )
        ),
    ],
)
def test_an_integer_may_ask_for_another_type(kind: str, schema: Schema, value: int) -> None:
    record = cases.struct(("x", replace(schema, parameters=((_TYPE, kind),))))
    text, _ = written(record, Struct(record, (value,)))
    assert f"{kind} x = 1;" in text
    assert read(record, Struct(record, (value,))).x == value


def test_a_type_that_cannot_hold_the_values_is_refused() -> None:
    record = cases.struct(("x", replace(STRING, parameters=((_TYPE, "uint32"),))))
    with pytest.raises(ConvertError, match="Type of a STRING is uint32"):
        written(record, Struct(record, ("x",)))
    narrow = cases.struct(("x", Schema(SchemaType.INT64, parameters=((_TYPE, "uint32"),))))
    with pytest.raises(ConvertError, match="Invalid value for uint32: -1"):
        written(narrow, Struct(narrow, (-1,)))


def test_fields_may_say_their_numbers() -> None:
    record = cases.struct(
        ("x", replace(STRING, parameters=((_TAG, "7"),))),
        ("y", replace(STRING, parameters=((_TAG, "3"),))),
    )
    text, data = written(record, Struct(record, ("a", "b")))
    assert "string x = 7;" in text
    assert data == b"\x00\x1a\x01b\x3a\x01a"  # in the order of the numbers


def test_two_fields_of_one_number_are_refused() -> None:
    record = cases.struct(("x", STRING), ("y", replace(STRING, parameters=((_TAG, "1"),))))
    with pytest.raises(ConvertError, match="the same number"):
        written(record, Struct(record, ("a", "b")))


def test_null_and_zero_are_one_unless_presence_counts() -> None:
    record = cases.struct(("x", OPTIONAL_INT32))
    null, zero = Struct(record, (None,)), Struct(record, (0,))
    assert written(record, null)[1] == written(record, zero)[1]
    for setting in ("optional.for.nullables", "wrapper.for.nullables"):
        assert not read(record, null, (setting, "true")).HasField("x")
        assert read(record, zero, (setting, "true")).HasField("x")


def test_a_union_is_a_oneof_whose_choice_is_written_even_if_zero() -> None:
    union = cases.struct(
        ("a", OPTIONAL_INT32),
        ("b", OPTIONAL_STRING),
        name="io.confluent.connect.protobuf.Union.choice",
    )
    record = cases.struct(("u", replace(union, optional=True)), ("c", STRING))
    value = Struct(record, (Struct(union, (0, None)), "x"))
    found = read(record, value)
    assert (found.WhichOneof("choice"), found.a, found.c) == ("a", 0, "x")
    assert read(record, Struct(record, (None, "x"))).WhichOneof("choice") is None


def test_texts_with_the_parameters_of_an_enum_are_its_symbols() -> None:
    colour = replace(
        STRING,
        parameters=((_ENUM, "a.b.Colour"), (f"{_ENUM}.RED", "0"), (f"{_ENUM}.BLUE", "5")),
    )
    record = cases.struct(("colour", colour))
    assert read(record, Struct(record, ("BLUE",))).colour == 5
    with pytest.raises(ConvertError, match="'GREEN' is none of the symbols RED, BLUE"):
        written(record, Struct(record, ("GREEN",)))


@pytest.mark.parametrize("name", cases.PLAIN)
def test_a_root_scalar_is_in_a_message_of_its_own(name: str) -> None:
    schema, value = cases.PLAIN[name]
    if logical.is_logical(schema):
        with pytest.raises(ConvertError, match="Unsupported root schema of type"):
            written(schema, value)
        return
    text, data = written(schema, value)
    # Two zig-zag numbers, unless the message is the first: how many indexes, and the index.
    index, content = (0, data[1:]) if data[0] == 0 else (data[1] // 2, data[2:])
    assert message_class(text, index).FromString(content).value == value


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (cases.array_of(STRING), [], "Unsupported root schema of type ARRAY"),
        (cases.map_of(STRING, STRING), {}, "Unsupported root schema of type MAP"),
        (None, {"a": 1}, "this data has no schema"),
    ],
)
def test_what_protobuf_has_no_message_for_is_refused(
    schema: Schema | None, value: object, message: str
) -> None:
    with pytest.raises(ConvertError, match=message) as caught:
        written(schema, value)
    assert str(caught.value).startswith("Failed to serialize Protobuf data from topic topic: ")


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (cases.array_of(cases.array_of(STRING)), [], "Array cannot be nested"),
        (cases.map_of(Schema(SchemaType.BYTES), STRING), {}, "no maps with keys of BYTES"),
        (cases.array_of(OPTIONAL_STRING), [None], "a list has a null"),
        (cases.map_of(STRING, OPTIONAL_STRING), {"a": None}, "a map has a null"),
    ],
)
def test_lists_and_maps_that_protobuf_has_not_are_refused(
    schema: Schema, value: object, message: str
) -> None:
    record = cases.struct(("x", schema))
    with pytest.raises(ConvertError, match=message):
        written(record, Struct(record, (value,)))


def test_names_that_protobuf_has_not_are_refused_or_scrubbed() -> None:
    record = cases.struct(("a-b", STRING))
    with pytest.raises(ConvertError, match="no name like 'a-b'"):
        written(record, Struct(record, ("x",)))
    assert read(record, Struct(record, ("x",)), ("scrub.invalid.names", "true")).a_b == "x"


@pytest.mark.parametrize("version", ["0.1", "1.0"])
def test_the_envelope_of_dynamodb_records_passes_protoc(version: envelope.EnvelopeVersion) -> None:
    form = envelope.EnvelopeSettings(version, old_image=True, user_identity=True)
    info = envelope.SourceInfo("table", envelope.InitSyncState.FINISHED, 1, 2, 3)
    facts = envelope.RecordFacts(envelope.Operation.DELETE, 4)
    found = read(form.value_schema, form.value(info, facts, "{}", None))
    assert (found.document, found.op, found.ts_ms) == ("{}", "d", 4)
    assert found.source.table_name == "table"
    assert not found.HasField("user_identity")


def test_an_evolved_envelope_keeps_the_numbers_of_its_first_fields() -> None:
    """Fields at the end are new; one in the middle would move the others, and is not added."""
    short = cases.struct(("x", STRING))
    long = cases.struct(("x", STRING), ("y", OPTIONAL_STRING))
    text, _ = written(short, Struct(short, ("a",)))
    _, data = written(long, Struct(long, ("a", "b")))
    assert message_class(text).FromString(data[1:]).x == "a"


def test_a_moment_before_1970_has_whole_nanoseconds() -> None:
    record = cases.struct(("x", logical.timestamp_schema()))
    moment = datetime(1970, 1, 1, tzinfo=UTC) - timedelta(milliseconds=1)
    found = read(record, Struct(record, (moment,))).x
    assert (found.seconds, found.nanos) == (-1, 999_000_000)
