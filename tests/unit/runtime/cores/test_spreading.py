"""Tasks are spread evenly: those of each connector, and all of them as far as that allows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from connectd.model.ids import ConnectorTaskId
from connectd.runtime.cores.spreading import place_of


def _placed(tasks: list[ConnectorTaskId], places: int) -> list[list[ConnectorTaskId]]:
    found: list[list[ConnectorTaskId]] = [[] for _ in range(places)]
    for task in tasks:
        found[place_of(task, found)].append(task)
    return found


@given(st.lists(st.integers(1, 12), max_size=8), st.integers(1, 6))
def test_each_connector_uses_all_places_alike(counts: list[int], places: int) -> None:
    tasks = [
        ConnectorTaskId(f"c{number}", task)
        for number, count in enumerate(counts)
        for task in range(count)
    ]
    placed = _placed(tasks, places)
    for number in range(len(counts)):
        loads = [sum(each.connector == f"c{number}" for each in place) for place in placed]
        assert max(loads) - min(loads) <= 1


@given(st.integers(0, 40), st.integers(1, 6))
def test_connectors_of_one_task_are_spread_evenly(count: int, places: int) -> None:
    placed = _placed([ConnectorTaskId(f"c{number}", 0) for number in range(count)], places)
    loads = [len(each) for each in placed]
    assert max(loads) - min(loads) <= 1


def test_a_second_connector_begins_where_the_first_has_less() -> None:
    tasks = [ConnectorTaskId("a", 0), ConnectorTaskId("a", 1), ConnectorTaskId("a", 2)]
    assert place_of(ConnectorTaskId("b", 0), [tasks[:2], tasks[2:]]) == 1


def test_what_has_lost_its_process_comes_back_to_the_place_that_is_empty() -> None:
    others = [ConnectorTaskId("a", 1), ConnectorTaskId("b", 1)]
    assert place_of(ConnectorTaskId("a", 0), [others, []]) == 1
