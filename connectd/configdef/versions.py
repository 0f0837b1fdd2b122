"""Which versions of a plugin a config asks for: ``1.0``, ``[1.0,2.0)``, ``latest``.

The notation is Maven's, as in ``connector.plugin.version`` and the ``version`` parameter of the
REST API (KIP-891); a bare version stands for exactly that one. Texts of errors are those that Kafka
shows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from connectd.configdef.values import trim
from connectd.errors import ConfigError

_LATEST: Final = "latest"
_PART: Final = re.compile(r"[0-9]+|[a-z]+")
_INTERVAL: Final = re.compile(r"(?P<open>[\[(])(?P<ends>[^\])]*)(?P<close>[\])])")
_QUALIFIERS: Final = ("alpha", "beta", "milestone", "rc", "snapshot", "", "sp")
"""Words after the number, from the earliest to the latest; no word is the release itself."""

_Part = tuple[int, int, str]


@dataclass(frozen=True)
class _Interval:
    lower: str | None
    upper: str | None
    has_lower: bool
    has_upper: bool

    def __contains__(self, version: str) -> bool:
        wanted = _parts(version)
        if self.lower is not None:
            order = _compare(wanted, _parts(self.lower))
            if order < 0 or (order == 0 and not self.has_lower):
                return False
        if self.upper is not None:
            order = _compare(wanted, _parts(self.upper))
            if order > 0 or (order == 0 and not self.has_upper):
                return False
        return True

    def __str__(self) -> str:
        ends = f"{self.lower or ''},{self.upper or ''}"
        return f"{'[' if self.has_lower else '('}{ends}{']' if self.has_upper else ')'}"


@dataclass(frozen=True)
class VersionRange:
    """One or more intervals."""

    intervals: tuple[_Interval, ...]

    def __contains__(self, version: str) -> bool:
        return any(version in interval for interval in self.intervals)

    def __str__(self) -> str:
        return ",".join(map(str, self.intervals))


def requirement(text: str | None) -> VersionRange | None:
    """What a config asks for; None when any version will do.

    Raises:
        ConfigError: it is not in the notation.
    """
    spec = None if text is None else trim(text)
    if spec is None or spec == _LATEST:
        return None
    if not spec.startswith(("[", "(")):
        return VersionRange((_Interval(spec, spec, has_lower=True, has_upper=True),))
    return VersionRange(tuple(_intervals(spec)))


def mismatch(class_name: str, wanted: VersionRange, available: Sequence[str]) -> str:
    """Kafka's text for a class of which there is no such version."""
    return (
        f"Plugin {class_name} not found that matches the version range {wanted}, available "
        f"versions: [{', '.join(available)}]"
    )


def _intervals(spec: str) -> list[_Interval]:
    found: list[_Interval] = []
    rest = spec
    while rest.startswith(("[", "(")):
        match = _INTERVAL.match(rest)
        if match is None:
            raise ConfigError(f"Unbounded range: {spec}")
        interval = _interval(match, spec)
        if found and not _follows(interval, found[-1]):
            raise ConfigError(f"Ranges overlap: {spec}")
        found.append(interval)
        rest = trim(rest[match.end() :]).removeprefix(",").lstrip()
    if rest:
        raise ConfigError(f"Only fully-qualified sets allowed in multiple set scenario: {spec}")
    return found


def _interval(match: re.Match[str], spec: str) -> _Interval:
    has_lower, has_upper = match["open"] == "[", match["close"] == "]"
    lower, comma, upper = (trim(part) for part in match["ends"].partition(","))
    if not comma:
        if not (has_lower and has_upper):
            raise ConfigError(f"Single version must be surrounded by []: {spec}")
        return _Interval(lower, lower, has_lower=True, has_upper=True)
    if lower and upper:
        order = _compare(_parts(lower), _parts(upper))
        if order > 0 or (order == 0 and not (has_lower and has_upper)):
            raise ConfigError(f"Range defies version ordering: {spec}")
    return _Interval(lower or None, upper or None, has_lower, has_upper)


def _follows(later: _Interval, earlier: _Interval) -> bool:
    if earlier.upper is None:
        return True
    return later.lower is not None and _compare(_parts(later.lower), _parts(earlier.upper)) >= 0


def _parts(version: str) -> list[_Part]:
    return [
        (1, int(part), "") if part.isdigit() else (0, _qualifier_rank(part), part)
        for part in _PART.findall(version.lower())
    ]


def _qualifier_rank(word: str) -> int:
    known = {"a": "alpha", "b": "beta", "m": "milestone", "cr": "rc"}.get(word, word)
    known = "" if known in ("ga", "final", "release") else known
    return _QUALIFIERS.index(known) if known in _QUALIFIERS else len(_QUALIFIERS)


def _compare(one: list[_Part], other: list[_Part]) -> int:
    for left, right in zip_longest(one, other):
        first, second = left or _nothing_beside(right), right or _nothing_beside(left)
        if first[:2] != second[:2]:
            return -1 if first[:2] < second[:2] else 1
        if first[2] != second[2] and first[1] == len(_QUALIFIERS):
            return -1 if first[2] < second[2] else 1
    return 0


def _nothing_beside(part: _Part | None) -> _Part:
    """A missing number counts as 0, a missing word as the release."""
    is_number = part is not None and part[0] == 1
    return (1, 0, "") if is_number else (0, _QUALIFIERS.index(""), "")
