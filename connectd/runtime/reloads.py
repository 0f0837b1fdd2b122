"""Restarts connectors whose values from config providers expire (``config.action.reload``).

A provider may say how long its values are good for. When that is over, the connector's instance and
the tasks that run here begin new lives, which ask again; what they get may expire in its turn.
There is one timer for each connector, provider and path: a newer answer takes the place of an older
one. (Kafka restarts the instance alone, and its tasks go on with what has expired.)

State: the timers, owned by the event loop; there are no more than paths that configs refer to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from connectd.model.cluster import Config

_log = structlog.get_logger(__name__)

WAIT_MIN_S: Final = 1.0
"""Values that expire at once would restart a connector in a tight loop."""


class Reloads:
    """See the module's docstring. ``restart`` restarts what of a connector runs here."""

    def __init__(self, restart: Callable[[str], None]) -> None:
        self._restart = restart
        self._timers: dict[str, dict[tuple[str, str], asyncio.TimerHandle]] = {}

    def note(self, connector: str, config: Config, ttls_ms: Mapping[tuple[str, str], int]) -> None:
        """What was resolved for a connector or one of its tasks: ``config`` is the connector's,
        ``ttls_ms`` by provider and path."""
        if config.get("config.action.reload", "restart").strip().lower() == "none":
            self.forget(connector)
            return
        for where, ttl_ms in ttls_ms.items():
            wait_s = max(WAIT_MIN_S, ttl_ms / 1000)
            timers = self._timers.setdefault(connector, {})
            if where in timers:
                timers[where].cancel()
            timers[where] = asyncio.get_running_loop().call_later(
                wait_s, self._expire, connector, where
            )

    def _expire(self, connector: str, where: tuple[str, str]) -> None:
        del self._timers[connector][where]
        provider, path = where
        _log.info(
            "restarting: values of a config provider have expired",
            connector=connector,
            provider=provider,
            path=path,
        )
        self._restart(connector)

    def forget(self, connector: str) -> None:
        """A connector that does not run here any more."""
        for timer in self._timers.pop(connector, {}).values():
            timer.cancel()

    def close(self) -> None:
        """Restart nothing any more."""
        for connector in list(self._timers):
            self.forget(connector)

    def statistics(self) -> Mapping[str, int]:
        """How many restarts are pending, by connector."""
        return {connector: len(timers) for connector, timers in self._timers.items() if timers}
