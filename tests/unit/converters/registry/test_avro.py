"""AvroConverter both ways: what was written comes back, and what cannot be written is refused."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectd.converters.avro_converter import AvroConverter
from connectd.errors import ConfigError, ConvertError
from connectd.kafka.schema_registry import SchemaText
from connectd.model import logical
from connectd.model.schema import (
    INT32,
    INT64,
    OPTIONAL_INT32,
    OPTIONAL_STRING,
    STRING,
    Schema,
    SchemaType,
    Struct,
)
from tests.unit.converters.registry import cases
from tests.unit.converters.registry.made import converter

CASES = cases.all_cases()
_PREFIX_BYTES = 5
_ENUM = "io.confluent.connect.avro.Enum"


def written(schema: Schema | None, value: object, *settings: tuple[str, str]) -> bytes:
    """A record."""
    record = converter(AvroConverter, *settings).from_connect_data("topic", schema, value)
    assert record is not None
    return record


def schema_of(record: bytes) -> Any:
    """The schema that the registry has."""
    registry = converter(AvroConverter).registry
    found = registry.by_id(int.from_bytes(record[1:_PREFIX_BYTES], "big"), "topic-value")
    return json.loads(found.schema.text)


def by_fastavro(record: bytes) -> Any:
    """The data, as a reader of Avro sees them who knows nothing of Connect."""
    parsed = fastavro.parse_schema(schema_of(record))
    return fastavro.schemaless_reader(io.BytesIO(record[_PREFIX_BYTES:]), parsed, None)


@pytest.mark.parametrize("name", CASES.keys() - {"bare"})
def test_schema_and_value_come_back_as_they_were(name: str) -> None:
    case = CASES[name]
    avro = converter(AvroConverter, *case.settings)
    record = avro.from_connect_data(name, case.schema, case.value)
    schema, value = avro.to_connect_data(name, record)
    assert schema is not None
    assert case.schema is not None
    # A schema that has no version gets the registry's.
    assert schema == replace(case.schema, version=case.schema.version or 1)
    again = avro.from_connect_data(name, case.schema, value)
    assert again == record


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(1 << 63), (1 << 63) - 1)
        | st.floats(allow_nan=False)
        | st.text(st.characters(codec="utf-8"))
        | st.binary(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ).filter(lambda value: value is not None)
)
def test_data_without_schema_come_back_as_they_were(value: object) -> None:
    assert converter(AvroConverter).to_connect_data("topic", written(None, value)) == (None, value)


def test_other_readers_see_logical_types() -> None:
    record = cases.struct(("day", logical.date_schema()), ("at", logical.timestamp_schema()))
    moment = datetime(2026, 1, 31, 12, 0, 0, 1000, tzinfo=UTC)
    found = by_fastavro(written(record, Struct(record, (date(2026, 1, 31), moment))))
    assert found == {"day": date(2026, 1, 31), "at": moment}


def test_an_enum_is_one_in_enhanced_mode_only() -> None:
    colour = replace(
        STRING, parameters=((_ENUM, "a.Colour"), (f"{_ENUM}.RED", "RED"), (f"{_ENUM}.BLUE", "BLUE"))
    )
    record = written(colour, "BLUE", ("enhanced.avro.schema.support", "true"))
    assert schema_of(record)["symbols"] == ["RED", "BLUE"]
    assert by_fastavro(record) == "BLUE"
    assert schema_of(written(colour, "BLUE"))["type"] == "string"
    with pytest.raises(ConvertError, match="does not fit the schema"):
        written(colour, "GREEN", ("enhanced.avro.schema.support", "true"))


def test_a_union_is_one_of_its_fields() -> None:
    union = cases.struct(
        ("int", OPTIONAL_INT32), ("string", OPTIONAL_STRING), name="io.confluent.connect.avro.Union"
    )
    record = written(union, Struct(union, (None, "x")))
    assert schema_of(record) == ["int", "string"]
    assert by_fastavro(record) == "x"
    schema, value = converter(AvroConverter).to_connect_data("topic", record)
    assert isinstance(value, Struct)
    assert schema is not None
    assert replace(schema, version=None) == union
    assert value.values == (None, "x")


def test_a_default_of_avro_alone_is_marked() -> None:
    avro = converter(AvroConverter)
    text = json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "x", "type": "int", "default": 7}],
        }
    )
    schema_id = avro.registry.register("t-value", SchemaText("AVRO", text), normalize=False)
    schema, value = avro.to_connect_data("t", b"\0" + schema_id.to_bytes(4, "big") + b"\x04")
    assert schema is not None
    assert isinstance(value, Struct)
    assert value.values == (2,)
    (field,) = schema.fields
    assert field.schema.default == 7
    assert field.schema.parameters == (("io.confluent.connect.avro.field.default", "true"),)


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (INT32, "x", "Invalid type for INT32: class java.lang.String"),
        (INT32, 1 << 31, "Invalid type for INT32: 2147483648 is none, or too large"),
        (Schema(SchemaType.INT8), 128, "Invalid type for INT8"),
        (STRING, None, "Found null value for non-optional schema"),
        (cases.struct(("a-b", STRING)), Struct(cases.struct(("a-b", STRING)), ("x",)), "'a-b'"),
        (cases.struct(("a", STRING)), Struct(cases.struct(("b", STRING)), ("x",)), "Mismatching"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_topic(
    schema: Schema, value: object, message: str
) -> None:
    with pytest.raises(ConvertError, match=message) as caught:
        written(schema, value)
    assert str(caught.value).startswith("Failed to serialize Avro data from topic topic: ")


def test_two_types_of_one_name_are_refused() -> None:
    one, other = (cases.struct(("x", each), name="a.Same") for each in (STRING, INT32))
    record = cases.struct(("one", one), ("other", other))
    with pytest.raises(ConvertError, match=r"Can't redefine: a\.Same"):
        written(record, Struct(record, (Struct(one, ("x",)), Struct(other, (1,)))))


def test_names_that_avro_has_not_are_scrubbed_on_request() -> None:
    record = cases.struct(("1a-b@", STRING), name="x-y.Row")
    found = written(record, Struct(record, ("v",)), ("scrub.invalid.names", "true"))
    assert schema_of(found)["namespace"] == "x_y"
    assert by_fastavro(found) == {"x1a_b_40": "v"}


def test_the_default_of_an_optional_field_may_be_left_for_null() -> None:
    record = cases.struct(("x", replace(OPTIONAL_INT32, default=7)))
    null = Struct(record, (None,))
    assert by_fastavro(written(record, null)) == {"x": 7}
    kept = written(record, null, ("ignore.default.for.nullables", "true"))
    assert by_fastavro(kept) == {"x": None}


@pytest.mark.parametrize("schema", [None, OPTIONAL_STRING])
def test_null_is_a_tombstone_both_ways(schema: Schema | None) -> None:
    avro = converter(AvroConverter)
    assert avro.from_connect_data("topic", schema, None) is None
    assert avro.to_connect_data("topic", None) == (None, None)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"plain", "Unknown magic byte!"),
        (b"\0\0", "Unknown magic byte!"),
        (b"\0\x7f\xff\xff\xff\x02", "Schema Not Found"),
    ],
)
def test_bytes_that_are_no_record_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ConvertError, match=message) as caught:
        converter(AvroConverter).to_connect_data("topic", data)
    assert str(caught.value).startswith("Failed to deserialize data for topic topic to Avro: ")


def test_data_that_end_too_early_are_refused() -> None:
    record = written(INT64, 1 << 40)
    with pytest.raises(ConvertError, match="are not of the schema"):
        converter(AvroConverter).to_connect_data("topic", record[:-1])


@pytest.mark.parametrize(
    ("strategy", "part", "subject"),
    [
        ("TopicNameStrategy", "key", "t-key"),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", "value", "a.b.Named"),
        ("TopicRecordNameStrategy", "value", "t-a.b.Named"),
    ],
)
def test_subjects_are_named_by_strategy(strategy: str, part: str, subject: str) -> None:
    record = cases.struct(("x", STRING), name="a.b.Named")
    avro = converter(
        AvroConverter, ("converter.type", part), (f"{part}.subject.name.strategy", strategy)
    )
    data = avro.from_connect_data("t", record, Struct(record, ("x",)))
    assert avro.registry.latest(subject).schema.format == "AVRO"
    assert avro.to_connect_data("t", data)[1] == Struct(replace(record, version=1), ("x",))


def test_a_schema_without_name_has_no_subject_of_its_own() -> None:
    with pytest.raises(ConvertError, match="must only be a record schema"):
        written(STRING, "x", ("value.subject.name.strategy", "RecordNameStrategy"))


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("value.subject.name.strategy", "Other", "expected one of io.confluent"),
        ("basic.auth.credentials.source", "SASL_INHERIT", "expected one of URL, USER_INFO"),
        ("basic.auth.credentials.source", "USER_INFO", "expected user:password"),
        ("schema.registry.ssl.truststore.location", "/a.jks", "type=PEM"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(setting: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        converter(AvroConverter, (setting, value))
