"""Where a task goes: to the process with the fewest tasks of its connector, then of all.

A connector shares its tables out evenly, so that its tasks cost about the same; those of different
connectors need not. What is placed stays where it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from connectd.model.ids import ConnectorTaskId


def place_of(task: ConnectorTaskId, tasks_by_place: Sequence[Collection[ConnectorTaskId]]) -> int:
    """The number of the place, the lowest of those that are as good."""

    def load(place: int) -> tuple[int, int, int]:
        tasks = tasks_by_place[place]
        of_connector = sum(each.connector == task.connector for each in tasks)
        return of_connector, len(tasks), place

    return min(range(len(tasks_by_place)), key=load)
