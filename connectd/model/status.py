"""Statuses as the status topic and the REST API know them (spec kafka-connect C.4)."""

from __future__ import annotations

from dataclasses import dataclass

from connectd.model.states import State


@dataclass(frozen=True)
class Status:
    """State of a connector or a task, who says so, and in which generation.

    ``worker_id`` is ``host:port`` of the advertised URL; ``trace`` explains FAILED; ``version`` is
    that of the plugin which runs, None while none does (KIP-891).
    """

    state: State
    worker_id: str
    generation: int
    trace: str | None = None
    version: str | None = None


@dataclass(frozen=True)
class TopicStatus:
    """A topic that a connector has written to (KIP-558)."""

    topic: str
    connector: str
    task: int
    discover_timestamp_ms: int
