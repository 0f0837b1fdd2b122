"""Dealing everything anew (spec kafka-connect C.5.4)."""

from __future__ import annotations

from connectd.model.ids import ConnectorTaskId
from connectd.runtime.group.eager import deal
from connectd.runtime.group.shares import Share


def _tasks(*names: str) -> frozenset[ConnectorTaskId]:
    parts = (name.rpartition("-") for name in names)
    return frozenset(ConnectorTaskId(connector, int(number)) for connector, _, number in parts)


def test_tasks_go_on_where_connectors_ended() -> None:
    everything = Share(frozenset({"a", "b", "c"}), _tasks("a-0", "a-1", "b-0", "c-0"))
    assert deal(["m2", "m1"], everything) == {
        "m1": Share(frozenset({"a", "c"}), _tasks("a-1", "c-0")),
        "m2": Share(frozenset({"b"}), _tasks("a-0", "b-0")),
    }


def test_tasks_are_dealt_by_their_numbers() -> None:
    everything = Share(frozenset({"a"}), _tasks(*(f"a-{number}" for number in range(11))))
    dealt = deal(["m1", "m2"], everything)
    assert dealt["m2"].tasks == _tasks("a-0", "a-2", "a-4", "a-6", "a-8", "a-10")
