"""What a known difference is, and what the table of them (``known``) says of those that were found.

An entry names where a difference may stand, with ``*`` for any text, and says why it is right that
it stands there. The fewer places it covers, the better: what it covers is no longer watched. An
entry that no difference needs any more is stale, and fails the suite like an unlisted difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from tests.conformance.rest.comparison import Difference

ANYTHING: Final = object()


@dataclass(frozen=True)
class Known:
    """Differences that are meant. Texts are patterns; ``*`` stands for any text."""

    reason: str
    scenario: str = "*"
    step: str = "*"
    place: str = "*"
    real: Any = ANYTHING
    ours: Any = ANYTHING
    when: Callable[[Difference], bool] = lambda _: True
    """What patterns cannot say."""

    def covers(self, difference: Difference) -> bool:
        """Whether this entry speaks of ``difference``."""
        return self.when(difference) and all(
            wanted is ANYTHING or _matches(wanted, found)
            for wanted, found in (
                (self.scenario, difference.scenario),
                (self.step, difference.step),
                (self.place, difference.place),
                (self.real, difference.real),
                (self.ours, difference.ours),
            )
        )


@dataclass(frozen=True)
class Verdict:
    """What the table says of the differences that were found."""

    unlisted: list[Difference]
    stale: list[Known]
    """Entries that covered nothing."""


def judge(found: Iterable[Difference], known: Iterable[Known]) -> Verdict:
    """Part the differences into listed and unlisted ones."""
    entries = list(known)
    used: set[int] = set()
    unlisted = []
    for difference in found:
        covering = [index for index, each in enumerate(entries) if each.covers(difference)]
        used.update(covering)
        if not covering:
            unlisted.append(difference)
    return Verdict(unlisted, [each for index, each in enumerate(entries) if index not in used])


def _matches(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, str) and isinstance(found, str):
        return _pattern(wanted).fullmatch(found) is not None
    return bool(wanted == found)


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, glob.split("*"))), re.DOTALL)
