"""What should run against what runs: pure functions, no effects.

``work_of`` cuts the picture of the config topic down to what this worker is assigned, by connector.
``reconcile`` compares wanted with running and says what to stop and what to start; a supervisor
executes it, what is redundant first.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from connectd.model.cluster import ClusterConfigState, Config
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import TargetState
from connectd.runtime.membership import Assignment

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class ConnectorWork:
    """What this worker is to run of one connector.

    ``task_set`` is the generation of the committed task set: another one means new tasks, even when
    their configs are equal. ``task_count`` counts the tasks of all workers.
    """

    config: Config
    target: TargetState
    has_connector: bool = True
    task_set: int = 0
    task_count: int = 0
    tasks: Mapping[ConnectorTaskId, Config] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan(Generic[K]):
    """What to stop and then what to start, each in order. A changed item is in both."""

    stop: tuple[K, ...]
    start: tuple[K, ...]

    @property
    def is_empty(self) -> bool:
        """Whether everything is as it should be."""
        return not self.stop and not self.start


def reconcile(wanted: Mapping[K, object], running: Mapping[K, object]) -> Plan[K]:
    """Compare items by their versions: what is gone or changed stops, what is missing starts."""
    stop = [item for item, version in running.items() if wanted.get(item, _GONE) != version]
    stopped = set(stop)
    start = [item for item in wanted if item not in running or item in stopped]
    return Plan(tuple(stop), tuple(start))


def work_of(snapshot: ClusterConfigState, assignment: Assignment) -> dict[str, ConnectorWork]:
    """The share of this worker, by connector name.

    Items that the picture no longer knows are left out, whatever the assignment says. A STOPPED
    connector has no tasks, and one whose task set has not been shared out has none yet.
    """
    shared_out = assignment.task_sets
    tasks_by_connector: dict[str, dict[ConnectorTaskId, Config]] = {}
    for task in sorted(assignment.tasks):
        config = snapshot.task_configs.get(task)
        is_current = task.task < snapshot.task_counts.get(task.connector, 0)
        if config is None or not is_current or task.connector in snapshot.inconsistent:
            continue
        task_set = snapshot.generations.get(task.connector)
        if shared_out is not None and shared_out.get(task.connector) != task_set:
            continue
        if snapshot.target(task.connector) is not TargetState.STOPPED:
            tasks_by_connector.setdefault(task.connector, {})[task] = config
    names = sorted(assignment.connectors | tasks_by_connector.keys())
    return {
        name: ConnectorWork(
            config=snapshot.connectors[name],
            target=snapshot.target(name),
            has_connector=name in assignment.connectors,
            task_set=snapshot.generations.get(name, 0),
            task_count=snapshot.task_counts.get(name, 0),
            tasks=tasks_by_connector.get(name, {}),
        )
        for name in names
        if name in snapshot.connectors
    }


_GONE = object()
