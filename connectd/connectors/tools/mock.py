"""The mock source: produces nothing, and fails when it is told to.

``mock_mode`` is ``connector-failure``, ``task-failure`` or anything else for a healthy one;
``delay_ms`` (15000) counts from the start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from connectd.aio.clock import Clock
from connectd.aio.jobs import JobGroup
from connectd.connectors.tools import declared
from connectd.errors import FatalTaskError, InvariantError
from connectd.model.cluster import Config
from connectd.model.record import Emission
from connectd.plugins.spi import ConnectorContext, TaskContext

_CONNECTOR_FAILURE: Final = "connector-failure"
_TASK_FAILURE: Final = "task-failure"
_DELAY_MS: Final = 15_000


class MockFailureError(FatalTaskError):
    """The failure that was asked for."""


def _delay_s(config: Config) -> float:
    return declared.integer(config, "delay_ms", _DELAY_MS) / 1000


class MockSourceTask:
    """Implements ``plugins.spi.SourceTask``."""

    class_name: ClassVar[str] = "org.apache.kafka.connect.tools.MockSourceTask"

    def __init__(self) -> None:
        self._clock: Clock | None = None
        self._fails_at_s: float | None = None

    async def start(self, context: TaskContext, config: Config) -> None:
        """Set the time of the failure, if there is to be one.

        Raises:
            ConfigError: ``delay_ms`` is no number.
        """
        self._clock = context.services.clock
        if config.get("mock_mode") == _TASK_FAILURE:
            self._fails_at_s = self._clock.monotonic() + _delay_s(config)

    async def poll(self) -> Sequence[Emission]:
        """Wait for the failure, or for ever.

        Raises:
            MockFailureError: its time has come.
        """
        if self._clock is None:
            raise InvariantError("a task is polled that is not started")
        if self._fails_at_s is None:
            forever: asyncio.Future[Sequence[Emission]] = asyncio.Future()
            return await forever
        await self._clock.sleep(self._fails_at_s - self._clock.monotonic())
        raise MockFailureError("mock_mode is task-failure: failing as it asks")

    async def stop(self) -> None:
        """Nothing to release."""

    def tables(self) -> Sequence[Mapping[str, object]]:
        """None."""
        return []


class MockSourceConnector(declared.ToolSource):
    """Implements ``plugins.spi.SourceConnector``."""

    task = MockSourceTask

    def __init__(self) -> None:
        self._context: ConnectorContext | None = None
        self._jobs: JobGroup | None = None

    async def start(self, context: ConnectorContext, config: Config) -> None:
        """Set the time of the failure, if there is to be one.

        Raises:
            ConfigError: ``delay_ms`` is no number.
        """
        await super().start(context, config)
        self._context = context
        if config.get("mock_mode") == _CONNECTOR_FAILURE:
            self._jobs = JobGroup(f"{context.connector}/failure", on_failure=self._on_failure)
            self._jobs.spawn("delay", self._fail(context.services.clock, _delay_s(config)))

    async def _fail(self, clock: Clock, delay_s: float) -> None:
        await clock.sleep(delay_s)
        raise MockFailureError("mock_mode is connector-failure: failing as it asks")

    def _on_failure(self, name: str, error: BaseException) -> None:
        if self._context is not None and isinstance(error, Exception):
            self._context.raise_error(error)

    async def stop(self) -> None:
        """Forget about the failure."""
        if self._jobs is not None:
            await self._jobs.stop()
            self._jobs = None
