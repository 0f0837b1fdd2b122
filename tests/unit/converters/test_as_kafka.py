"""Every converter against the real ones: ``answers.tsv`` has what those of Kafka 4.3.1 wrote.

One line per case and converter: name, converter, and the bytes as ``text`` or ``hex``, ``null``
for no bytes, or ``error``. Left out is what only Java has: other values under the same schema,
objects whose text is an address, and what older Java versions write with more digits.
"""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Final

import pytest

from connectd.converters import catalogue
from connectd.errors import ConvertError
from connectd.model import logical
from connectd.model.record import ConverterSpec
from connectd.model.schema import (
    BOOLEAN,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    Field,
    Schema,
    SchemaType,
    Struct,
)

_INT8, _INT16 = Schema(SchemaType.INT8), Schema(SchemaType.INT16)
_FLOAT32, _FLOAT64 = Schema(SchemaType.FLOAT32), Schema(SchemaType.FLOAT64)
_BYTES = Schema(SchemaType.BYTES)


def _array(of: Schema, *, default: object = None) -> Schema:
    return Schema(SchemaType.ARRAY, value_schema=of, default=default)


def _map(key: Schema, value: Schema, *, default: object = None) -> Schema:
    return Schema(SchemaType.MAP, key_schema=key, value_schema=value, default=default)


def _optional(schema: Schema) -> Schema:
    return Schema(**{**schema.__dict__, "optional": True})


def _single(bits: int) -> float:
    return float(struct.unpack(">f", bits.to_bytes(4, "big"))[0])


_INNER = Schema(
    SchemaType.STRUCT, True, "inner", fields=(Field("x", Schema(SchemaType.FLOAT64, True)),)
)
_RECORD = Schema(
    SchemaType.STRUCT,
    name="rec",
    version=2,
    doc="a rec",
    parameters=(("p", "1"), ("a", "2")),
    fields=(
        Field("id", INT32),
        Field("n", OPTIONAL_STRING),
        Field("d", Schema(SchemaType.STRING, default="dflt")),
        Field("od", Schema(SchemaType.INT8, True, default=7)),
        Field("in", _INNER),
        Field("l", _optional(_array(_INNER))),
        Field("m", _optional(_map(STRING, _INNER))),
        Field("dec", logical.decimal_schema(1, optional=True)),
    ),
)
_DEFAULTS = Schema(
    SchemaType.STRUCT,
    fields=(
        Field("a", STRING),
        Field("m", _map(STRING, INT32, default={"k": 1})),
        Field("l", _array(_FLOAT32, default=[1.0])),
        Field("b", Schema(SchemaType.BYTES, default=b"\x01")),
    ),
)
_WHOLE = Struct(
    _RECORD,
    (
        1,
        None,
        None,
        None,
        Struct(_INNER, (1.0,)),
        [Struct(_INNER, (None,)), None],
        {"k": Struct(_INNER, (-2.5,))},
        Decimal("2.5"),
    ),
)
_NOTHING = (None,) * 7

_SINGLES: Final = [
    12.2, 0.0, -0.0, 1e7, 9999999.0, 0.001, 0.00099, 1.0e10, _single(0x7F7FFFFF), _single(1),
    16777216.0, 0.1, 100.0, math.nan, math.inf, -math.inf, _single(0x00800000), 2.0e-3, 33554432.0,
]  # fmt: skip
_DOUBLES: Final = [
    12.2, 0.0, -0.0, 1e7, 9999999.0, 0.001, 0.00099, 1.0e10, 1.7976931348623157e308, 4.9e-324,
    0.1, 100.0, math.nan, math.inf, 2.2250738585072014e-308, 123456789.125, 2.0e-3, 1e21,
    2e-44,
]  # fmt: skip
_DAY = date(2019, 4, 14)
_EARLY = datetime(1970, 1, 1, tzinfo=UTC)

_CASES: Final[dict[str, tuple[Schema | None, object]]] = {
    "int8": (_INT8, -128),
    "int16": (_INT16, 32767),
    "int32": (INT32, -5),
    "int64": (INT64, -(1 << 63)),
    **{f"float32-{n}": (_FLOAT32, value) for n, value in enumerate(_SINGLES)},
    **{f"float64-{n}": (_FLOAT64, value) for n, value in enumerate(_DOUBLES)},
    "true": (BOOLEAN, True),
    "string": (STRING, 'a"\\\x1f/é€😀\u2028\n'),
    "empty": (STRING, ""),
    "bytes": (_BYTES, b"\x00\xff\x3e\x3f"),
    "null-optional": (OPTIONAL_STRING, None),
    "null-required": (STRING, None),
    "null-default": (Schema(SchemaType.STRING, default="d"), None),
    "null-optional-default": (Schema(SchemaType.STRING, True, default="d"), None),
    "none-null": (None, None),
    "array": (_array(INT32), [1, 2]),
    "array-optional-elements": (
        Schema(SchemaType.ARRAY, True, "arr", 3, "dd", value_schema=OPTIONAL_STRING),
        ["a", None],
    ),
    "array-null-element": (_array(STRING), ["a", None]),
    "array-empty": (_array(STRING), []),
    "map-string": (_map(STRING, INT32), {"b": 1, "a": 2}),
    "map-int": (_map(INT32, STRING), {2: "x", 1: "y"}),
    "map-optional-key": (_map(OPTIONAL_STRING, STRING), {"k": "v"}),
    "decimal": (logical.decimal_schema(2), Decimal("-123.40")),
    "decimal-0": (logical.decimal_schema(0), Decimal(128)),
    "decimal-neg-scale": (logical.decimal_schema(-2), Decimal("1E+2")),
    "decimal-wrong-scale": (logical.decimal_schema(2), Decimal("1.5")),
    "decimal-optional-null": (logical.decimal_schema(2, optional=True), None),
    "decimal-default": (
        Schema(**{**logical.decimal_schema(2).__dict__, "default": Decimal("1.25")}),
        Decimal("0.00"),
    ),
    "decimal-small": (logical.decimal_schema(10), Decimal("0.0000000001")),
    "decimal-big": (logical.decimal_schema(3), Decimal("12345678901234567890123.456")),
    "date": (logical.date_schema(), _DAY),
    "time": (logical.time_schema(), time(23, 59, 59, 999000)),
    "timestamp": (logical.timestamp_schema(), logical.moment_of(1_600_000_000_123)),
    "timestamp-neg": (logical.timestamp_schema(), logical.moment_of(-1)),
    "timestamp-default": (
        Schema(**{**logical.timestamp_schema().__dict__, "default": logical.moment_of(5)}),
        _EARLY,
    ),
    "struct": (_RECORD, _WHOLE),
    "struct-nulls": (_RECORD, Struct(_RECORD, (2, *_NOTHING))),
    "struct-missing": (_RECORD, Struct(_RECORD, (None, *_NOTHING))),
    "struct-defaults": (_DEFAULTS, Struct(_DEFAULTS, ("x", None, None, None))),
    "named-string": (
        Schema(SchemaType.STRING, True, "n", 1, "doc", parameters=(("z", "é"),)),
        "v",
    ),
    "wrong-int": (INT32, "x"),
    "wrong-string": (STRING, 5),
    "wrong-struct": (_RECORD, "x"),
    "wrong-array": (_array(STRING), "x"),
    "wrong-map": (_map(STRING, STRING), "x"),
    "wrong-element": (_array(STRING), [1]),
    "wrong-bytes": (_BYTES, "x"),
    "wrong-bool": (BOOLEAN, "x"),
    "wrong-double": (_FLOAT64, "x"),
    "free-long": (None, 5),
    "free-double": (None, 1e10),
    "free-string": (None, "s😀"),
    "free-bool": (None, False),
    "free-bytes": (None, b"\x01\x02\x03"),
    "free-list": (None, [1, "a", None, True, [1.5]]),
    "free-map": (None, {"b": 1, "a": None, 'q"\\': {"x": b"\x09"}}),
    "free-map-mixed": (None, {1: "x", "k": 2}),
    "free-map-empty": (None, {}),
    "free-decimal": (None, Decimal("1.5")),
    "free-date": (None, _EARLY),
    "big-string-list": (_array(STRING), ['a"b\\c', "2020-01-01", "", "null"]),
    "list-bytes": (_array(_BYTES), [b"\x01\x02"]),
    "list-dates": (
        _array(logical.timestamp_schema()),
        [logical.moment_of(ms) for ms in (172_800_000, 172_800_002, 5)],
    ),
}

_CONVERTERS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "json": ("json.JsonConverter", {"schemas.enable": "false"}),
    "json-schema": ("json.JsonConverter", {}),
    "json-numeric": (
        "json.JsonConverter",
        {"schemas.enable": "false", "decimal.format": "numeric"},
    ),
    "json-nodefault": (
        "json.JsonConverter",
        {"schemas.enable": "false", "replace.null.with.default": "false"},
    ),
    "string": ("storage.StringConverter", {}),
    "string-latin": ("storage.StringConverter", {"converter.encoding": "ISO-8859-1"}),
    "bytes": ("converters.ByteArrayConverter", {}),
    "short": ("converters.ShortConverter", {}),
    "integer": ("converters.IntegerConverter", {}),
    "long": ("converters.LongConverter", {}),
    "float": ("converters.FloatConverter", {}),
    "double": ("converters.DoubleConverter", {}),
    "boolean": ("converters.BooleanConverter", {}),
    "header": ("storage.SimpleHeaderConverter", {}),
}


def _answers() -> list[tuple[str, str, str]]:
    lines = Path(__file__).with_name("answers.tsv").read_text(encoding="utf-8").split("\n")
    answers = []
    for line in filter(None, lines):
        case, converter, answer = line.split("\t")
        answers.append((case, converter, answer))
    return answers


def _written(name: str, schema: Schema | None, value: object) -> bytes | None:
    class_name, settings = _CONVERTERS[name]
    spec = ConverterSpec(f"org.apache.kafka.connect.{class_name}", tuple(settings.items()))
    if name == "header":
        header_converter = catalogue.HEADER_CONVERTERS[spec.class_name](spec)
        return header_converter.from_connect_header("t", "h", schema, value)
    return catalogue.CONVERTERS[spec.class_name](spec).from_connect_data("t", schema, value)


@pytest.mark.parametrize("case", _CASES)
def test_a_value_becomes_the_bytes_of_the_real_converter(case: str) -> None:
    schema, value = _CASES[case]
    answers = [(converter, answer) for name, converter, answer in _answers() if name == case]
    assert len(answers) >= 6
    for converter, answer in answers:
        try:
            written = _written(converter, schema, value)
        except ConvertError:
            assert answer == "error", converter
            continue
        assert written == _expected(answer), converter


def _expected(answer: str) -> bytes | str | None:
    match answer.split(" ", 1):
        case ["null"]:
            return None
        case ["text", text]:
            return text.encode()
        case ["hex", digits]:
            return bytes.fromhex(digits)
    return answer


def test_no_answer_is_without_its_case() -> None:
    assert {case for case, _, _ in _answers()} == set(_CASES)
    assert {converter for _, converter, _ in _answers()} == set(_CONVERTERS)


def test_every_converter_serves_headers_too() -> None:
    for name, kind in catalogue.CONVERTERS.items():
        converter = kind(ConverterSpec(name))
        header = catalogue.HEADER_CONVERTERS[name](ConverterSpec(name))
        assert header.from_connect_header("t", "h", None, None) is None
        assert converter.from_connect_data("t", None, None) is None
        assert kind.config_def().names()[0] == "converter.type"
