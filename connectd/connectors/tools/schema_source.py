"""The schema source: ``num.messages`` structs with a field of every number type, and a text key.

Reads ``topic``, ``num.messages``, ``throughput`` (records a second; negative: no limit, 0: none),
``multiple.schema`` (every second record has version 2 of the schema, which has a field with a
default) and ``partition.count`` (what the field ``partitioning`` counts to). Each task writes to
the Kafka partition of its own number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from connectd.connectors.tools import declared, numbering
from connectd.errors import ConfigError, InvariantError
from connectd.model.cluster import Config
from connectd.model.record import (
    Emission,
    RecordBatch,
    RecordList,
    SourceRecord,
)
from connectd.model.schema import BOOLEAN, INT32, INT64, STRING, Field, Schema, SchemaType, Struct
from connectd.plugins.spi import TaskContext

_NUMBERS: Final = (
    Field("boolean", BOOLEAN),
    Field("int", INT32),
    Field("long", INT64),
    Field("float", Schema(SchemaType.FLOAT32)),
    Field("double", Schema(SchemaType.FLOAT64)),
    Field("partitioning", INT32),
)
_IDENTITY: Final = (Field("id", INT32), Field("seqno", INT64))
_TEXT: Final = Field("string", Schema(SchemaType.STRING, default="abc"))

_VERSION_1: Final = Schema(
    SchemaType.STRUCT, name="record", version=1, fields=(*_NUMBERS, *_IDENTITY)
)
_VERSION_2: Final = Schema(
    SchemaType.STRUCT, name="record", version=2, fields=(*_NUMBERS, _TEXT, *_IDENTITY)
)


class SchemaSourceTask:
    """Implements ``plugins.spi.SourceTask``."""

    class_name: ClassVar[str] = "org.apache.kafka.connect.tools.SchemaSourceTask"

    def __init__(self) -> None:
        self._id = 0
        self._topic = ""
        self._partitions = 1
        self._has_two_versions = False
        self._first = 0
        self._numbers: numbering.PacedNumbers | None = None

    async def start(self, context: TaskContext, config: Config) -> None:
        """Find the number to go on with.

        Raises:
            ConfigError: a setting is missing or wrong.
        """
        try:
            self._id = declared.integer(config, "id", bits=32)
            self._topic = declared.topic(config)
            self._partitions = abs(declared.integer(config, "partition.count", 1, bits=32))
            count_max = declared.integer(config, "num.messages")
            throughput = declared.integer(config, "throughput")
        except ConfigError as error:
            raise ConfigError(f"Invalid SchemaSourceTask configuration: {error}") from error
        if self._partitions == 0:
            raise ConfigError("partition.count is 0, expected at least 1")
        self._has_two_versions = config.get("multiple.schema", "").lower() == "true"
        self._first = await numbering.next_number(context, self._id)
        self._numbers = numbering.PacedNumbers(
            context.services.clock,
            first=self._first,
            per_second=throughput,
            count_max=max(0, count_max),
        )

    async def poll(self) -> Sequence[Emission]:
        """The records that are due; none comes after the last."""
        if self._numbers is None:
            raise InvariantError("a task is polled that is not started")
        numbers = await self._numbers.take()
        return [
            RecordBatch(
                numbering.partition_of(self._id),
                numbering.offset_after(numbers[-1]),
                RecordList([self._record(number) for number in numbers]),
            )
        ]

    def _record(self, number: int) -> SourceRecord:
        numbers = (True, 12, 12, 12.2, 12.2, number % self._partitions)
        identity = (self._id, number)
        # The versions take turns from the first record of this life on.
        if self._has_two_versions and (number - self._first) % 2:
            value = Struct(_VERSION_2, (*numbers, "def", *identity))
        else:
            value = Struct(_VERSION_1, (*numbers, *identity))
        return SourceRecord(
            topic=self._topic,
            key_schema=STRING,
            key="key",
            value_schema=value.schema,
            value=value,
            kafka_partition=self._id,
            offset_after=partial(numbering.offset_after, number),
        )

    async def stop(self) -> None:
        """Nothing to release."""

    def tables(self) -> Sequence[Mapping[str, object]]:
        """None."""
        return []


class SchemaSourceConnector(declared.ToolSource):
    """Implements ``plugins.spi.SourceConnector``, with as many tasks as are allowed."""

    task = SchemaSourceTask

    async def task_configs(self, tasks_max: int) -> Sequence[Config]:
        """All that are allowed."""
        return numbering.task_configs(self.config, tasks_max)
