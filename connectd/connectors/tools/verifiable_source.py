"""The verifiable source: consecutive numbers without end, whose reader can tell what is missing.

Reads ``topic``, ``throughput`` (records a second; negative: no limit, 0: none) and
``complete.record.data`` (``true``: a struct that says where and when the number was made, instead
of the number alone). The key is the number of the task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from connectd.aio.clock import Clock, wall_ms
from connectd.connectors.tools import declared, numbering
from connectd.errors import ConfigError, InvariantError
from connectd.model.cluster import Config
from connectd.model.record import (
    Emission,
    RecordBatch,
    RecordList,
    SourceRecord,
)
from connectd.model.schema import INT32, INT64, STRING, Field, Schema, SchemaType, Struct
from connectd.plugins.spi import TaskContext

_COMPLETE: Final = Schema(
    SchemaType.STRUCT,
    fields=(
        Field("name", STRING),
        Field("task", INT32),
        Field("topic", STRING),
        Field("time_ms", INT64),
        Field("seqno", INT64),
    ),
)


class VerifiableSourceTask:
    """Implements ``plugins.spi.SourceTask``."""

    class_name: ClassVar[str] = "org.apache.kafka.connect.tools.VerifiableSourceTask"

    def __init__(self) -> None:
        self._id = 0
        self._topic = ""
        self._name = ""
        self._is_complete = False
        self._clock: Clock | None = None
        self._numbers: numbering.PacedNumbers | None = None

    async def start(self, context: TaskContext, config: Config) -> None:
        """Find the number to go on with.

        Raises:
            ConfigError: a setting is missing or wrong.
        """
        try:
            self._id = declared.integer(config, "id", bits=32)
            self._topic = declared.topic(config)
            throughput = declared.integer(config, "throughput")
        except ConfigError as error:
            raise ConfigError(f"Invalid VerifiableSourceTask configuration: {error}") from error
        self._name = config.get("name", context.connector)
        self._is_complete = config.get("complete.record.data", "").lower() == "true"
        self._clock = context.services.clock
        self._numbers = numbering.PacedNumbers(
            self._clock,
            first=await numbering.next_number(context, self._id),
            per_second=throughput,
        )

    async def poll(self) -> Sequence[Emission]:
        """The records that are due."""
        if self._numbers is None or self._clock is None:
            raise InvariantError("a task is polled that is not started")
        numbers = await self._numbers.take()
        now_ms = wall_ms(self._clock)
        return [
            RecordBatch(
                numbering.partition_of(self._id),
                numbering.offset_after(numbers[-1]),
                RecordList([self._record(number, now_ms) for number in numbers]),
            )
        ]

    def _record(self, number: int, now_ms: int) -> SourceRecord:
        complete = self._complete(number, now_ms) if self._is_complete else None
        return SourceRecord(
            topic=self._topic,
            key_schema=INT32,
            key=self._id,
            value_schema=INT64 if complete is None else complete.schema,
            value=number if complete is None else complete,
            offset_after=partial(numbering.offset_after, number),
        )

    def _complete(self, number: int, now_ms: int) -> Struct:
        return Struct(_COMPLETE, (self._name, self._id, self._topic, now_ms, number))

    async def stop(self) -> None:
        """Nothing to release."""

    def tables(self) -> Sequence[Mapping[str, object]]:
        """None."""
        return []


class VerifiableSourceConnector(declared.ToolSource):
    """Implements ``plugins.spi.SourceConnector``, with as many tasks as are allowed."""

    task = VerifiableSourceTask

    async def task_configs(self, tasks_max: int) -> Sequence[Config]:
        """All that are allowed."""
        return numbering.task_configs(self.config, tasks_max)
