"""Pictures of connectors and tasks for clients: read from snapshot and statuses, never from lives.

The shapes are Kafka Connect's (spec kafka-connect A.2); how they look as JSON is the business of
``rest``. Every value is raw: placeholders stay placeholders.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from connectd.errors import NotFoundError, RetriableError
from connectd.model.cluster import ClusterConfigState, Config
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.model.status import Status, TopicStatus
from connectd.runtime.requests import RequestGate
from connectd.runtime.statuses import StatusReporter
from connectd.stores import protocols

_log = structlog.get_logger(__name__)

ConnectorType = Callable[[str], str]
"""``source``, ``sink`` or ``unknown``, by ``connector.class``; never raises."""


@dataclass(frozen=True)
class ConnectorInfo:
    """A connector as it was configured."""

    name: str
    config: Config
    tasks: tuple[ConnectorTaskId, ...]
    type: str


@dataclass(frozen=True)
class TaskInfo:
    """A task as it was configured."""

    id: ConnectorTaskId
    config: Config


@dataclass(frozen=True)
class ConnectorStatusInfo:
    """A connector and its tasks as they are; tasks in order."""

    name: str
    connector: Status
    tasks: tuple[tuple[ConnectorTaskId, Status], ...]
    type: str


@dataclass(frozen=True)
class ConnectorListing:
    """A connector in the list: what was asked for of it, None where it is not there."""

    info: ConnectorInfo | None
    status: ConnectorStatusInfo | None


class Views:
    """Answers questions; changes nothing."""

    def __init__(
        self,
        gate: RequestGate,
        configs: protocols.ConfigStore,
        *,
        topics: Callable[[str], Sequence[TopicStatus]],
        statuses: StatusReporter,
        connector_type: ConnectorType,
    ) -> None:
        self._gate = gate
        self._configs = configs
        self._topics = topics
        self._statuses = statuses
        self._connector_type = connector_type

    # -- without waiting, for the other parts of the herder ---------------------------------------

    def info_of(self, snapshot: ClusterConfigState, connector: str) -> ConnectorInfo:
        """A connector of a snapshot.

        Raises:
            NotFoundError: the snapshot has none of that name.
        """
        config = snapshot.connectors.get(connector)
        if config is None:
            raise NotFoundError(f"Connector {connector} not found")
        tasks = snapshot.tasks(connector)
        return ConnectorInfo(connector, config, tasks, self._type_of(config))

    def status_of(self, connector: str) -> ConnectorStatusInfo | None:
        """What is known of a connector; None while nothing is."""
        status = self._statuses.shown(connector)
        if status is None:
            return None
        snapshot = self._configs.snapshot()
        count = snapshot.task_counts.get(connector, 0)
        tasks = sorted(
            (task, state)
            for task, state in self._statuses.shown_tasks(connector).items()
            if task.task < count
        )
        config = snapshot.connectors.get(connector)
        kind = "unknown" if config is None else self._type_of(config)
        return ConnectorStatusInfo(connector, status, tuple(tasks), kind)

    def workers_of(self, connector: str) -> frozenset[str]:
        """The ids of the workers that run a connector or its tasks, by the last statuses."""
        status = self.status_of(connector)
        if status is None:
            return frozenset()
        parts = (status.connector, *(each for _, each in status.tasks))
        return frozenset(each.worker_id for each in parts if each.state is not State.UNASSIGNED)

    def _type_of(self, config: Config) -> str:
        return self._connector_type(config.get("connector.class", ""))

    # -- requests -------------------------------------------------------------------------------

    async def catch_up(self, limit_s: float) -> None:
        """See what other workers have written by now, as far as the broker tells it in time."""
        try:
            async with asyncio.timeout(limit_s):
                await self._configs.refresh()
        except (TimeoutError, RetriableError) as error:
            _log.warning(
                "answers may be behind: config topic not read to its end", error=str(error)
            )

    async def connectors(self) -> tuple[str, ...]:
        """Names, sorted."""
        async with self._gate.request():
            return tuple(sorted(self._configs.snapshot().connectors))

    async def listing(self, *, with_info: bool, with_status: bool) -> dict[str, ConnectorListing]:
        """All connectors with what was asked for; without a status yet, they are left out of it."""
        async with self._gate.request():
            snapshot = self._configs.snapshot()
            result = {}
            for name in sorted(snapshot.connectors):
                status = self.status_of(name) if with_status else None
                if with_status and status is None:
                    continue
                info = self.info_of(snapshot, name) if with_info else None
                result[name] = ConnectorListing(info, status)
            return result

    async def connector(self, connector: str) -> ConnectorInfo:
        """A connector as configured.

        Raises:
            NotFoundError: there is none of that name.
        """
        async with self._gate.request():
            return self.info_of(self._configs.snapshot(), connector)

    async def tasks(self, connector: str) -> tuple[TaskInfo, ...]:
        """Its tasks as configured, in order.

        Raises:
            NotFoundError: there is no connector of that name.
        """
        async with self._gate.request():
            snapshot = self._configs.snapshot()
            info = self.info_of(snapshot, connector)
            return tuple(TaskInfo(task, snapshot.task_configs[task]) for task in info.tasks)

    async def status(self, connector: str) -> ConnectorStatusInfo:
        """A connector and its tasks as they are.

        Raises:
            NotFoundError: nothing is known, or not yet.
        """
        async with self._gate.request():
            status = self.status_of(connector)
            if status is None:
                raise NotFoundError(f"No status found for connector {connector}")
            return status

    async def task_status(self, task: ConnectorTaskId) -> Status:
        """One task as it is.

        Raises:
            NotFoundError: nothing is known, or not yet.
        """
        async with self._gate.request():
            status = self._statuses.shown_task(task)
            if status is None:
                raise NotFoundError(f"No status found for task {task}")
            return status

    async def active_topics(self, connector: str) -> tuple[str, ...]:
        """Topics that the connector has written to since its last reset, sorted (KIP-558)."""
        async with self._gate.request():
            return tuple(topic.topic for topic in self._topics(connector))
