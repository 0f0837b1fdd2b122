"""Which attribute values fit which columns, and what is said of those that do not."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.errors import ConfigError, ConvertError
from spark_jobs.data_source_columns import ItemColumns

KEYS = KeySchema((KeyAttribute("id", "S"), KeyAttribute("at", "N")))
POINT = StructType([StructField("x", LongType()), StructField("y", LongType(), nullable=False)])


def read(kind: DataType, value: Any, *, nullable: bool = True, permissive: bool = False) -> object:
    """The value of column ``a`` for an item whose attribute ``a`` is this; None: it has none."""
    schema = StructType([StructField("a", kind, nullable)])
    columns = ItemColumns("t", KEYS, schema, item_column=None, is_permissive=permissive)
    item = {"id": {"S": "k"}, "at": {"N": "7"}, **({} if value is None else {"a": value})}
    ((found,),) = pickle.loads(pickle.dumps(columns)).columns([json.dumps(item).encode()])
    return found


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        (StringType(), {"S": "ä"}, "ä"),
        (StringType(), {"N": "1" * 38}, "1" * 38),
        (DecimalType(38, 0), {"N": "9" * 38}, Decimal("9" * 38)),
        (DecimalType(38, 38), {"N": "0." + "1" * 38}, Decimal("0." + "1" * 38)),
        (DecimalType(5, 2), {"N": "-999.99"}, Decimal("-999.99")),
        (DecimalType(5, 2), {"N": "1E+2"}, Decimal("100.00")),
        (LongType(), {"N": "-9223372036854775808"}, -(2**63)),
        (LongType(), {"N": "1E+2"}, 100),
        (ByteType(), {"N": "127"}, 127),
        (DoubleType(), {"N": "0.1"}, 0.1),
        (DoubleType(), {"N": "9.9999999999999999999999999999999999999E+125"}, 1e126),
        (DoubleType(), {"N": "-1E-130"}, -1e-130),
        (FloatType(), {"N": "0.5"}, 0.5),
        (FloatType(), {"N": "16777217"}, 16777216.0),
        (FloatType(), {"N": "-3.4028235E+38"}, -(2.0 - 2.0**-23) * 2.0**127),
        (FloatType(), {"N": "1.17549436E-38"}, 2.0**-126),
        (FloatType(), {"N": "0"}, 0.0),
        (BinaryType(), {"B": "AAE="}, b"\0\1"),
        (BooleanType(), {"BOOL": False}, False),
        (ArrayType(StringType()), {"SS": ["a"]}, ["a"]),
        (ArrayType(LongType()), {"NS": ["1", "2"]}, [1, 2]),
        (ArrayType(BinaryType()), {"BS": ["AA=="]}, [b"\0"]),
        (ArrayType(StringType()), {"L": [{"S": "a"}, {"NULL": True}]}, ["a", None]),
        (ArrayType(ArrayType(LongType())), {"L": [{"L": []}, {"NS": ["1"]}]}, [[], [1]]),
        (MapType(StringType(), LongType()), {"M": {"x": {"N": "1"}}}, [("x", 1)]),
        (POINT, {"M": {"y": {"N": "1"}, "z": {"S": "left out"}}}, {"x": None, "y": 1}),
        (LongType(), {"NULL": True}, None),
        (LongType(), None, None),
    ],
)
def test_what_fits(kind: DataType, value: Any, found: object) -> None:
    assert read(kind, value) == found


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (StringType(), {"BOOL": True}, "attribute a has a value of type BOOL"),
        (LongType(), {"N": "1.5"}, "attribute a has N 1.5, which does not fit the column a bigint"),
        (LongType(), {"N": "9223372036854775808"}, "has N 9223372036854775808"),
        (LongType(), {"N": "1E+125"}, r"has N 1E\+125"),
        (ByteType(), {"N": "128"}, "tinyint"),
        (LongType(), {"S": "1"}, "a value of type S"),
        (DecimalType(5, 2), {"N": "1000"}, "has N 1000"),
        (DecimalType(5, 2), {"N": "0.001"}, "has N 0.001"),
        (DecimalType(5, 2), {"N": "1E-130"}, "has N 1E-130"),
        (DecimalType(38, 0), {"N": "1E+125"}, r"has N 1E\+125"),
        (DecimalType(38, 38), {"N": "1"}, "has N 1"),
        (LongType(), {"N": "1E-130"}, "has N 1E-130"),
        (FloatType(), {"N": "1E+125"}, r"has N 1E\+125, which does not fit the column a float"),
        (FloatType(), {"N": "-3.4028236E+38"}, r"has N -3.4028236E\+38"),
        (FloatType(), {"N": "1E-130"}, "has N 1E-130"),
        (FloatType(), {"N": "1E-40"}, "has N 1E-40"),
        (FloatType(), {"N": "NaN"}, "has N NaN"),
        (DoubleType(), {"N": "1E+400"}, r"has N 1E\+400"),
        (DoubleType(), {"N": "1E-400"}, "has N 1E-400"),
        (LongType(), {"N": "Infinity"}, "has N Infinity"),
        (ArrayType(FloatType()), {"NS": ["1", "1E+39"]}, r"a\[1\] has N 1E\+39"),
        (BinaryType(), {"S": "AAE="}, "a value of type S"),
        (BooleanType(), {"N": "1"}, "has N 1"),
        (ArrayType(LongType()), {"SS": ["1"]}, r"attribute a\[0\] has a value of type S"),
        (ArrayType(LongType()), {"M": {}}, "a value of type M"),
        (ArrayType(LongType(), False), {"L": [{"NULL": True}]}, r"a\[0\] has no value"),
        (MapType(StringType(), LongType()), {"M": {"x": {"S": ""}}}, r"a\.x has a value of type S"),
        (POINT, {"M": {}}, r"a\.y has no value"),
        (POINT, {"L": []}, "a value of type L"),
        (StringType(), "bare", "no DynamoDB JSON"),
    ],
)
def test_what_does_not_fit_names_key_and_attribute_or_is_null(
    kind: DataType, value: Any, text: str
) -> None:
    with pytest.raises(ConvertError, match=f"^table t, key id=k, at=7: .*{text}"):
        read(kind, value)
    assert read(kind, value, permissive=True) is None


def test_a_column_that_may_not_be_null_is_never_null() -> None:
    for permissive in (False, True):
        with pytest.raises(ConvertError, match="attribute a has no value") as raised:
            read(LongType(), None, nullable=False, permissive=permissive)
        assert "declare it without NOT NULL" in str(raised.value)
        assert "permissive" not in str(raised.value)


def test_a_type_that_nothing_fits_is_refused_at_once() -> None:
    for kind in (DateType(), ArrayType(DateType()), MapType(LongType(), LongType())):
        with pytest.raises(ConfigError, match="column a has the type"):
            read(kind, None)


def test_the_column_of_items_is_their_text() -> None:
    schema = StructType([StructField("all", StringType()), StructField("n", StringType())])
    columns = ItemColumns("t", KEYS, schema, item_column="all", is_permissive=False)
    text = b'{"n": {"N":"1.0"},"id":{"S":"\xc3\xa4"}}'
    assert columns.columns([text]) == [[text.decode()], ["1.0"]]


def test_the_column_of_items_is_a_string() -> None:
    schema = StructType([StructField("all", IntegerType())])
    with pytest.raises(ConfigError, match=r"column all takes whole items.*int; declare it as str"):
        ItemColumns("t", KEYS, schema, item_column="all", is_permissive=True)
