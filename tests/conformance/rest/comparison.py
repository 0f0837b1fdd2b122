"""Finds what differs between two transcripts of one scenario.

Objects are compared member by member in any order. Lists of named entries (configs, plugins,
tasks, offsets, records) are matched by name, and a different order of the same names is one
difference of its own; other lists are compared as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tests.conformance.rest.driving import WAITED_IN_VAIN
from tests.conformance.rest.steps import compact

ABSENT: Final = "(absent)"


@dataclass(frozen=True)
class Difference:
    """One place where connectd answered otherwise."""

    scenario: str
    step: str
    """Name of the step, or ``records`` for the internal topics."""
    place: str
    real: Any
    ours: Any


def differences(real: dict[str, Any], ours: dict[str, Any]) -> Iterator[Difference]:
    """Everything that differs between the transcripts of one scenario."""
    scenario = real["scenario"]
    for theirs, own in zip(real["steps"], ours["steps"], strict=True):
        if WAITED_IN_VAIN in own:
            yield Difference(scenario, own["step"], "until", "happened", own[WAITED_IN_VAIN])
        for place, left, right in _differing(theirs["answer"], own["answer"], ""):
            yield Difference(scenario, own["step"], place, left, right)
    for place, left, right in _differing(real["records"], ours["records"], ""):
        yield Difference(scenario, "records", place, left, right)


def _differing(real: Any, ours: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(real, dict) and isinstance(ours, dict):
        for name in [*real, *(name for name in ours if name not in real)]:
            inner = f"{place}.{name}" if place else name
            yield from _differing(real.get(name, ABSENT), ours.get(name, ABSENT), inner)
        return
    if isinstance(real, list) and isinstance(ours, list):
        left, right = _by_name(real), _by_name(ours)
        if left is not None and right is not None:
            for name in [*left, *(name for name in right if name not in left)]:
                inner = f"{place}[{name}]"
                yield from _differing(left.get(name, ABSENT), right.get(name, ABSENT), inner)
            both = [name for name in left if name in right]
            if both != [name for name in right if name in left]:
                yield f"{place} order", both, [name for name in right if name in left]
            return
    if type(real) is not type(ours) or real != ours:
        yield place, real, ours


def _by_name(entries: list[Any]) -> dict[str, Any] | None:
    """The entries by their names, repeated names numbered; None when they have no names."""
    named: dict[str, Any] = {}
    for entry in entries:
        name = _name(entry)
        if name is None:
            return None
        number = 1
        unique = name
        while unique in named:
            number += 1
            unique = f"{name} ({number})"
        named[unique] = entry
    return named


def _name(entry: Any) -> str | None:
    match entry:
        case {"definition": {"name": str(name)}} | {"value": {"name": str(name)}}:
            return name
        case {"class": str(name), "type": str(kind)}:
            return f"{name} {kind}"
        case {"name": str(name)} | {"key": str(name)}:
            return name
        case {"id": int(number)}:
            return str(number)
        case {"id": dict(task)} | {"partition": dict(task)}:
            return compact(dict(sorted(task.items())))
        case {"connector": str(connector), "task": int(number)}:
            return f"{connector}-{number}"
        case _:
            return None
