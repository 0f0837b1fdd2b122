"""Java's ``SimpleDateFormat`` in UTC and English, as far as its patterns are used (spec F.2, H.2).

A pattern is compiled once to fields and literals. Formatting knows every letter of the pattern
language. Parsing is as lenient as Java's: numbers may have more digits than the pattern asks for,
values beyond their range carry over (the 32nd of January is the 1st of February), and what follows
the matched text is ignored.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

_MONTHS: Final = tuple(calendar.month_name)[1:]
_DAYS: Final = tuple(calendar.day_name)
_FULL: Final = 4
"""From so many letters on, names are written in full."""
_SHORT_NAME: Final = 3
_LETTERS: Final = frozenset("GyYMLwWDdFEuaHkKhmsSzZX")
_DIGITS: Final = re.compile(r"\s*(-?\d+)")
_OFFSET: Final = re.compile(r"(Z|UTC|GMT)?(?:([+-])(\d{1,2}):?(\d{2})?)?", re.IGNORECASE)


class DateFormatError(ValueError):
    """The pattern is none, or the text does not match it."""


@dataclass(frozen=True)
class _Part:
    """A literal, or a field with its letter and how often it stands there."""

    literal: str = ""
    letter: str = ""
    count: int = 0


class DateFormat:
    """A compiled pattern; safe in any thread."""

    def __init__(self, pattern: str) -> None:
        """Compile it.

        Raises:
            DateFormatError: a letter has no meaning, or a quote is not closed.
        """
        self._parts = _compile(pattern)

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
        """
        found: dict[str, int] = {}
        at = 0
        for index, part in enumerate(self._parts):
            if not part.letter:
                if not text.startswith(part.literal, at):
                    raise DateFormatError(f"{text} does not match")
                at += len(part.literal)
                continue
            following = self._parts[index + 1] if index + 1 < len(self._parts) else _Part()
            is_adjacent = bool(following.letter) and _is_number(following)
            at = _read(part, text, at, found, is_adjacent=is_adjacent)
        return _moment(found)


def _compile(pattern: str) -> tuple[_Part, ...]:
    parts: list[_Part] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "'":
            literal, at = _quoted(pattern, at)
            parts.append(_Part(literal=literal))
        elif char.isascii() and char.isalpha():
            if char not in _LETTERS:
                raise DateFormatError(f"Illegal pattern character '{char}'")
            end = at
            while end < len(pattern) and pattern[end] == char:
                end += 1
            parts.append(_Part(letter=char, count=end - at))
            at = end
        else:
            parts.append(_Part(literal=char))
            at += 1
    return tuple(parts)


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

# -- parsing ------------------------------------------------------------------------------------


def _is_number(part: _Part) -> bool:
    is_name = part.letter in "GEazZX" or (part.letter in "ML" and part.count >= _SHORT_NAME)
    return not is_name


def _read(part: _Part, text: str, at: int, found: dict[str, int], *, is_adjacent: bool) -> int:
    """Read one field at ``at`` into ``found``; returns where it ends."""
    match part.letter:
        case "M" | "L" if part.count >= _SHORT_NAME:
            month, end = _name(text, at, _MONTHS)
            found["M"] = month + 1
            return end
        case "E":
            return _name(text, at, _DAYS)[1]
        case "G":
            return _name(text, at, ("AD", "BC"))[1]
        case "a":
            found["a"], end = _name(text, at, ("AM", "PM"))
            return end
        case "z" | "Z" | "X":
            return _read_offset(text, at, found)
    digits = _DIGITS.match(text, at)
    if digits is None:
        raise DateFormatError(f"{text} does not match")
    start, end = digits.start(1), digits.end()
    if is_adjacent:  # the digits that follow belong to the next field
        end = min(end, start + part.count)
    number = int(text[start:end])
    if part.letter in "yY" and part.count <= 2 and end - start == 2:
        number = _full_year(number)
    found["M" if part.letter == "L" else part.letter.replace("Y", "y")] = number
    return end


def _name(text: str, at: int, names: tuple[str, ...]) -> tuple[int, int]:
    """Which of the names stands there, in full or shortened to three letters, and its end."""
    rest = text[at:].lower()
    for spelled in (names, tuple(name[:_SHORT_NAME] for name in names)):
        for index, name in enumerate(spelled):
            if rest.startswith(name.lower()):
                return index, at + len(name)
    raise DateFormatError(f"{text} does not match")


def _read_offset(text: str, at: int, found: dict[str, int]) -> int:
    match = _OFFSET.match(text, at)
    if match is None or match.end() == at:
        raise DateFormatError(f"{text} does not match")
    _, sign, hours, minutes = match.groups()
    if sign:
        offset = int(hours) * 60 + int(minutes or 0)
        found["Z"] = -offset if sign == "-" else offset
    return match.end()


def _full_year(two_digits: int) -> int:
    """The year of two digits that is within 80 years before and 20 after now, as Java has it.

    "Now" is taken as the century's change, so that the same text always means the same.
    """
    return 2000 + two_digits if two_digits < 50 else 1900 + two_digits


def _moment(found: dict[str, int]) -> datetime:
    months = found.get("y", 1970) * 12 + found.get("M", 1) - 1
    hours = found.get("H", found.get("k", 0) % 24)
    if "K" in found or "h" in found:
        of_twelve = 0 if found.get("h") == 12 else found.get("h", 0)
        hours = found.get("K", of_twelve) + 12 * found.get("a", 0)
    try:
        first = datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)
        days = found["D"] - 1 if "D" in found else found.get("d", 1) - 1
        return first + timedelta(
            days=days,
            hours=hours,
            minutes=found.get("m", 0) - found.get("Z", 0),
            seconds=found.get("s", 0),
            milliseconds=found.get("S", 0),
        )
    except (ValueError, OverflowError):
        raise DateFormatError("the years 1 to 9999 are all that can be told") from None
