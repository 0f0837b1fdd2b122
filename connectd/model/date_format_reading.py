"""Reads a text by the parts of a date pattern, as Java's ``SimpleDateFormat`` does in English.

Blanks before a number or a zone are skipped. A number takes all digits that there are, unless
another number follows at once in the pattern: then it takes as many as the pattern has letters.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from connectd.model import date_format_zones
from connectd.model.date_format_calendar import CalendarField, CalendarFields, iso_weekday

NUMERIC_LETTERS: Final = frozenset("yYMLdDFuwWHhkKmsS")
_SHORT_NAME: Final = 3
"""So many letters make a month a name; so many has a short name."""

_BLANKS: Final = (" ", "\t")
_NUMBER: Final = re.compile(r"NaN|-?(?:∞|(\d+)(?:E(-?\d{1,9}))?)")
_TWO_DIGITS: Final = re.compile(r"\d\d")
_LONG_DIGITS: Final = 19
"""A whole number with more digits is beyond a long."""

_PLAIN_DIGITS_MAX: Final = 9
"""So many digits are an int, whatever they are."""

_OFFSET: Final = re.compile(r"([+-])([0-9]{2})([0-9]{2})")
_OFFSET_BEHIND_GMT: Final = re.compile(r"GMT([+-])([0-9]{1,2}):([0-9]{2})", re.IGNORECASE)
_ISO_OFFSETS: Final = (
    re.compile(r"([+-])([0-9]{2})()"),
    _OFFSET,
    re.compile(r"([+-])([0-9]{2}):([0-9]{2})"),
)
"""By the count of the letter X."""
_HOURS_MAX: Final = 23
_MINUTES_MAX: Final = 59
_MS_PER_MINUTE: Final = 60_000

_F = CalendarField
_FIELDS: Final = {
    "y": _F.YEAR,
    "Y": _F.WEEK_YEAR,
    "M": _F.MONTH,
    "L": _F.MONTH,
    "d": _F.DAY,
    "D": _F.DAY_OF_YEAR,
    "F": _F.DAY_OF_WEEK_IN_MONTH,
    "u": _F.DAY_OF_WEEK,
    "w": _F.WEEK_OF_YEAR,
    "W": _F.WEEK_OF_MONTH,
    "H": _F.HOUR,
    "k": _F.HOUR,
    "h": _F.HOUR_OF_12,
    "K": _F.HOUR_OF_12,
    "m": _F.MINUTE,
    "s": _F.SECOND,
    "S": _F.MS,
}
_STARTS_AT_ONE: Final = {"k": 24, "h": 12}
"""What the hour 0 is called where hours begin with 1."""

_MONTHS: Final = {name: index for index, name in enumerate(calendar.month_name[1:])}
_DAYS: Final = {name: iso_weekday(index) for index, name in enumerate(calendar.day_name, start=1)}


def _shortened(names: dict[str, int]) -> dict[str, int]:
    return {name[:_SHORT_NAME]: value for name, value in names.items()}


_NAMES: Final = {
    "G": (_F.ERA, {"Before Christ": 0, "Anno Domini": 1, "BC": 0, "AD": 1}),
    "M": (_F.MONTH, _MONTHS | _shortened(_MONTHS)),
    "L": (_F.MONTH, _MONTHS | _shortened(_MONTHS)),
    "E": (_F.DAY_OF_WEEK, _DAYS | _shortened(_DAYS)),
    "a": (_F.AM_PM, {"AM": 0, "PM": 1}),
}
"""Names by letter, the longer ones first."""


class NoMatchError(ValueError):
    """The text does not match the parts."""


@dataclass(frozen=True)
class Part:
    """A literal, or a field with its letter and how often it stands there."""

    literal: str = ""
    letter: str = ""
    count: int = 0

    @cached_property
    def is_number(self) -> bool:
        """Whether the field is read as a number."""
        is_name = self.letter in "ML" and self.count >= _SHORT_NAME
        return self.letter in NUMERIC_LETTERS and not is_name


def moment(parts: tuple[Part, ...], text: str, century_start: datetime | None) -> datetime:
    """The moment that a text stands for, in UTC.

    Years of two digits are those of the century that begins at ``century_start``.

    Raises:
        NoMatchError: the text is another one.
        MomentOutOfRangeError: datetime cannot tell the moment.
        TypeError: there is a year of two digits, and no such start.
    """
    reading = _Reading(text, century_start)
    for part, following in zip(parts, (*parts[1:], Part()), strict=False):
        if part.letter:
            reading.read(part, is_adjacent=following.is_number)
        else:
            reading.pass_literal(part.literal)
    if reading.at == 0:  # Java wants a text to match, and an empty one does not
        raise NoMatchError
    found = reading.fields.moment()
    if reading.is_ambiguous and century_start is not None and found < century_start:
        reading.fields.add_years(100)
        return reading.fields.moment()
    return found


class _Reading:
    """How far a text is read, and what was found in it."""

    def __init__(self, text: str, century_start: datetime | None) -> None:
        self.text = text
        self.at = 0
        self.fields = CalendarFields()
        self.is_ambiguous = False
        """The year is the one in which the century begins: before that moment, or at its end."""
        self._century_start = century_start

    def pass_literal(self, literal: str) -> None:
        """What is no field stands there as it is."""
        if not self.text.startswith(literal, self.at):
            raise NoMatchError
        self.at += len(literal)

    def read(self, part: Part, *, is_adjacent: bool) -> None:
        """Read one field; a number follows at once if it ``is_adjacent``."""
        start = self.at
        while self.text[start : start + 1] in _BLANKS:
            start += 1
        if start >= len(self.text):
            raise NoMatchError
        if part.is_number:
            self._read_number(part, start, is_adjacent=is_adjacent)
        elif part.letter in _NAMES:
            self._read_name(part.letter)
        elif part.letter == "X":
            self._read_iso_offset(part.count, start)
        else:
            self._read_zone(start)

    # -- names and numbers ------------------------------------------------------------------------

    def _read_name(self, letter: str) -> None:
        field, names = _NAMES[letter]
        for name, value in names.items():
            part = self.text[self.at : self.at + len(name)]
            if date_format_zones.fold(part) == name.lower():
                self.fields.set(field, value)
                self.at += len(name)
                return
        raise NoMatchError

    def _read_number(self, part: Part, start: int, *, is_adjacent: bool) -> None:
        end = len(self.text)
        if is_adjacent:
            end = self.at + part.count
        digits = _NUMBER.match(self.text, start, end) if end <= len(self.text) else None
        if digits is None:
            raise NoMatchError
        self.at = digits.end()
        value = _int(digits)
        match part.letter:
            case "y" | "Y" if part.count <= 2 and _TWO_DIGITS.fullmatch(digits[0]):
                value = self._full_year(value)
            case "M" | "L":
                value -= 1
            case "u":
                value = iso_weekday(value)
            case "k" | "h" if value == _STARTS_AT_ONE[part.letter]:
                value = 0
        self.fields.set(_FIELDS[part.letter], value)

    def _full_year(self, two_digits: int) -> int:
        if self._century_start is None:
            raise TypeError("a year of two digits needs to know what is now")
        century, first = divmod(self._century_start.year, 100)
        self.is_ambiguous = two_digits == first
        return century * 100 + two_digits + (100 if two_digits < first else 0)

    # -- zones ------------------------------------------------------------------------------------

    def _read_iso_offset(self, count: int, start: int) -> None:
        if self.text.startswith("Z", start):
            self._set_offset(0, start + 1)
        else:
            self._read_offset(_ISO_OFFSETS[count - 1], start)

    def _read_zone(self, start: int) -> None:
        if self.text[start] in "+-":
            self._read_offset(_OFFSET, start)
        elif date_format_zones.fold(self.text[self.at : self.at + 3]) != "gmt":
            self._read_zone_name(start)
        elif self.text[self.at + 3 : self.at + 4] in ("+", "-"):
            self._read_offset(_OFFSET_BEHIND_GMT, self.at)
        else:
            self._set_offset(0, self.at + 3)

    def _read_offset(self, form: re.Pattern[str], start: int) -> None:
        match = form.match(self.text, start)
        if match is None:
            raise NoMatchError
        sign, hours, minutes = match[1], int(match[2]), int(match[3] or 0)
        if hours > _HOURS_MAX or minutes > _MINUTES_MAX:
            raise NoMatchError
        offset_ms = (hours * 60 + minutes) * _MS_PER_MINUTE
        self._set_offset(-offset_ms if sign == "-" else offset_ms, match.end())

    def _set_offset(self, offset_ms: int, end: int) -> None:
        self.fields.set(_F.ZONE_OFFSET_MS, offset_ms)
        self.fields.set(_F.DAYLIGHT_MS, 0)
        self.at = end

    def _read_zone_name(self, start: int) -> None:
        name = date_format_zones.name_at(self.text, start)
        if name is None:
            raise NoMatchError
        self.fields.zone = name.zone
        if name.daylight_ms is not None:
            self.fields.clear(_F.ZONE_OFFSET_MS)
            self.fields.set(_F.DAYLIGHT_MS, name.daylight_ms)
        self.at = start + name.length


def _int(number: re.Match[str]) -> int:
    """``intValue()``: a long loses its higher half, a double stops at the ends of an int."""
    text = number[0]
    if len(text) <= _PLAIN_DIGITS_MAX and text.isdecimal():
        return int(text)
    if text == "NaN":
        return 0
    digits, exponent = number[1], int(number[2] or 0)
    sign = -1 if text.startswith("-") else 1
    significant = _without_zeros(digits) if digits is not None else None
    if significant is None or len(significant) + exponent > _LONG_DIGITS:
        return _as_int(sign << 64)
    if exponent >= 0:
        return _as_int(sign * int(significant or "0") * 10**exponent)
    return _as_int(sign * int(significant[:exponent] or "0"))


def _without_zeros(digits: str) -> str:
    return "".join(str(int(digit)) for digit in digits).lstrip("0")


def _as_int(value: int) -> int:
    if not -(1 << 63) <= value < 1 << 63:
        return (1 << 31) - 1 if value > 0 else -(1 << 31)
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)
