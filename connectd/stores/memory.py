"""Backing stores in memory: for standalone workers and for tests.

They pass the same conformance suite as the stores on Kafka and use the same record logic, so that a
test against them speaks of both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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
from connectd.stores import config_log, offset_format
from connectd.stores.config_log import ConfigLog
from connectd.stores.status_log import StatusTable, TopicKey


class MemoryConfigStore:
    """Connector configs in memory; changes are announced as if a log were tailed."""

    is_available = True
    """It needs nobody."""

    refusal: str | None = None

    is_new = False
    """It always is, and nobody expects otherwise."""

    def __init__(self) -> None:
        self.on_change: Callable[[ClusterConfigState], None] | None = None
        self.on_restart: Callable[[RestartRequest], None] | None = None
        self.on_logger: Callable[[LoggerChange], None] | None = None
        self._log = ConfigLog()
        self._offset = 0
        self._snapshot = self._log.snapshot()

    async def open(self) -> None:
        """Nothing to read."""

    async def close(self) -> None:
        """Nothing to release."""

    def snapshot(self) -> ClusterConfigState:
        return self._snapshot

    async def refresh(self) -> ClusterConfigState:
        return self._snapshot

    def _append(self, *records: tuple[str, bytes | None]) -> None:
        has_changed = False
        restarts: list[RestartRequest] = []
        loggers: list[LoggerChange] = []
        for key, value in records:
            applied = self._log.apply(key.encode(), value, self._offset)
            self._offset += 1
            has_changed |= applied.has_changed
            if applied.restart is not None:
                restarts.append(applied.restart)
            if applied.logger is not None:
                loggers.append(applied.logger)
        self._snapshot = self._log.snapshot()
        if has_changed and self.on_change is not None:
            self.on_change(self._snapshot)
        for request in restarts:
            if self.on_restart is not None:
                self.on_restart(request)
        for change in loggers:
            if self.on_logger is not None:
                self.on_logger(change)

    async def put_connector(
        self, connector: str, config: Config, *, target: TargetState | None = None
    ) -> None:
        record = (config_log.connector_key(connector), config_log.config_value(config))
        if target is None:
            self._append(record)
        else:
            key = config_log.target_key(connector)
            self._append((key, config_log.target_value(target)), record)

    async def delete_connector(self, connector: str) -> None:
        self._append(
            (config_log.connector_key(connector), None), (config_log.target_key(connector), None)
        )

    async def put_tasks(self, connector: str, configs: Sequence[Config]) -> None:
        tasks = [
            (
                config_log.task_key(ConnectorTaskId(connector, number)),
                config_log.config_value(config),
            )
            for number, config in enumerate(configs)
        ]
        commit = (config_log.commit_key(connector), config_log.commit_value(len(configs)))
        self._append(*tasks, commit)

    async def put_target(self, connector: str, target: TargetState) -> None:
        self._append((config_log.target_key(connector), config_log.target_value(target)))

    async def put_restart(self, request: RestartRequest) -> None:
        key = config_log.restart_key(request.connector)
        self._append((key, config_log.restart_value(request)))

    async def put_session_key(self, key: SessionKey) -> None:
        self._append((config_log.SESSION_KEY, config_log.session_key_value(key)))

    async def put_logger(self, change: LoggerChange) -> None:
        value = config_log.logger_value(change.level)
        self._append((config_log.logger_key(change.namespace), value))


class MemoryOffsetStore:
    """Source offsets in memory, kept as the bytes that a topic would hold."""

    is_available = True
    """It needs nobody."""

    refusal: str | None = None

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}

    async def open(self) -> None:
        """Nothing to read."""

    async def close(self) -> None:
        """Nothing to release."""

    async def refresh(self) -> None:
        """Always at the end."""

    def get(self, connector: str, partition: SourcePartition) -> SourceOffset | None:
        value = self._values.get(offset_format.encode_key(connector, partition))
        return offset_format.decode_value(value)

    def all(self, connector: str) -> Mapping[SourcePartition, SourceOffset]:
        found: dict[SourcePartition, SourceOffset] = {}
        for key, value in self._values.items():
            owner, partition = offset_format.decode_key(key)
            offset = offset_format.decode_value(value)
            if owner == connector and partition is not None and offset is not None:
                found[partition] = offset
        return found

    def connectors(self) -> frozenset[str]:
        owners = (offset_format.decode_key(key) for key in self._values)
        return frozenset(owner for owner, partition in owners if partition is not None)

    async def put(
        self, connector: str, offsets: Mapping[SourcePartition, SourceOffset | None]
    ) -> None:
        # Encoded first: one that cannot be written fails the whole put, as on Kafka.
        encoded = [
            (offset_format.encode_key(connector, partition), offset_format.encode_value(offset))
            for partition, offset in offsets.items()
        ]
        for key, value in encoded:
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value


class MemoryStatusStore:
    """Statuses in memory."""

    is_available = True
    """It needs nobody."""

    refusal: str | None = None

    def __init__(self) -> None:
        self._table = StatusTable()

    async def open(self) -> None:
        """Nothing to read."""

    async def close(self) -> None:
        """Nothing to release."""

    def connector(self, connector: str) -> Status | None:
        return self._table.get(connector)

    def task(self, task: ConnectorTaskId) -> Status | None:
        return self._table.get(task)

    def tasks(self, connector: str) -> Mapping[ConnectorTaskId, Status]:
        return self._table.tasks(connector)

    def connectors(self) -> frozenset[str]:
        return self._table.connectors()

    def put_connector(self, connector: str, status: Status | None, *, safe: bool = False) -> None:
        if status is None or self._table.may_write(connector, status, safe=safe):
            self._table.put(connector, status)

    def put_task(self, task: ConnectorTaskId, status: Status | None, *, safe: bool = False) -> None:
        if status is None or self._table.may_write(task, status, safe=safe):
            self._table.put(task, status)

    def topics(self, connector: str) -> tuple[TopicStatus, ...]:
        return self._table.topics(connector)

    def put_topic(self, topic: TopicStatus) -> None:
        self._table.put_topic(TopicKey(topic.topic, topic.connector), topic)

    def delete_topics(self, connector: str) -> None:
        for topic in self._table.topics(connector):
            self._table.put_topic(TopicKey(topic.topic, connector), None)

    async def flush(self, deadline_s: float) -> bool:
        return True
