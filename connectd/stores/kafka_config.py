"""The config topic of a cluster (spec kafka-connect C.2).

One partition, one order. A write is appended, acknowledged, and then read to the end, so that a
writer returns only when its own reader has come past the record: the picture that it sees next is
the one that every other member will see. What the records mean is ``config_log``'s business.

A write that is not acknowledged within its deadline is withdrawn by the producer: what was answered
with an error does not come true an hour later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from connectd.aio.clock import Clock
from connectd.errors import BrokerUnavailableError, RetriableError, WorkerError
from connectd.kafka.tailing import LogRecord
from connectd.model.cluster import (
    ClusterConfigState,
    Config,
    LoggerChange,
    RestartRequest,
    SessionKey,
)
from connectd.model.ids import ConnectorTaskId
from connectd.model.record import EncodedRecord
from connectd.model.states import TargetState
from connectd.stores import config_log, topic_home
from connectd.stores.config_log import ConfigLog
from connectd.stores.kafka_store import KafkaStore
from connectd.stores.topic_home import TopicHome

_log = structlog.get_logger(__name__)


class KafkaConfigStore(KafkaStore):
    """Implements ``stores.protocols.ConfigStore`` on a compacted topic."""

    RULES = topic_home.CONFIG_RULES

    def __init__(
        self, home: TopicHome, *, clock: Clock, on_failure: Callable[[WorkerError], None]
    ) -> None:
        """``on_failure`` is called on the loop when the topic cannot be followed any more.

        Raises:
            ConfigError: a client setting is not accepted.
        """
        give_up_ms = int(home.write_deadline_s * 1000)
        super().__init__(home, clock=clock, on_failure=on_failure, give_up_ms=give_up_ms)
        self.on_change: Callable[[ClusterConfigState], None] | None = None
        self.on_restart: Callable[[RestartRequest], None] | None = None
        self.on_logger: Callable[[LoggerChange], None] | None = None
        self._config_log = ConfigLog()
        self._snapshot = self._config_log.snapshot()
        self._is_open = False

    # --- life -------------------------------------------------------------------------------

    async def open(self) -> None:
        """See ``protocols.Store``."""
        await super().open()
        # Restarts and levels asked for in the past are history: what arrives from now on counts.
        self._is_open = True

    async def close(self) -> None:
        """See ``protocols.Store``."""
        self._is_open = False
        await super().close()

    # --- reading ----------------------------------------------------------------------------

    def snapshot(self) -> ClusterConfigState:
        """See ``protocols.ConfigStore``."""
        return self._snapshot

    @property
    def is_new(self) -> bool:
        """See ``protocols.ConfigStore``."""
        return self._is_open and self._config_log.is_untouched(
            sum(self._log.statistics().positions)
        )

    async def refresh(self) -> ClusterConfigState:
        """See ``protocols.ConfigStore``."""
        await self._read_to_end(self._home.write_deadline_s)
        return self._snapshot

    def _on_records(self, records: Sequence[LogRecord]) -> None:
        restarts: list[RestartRequest] = []
        loggers: list[LoggerChange] = []
        for record in records:
            applied = self._config_log.apply(record.key, record.value, record.offset)
            if applied.skipped is not None:
                _log.warning(
                    "config topic: record skipped",
                    topic=self._home.topic,
                    offset=record.offset,
                    reason=applied.skipped,
                )
            elif applied.restart is not None:
                restarts.append(applied.restart)
            elif applied.logger is not None:
                loggers.append(applied.logger)
        self._snapshot = self._config_log.snapshot()
        if not self._is_open:
            return
        if self.on_change is not None:
            self.on_change(self._snapshot)
        if self.on_restart is not None:
            for request in restarts:
                self.on_restart(request)
        if self.on_logger is not None:
            for change in loggers:
                self.on_logger(change)

    # --- writing ----------------------------------------------------------------------------

    async def put_connector(
        self, connector: str, config: Config, *, target: TargetState | None = None
    ) -> None:
        """See ``protocols.ConfigStore``."""
        records: list[EncodedRecord] = []
        if target is not None:
            records.append(_target_record(connector, target))
        key = config_log.connector_key(connector).encode()
        records.append((key, config_log.config_value(config)))
        await self._write(records, "Error writing connector configuration to Kafka")

    async def delete_connector(self, connector: str) -> None:
        """See ``protocols.ConfigStore``."""
        keys = (config_log.connector_key(connector), config_log.target_key(connector))
        tombstones: list[EncodedRecord] = [(key.encode(), None) for key in keys]
        await self._write(tombstones, "Error removing connector configuration from Kafka")

    async def put_tasks(self, connector: str, configs: Sequence[Config]) -> None:
        """See ``protocols.ConfigStore``. The commit follows only when every config is durable."""
        error_text = "Error writing task configurations to Kafka"
        end = self._clock.monotonic() + self._home.write_deadline_s
        await self._read_to_end(self._home.write_deadline_s)
        tasks: list[EncodedRecord] = [
            (
                config_log.task_key(ConnectorTaskId(connector, number)).encode(),
                config_log.config_value(config),
            )
            for number, config in enumerate(configs)
        ]
        if tasks:
            await self._write(tasks, error_text, end=end)
        commit = (
            config_log.commit_key(connector).encode(),
            config_log.commit_value(len(configs)),
        )
        await self._write([commit], error_text, end=end)

    async def put_target(self, connector: str, target: TargetState) -> None:
        """See ``protocols.ConfigStore``."""
        record = _target_record(connector, target)
        await self._write([record], "Error writing target state to Kafka")

    async def put_restart(self, request: RestartRequest) -> None:
        """See ``protocols.ConfigStore``."""
        key = config_log.restart_key(request.connector).encode()
        record = (key, config_log.restart_value(request))
        flags = (
            f"onlyFailed={_java(request.only_failed)}, includeTasks={_java(request.include_tasks)}"
        )
        text = f"restart request for {{connectorName='{request.connector}', {flags}}}"
        await self._write([record], f"Error writing {text} to Kafka")

    async def put_session_key(self, key: SessionKey) -> None:
        """See ``protocols.ConfigStore``."""
        record = (config_log.SESSION_KEY.encode(), config_log.session_key_value(key))
        await self._write([record], "Error writing session key to Kafka")

    async def put_logger(self, change: LoggerChange) -> None:
        """See ``protocols.ConfigStore``."""
        key = config_log.logger_key(change.namespace).encode()
        record = (key, config_log.logger_value(change.level))
        await self._write([record], "Error writing logger level to Kafka")

    async def _write(
        self, records: Sequence[EncodedRecord], error_text: str, *, end: float | None = None
    ) -> None:
        """Append and read back, within the budget that ends at ``end``."""
        if end is None:
            end = self._clock.monotonic() + self._home.write_deadline_s
        try:
            await self._log.append(records, deadline_s=max(0.0, end - self._clock.monotonic()))
        except RetriableError as error:
            # The text is Kafka Connect's and reaches REST clients; the cause says more.
            raise BrokerUnavailableError(error_text) from error
        await self._read_to_end(max(0.0, end - self._clock.monotonic()))

    async def _read_to_end(self, deadline_s: float) -> None:
        try:
            await self._log.read_to_end(deadline_s)
        except RetriableError as error:
            raise BrokerUnavailableError("Error trying to read to end of config log") from error


def _target_record(connector: str, target: TargetState) -> EncodedRecord:
    return config_log.target_key(connector).encode(), config_log.target_value(target)


def _java(flag: bool) -> str:
    return "true" if flag else "false"
