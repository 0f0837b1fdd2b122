"""Holds our answers against the real ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.conformance.vectors import coding, ours, stored
from tests.conformance.vectors.differences import Difference, difference

Json = Any
SHOWN_LENGTH_MAX = 1500


@dataclass(frozen=True)
class Verdict:
    """One case; ``known`` explains a difference, ``equal`` says that there is none."""

    case: Json
    theirs: Json
    ours: Json
    equal: bool
    known: Difference | None

    def __str__(self) -> str:
        parts = (("case", self.case), ("theirs", self.theirs), ("ours", self.ours))
        return "\n".join(f"{name}: {json.dumps(part)[:SHOWN_LENGTH_MAX]}" for name, part in parts)


def verdicts(family: str) -> Iterator[Verdict]:
    """Every case of a family."""
    for case, theirs in stored.load(family):
        yield judge(case, theirs)


def judge(case: Json, theirs: Json) -> Verdict:
    """Ask our class and compare."""
    found = ours.answer(case)
    equal = _is_equal(theirs, found)
    known = None if equal else difference(case, theirs, found)
    return Verdict(case, theirs, found, equal, known)


def _is_equal(theirs: Json, found: Json) -> bool:
    if "error" in theirs or "error" in found:
        both = "error" in theirs and "error" in found
        return both and theirs["message"] == found["message"]
    return bool(coding.comparable(theirs) == coding.comparable(found))
