"""Dealing everything anew, round and round (spec kafka-connect C.5.4): a pure function.

Connectors first, then tasks with the same turn of the table, so that loads differ by one at most.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection

from connectd.model.ids import ConnectorTaskId
from connectd.runtime.group.shares import Share


def deal(members: Collection[str], everything: Share) -> dict[str, Share]:
    """The share of every member; there is at least one."""
    turns = itertools.cycle(sorted(members))
    connectors: dict[str, set[str]] = {member: set() for member in members}
    tasks: dict[str, set[ConnectorTaskId]] = {member: set() for member in members}
    for connector in sorted(everything.connectors):
        connectors[next(turns)].add(connector)
    for task in sorted(everything.tasks):
        tasks[next(turns)].add(task)
    return {
        member: Share(frozenset(connectors[member]), frozenset(tasks[member])) for member in members
    }
