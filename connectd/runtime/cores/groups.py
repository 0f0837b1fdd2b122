"""The numbers of a task on their way: groups of metrics by their titles, and back."""

from __future__ import annotations

from typing import Final

from connectd.observe import metrics_own
from connectd.observe.metrics import Numbers
from connectd.runtime.cores.messages import Value

_BY_TITLE: Final = {group.title: group for group in metrics_own.CATALOGUE}


def titled(numbers: Numbers) -> dict[str, dict[str, Value]]:
    """For the way."""
    return {group.title: dict(values) for group, values in numbers.items()}


def numbers_of(told: dict[str, dict[str, Value]]) -> Numbers:
    """At its end."""
    return {_BY_TITLE[title]: values for title, values in told.items()}
