"""A source task whose code is marked as a plugin's, and whose answers are checked.

It may not block the event loop (``loop_watch``), nor end the worker (``plugins.containment``), and
it gives what ``spi.SourceTask`` says (``plugins.answers``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connectd.model.cluster import Config
from connectd.model.ids import ConnectorTaskId
from connectd.model.record import Emission
from connectd.plugins import answers, spi
from connectd.runtime.loop_watch import foreign


class WatchedTask:
    """Passes every call on to ``task`` (``spi.SourceTask``)."""

    def __init__(self, task: spi.SourceTask, task_id: ConnectorTaskId) -> None:
        self._task = task
        self._class = f"{type(task).__module__}.{type(task).__qualname__}"
        self._title = f"task {task_id} ({self._class})"
        self._failure: Exception | None = None

    async def start(self, context: spi.TaskContext, config: Config) -> None:
        """See ``spi.SourceTask``."""
        with foreign(f"starting {self._title}"):
            await answers.awaited(f"{self._class}.start", self._task.start(context, config))

    async def poll(self) -> Sequence[Emission]:
        """See ``spi.SourceTask``."""
        if self._failure is not None:
            raise self._failure
        method = f"{self._class}.poll"
        with foreign(f"polling {self._title}"):
            polled = await answers.awaited(method, self._task.poll())
            return answers.emissions(method, polled)

    async def stop(self) -> None:
        """See ``spi.SourceTask``."""
        with foreign(f"stopping {self._title}"):
            await answers.awaited(f"{self._class}.stop", self._task.stop())

    def set_running(self, is_running: bool) -> None:
        """See ``spi.WatchesPauses``; most tasks do not watch them."""
        if not isinstance(self._task, spi.WatchesPauses):
            return
        try:
            with foreign(f"pausing {self._title}"):
                self._task.set_running(is_running)
        except Exception as error:  # an attempt to leave, too: ``foreign`` makes an error of it
            self._failure = error

    def buffer(self) -> spi.BufferFill | None:
        """See ``spi.HasBuffer``; most tasks have none."""
        if not isinstance(self._task, spi.HasBuffer):
            return None
        with foreign(f"asking {self._title} for its buffer"):
            return answers.fill(f"{self._class}.buffer", self._task.buffer())

    def tables(self) -> Sequence[Mapping[str, object]]:
        """See ``spi.SourceTask``."""
        with foreign(f"asking {self._title} for its tables"):
            return answers.rows(f"{self._class}.tables", self._task.tables())
