"""The names of time zones that Java reads in English, and what they stand for.

The table beside this file holds them as Java 17 has them (``DateFormatSymbols``, and the offsets of
``GregorianCalendar``); ``python -m tests.conformance.vectors.zone_names`` writes it, and
``tests/conformance/java/ZoneNames.java`` says what its lines mean. Java takes the first name, in
this order, that the text begins with: EST is that of New York, IST that of Jerusalem.
"""

from __future__ import annotations

import bisect
import functools
from dataclasses import dataclass
from importlib import resources
from typing import Final

_TABLE: Final = "date_format_zones.txt"


@dataclass(frozen=True)
class Zone:
    """Offsets from UTC by wall time: each pair (standard, daylight), in ms, holds from its time."""

    froms_ms: tuple[int, ...]
    pairs_ms: tuple[tuple[int, int], ...]

    def offsets_ms(self, wall_ms: int) -> tuple[int, int]:
        """What standard time is ahead of UTC, and what daylight time adds, at a wall time."""
        return self.pairs_ms[bisect.bisect_right(self.froms_ms, wall_ms)]


@dataclass(frozen=True)
class ZoneName:
    """A name; ``daylight_ms`` is None when the zone itself says whether it is daylight time."""

    length: int
    zone: Zone
    daylight_ms: int | None


def name_at(text: str, start: int) -> ZoneName | None:
    """The name that stands in a text from ``start`` on."""
    names, lengths = _names()
    folded = ((length, fold(text[start : start + length])) for length in lengths)
    found = (names[part] for length, part in folded if len(part) == length and part in names)
    _, name = min(found, key=lambda ranked: ranked[0], default=(0, None))
    return name


def fold(text: str) -> str:
    """Texts that differ in case alone become equal."""
    return text.upper().lower()


@functools.cache
def _names() -> tuple[dict[str, tuple[int, ZoneName]], tuple[int, ...]]:
    """Every folded name with its rank, and all lengths that there are."""
    names: dict[str, tuple[int, ZoneName]] = {}
    table = resources.files(__package__).joinpath(_TABLE).read_text(encoding="utf-8")
    for line in table.splitlines()[1:]:
        _, savings_s, spelled, offsets = line.split("\t")
        zone = _zone(offsets)
        daylight_ms = {"s": 0, "d": int(savings_s) * 1000, "o": None}
        for kind, name in ((each[0], each[1:]) for each in spelled.split(";")):
            names[fold(name)] = (len(names), ZoneName(len(name), zone, daylight_ms[kind]))
    return names, tuple(sorted({len(name) for name in names}))


def _zone(offsets: str) -> Zone:
    first, *others = offsets.split(",")
    changes = [each.split(":") for each in others]
    pairs = [first, *(pair for _, pair in changes)]
    return Zone(
        tuple(int(from_s) * 1000 for from_s, _ in changes), tuple(_pair(pair) for pair in pairs)
    )


def _pair(text: str) -> tuple[int, int]:
    standard_s, daylight_s = text.split("+")
    return int(standard_s) * 1000, int(daylight_s) * 1000
