"""A source task whose code is marked as a plugin's: it may not block the event loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connectd.model.cluster import Config
from connectd.model.ids import ConnectorTaskId
from connectd.model.record import Emission
from connectd.plugins import spi
from connectd.runtime.loop_watch import foreign


class WatchedTask:
    """Passes every call on to ``task`` (``spi.SourceTask``), in view of the loop's watch."""

    def __init__(self, task: spi.SourceTask, task_id: ConnectorTaskId) -> None:
        self._task = task
        self._id = task_id
        self._failure: Exception | None = None

    async def start(self, context: spi.TaskContext, config: Config) -> None:
        """See ``spi.SourceTask``."""
        with foreign(f"starting task {self._id}"):
            await self._task.start(context, config)

    async def poll(self) -> Sequence[Emission]:
        """See ``spi.SourceTask``."""
        if self._failure is not None:
            raise self._failure
        with foreign(f"polling task {self._id}"):
            return await self._task.poll()

    async def stop(self) -> None:
        """See ``spi.SourceTask``."""
        with foreign(f"stopping task {self._id}"):
            await self._task.stop()

    def set_running(self, is_running: bool) -> None:
        """See ``spi.WatchesPauses``; most tasks do not watch them."""
        if isinstance(self._task, spi.WatchesPauses):
            with foreign(f"pausing task {self._id}"):
                try:
                    self._task.set_running(is_running)
                except Exception as error:
                    self._failure = error

    def tables(self) -> Sequence[Mapping[str, object]]:
        """See ``spi.SourceTask``."""
        return self._task.tables()
