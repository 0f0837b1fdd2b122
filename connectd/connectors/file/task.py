"""The task: reads on from the stored position, and hands on lines with the position behind them.

While there is nothing to read it looks again every second, as Kafka's does. A file that is not
there yet is waited for; one that is shorter than the position is left alone until it has grown
beyond it, and both show in ``tables`` and once in the log: nobody can tell whether a file was cut
off by mistake, and reading it from the start would repeat everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

import structlog

from connectd.aio.backoff import Backoff, retry
from connectd.aio.clock import wall_ms
from connectd.connectors.file import offsets
from connectd.connectors.file.config import FileSourceConfig
from connectd.connectors.file.lines import Line, LineSplitter, text_of
from connectd.connectors.file.reading import (
    BackgroundReader,
    FollowedFile,
    Situation,
    Source,
    StandardInput,
)
from connectd.errors import FatalTaskError, InvariantError
from connectd.model.cluster import Config
from connectd.model.record import Emission, RecordBatch, RecordList, SourceOffset, SourceRecord
from connectd.model.schema import STRING
from connectd.plugins.spi import TaskContext

_log = structlog.get_logger(__name__)

LOOK_AGAIN_S: Final = 1.0

_REFRESH: Final = Backoff(initial_s=0.5, max_s=5.0, attempts_max=5)


class FileStreamSourceTask:
    """Implements ``plugins.spi.SourceTask``."""

    class_name: ClassVar[str] = "org.apache.kafka.connect.file.FileStreamSourceTask"

    def __init__(self) -> None:
        self._context: TaskContext | None = None
        self._config: FileSourceConfig | None = None
        self._reader: BackgroundReader | None = None
        self._lines = LineSplitter()
        self._situation = Situation.DATA

    async def start(self, context: TaskContext, config: Config) -> None:
        """Find the stored position. The file itself is opened by the first poll that finds it."""
        settings = FileSourceConfig.from_config(config)
        self._context, self._config = context, settings
        source: Source = StandardInput()
        if settings.path is not None:
            await retry(context.offsets.refresh, clock=context.services.clock, policy=_REFRESH)
            stored = context.offsets.get(offsets.partition_of(settings.path))
            position = offsets.stored_position(stored)
            self._lines = LineSplitter(position)
            source = FollowedFile(settings.path, position)
        self._reader = BackgroundReader(source, name=f"{context.connector}-{context.task}")

    async def poll(self) -> Sequence[Emission]:
        """The next lines: one batch.

        Raises:
            FatalTaskError: the file cannot be read, or is no text file.
        """
        if self._context is None or self._config is None or self._reader is None:
            raise InvariantError("a task is polled that is not started")
        while not (lines := self._lines.take(self._config.batch_lines_max)):
            try:
                reading = await self._reader.read()
            except OSError as error:
                raise FatalTaskError(
                    f"reading {self._name}: {error.strerror or error}; mend the file or its "
                    "permissions, then restart the task"
                ) from error
            self._enter(reading.situation)
            if reading.situation is Situation.DATA:
                self._lines.feed(reading.data)
            else:
                await self._context.services.clock.sleep(LOOK_AGAIN_S)
        return [self._batch(self._config, lines, wall_ms(self._context.services.clock))]

    def _batch(self, config: FileSourceConfig, lines: list[Line], now_ms: int) -> RecordBatch:
        records = [
            SourceRecord(
                topic=config.topic,
                key_schema=None,
                key=None,
                value_schema=STRING,
                value=text_of(line.data),
                timestamp_ms=now_ms,
                offset_after=partial(self._offset_at, config, line.position),
            )
            for line in lines
        ]
        return RecordBatch(
            source_partition=offsets.partition_of(config.path),
            source_offset=self._offset_at(config, self._lines.position),
            payload=RecordList(records),
        )

    @staticmethod
    def _offset_at(config: FileSourceConfig, position: int) -> SourceOffset:
        return offsets.offset_at(None if config.path is None else position)

    async def stop(self) -> None:
        """Let go of the file; does not wait for a read that hangs."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def tables(self) -> Sequence[Mapping[str, object]]:
        """The file, and what it is waited for."""
        if self._config is None:
            return []
        return [
            {
                "table": self._name,
                "topic": self._config.topic,
                "state": self._situation.name,
                "reason": _REASONS.get(self._situation),
            }
        ]

    @property
    def _name(self) -> str:
        path = self._config.path if self._config is not None else None
        return "standard input" if path is None else path

    def _enter(self, situation: Situation) -> None:
        if situation is self._situation:
            return
        self._situation = situation
        if situation in _REASONS and self._context is not None:
            _log.warning(
                _REASONS[situation],
                connector=self._context.connector,
                task=self._context.task,
                file=self._name,
                position=self._lines.position,
            )


_REASONS: Final = {
    Situation.MISSING: "there is no such file, waiting for it",
    Situation.SHRUNK: "the file is shorter than the position, waiting for it to grow beyond",
}
