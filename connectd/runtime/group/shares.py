"""What a member of the group runs, or is to run: connectors and tasks, as a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from connectd.model.cluster import ClusterConfigState
from connectd.model.ids import ConnectorTaskId


@dataclass(frozen=True)
class Share:
    """Connectors and tasks; shares are added, subtracted and intersected like sets."""

    connectors: frozenset[str] = frozenset()
    tasks: frozenset[ConnectorTaskId] = frozenset()

    def __or__(self, other: Share) -> Share:
        return Share(self.connectors | other.connectors, self.tasks | other.tasks)

    def __sub__(self, other: Share) -> Share:
        return Share(self.connectors - other.connectors, self.tasks - other.tasks)

    def __and__(self, other: Share) -> Share:
        return Share(self.connectors & other.connectors, self.tasks & other.tasks)

    def __bool__(self) -> bool:
        return bool(self.connectors or self.tasks)


NOTHING: Final = Share()


def union(shares: Iterable[Share]) -> Share:
    """All of them together."""
    whole = NOTHING
    for share in shares:
        whole |= share
    return whole


def configured(snapshot: ClusterConfigState) -> Share:
    """Everything that a picture of the config topic wants to be run somewhere."""
    connectors = frozenset(snapshot.connectors)
    tasks = frozenset(task for name in connectors for task in snapshot.tasks(name))
    return Share(connectors, tasks)
