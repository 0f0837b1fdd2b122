"""Levels of loggers on request: here, or on every worker of the cluster (spec kafka-connect A.10).

What is asked for the cluster is a record in the config topic; each worker, this one too, applies it
when it reads it. Levels are not kept: a worker that starts takes those of its configuration.
"""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from connectd.errors import ConfigError, NotFoundError
from connectd.model.cluster import LoggerChange
from connectd.observe import levels
from connectd.observe.levels import LevelRegistry, LoggerLevel
from connectd.runtime.requests import RequestGate, failing_with, stage
from connectd.stores import protocols

_log = structlog.get_logger(__name__)


class Loggers:
    """See the module's docstring. Levels of this worker never wait for the cluster."""

    def __init__(
        self, gate: RequestGate, configs: protocols.ConfigStore, registry: LevelRegistry
    ) -> None:
        self._gate = gate
        self._configs = configs
        self._registry = registry
        configs.on_logger = self._apply

    def levels(self) -> Mapping[str, LoggerLevel]:
        """All loggers of this worker."""
        return self._registry.levels()

    def level(self, name: str) -> LoggerLevel:
        """One of them.

        Raises:
            NotFoundError: there is none of that name.
        """
        level = self._registry.level(name)
        if level is None:
            raise NotFoundError(f"Logger {name} not found.")
        return level

    def set_here(self, namespace: str, level: str) -> list[str]:
        """Set a level on this worker; returns the loggers that changed.

        Raises:
            NotFoundError: there is no such level (Kafka Connect's status for that).
            ConfigError: too many loggers were created by now.
        """
        _require_level(level)
        changed = self._registry.set_level(namespace, level)
        _log.info("level of loggers set", namespace=namespace, to=level, changed=len(changed))
        return changed

    async def set_everywhere(self, namespace: str, level: str) -> None:
        """Ask every worker of the cluster, this one too, to set a level.

        Raises:
            NotFoundError: there is no such level.
        """
        _require_level(level)
        async with self._gate.request():
            with (
                stage(f"writing the level of logger {namespace} to the config topic"),
                failing_with("Error writing logger level to Kafka"),
            ):
                await self._configs.put_logger(LoggerChange(namespace, level))

    def _apply(self, change: LoggerChange) -> None:
        if levels.level_named(change.level) is None:
            _log.warning(
                "level of loggers in the config topic is none, ignored",
                namespace=change.namespace,
                found=change.level,
            )
            return
        try:
            changed = self._registry.set_level(change.namespace, change.level)
        except ConfigError as error:
            _log.warning("level of loggers in the config topic not set", error=str(error))
            return
        _log.info(
            "level of loggers set for the cluster",
            namespace=change.namespace,
            to=change.level,
            changed=len(changed),
        )


def _require_level(level: str) -> None:
    if levels.level_named(level) is None:
        raise NotFoundError(f"invalid log level '{level}'.")
