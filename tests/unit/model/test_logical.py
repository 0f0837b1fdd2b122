"""Logical types are stored as Kafka Connect stores them (spec kafka-connect E.1)."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.errors import ConvertError
from connectd.model import logical
from connectd.model.schema import STRING, Schema

CASES = [
    (logical.decimal_schema(2), Decimal("1.00"), b"\x64"),
    (logical.decimal_schema(2), Decimal("-1.28"), b"\x80"),
    (logical.decimal_schema(0), Decimal("128"), b"\x00\x80"),
    (logical.decimal_schema(0), Decimal(0), b"\x00"),
    (logical.decimal_schema(-2), Decimal("1E+2"), b"\x01"),
    (logical.date_schema(), date(1970, 1, 2), 1),
    (logical.date_schema(), date(1969, 12, 31), -1),
    (logical.time_schema(), time(1, 2, 3, 4000), 3_723_004),
    (logical.timestamp_schema(), datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 1000),
    (logical.timestamp_schema(), datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC), -1),
]


@pytest.mark.parametrize(("schema", "value", "stored"), CASES)
def test_a_logical_value_is_stored_and_comes_back(
    schema: Schema, value: object, stored: object
) -> None:
    assert logical.to_stored(schema, value) == stored
    assert logical.from_stored(schema, stored) == value


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (logical.decimal_schema(2), Decimal("1.5"), "mismatching scale"),
        (logical.decimal_schema(2), 1, "expected BigDecimal but was class java.lang.Long"),
        (logical.date_schema(), datetime(2020, 1, 1, tzinfo=UTC), "expected Date but was datetime"),
        (logical.time_schema(), date(2020, 1, 1), "expected Date but was date"),
        (logical.timestamp_schema(), 7, "expected Date but was class java.lang.Long"),
        (Schema(STRING.type, name=logical.DECIMAL), Decimal(1), "scale parameter not found"),
    ],
)
def test_a_value_of_another_type_is_refused(schema: Schema, value: object, message: str) -> None:
    with pytest.raises(ConvertError, match=message):
        logical.to_stored(schema, value)


@pytest.mark.parametrize(
    ("schema", "stored"),
    [
        (logical.time_schema(), logical.MS_PER_DAY),
        (logical.time_schema(), -1),
        (logical.date_schema(), 10**9),
        (logical.timestamp_schema(), 10**15),
        (logical.timestamp_schema(), True),
        (logical.decimal_schema(1), "1.5"),
    ],
)
def test_what_cannot_have_been_stored_is_refused(schema: Schema, stored: object) -> None:
    with pytest.raises(ConvertError):
        logical.from_stored(schema, stored)


def test_other_schemas_and_null_are_left_alone() -> None:
    assert logical.to_stored(STRING, "x") == "x"
    assert logical.from_stored(logical.date_schema(optional=True), None) is None
    assert not logical.is_logical(STRING)


@given(st.integers(), st.integers(-40, 40))
def test_decimals_of_any_size_survive(unscaled: int, scale: int) -> None:
    schema = logical.decimal_schema(scale)
    value = Decimal(unscaled).scaleb(-scale, logical._EXACT)
    assert logical.from_stored(schema, logical.to_stored(schema, value)) == value
