"""How tables share tasks. Pure: equal inputs give equal groups in equal order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal

Grouping = Literal["balanced", "stable"]


def group_tables(
    tables: Iterable[str], tasks_max: int, grouping: Grouping
) -> tuple[tuple[str, ...], ...]:
    """At most ``tasks_max`` groups, none empty, each in the order of names.

    A table alone in its task while there are enough tasks, and then: ``balanced``, sizes differ by
    one at most; ``stable``, a table stays where it is when others come and go (field case D03: more
    tables than tasks is no reason to copy none).
    """
    if tasks_max < 1:
        raise ValueError(f"tasks.max is {tasks_max}, expected at least 1")
    ordered = sorted(set(tables))
    if len(ordered) <= tasks_max:
        return tuple((table,) for table in ordered)
    groups: list[list[str]] = [[] for _ in range(tasks_max)]
    for index, table in enumerate(ordered):
        slot = index if grouping == "balanced" else _hash(table)
        groups[slot % tasks_max].append(table)
    return tuple(tuple(group) for group in groups if group)


def _hash(table: str) -> int:
    """The same in every process, unlike ``hash``."""
    return int.from_bytes(hashlib.sha256(table.encode()).digest()[:8])
