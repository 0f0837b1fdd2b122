"""What a backing store is (STYLE 3.3: distributed and standalone differ in stores only).

Every store is opened before use and has then read all that is there. All methods run on the event
loop; each has a deadline of its own and raises ``RetriableError`` when the broker does not answer,
``WorkerError`` when the store has failed for good. Stores share one conformance suite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from connectd.model.cluster import (
    ClusterConfigState,
    Config,
    LoggerChange,
    RestartRequest,
    SessionKey,
)
from connectd.model.ids import ConnectorTaskId
from connectd.model.record import SourceOffset, SourcePartition
from connectd.model.states import TargetState
from connectd.model.status import Status, TopicStatus


class Store(Protocol):
    """Life of every backing store."""

    async def open(self) -> None:
        """Create or verify the home, and read it to the end.

        Raises:
            ConfigError: the home exists in a shape that would lose data (see spec C.1).
            WorkerError: it could not be read within the deadline.
        """
        ...

    async def close(self) -> None:
        """Release everything; idempotent, bounded, never raises."""
        ...

    @property
    def is_available(self) -> bool:
        """Whether it is open, and what it stands on answers, as far as is known without asking."""
        ...

    @property
    def refusal(self) -> str | None:
        """Why it is not available although what it stands on answers; None: that is not so."""
        ...


class ConfigStore(Store, Protocol):
    """Connector configs, task configs and target states (spec kafka-connect C.2).

    Writers return after the record has come back by the reader: one path for all changes.
    ``on_change`` is called on the loop after each batch of records, ``on_restart`` and
    ``on_logger`` for each such record that arrives after opening.
    """

    on_change: Callable[[ClusterConfigState], None] | None
    on_restart: Callable[[RestartRequest], None] | None
    on_logger: Callable[[LoggerChange], None] | None

    def snapshot(self) -> ClusterConfigState:
        """The latest picture."""
        ...

    @property
    def is_new(self) -> bool:
        """Whether nothing about any connector was written since the home was made.

        False where that is not known, or means nothing: a home that keeps nothing is always new.
        """
        ...

    async def refresh(self) -> ClusterConfigState:
        """Read to the end, then the picture."""
        ...

    async def put_connector(
        self, connector: str, config: Config, *, target: TargetState | None = None
    ) -> None:
        """Create or replace a config; a target state, if given, is written first."""
        ...

    async def delete_connector(self, connector: str) -> None:
        """Write the tombstones of a connector and of its target state."""
        ...

    async def put_tasks(self, connector: str, configs: Sequence[Config]) -> None:
        """Write a whole task set and its commit record."""
        ...

    async def put_target(self, connector: str, target: TargetState) -> None:
        """Write a target state."""
        ...

    async def put_restart(self, request: RestartRequest) -> None:
        """Write a restart request."""
        ...

    async def put_session_key(self, key: SessionKey) -> None:
        """Write the key that signs requests between workers."""
        ...

    async def put_logger(self, change: LoggerChange) -> None:
        """Write the level of a logger for the whole cluster."""
        ...


class OffsetStore(Store, Protocol):
    """Source offsets by connector and source partition (spec kafka-connect C.3)."""

    async def refresh(self) -> None:
        """Read to the end."""
        ...

    def get(self, connector: str, partition: SourcePartition) -> SourceOffset | None:
        """The offset last read, or None."""
        ...

    def all(self, connector: str) -> Mapping[SourcePartition, SourceOffset]:
        """Every partition of a connector with its offset, as last read."""
        ...

    def connectors(self) -> frozenset[str]:
        """Connectors that have offsets, as last read or put."""
        ...

    async def put(
        self, connector: str, offsets: Mapping[SourcePartition, SourceOffset | None]
    ) -> None:
        """Write offsets, None removing one; returns when all are durable.

        Written in the order of the mapping. The new values are visible to ``get`` at once.
        """
        ...


class StatusStore(Store, Protocol):
    """Statuses and active topics (spec kafka-connect C.4). Writes need no answer: last one wins."""

    def connector(self, connector: str) -> Status | None:
        """Status of a connector, None when unknown."""
        ...

    def task(self, task: ConnectorTaskId) -> Status | None:
        """Status of a task, None when unknown."""
        ...

    def tasks(self, connector: str) -> Mapping[ConnectorTaskId, Status]:
        """All task statuses of a connector."""
        ...

    def connectors(self) -> frozenset[str]:
        """Connectors that have a status."""
        ...

    def put_connector(self, connector: str, status: Status | None, *, safe: bool = False) -> None:
        """Write a status, None removing it (and those of its tasks).

        ``safe``: only if the entry is absent, ours, or of a generation not above ours.
        """
        ...

    def put_task(self, task: ConnectorTaskId, status: Status | None, *, safe: bool = False) -> None:
        """Likewise for a task."""
        ...

    def topics(self, connector: str) -> tuple[TopicStatus, ...]:
        """Active topics of a connector, sorted by name."""
        ...

    def put_topic(self, topic: TopicStatus) -> None:
        """Remember an active topic."""
        ...

    def delete_topics(self, connector: str) -> None:
        """Forget the active topics of a connector."""
        ...

    async def flush(self, deadline_s: float) -> bool:
        """Wait until all writes are durable; False when the deadline came first."""
        ...
