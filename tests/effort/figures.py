"""The stored figures, and what is wrong with new ones. Pure but for ``load`` and ``store``."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).with_name("figures.json")
TOLERANCE: Final = 0.10
ACCEPT: Final = "python -m tests.effort --accept"

_PART_SHARE_MIN: Final = 0.01
"""Of parts that are smaller than this share of their measure nothing is stored."""
_SHOWN_MAX: Final = 5


@dataclass(frozen=True)
class Count:
    """A measure per record, and how much of it is whose, where that is known."""

    total: float
    parts: Mapping[str, float]

    @classmethod
    def of(cls, parts: Mapping[str, float]) -> Count:
        """From all parts; those that are named and large enough are kept, the largest first."""
        total = sum(parts.values())
        kept = sorted(parts.items(), key=lambda part: (-part[1], part[0]))
        return cls(
            round(total, 1),
            {
                name: round(size, 1)
                for name, size in kept
                if name and size >= total * _PART_SHARE_MIN
            },
        )


Counts = Mapping[str, Mapping[str, Count]]
"""By case and measure."""


def version() -> str:
    """The Python whose figures these are."""
    return ".".join(platform.python_version_tuple()[:2])


def load() -> dict[str, Counts]:
    """All figures, by version of Python."""
    stored: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        python: {
            case: {measure: Count(**count) for measure, count in measures.items()}
            for case, measures in cases.items()
        }
        for python, cases in stored.items()
    }


def store(counts: Counts) -> None:
    """Put new figures in the place of those of this Python."""
    stored: dict[str, Counts] = {**(load() if FILE.exists() else {}), version(): counts}
    plain = {
        python: {
            case: {measure: vars(count) for measure, count in measures.items()}
            for case, measures in cases.items()
        }
        for python, cases in sorted(stored.items())
    }
    FILE.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")


def problems(counts: Counts) -> list[str]:
    """What is not as stored, in sentences; empty: nothing."""
    stored = load()
    own = stored.get(version())
    known = own or stored[min(stored, key=_distance)]
    found = [
        _problem(f"{case}: {measure}", known.get(case, {}).get(measure), count, is_own=bool(own))
        for case, measures in counts.items()
        for measure, count in measures.items()
    ]
    return [problem for problem in found if problem]


def _distance(python: str) -> int:
    """How many minor versions lie between that Python and this one."""
    return abs(int(python.partition(".")[2]) - int(version().partition(".")[2]))


def _problem(what: str, stored: Count | None, count: Count, *, is_own: bool) -> str:
    if stored is None:
        return f"{what} {count.total:,.1f} per record, with nothing stored; store it: {ACCEPT}"
    change = count.total / stored.total - 1 if stored.total else float(count.total > 0)
    if change > TOLERANCE:
        return (
            f"{what} {count.total:,.1f} per record, {change:.0%} more than the stored "
            f"{stored.total:,.1f}{_grown(stored, count)}; if that is what it has to cost: {ACCEPT}"
        )
    if change < -TOLERANCE and is_own:
        return (
            f"{what} {count.total:,.1f} per record, {-change:.0%} less than the stored "
            f"{stored.total:,.1f}; store it, so that it stays: {ACCEPT}"
        )
    return ""


def _grown(stored: Count, count: Count) -> str:
    """Which parts grew most."""
    grown = {name: size - stored.parts.get(name, 0.0) for name, size in count.parts.items()}
    most = sorted((name for name in grown if grown[name] > 0), key=lambda name: -grown[name])
    shown = [
        f"{name} {stored.parts.get(name, 0.0):,.1f} -> {count.parts[name]:,.1f}"
        for name in most[:_SHOWN_MAX]
    ]
    return f" ({'; '.join(shown)})" if shown else ""
