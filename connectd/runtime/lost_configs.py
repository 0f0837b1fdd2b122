"""Whether connectors are remembered everywhere but in the config topic.

A config topic that was deleted, or that ``config.storage.topic`` does not name any more, is made
anew at the next start, and the worker would be ready with nothing to do: every pipeline stands
still, and nothing says so. Kafka Connect lets that happen. The sign is that nothing about any
connector was ever written to the config topic since it was made, while the offsets or the status
topic know connectors. Deleted connectors are no such sign: their tombstones were written to the
config topic, and where compaction has left holes nobody can say what was there.

Such a worker serves requests, so that connectors can be created again; they go on where their
offsets are. But it says that it is not ready until one was, or until
``connectd.new.config.topic.allowed`` says that it is meant. Judged at start, with the topics as
they are then; state of the event loop.
"""

from __future__ import annotations

from typing import Final

import structlog

from connectd.stores import protocols

_log = structlog.get_logger(__name__)

_NAMES_MAX: Final = 20
"""So many names are worth a line in the log; a cluster may have had thousands."""


class LostConfigs:
    """See the module's docstring."""

    def __init__(self, configs: protocols.ConfigStore, *, is_meant: bool) -> None:
        """``is_meant``: a new config topic beside old ones is what somebody wants."""
        self._configs = configs
        self._is_meant = is_meant
        self._names: frozenset[str] = frozenset()

    async def look(self, offsets: protocols.OffsetStore, statuses: protocols.StatusStore) -> None:
        """Compare the stores, which are open."""
        names = offsets.connectors() | statuses.connectors()
        if not names or not await self._is_new():
            return
        told = {"connectors": sorted(names)[:_NAMES_MAX], "connectors_total": len(names)}
        if self._is_meant:
            _log.warning("new config topic, as allowed: these connectors do not run", **told)
            return
        self._names = names
        _log.error(
            "config topic is new, but offsets or statuses of connectors are there: they do not run",
            **told,
            advice="see config.storage.topic, or create them again: they go on at their offsets",
        )

    async def _is_new(self) -> bool:
        if not self._configs.is_new:
            return False
        # Another worker may have created the first connector since the config topic was read.
        await self._configs.refresh()
        return self._configs.is_new

    @property
    def connectors(self) -> int:
        """How many connectors are remembered only elsewhere; 0 once one is created."""
        return len(self._names) if self._configs.is_new else 0

    def reason(self) -> str | None:
        """Why the worker is not ready, or None; names no connector."""
        if not self.connectors:
            return None
        return (
            "The config topic is new, but the offsets or status topic knows connectors "
            f"({self.connectors}), which do not run: see that config.storage.topic names the right "
            "topic, or create them again; they go on at their offsets. If this is meant, set "
            "connectd.new.config.topic.allowed=true."
        )
