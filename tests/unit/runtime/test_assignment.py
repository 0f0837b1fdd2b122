"""What should run against what runs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from connectd.model.cluster import ClusterConfigState
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import TargetState
from connectd.runtime.assignment import reconcile, work_of
from connectd.runtime.membership import Assignment

versions = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2))


@given(versions, versions)
def test_executing_a_plan_makes_what_runs_equal_what_is_wanted(
    wanted: dict[str, int], running: dict[str, int]
) -> None:
    plan = reconcile(wanted, running)
    left = {item: version for item, version in running.items() if item not in plan.stop}
    assert {**left, **{item: wanted[item] for item in plan.start}} == wanted
    assert not set(plan.start) & left.keys()
    assert reconcile(wanted, wanted).is_empty


def test_what_is_gone_stops_what_changed_does_both_what_is_new_starts() -> None:
    plan = reconcile({"same": 1, "changed": 2, "new": 1}, {"gone": 1, "changed": 1, "same": 1})
    assert plan.stop == ("gone", "changed")
    assert plan.start == ("changed", "new")
    assert not plan.is_empty


A0, A1, B0 = ConnectorTaskId("a", 0), ConnectorTaskId("a", 1), ConnectorTaskId("b", 0)


def _snapshot(**changes: object) -> ClusterConfigState:
    values: dict[str, object] = {
        "connectors": {"a": {"x": "1"}, "b": {}},
        "task_configs": {A0: {"n": "0"}, A1: {"n": "1"}, B0: {}},
        "task_counts": {"a": 2, "b": 1},
        "generations": {"a": 4, "b": 0},
    }
    return ClusterConfigState(**{**values, **changes})  # type: ignore[arg-type]


ALL = Assignment(7, frozenset({"a", "b"}), frozenset({A0, A1, B0}))


def test_the_work_is_the_assigned_share_of_the_picture() -> None:
    share = Assignment(7, frozenset({"b"}), frozenset({A1}))
    work = work_of(_snapshot(), share)
    assert list(work) == ["a", "b"]
    assert not work["a"].has_connector
    assert work["a"].tasks == {A1: {"n": "1"}}
    assert (work["a"].task_set, work["a"].task_count) == (4, 2)
    assert work["b"].has_connector
    assert work["b"].tasks == {}


def test_what_the_picture_no_longer_knows_is_not_run_whatever_is_assigned() -> None:
    smaller = _snapshot(connectors={"b": {}}, task_counts={"b": 0})
    work = work_of(smaller, ALL)
    assert list(work) == ["b"]
    assert work["b"].tasks == {}


def test_a_stopped_connector_has_no_tasks() -> None:
    work = work_of(_snapshot(targets={"a": TargetState.STOPPED}), ALL)
    assert work["a"].tasks == {}
    assert work["a"].target is TargetState.STOPPED


def test_an_inconsistent_task_set_is_not_run() -> None:
    work = work_of(_snapshot(inconsistent=frozenset({"a"})), ALL)
    assert work["a"].tasks == {}
    assert work["b"].tasks == {B0: {}}
