"""An immutable picture of the config topic: nobody reads live maps.

``ClusterConfigState`` is what the config store hands out on every change; ``offset`` is that of the
last record it reflects, plus one (-1 before the first). Reader rules: spec kafka-connect C.2.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connectd.model.ids import ConnectorTaskId
from connectd.model.states import TargetState

Config = Mapping[str, str]
"""A connector or task configuration: strings only, as submitted (placeholders unresolved)."""


@dataclass(frozen=True)
class RestartRequest:
    """A ``restart-connector-`` record (spec kafka-connect D.3.1)."""

    connector: str
    only_failed: bool
    include_tasks: bool

    @property
    def rank(self) -> int:
        """Which of several pending requests wins: the highest."""
        return (0 if self.only_failed else 2) + (1 if self.include_tasks else 0)


@dataclass(frozen=True)
class SessionKey:
    """A ``session-key`` record: workers sign their requests to each other with it (C.5.6).

    ``algorithm`` is that of the generator, in Java's words; ``created_ms`` since the Unix epoch.
    """

    key: bytes = field(repr=False)
    algorithm: str
    created_ms: int


@dataclass(frozen=True)
class LoggerChange:
    """A ``logger-cluster-`` record: every worker is to set this level on that namespace."""

    namespace: str
    level: str


@dataclass(frozen=True)
class ClusterConfigState:
    """Connector configs, task configs and target states at one offset of the config topic.

    ``generations`` count the committed task sets of a connector; ``applied`` holds the connector
    config that was current when its tasks were last committed; ``inconsistent`` names connectors
    whose last commit lacked task configs: their tasks are to be generated anew.
    """

    offset: int = -1
    connectors: Mapping[str, Config] = field(default_factory=dict)
    targets: Mapping[str, TargetState] = field(default_factory=dict)
    task_configs: Mapping[ConnectorTaskId, Config] = field(default_factory=dict)
    task_counts: Mapping[str, int] = field(default_factory=dict)
    generations: Mapping[str, int] = field(default_factory=dict)
    applied: Mapping[str, Config] = field(default_factory=dict)
    inconsistent: frozenset[str] = frozenset()
    session_key: SessionKey | None = None

    def tasks(self, connector: str) -> tuple[ConnectorTaskId, ...]:
        """The task ids of a connector, in order; none while its set is inconsistent."""
        if connector in self.inconsistent:
            return ()
        count = self.task_counts.get(connector, 0)
        return tuple(ConnectorTaskId(connector, number) for number in range(count))

    def target(self, connector: str) -> TargetState:
        """What the user wants; STARTED unless said otherwise."""
        return self.targets.get(connector, TargetState.STARTED)
