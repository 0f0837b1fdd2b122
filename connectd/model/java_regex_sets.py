"""Sets of characters: ranges of code points and names of Unicode's properties, and their algebra.

The library ``regex`` is only ever given unions of ranges and properties: of what it calls nested
sets, it takes ``[[^a][^b]]`` for ``[^ab]``. Complements and intersections are therefore worked out
here, as ranges. What a property consists of is asked of the library, once for each.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import regex

Range = tuple[int, int]
"""From the first code point to the last, both included."""

LAST: Final = 0x10FFFF


@dataclass(frozen=True)
class CharSet:
    """What lies in one of the ranges, or has one of the properties."""

    ranges: tuple[Range, ...] = ()
    properties: frozenset[str] = frozenset()

    def __or__(self, other: CharSet) -> CharSet:
        ranges = _united((*self.ranges, *other.ranges))
        return CharSet(ranges, self.properties | other.properties)

    def __and__(self, other: CharSet) -> CharSet:
        return ~(~self | ~other)

    def __invert__(self) -> CharSet:
        return CharSet(tuple(_gaps(self._all_ranges())))

    def written(self) -> str:
        """For ``regex`` with its flag ``DOTALL``, as one part of a pattern."""
        if self.ranges == ((0, LAST),):
            return "."
        members = [_written(each) for each in self.ranges]
        members += (rf"\p{{{name}}}" for name in sorted(self.properties))
        if not members:
            return "(?!)"
        is_char = len(members) == 1 and len(set(self.ranges[0] if self.ranges else "ab")) == 1
        return members[0] if is_char else f"[{''.join(members)}]"

    def _all_ranges(self) -> tuple[Range, ...]:
        of_properties = (each for name in self.properties for each in _ranges_of(name))
        return _united((*self.ranges, *of_properties))


def of(*members: str) -> CharSet:
    """A set of characters, and of ranges like ``a-z``."""
    spans = (each.split("-") if len(each) == 3 else (each, each) for each in members)
    return CharSet(_united([(ord(first), ord(last)) for first, last in spans]))


def having(*properties: str) -> CharSet:
    """Characters with one of these properties of Unicode, as ``regex`` names them."""
    return CharSet((), frozenset(properties))


def _united(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """In order, and none touches the next."""
    merged: list[Range] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def _gaps(ranges: Iterable[Range]) -> Iterator[Range]:
    start = 0
    for first, last in ranges:
        if start < first:
            yield start, first - 1
        start = last + 1
    if start <= LAST:
        yield start, LAST


@functools.cache  # as many as the tables of java_regex_characters name
def _ranges_of(name: str) -> tuple[Range, ...]:
    runs = regex.finditer(rf"\p{{{name}}}+", _all_characters(), regex.VERSION1)
    return tuple((run.start(), run.end() - 1) for run in runs)


@functools.lru_cache(maxsize=1)
def _all_characters() -> str:
    return "".join(map(chr, range(LAST + 1)))


def _written(span: Range) -> str:
    first, last = span
    return _quoted(first) if first == last else f"{_quoted(first)}-{_quoted(last)}"


def _quoted(code: int) -> str:
    """A character for ``regex``, inside of a set and outside."""
    char = chr(code)
    return char if char.isalnum() or not char.isascii() else f"\\x{code:02x}"
