"""Tables share tasks: none is dropped, none is moved without need."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.connectors.dynamodb.grouping import Grouping, group_tables
from tests.kit.items import examples

_tables = st.sets(st.text("abc-._09", min_size=3, max_size=8), max_size=30)
_tasks_max = st.integers(1, 12)
_groupings: st.SearchStrategy[Grouping] = st.sampled_from(["balanced", "stable"])
_BOTH: list[Grouping] = ["balanced", "stable"]


@given(_tables, _tasks_max, _groupings)
@examples
def test_every_table_is_in_one_group_however_few_tasks_there_are(
    tables: set[str], tasks_max: int, grouping: Grouping
) -> None:
    """Field case D03: three tables and two tasks copied nothing at all."""
    groups = group_tables(tables, tasks_max, grouping)
    placed = [table for group in groups for table in group]
    assert sorted(placed) == sorted(tables)
    assert len(groups) <= tasks_max
    assert all(groups)
    assert all(list(group) == sorted(group) for group in groups)


@given(_tables, _tasks_max, _groupings, st.randoms(use_true_random=False))
@examples
def test_the_order_in_which_tables_are_found_changes_nothing(
    tables: set[str], tasks_max: int, grouping: Grouping, random: Random
) -> None:
    """Field case D02: the tagging API answers in another order each time."""
    found = [*tables, *sorted(tables)[:3]]
    random.shuffle(found)
    assert group_tables(found, tasks_max, grouping) == group_tables(
        sorted(tables), tasks_max, grouping
    )


@given(_tables, _groupings)
@examples
def test_with_enough_tasks_each_table_has_its_own(tables: set[str], grouping: Grouping) -> None:
    groups = group_tables(tables, max(len(tables), 1), grouping)
    assert groups == tuple((table,) for table in sorted(tables))


@given(_tables, _tasks_max)
@examples
def test_balanced_groups_differ_by_one_table_at_most(tables: set[str], tasks_max: int) -> None:
    sizes = [len(group) for group in group_tables(tables, tasks_max, "balanced")]
    assert not sizes or max(sizes) - min(sizes) <= 1


@given(_tables.filter(lambda tables: len(tables) > 1), _tasks_max)
@examples
def test_a_stable_grouping_moves_no_other_table_when_one_comes(
    tables: set[str], tasks_max: int
) -> None:
    tasks_max = min(tasks_max, len(tables) - 1)
    before = {frozenset(group) for group in group_tables(tables, tasks_max, "stable")}
    after = {
        frozenset(group) - {"a newcomer"}
        for group in group_tables(tables | {"a newcomer"}, tasks_max, "stable")
    }
    assert after - {frozenset()} == before


def test_a_stable_grouping_is_the_same_in_every_process() -> None:
    # Python's own hash of a text differs from process to process.
    tables = [f"orders-{number}" for number in range(8)]
    assert group_tables(tables, 3, "stable") == (
        ("orders-3", "orders-6"),
        ("orders-0", "orders-1", "orders-4", "orders-5"),
        ("orders-2", "orders-7"),
    )


@pytest.mark.parametrize("grouping", _BOTH)
def test_no_tables_need_no_tasks(grouping: Grouping) -> None:
    assert group_tables([], 5, grouping) == ()


@pytest.mark.parametrize("grouping", _BOTH)
def test_fewer_than_one_task_is_refused(grouping: Grouping) -> None:
    with pytest.raises(ValueError, match=r"tasks\.max is 0, expected at least 1"):
        group_tables(["orders"], 0, grouping)
