"""Differences as a person reads them."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.rest.comparison import Difference
from tests.conformance.rest.differences import Known
from tests.conformance.rest.steps import compact

SHOWN_MAX: Final = 600


def of_difference(difference: Difference) -> str:
    """Four lines: where, what the real worker says, what connectd says."""
    return (
        f"{difference.scenario} / {difference.step}\n"
        f"  {difference.place}\n"
        f"    real: {_shown(difference.real)}\n"
        f"    ours: {_shown(difference.ours)}"
    )


def of_stale_entry(entry: Known) -> str:
    """One line: an entry of the table that no difference needs."""
    return (
        f"stale: the known difference at {entry.scenario} / {entry.step} / {entry.place} "
        f"no longer occurs; take it out of differences.py (reason there: {entry.reason})"
    )


def _shown(value: Any) -> str:
    text = compact(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]} … ({len(text)} characters)"
