"""A DynamoDB table as a DataFrame: the Python data source ``dynamodb``.

    from spark_jobs.data_source import DynamoDbDataSource

    spark.dataSource.register(DynamoDbDataSource)
    orders = spark.read.format("dynamodb").option("table", "orders").option("region", "eu-west-1")

    orders.load()                                     # columns: the key, and item
    orders.schema("id string, total decimal(38,2), tags array<string>").load()

Without a schema there is one column for each key attribute and ``item``, the whole item as the
DynamoDB JSON that came over the wire: nothing is lost, and every item fits. With a schema its
columns are attributes by name (``data_source_columns`` says which value fits which type); columns
are never guessed from the first few items. With the option ``itemColumn`` the column of that name
takes the whole item as well, so that late attributes can be found.

One partition is one segment of a parallel scan. Options: ``table`` (or the path of ``load``),
``region``, ``endpoint``, ``roleArn``, ``segments`` (by size: one for each 2 GB),
``consistentRead``, ``pageSize`` (items; up to 1 MB), ``readUnits`` (read capacity units per second
of all segments), ``mode`` (failfast or permissive), ``itemColumn``. Credentials come from the
default chain of the machine that reads. A scan sees no single moment of a table that is written to.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Final, cast

import pyarrow  # type: ignore[import-untyped]  # it comes with no types
from pyspark.sql import types
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema, KeyType
from connectd.connectors.dynamodb.source_api import TableDescription
from connectd.errors import ConfigError
from spark_jobs import table_pages
from spark_jobs.data_source_columns import ItemColumns
from spark_jobs.data_source_options import ITEM_COLUMN, SEGMENTS_MAX, ReadOptions
from spark_jobs.table_pages import Segment

SEGMENT_BYTES: Final = 2 * 1024**3
"""One segment per 2 GB is what AWS advises."""


class DynamoDbDataSource(DataSource):
    """See the module's docstring. Spark makes it on the driver, for each read."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._read = ReadOptions.of(options)

    @classmethod
    def name(cls) -> str:
        """What ``format`` takes."""
        return "dynamodb"

    def schema(self) -> types.StructType:
        """The schema where the user gives none; asks for the table's key.

        Raises:
            ConfigError: the column of items would have the name of a key attribute.
        """
        return lossless_schema(
            key_schema(table_pages.describe(self._read.place())),
            self._read.item_column or ITEM_COLUMN,
        )

    def reader(self, schema: types.StructType) -> DataSourceReader:
        """What reads the table as this schema."""
        return DynamoDbReader(self._read, schema, table_pages.describe(self._read.place()))


class DynamoDbReader(DataSourceReader):
    """Plans on the driver, reads in Python workers; pickles."""

    def __init__(
        self, options: ReadOptions, schema: types.StructType, description: TableDescription
    ) -> None:
        self._options = options
        self._schema = schema
        self._size_bytes, self._items = description.size_bytes, description.item_count
        keys, item_column = key_schema(description), options.item_column
        if item_column is None and schema == lossless_schema(keys, ITEM_COLUMN):
            item_column = ITEM_COLUMN
        self._columns = ItemColumns(
            description.name,
            keys,
            schema,
            item_column=item_column,
            is_permissive=options.is_permissive,
        )

    def partitions(self) -> Sequence[InputPartition]:
        """One for each segment."""
        total = self._options.segments or min(
            max(1, -(-self._size_bytes // SEGMENT_BYTES)), SEGMENTS_MAX
        )
        units = self._options.read_units
        share = None if units is None else units / total
        item_bytes = self._size_bytes / self._items if self._items else None
        return [
            InputPartition(Segment(number, total, share, item_bytes)) for number in range(total)
        ]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """One batch for each page that has items.

        Raises:
            ConvertError: a value does not fit its column; names key and attribute.
        """
        schema = to_arrow_schema(self._schema)
        for page in table_pages.read_pages(self._options.place(), partition.value):
            if page.items:
                columns = self._columns.columns([bytes(item) for item in page.items])
                arrays = [
                    pyarrow.array(values, type=field.type)
                    for values, field in zip(columns, schema, strict=True)
                ]
                yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def key_schema(description: TableDescription) -> KeySchema:
    """The key of a table, hash key first."""
    ordered = sorted(description.key_schema, key=lambda part: part.role != "HASH")
    return KeySchema(
        tuple(KeyAttribute(part.attribute, cast("KeyType", part.type)) for part in ordered)
    )


def lossless_schema(keys: KeySchema, item_column: str) -> types.StructType:
    """Key attributes (binary ones as binary, the others as text), and the item as JSON.

    Raises:
        ConfigError: two columns would have one name.
    """
    if item_column in (each.name for each in keys.attributes):
        raise ConfigError(
            f"{item_column} is a key attribute; name another column for the items with the option "
            "itemColumn"
        )
    fields = [
        types.StructField(each.name, types.BinaryType() if each.type == "B" else types.StringType())
        for each in keys.attributes
    ]
    return types.StructType([*fields, types.StructField(item_column, types.StringType())])
