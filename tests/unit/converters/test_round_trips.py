"""What a converter writes it reads back, for schemas and values of every shape."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.converters import catalogue
from connectd.converters.json_converter import JsonConverter
from connectd.converters.simple_header_converter import SimpleHeaderConverter
from connectd.converters.string_converter import StringConverter
from connectd.errors import ConvertError
from connectd.model import logical
from connectd.model.record import ConverterSpec
from connectd.model.schema import OPTIONAL_STRING, Field, Schema, SchemaType, Struct

Pair = tuple[Schema, object]
_CONVERTERS = "org.apache.kafka.connect.converters."
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


_DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
_SINGLES = st.floats(allow_nan=False, allow_infinity=False, width=32)
_MOMENTS = st.integers(-62_135_596_800_000, 253_402_300_799_999).map(
    lambda ms: _EPOCH + timedelta(milliseconds=ms)
)
_TIMES = st.integers(0, logical.MS_PER_DAY - 1).map(logical.time_of)


def _decimals(scale: int) -> st.SearchStrategy[Decimal]:
    return st.integers(-(10**30), 10**30).map(lambda digits: Decimal(f"{digits}E{-scale}"))


_PLAIN: dict[SchemaType, st.SearchStrategy[Any]] = {
    SchemaType.INT8: _integers(8),
    SchemaType.INT16: _integers(16),
    SchemaType.INT32: _integers(32),
    SchemaType.INT64: _integers(64),
    SchemaType.FLOAT32: _SINGLES,
    SchemaType.FLOAT64: _DOUBLES,
    SchemaType.BOOLEAN: st.booleans(),
    SchemaType.STRING: _TEXTS,
    SchemaType.BYTES: st.binary(max_size=12),
}
_LOGICAL: list[tuple[Schema, st.SearchStrategy[Any]]] = [
    *((logical.decimal_schema(scale), _decimals(scale)) for scale in (0, 2, 20)),
    (logical.date_schema(), st.dates(date(1, 1, 1), date(9999, 12, 31))),
    (logical.time_schema(), _TIMES),
    (logical.timestamp_schema(), _MOMENTS),
]


@st.composite
def _scalars(draw: st.DrawFn) -> tuple[Schema, st.SearchStrategy[Any]]:
    """A schema of a single value, and where its values come from."""
    plain = [(Schema(kind), values) for kind, values in _PLAIN.items()]
    schema, values = draw(st.sampled_from([*plain, *_LOGICAL]))
    if draw(st.booleans()):
        schema = replace(schema, optional=True, doc=draw(_TEXTS))
        values = st.none() | values
    return schema, values


def _array(of: tuple[Schema, st.SearchStrategy[Any]]) -> tuple[Schema, st.SearchStrategy[Any]]:
    schema, values = of
    return Schema(SchemaType.ARRAY, value_schema=schema), st.lists(values, max_size=3)


def _map(
    key: SchemaType, of: tuple[Schema, st.SearchStrategy[Any]]
) -> tuple[Schema, st.SearchStrategy[Any]]:
    schema, values = of
    whole = Schema(SchemaType.MAP, key_schema=Schema(key), value_schema=schema)
    return whole, st.dictionaries(_PLAIN[key], values, max_size=3)


def _struct(
    members: dict[str, tuple[Schema, st.SearchStrategy[Any]]], optional: bool, version: int | None
) -> tuple[Schema, st.SearchStrategy[Any]]:
    fields = tuple(Field(name, schema) for name, (schema, _) in members.items())
    whole = Schema(
        SchemaType.STRUCT,
        optional,
        "rec",
        version,
        fields=fields,
        parameters=(("p", "q"),),
    )
    values = st.tuples(*(values for _, values in members.values()))
    structs = values.map(lambda each: Struct(whole, each))
    return whole, st.none() | structs if optional else structs


_SHAPES: st.SearchStrategy[tuple[Schema, st.SearchStrategy[Any]]] = st.recursive(
    _scalars(),
    lambda inner: st.one_of(
        inner.map(_array),
        st.builds(_map, st.sampled_from([SchemaType.STRING, SchemaType.INT16]), inner),
        st.builds(
            _struct,
            st.dictionaries(_NAMES, inner, max_size=3),
            st.booleans(),
            st.none() | _integers(32),
        ),
    ),
    max_leaves=6,
)


@st.composite
def _pairs(draw: st.DrawFn) -> Pair:
    schema, values = draw(_SHAPES)
    return schema, draw(values)


def _made(cls: Callable[[ConverterSpec], Any], **settings: str) -> Any:
    pairs = tuple(sorted((name.replace("_", "."), text) for name, text in settings.items()))
    return cls(ConverterSpec("c", pairs))


@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
@given(pair=_pairs())
def test_json_with_schemas(pair: Pair, decimals: str) -> None:
    converter = _made(JsonConverter, decimal_format=decimals)
    schema, value = pair
    written = converter.from_connect_data("t", schema, value)
    assert converter.to_connect_data("t", written) == (schema, value)


@given(
    value=st.recursive(
        st.none() | st.booleans() | _integers(64) | _DOUBLES | _TEXTS,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, min_size=1, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_json_without_schemas(value: object) -> None:
    converter = _made(JsonConverter, schemas_enable="false")
    written = converter.from_connect_data("t", None, value)
    assert converter.to_connect_data("t", written) == (None, value)


@given(value=_integers(32) | st.none())
def test_json_of_a_known_schema_is_read_without_its_envelope(value: object) -> None:
    bare = _made(JsonConverter, schemas_enable="false")
    known = _made(JsonConverter, schema_content='{"type":"int32","optional":true}')
    schema = Schema(SchemaType.INT32, optional=True)
    assert known.to_connect_data("t", bare.from_connect_data("t", schema, value)) == (schema, value)


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "UTF-16LE", "UTF-32BE"])
@given(text=_TEXTS.filter(lambda text: not text.startswith("\ufeff")) | st.none())
def test_texts(text: str | None, encoding: str) -> None:
    converter = _made(StringConverter, converter_encoding=encoding)
    written = converter.from_connect_data("t", OPTIONAL_STRING, text)
    assert converter.to_connect_data("t", written) == (OPTIONAL_STRING, text)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Short", SchemaType.INT16),
        ("Integer", SchemaType.INT32),
        ("Long", SchemaType.INT64),
        ("Float", SchemaType.FLOAT32),
        ("Double", SchemaType.FLOAT64),
        ("Boolean", SchemaType.BOOLEAN),
        ("ByteArray", SchemaType.BYTES),
    ],
)
@given(data=st.data())
def test_numbers_booleans_and_bytes(name: str, kind: SchemaType, data: st.DataObject) -> None:
    converter = _made(catalogue.CONVERTERS[f"{_CONVERTERS}{name}Converter"])
    value = data.draw(st.none() | _PLAIN[kind])
    schema = Schema(kind, optional=True)
    written = converter.from_connect_data("t", schema, value)
    assert converter.to_connect_data("t", written) == (schema, value)
    assert converter.to_connect_header("t", "h", written) == (schema, value)


_HEADER = _made(SimpleHeaderConverter)
_WORDS = st.text("abcdefgh", min_size=1)
_HEADER_VALUES = st.one_of(
    st.booleans(),
    _integers(64),
    st.lists(_integers(64), max_size=4),
    st.lists(_WORDS, max_size=3),
    st.dictionaries(_WORDS, _integers(16), max_size=3),
    st.dictionaries(_WORDS, st.lists(_WORDS, max_size=2), max_size=2),
)


@given(value=_HEADER_VALUES)
def test_header_values_whose_text_tells_what_they_are(value: object) -> None:
    written = _HEADER.from_connect_header("t", "h", None, value)
    assert _HEADER.to_connect_header("t", "h", written)[1] == value


@given(value=st.dates(date(1970, 1, 2), date(9999, 12, 31)) | _TIMES)
def test_days_and_times_of_headers(value: object) -> None:
    is_day = isinstance(value, date)
    schema = logical.date_schema() if is_day else logical.time_schema()
    written = _HEADER.from_connect_header("t", "h", schema, value)
    assert _HEADER.to_connect_header("t", "h", written) == (schema, value)


_JSON_LIKE = st.text('{}[]",:\\u0019e.-+ntrf ', max_size=30).map(str.encode)
_READERS = [_made(cls) for cls in catalogue.CONVERTERS.values()]
_READERS.append(_made(JsonConverter, schemas_enable="false"))


@given(data=st.binary(max_size=40) | _JSON_LIKE)
def test_whatever_the_bytes_they_are_read_or_refused(data: bytes) -> None:
    for converter in _READERS:
        try:
            converter.to_connect_data("t", data)
        except ConvertError:
            continue
    _HEADER.to_connect_header("t", "h", data)


def test_no_bytes_are_null_for_every_converter() -> None:
    for converter in _READERS:
        assert converter.to_connect_data("t", None)[1] is None
    assert _HEADER.to_connect_header("t", "h", None) == (None, None)


def test_deep_json_is_refused_and_deep_headers_are_text() -> None:
    deep = b"[" * 100_000
    with pytest.raises(ConvertError, match="Converting byte"):
        _made(JsonConverter, schemas_enable="false").to_connect_data("t", deep)
    assert _HEADER.to_connect_header("t", "h", deep)[1] == deep.decode()


def test_a_single_is_rounded_once() -> None:
    """Through a double, this number would be half-way between two singles and go to the other."""
    converter = _made(JsonConverter, schema_content='{"type":"float"}')
    nearest = struct.unpack(">f", bytes.fromhex("4b800001"))[0]
    assert converter.to_connect_data("t", b"16777217.0000000001")[1] == nearest
