"""The type of a text is read from its form (spec kafka-connect E.4)."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.model import literals, logical
from connectd.model.schema import BOOLEAN, INT64, STRING, Schema, SchemaType

INT8, INT16 = Schema(SchemaType.INT8), Schema(SchemaType.INT16)


def _array(elements: Schema | None) -> Schema:
    return Schema(SchemaType.ARRAY, value_schema=elements)


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("", STRING, ""),
        ("null", None, None),
        ("true", BOOLEAN, True),
        ("True", STRING, "True"),
        ("1", INT8, 1),
        ("1.0", INT8, 1),
        ("-129", INT16, -129),
        ("99999999999", INT64, 99999999999),
        ("123456789012345678901", logical.decimal_schema(0), Decimal("123456789012345678901")),
        ("1.5", Schema(SchemaType.FLOAT32), 1.5),
        ("1.5e300", Schema(SchemaType.FLOAT64), 1.5e300),
        ("1e400", logical.decimal_schema(-400), Decimal("1e400")),
        ("2020-02-20", logical.date_schema(), date(2020, 2, 20)),
        ("2020-02-31", logical.date_schema(), date(2020, 3, 2)),
        ("12:13:14.555Z", logical.time_schema(), time(12, 13, 14, 555_000)),
        (
            "2020-02-20T01:02:03.004Z",
            logical.timestamp_schema(),
            datetime(2020, 2, 20, 1, 2, 3, 4000, tzinfo=UTC),
        ),
        ("[1, 300]", _array(INT16), [1, 300]),
        ('[1,"a"]', _array(None), [1, "a"]),
        ("[null,1]", STRING, "[null,1]"),
        ("[null]", _array(None), [None]),
        ("[]", _array(None), []),
        ("[1,]", _array(INT8), [1]),
        ("[1] and more", _array(INT8), [1]),
        ("7,8", INT8, 7),
        ("[,1]", STRING, "[,1]"),
        ('["2020-02-20",1]', _array(logical.date_schema()), [date(2020, 2, 20), date(1970, 1, 2)]),
        ("[a]", STRING, "[a]"),
        ("[1", STRING, "[1"),
        ('{"a":1}', Schema(SchemaType.MAP, key_schema=STRING, value_schema=INT8), {"a": 1}),
        ("{null:1}", STRING, "{null:1}"),
        ("{[1]:1}", STRING, "{[1]:1}"),
        (r'["\"q\\"]', _array(STRING), [r"\"q\\"]),
        ('["2020-02-20"]', _array(logical.date_schema()), [date(2020, 2, 20)]),
        ('"q"', STRING, '"q"'),
        (" spaced out ", STRING, " spaced out "),
        ("12 monkeys", STRING, "12 monkeys"),
        ("[" * 5000, STRING, "[" * 5000),
    ],
)
def test_a_text_is_what_it_looks_like(text: str, schema: Schema | None, value: object) -> None:
    assert literals.parse(text) == (schema, value)


@given(st.text())
def test_every_text_stands_for_something(text: str) -> None:
    schema, value = literals.parse(text)
    assert schema is not None or value is None
