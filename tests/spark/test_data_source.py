"""The data source ``dynamodb`` on a real local Spark, against the scripted fake."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrameReader, Row, SparkSession

from spark_jobs.data_source import DynamoDbDataSource
from tests.fakes.process import FakeProcess

pytestmark = pytest.mark.timeout(240)

BIG = "12345678901234567890123456789012345678"
ALL_TYPES: dict[str, Any] = {
    "s": {"S": 'zähle "bis" ✓'},
    "n": {"N": BIG},
    "b": {"B": "AAEC/w=="},
    "yes": {"BOOL": True},
    "nothing": {"NULL": True},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1.5", "2"]},
    "bs": {"BS": ["AA==", "AQ=="]},
    "m": {"M": {"inner": {"S": "x"}, "other": {"N": "2"}}},
    "l": {"L": [{"S": "x"}, {"N": "7"}, {"B": "AA=="}]},
    "blobs": {"L": [{"B": "AA=="}, {"B": ""}]},
}


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeProcess]:
    with FakeProcess(partitions=4) as fake:
        yield fake


@pytest.fixture(scope="module")
def spark(spark_context: SparkContext) -> Iterator[SparkSession]:
    session = SparkSession(spark_context)
    session.dataSource.register(DynamoDbDataSource)
    yield session
    session.stop()


class Tables:
    """Makes tables on the fake, and reads them with Spark."""

    def __init__(self, fake: FakeProcess, spark: SparkSession) -> None:
        self.control = fake.control
        self._url = fake.url
        self._spark = spark

    def create(self, *items: dict[str, Any], **arguments: object) -> None:
        """Table ``t`` with these items; without an id, ``k0``, ``k1``, …"""
        self.control.create_table(table="t", **arguments)
        for number, item in enumerate(items):
            self.control.put(table="t", item={"id": {"S": f"k{number}"}, **item})

    def reader(self, **options: str | int) -> DataFrameReader:
        """A reader of table ``t`` in three segments."""
        reader = self._spark.read.format("dynamodb")
        reader = reader.options(table="t", region="eu-west-1", endpoint=self._url, segments=3)
        return reader.options(**options)

    def rows(self, schema: str, **options: str) -> list[Row]:
        """The rows, by id."""
        return sorted(
            self.reader(**options).schema(schema).load().collect(), key=lambda row: row.id
        )


@pytest.fixture
def tables(fake: FakeProcess, spark: SparkSession) -> Iterator[Tables]:
    yield Tables(fake, spark)
    fake.control.clear_faults()
    fake.control.drop_table(table="t")


def test_items_come_whole_where_nobody_gives_a_schema(tables: Tables) -> None:
    tables.create(ALL_TYPES, {"late": {"N": "1"}}, {}, {})

    frame = tables.reader().load()
    rows = {row.id: row.item for row in frame.collect()}

    assert frame.columns == ["id", "item"]
    assert frame.rdd.getNumPartitions() == 3
    assert json.loads(rows["k0"]) == {"id": {"S": "k0"}, **ALL_TYPES}
    assert json.loads(rows["k1"]) == {"id": {"S": "k1"}, "late": {"N": "1"}}
    assert len(rows) == 4


def test_an_empty_table_has_columns_and_no_rows(tables: Tables) -> None:
    tables.create()
    assert tables.reader().load().count() == 0
    assert tables.rows("id string, total decimal(38,2)") == []


def test_every_type_of_attribute_has_its_column(tables: Tables) -> None:
    tables.create({**ALL_TYPES, "small": {"N": "-7"}, "money": {"N": "1.50"}}, {})

    first, second = tables.rows(
        "id string, s string, n decimal(38,0), n_text string, b binary, yes boolean, "
        "nothing string, ss array<string>, ns array<decimal(3,1)>, bs array<binary>, "
        "m struct<inner: string, missing: int>, l array<string>, blobs array<binary>, "
        "small tinyint, money decimal(10,2)",
        mode="permissive",
    )

    assert first.asDict() == {
        "id": "k0",
        "s": ALL_TYPES["s"]["S"],
        "n": Decimal(BIG),
        "n_text": None,
        "b": bytearray(base64.b64decode("AAEC/w==")),
        "yes": True,
        "nothing": None,
        "ss": ["a", "b"],
        "ns": [Decimal("1.5"), Decimal("2.0")],
        "bs": [bytearray(b"\0"), bytearray(b"\1")],
        "m": Row(inner="x", missing=None),
        "l": None,  # its third element is binary: the list does not fit
        "blobs": [bytearray(b"\0"), bytearray(b"")],
        "small": -7,
        "money": Decimal("1.50"),
    }
    assert second.asDict() == {**dict.fromkeys(first.asDict()), "id": "k1"}


def test_numbers_keep_every_digit_as_text_and_maps_every_member(tables: Tables) -> None:
    tables.create({"n": {"N": BIG}, "m": {"M": {"a": {"N": "1"}, "b": {"NULL": True}}}})

    (row,) = tables.rows("id string, n string, m map<string, bigint>")

    assert (row.n, row.m) == (BIG, {"a": 1, "b": None})


def test_an_attribute_of_the_last_item_has_its_column(tables: Tables) -> None:
    tables.create()
    tables.control.bulk_load(table="t", count=300)
    tables.control.put(table="t", item={"id": {"S": "zzz"}, "late": {"S": "here"}})

    frame = tables.reader(pageSize=20, itemColumn="rest").schema(
        "id string, late string, rest string"
    )
    late = frame.load().where("late is not null").collect()

    assert [(row.id, row.late) for row in late] == [("zzz", "here")]
    assert json.loads(late[0].rest) == {"id": {"S": "zzz"}, "late": {"S": "here"}}
    assert frame.load().where("rest is null").count() == 0


def test_a_value_that_does_not_fit_names_its_key_and_attribute(tables: Tables) -> None:
    tables.create({"m": {"M": {"n": {"L": [{"N": "1.5"}]}}}})

    with pytest.raises(PySparkException) as failed:
        tables.rows("id string, m struct<n: array<int>>")

    assert "table t, key id=k0: attribute m.n[0] has N 1.5, which does not fit" in str(failed.value)


def test_a_throttled_table_is_read_at_its_pace(tables: Tables) -> None:
    tables.create(*({} for _ in range(20)))
    tables.control.inject(
        operation="Scan", table="t", error="ProvisionedThroughputExceededException", times=2
    )
    frame = tables.reader(readUnits=500, pageSize=5, consistentRead="true")
    assert frame.load().count() == 20


def test_what_cannot_be_read_says_why(tables: Tables) -> None:
    tables.create()
    failures: dict[str, Callable[[], object]] = {
        "table nowhere": lambda: tables.reader(table="nowhere").load(),
        "the column at has the type timestamp": lambda: tables.rows("id string, at timestamp"),
    }
    for text, read in failures.items():
        with pytest.raises(PySparkException) as failed:
            read()
        assert text in str(failed.value)
