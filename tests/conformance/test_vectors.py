"""Our transforms, predicates and converters answer what the real ones answered."""

from __future__ import annotations

import functools
from collections import Counter

import pytest

from tests.conformance.vectors import compare, differences, stored


@functools.cache
def _verdicts(family: str) -> tuple[compare.Verdict, ...]:
    return tuple(compare.verdicts(family))


@pytest.mark.timeout(180)
@pytest.mark.parametrize("family", stored.FAMILIES)
def test_every_vector_is_equal_or_a_known_difference(family: str) -> None:
    unlisted = [each for each in _verdicts(family) if not each.equal and each.known is None]
    assert not unlisted, f"{len(unlisted)} unlisted differences, the first:\n{unlisted[0]}"


@pytest.mark.timeout(180)
def test_every_known_difference_still_occurs() -> None:
    occurring = Counter(
        each.known for family in stored.FAMILIES for each in _verdicts(family) if each.known
    )
    assert [each for each in differences.KNOWN if not occurring[each]] == []


def test_a_wrong_answer_is_noticed() -> None:
    case, theirs = next(
        (case, answer) for case, answer in stored.load("transforms") if answer.get("record")
    )
    assert compare.judge(case, theirs).equal
    changed = {"record": {**theirs["record"], "topic": "another"}}
    assert not compare.judge(case, changed).equal
    assert not compare.judge(case, {"error": "E", "message": "no"}).equal
