"""The worker's own topics: a connector that wrote records there would damage its own cluster.

The composition root offers them to plugins among ``WorkerServices.resources``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InternalTopics:
    """Names of the topics of configs, offsets and statuses; none for a standalone worker."""

    names: frozenset[str] = frozenset()
