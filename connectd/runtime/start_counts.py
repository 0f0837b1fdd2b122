"""How often connectors and tasks were started on this worker, and what became of it (spec G.6).

A life that begins is an attempt; its first state decides: RUNNING or PAUSED is a success, FAILED a
failure, and one that is stopped before is neither. Lives after the first of an item are restarts.
State of the event loop; the worker tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.observe.metrics import Value
from connectd.runtime.auto_restart import Item

_SUCCESS = frozenset({State.RUNNING, State.PAUSED})


class StartCounts:
    """See the module's docstring."""

    def __init__(self) -> None:
        self._lives: Counter[Item] = Counter()
        self._undecided: set[Item] = set()
        self._attempts: Counter[str] = Counter()
        self._successes: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()

    def on_begun(self, item: Item) -> None:
        """A life begins."""
        self._lives[item] += 1
        self._attempts[_kind(item)] += 1
        self._undecided.add(item)

    def on_state(self, item: Item, state: State) -> None:
        """A life shows a state."""
        if item not in self._undecided:
            return
        self._undecided.discard(item)
        if state in _SUCCESS:
            self._successes[_kind(item)] += 1
        elif state is State.FAILED:
            self._failures[_kind(item)] += 1

    def forget(self, connector: str) -> None:
        """A connector does not run here any more, nor do its tasks."""
        for item in [each for each in self._lives if _connector(each) == connector]:
            del self._lives[item]
            self._undecided.discard(item)

    def restarts(self, item: Item) -> int:
        """Lives of it after the first."""
        return max(0, self._lives[item] - 1)

    def metrics(self) -> Mapping[str, Value]:
        """By the names of Kafka's attributes."""
        found: dict[str, Value] = {}
        for kind in ("connector", "task"):
            attempts, failures = self._attempts[kind], self._failures[kind]
            successes = self._successes[kind]
            found[f"{kind}-startup-attempts-total"] = attempts
            found[f"{kind}-startup-success-total"] = successes
            found[f"{kind}-startup-failure-total"] = failures
            found[f"{kind}-startup-success-percentage"] = successes / attempts if attempts else 0.0
            found[f"{kind}-startup-failure-percentage"] = failures / attempts if attempts else 0.0
        return found


def _kind(item: Item) -> str:
    return "task" if isinstance(item, ConnectorTaskId) else "connector"


def _connector(item: Item) -> str:
    return item.connector if isinstance(item, ConnectorTaskId) else item
