"""Java's ``SimpleDateFormat`` in UTC and English, as far as its patterns are used (spec F.2, H.2).

A pattern is compiled once to fields and literals. Formatting and parsing know every letter of the
pattern language. Parsing is as lenient as Java's: numbers may have more digits than the pattern
asks for, values beyond their range carry over (the 32nd of January is the 1st of February), fields
that contradict each other are settled by their order, and what follows the matched text is
ignored. ``date_format_reading`` and ``date_format_calendar`` have the rules;
``tests/conformance/vectors`` asks Java.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from connectd.model import date_format_reading
from connectd.model.date_format_calendar import MomentOutOfRangeError
from connectd.model.date_format_reading import NoMatchError, Part

_MONTHS: Final = tuple(calendar.month_name)[1:]
_DAYS: Final = tuple(calendar.day_name)
_FULL: Final = 4
"""From so many letters on, names are written in full."""
_SHORT_NAME: Final = 3
_LETTERS: Final = frozenset("GyYMLwWDdFEuaHkKhmsSzZX")
_ISO_ZONE_LENGTH_MAX: Final = 3
_WINDOW_YEARS: Final = 80
"""A year of two digits is at most so long ago, and less than a century later than that."""


class DateFormatError(ValueError):
    """The pattern is none, or the text does not match it."""


class DateRangeError(DateFormatError):
    """The text matches, but tells of a moment outside of the years 1 to 9999."""


class DateFormat:
    """A compiled pattern; safe in any thread."""

    def __init__(self, pattern: str, *, now: datetime | None = None) -> None:
        """Compile it; ``now`` settles the century of years that are read with two digits.

        Raises:
            DateFormatError: a letter has no meaning, or a quote is not closed.
        """
        self._parts = _compile(pattern)
        self._century_start = None if now is None else _years_before(now, _WINDOW_YEARS)

    def format(self, moment: datetime) -> str:
        """The text of a moment, in UTC."""
        utc = moment.astimezone(UTC)
        return "".join(
            _FORMATS[part.letter](utc, part.count) if part.letter else part.literal
            for part in self._parts
        )

    def parse(self, text: str) -> datetime:
        """The moment that a text stands for; what is missing in it is that of 1970-01-01 00:00.

        Raises:
            DateFormatError: it does not match.
            DateRangeError: it does, but datetime cannot tell the moment.
        """
        try:
            return date_format_reading.moment(self._parts, text, self._century_start)
        except NoMatchError:
            raise DateFormatError(f"{text} does not match") from None
        except MomentOutOfRangeError as error:
            raise DateRangeError(str(error)) from None


def _years_before(moment: datetime, years: int) -> datetime:
    try:
        return moment.replace(year=moment.year - years)
    except ValueError:  # the 29th of February
        return moment.replace(year=moment.year - years, day=28)


def _compile(pattern: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "'":
            literal, at = _quoted(pattern, at)
            parts.append(Part(literal=literal))
        elif _is_letter(char):
            if char not in _LETTERS:
                raise DateFormatError(f"Illegal pattern character '{char}'")
            end = at
            while end < len(pattern) and pattern[end] == char:
                end += 1
            is_illegal_next = _is_letter(pattern[end : end + 1]) and pattern[end] not in _LETTERS
            if char == "X" and end - at > _ISO_ZONE_LENGTH_MAX and not is_illegal_next:
                raise DateFormatError(f"invalid ISO 8601 format: length={end - at}")
            parts.append(Part(letter=char, count=end - at))
            at = end
        else:
            parts.append(Part(literal=char))
            at += 1
    return tuple(parts)


def _is_letter(char: str) -> bool:
    return char.isascii() and char.isalpha()


def _quoted(pattern: str, at: int) -> tuple[str, int]:
    """The literal between quotes that begin at ``at``, and where it ends; two are one quote."""
    if pattern.startswith("''", at):
        return "'", at + 2
    found = []
    at += 1
    while at < len(pattern):
        if pattern.startswith("''", at):
            found.append("'")
            at += 2
        elif pattern[at] == "'":
            return "".join(found), at + 1
        else:
            found.append(pattern[at])
            at += 1
    raise DateFormatError("Unterminated quote")


# -- formatting ---------------------------------------------------------------------------------


def _number(value: int, count: int) -> str:
    return str(value).zfill(count)


def _year(moment: datetime, count: int) -> str:
    return _number(moment.year % 100, 2) if count == 2 else _number(moment.year, count)


def _week_year(moment: datetime, count: int) -> str:
    year, _ = _week(moment)
    return _number(year % 100, 2) if count == 2 else _number(year, count)


def _week(moment: datetime) -> tuple[int, int]:
    """Week year and week, weeks from Sunday on, the first one with 1 January in it (US rules)."""
    saturday = moment.date() + timedelta(days=6 - (moment.weekday() + 1) % 7)
    return saturday.year, (saturday.timetuple().tm_yday - 1) // 7 + 1


def _week_of_month(moment: datetime) -> int:
    first = moment.replace(day=1)
    return (moment.day + (first.weekday() + 1) % 7 - 1) // 7 + 1


def _month(moment: datetime, count: int) -> str:
    if count < _SHORT_NAME:
        return _number(moment.month, count)
    name = _MONTHS[moment.month - 1]
    return name if count >= _FULL else name[:_SHORT_NAME]


def _day_name(moment: datetime, count: int) -> str:
    name = _DAYS[moment.weekday()]
    return name if count >= _FULL else name[:_SHORT_NAME]


def _zone(_: datetime, count: int) -> str:
    return "Coordinated Universal Time" if count >= _FULL else "UTC"


_FORMATS: Final[dict[str, Callable[[datetime, int], str]]] = {
    "G": lambda moment, count: "AD",
    "y": _year,
    "Y": _week_year,
    "M": _month,
    "L": _month,
    "w": lambda moment, count: _number(_week(moment)[1], count),
    "W": lambda moment, count: _number(_week_of_month(moment), count),
    "D": lambda moment, count: _number(moment.timetuple().tm_yday, count),
    "d": lambda moment, count: _number(moment.day, count),
    "F": lambda moment, count: _number((moment.day - 1) // 7 + 1, count),
    "E": _day_name,
    "u": lambda moment, count: _number(moment.isoweekday(), count),
    "a": lambda moment, count: "AM" if moment.hour < 12 else "PM",
    "H": lambda moment, count: _number(moment.hour, count),
    "k": lambda moment, count: _number(moment.hour or 24, count),
    "K": lambda moment, count: _number(moment.hour % 12, count),
    "h": lambda moment, count: _number(moment.hour % 12 or 12, count),
    "m": lambda moment, count: _number(moment.minute, count),
    "s": lambda moment, count: _number(moment.second, count),
    "S": lambda moment, count: _number(moment.microsecond // 1000, count),
    "z": _zone,
    "Z": lambda moment, count: "+0000",
    "X": lambda moment, count: "Z",
}
