"""Java's lenient calendar, in English: from the fields that a text gave to a moment.

Fields may contradict each other, be out of range or be missing; which of them say the day, and
which the time of day, are the rules of ``java.util.Calendar``: those that came last win, and a week
counts together with the day of the week. Weeks begin on Sunday, the first one has 1 January in it.
Days are Gregorian ones throughout, where Java's before 1582 are Julian ones.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import IntEnum, auto
from typing import Final

from connectd.model.date_format_zones import Zone

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = _EPOCH.toordinal()
_EPOCH_YEAR: Final = 1970
_MS_PER_DAY: Final = 86_400_000
_SUNDAY: Final = 1
_DAYS_OF_WEEK: Final = range(1, 8)
_FEBRUARY: Final = 1
_DAYS_BEFORE: Final = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_BC: Final = 0


class CalendarField(IntEnum):
    """What a text can say of a moment; days of the week are 1 on Sunday, months 0 in January."""

    ERA = auto()
    YEAR = auto()
    WEEK_YEAR = auto()
    MONTH = auto()
    WEEK_OF_YEAR = auto()
    WEEK_OF_MONTH = auto()
    DAY = auto()
    DAY_OF_YEAR = auto()
    DAY_OF_WEEK = auto()
    DAY_OF_WEEK_IN_MONTH = auto()
    AM_PM = auto()
    HOUR_OF_12 = auto()
    HOUR = auto()
    MINUTE = auto()
    SECOND = auto()
    MS = auto()
    ZONE_OFFSET_MS = auto()
    DAYLIGHT_MS = auto()


_F = CalendarField
_DAILY: Final[tuple[CalendarField, ...]] = (_F.DAY, _F.DAY_OF_YEAR)
_WEEKLY: Final[tuple[CalendarField, ...]] = (
    _F.WEEK_OF_MONTH,
    _F.DAY_OF_WEEK_IN_MONTH,
    _F.WEEK_OF_YEAR,
)


class MomentOutOfRangeError(ValueError):
    """The fields tell of a moment outside of the years 1 to 9999."""


class CalendarFields:
    """Fields and the order in which they were set; ``zone`` is that of a text that names one."""

    def __init__(self) -> None:
        self._values: dict[CalendarField, int] = {}
        self.zone: Zone | None = None

    def set(self, field: CalendarField, value: int) -> None:
        """The field gets this value, and is the newest."""
        self._values.pop(field, None)
        self._values[field] = value

    def clear(self, field: CalendarField) -> None:
        """The field is as if never set."""
        self._values.pop(field, None)

    def add_years(self, count: int) -> None:
        """Both kinds of years move, and stay as old as they were."""
        for field in (_F.YEAR, _F.WEEK_YEAR):
            if field in self._values:
                self._values[field] += count

    def moment(self) -> datetime:
        """The moment, in UTC; what is missing is that of 1970-01-01 00:00.

        Raises:
            MomentOutOfRangeError: datetime cannot tell it.
        """
        day = _day(self._values)
        wall_ms = (day - _EPOCH_DAY) * _MS_PER_DAY + _time_of_day_ms(self._values)
        try:
            return _EPOCH + timedelta(milliseconds=wall_ms - self._offset_ms(wall_ms))
        except OverflowError:
            raise MomentOutOfRangeError("the years 1 to 9999 are all that can be told") from None

    def _offset_ms(self, wall_ms: int) -> int:
        standard_ms, daylight_ms = (0, 0) if self.zone is None else self.zone.offsets_ms(wall_ms)
        standard_ms = self._values.get(_F.ZONE_OFFSET_MS, standard_ms)
        return standard_ms + self._values.get(_F.DAYLIGHT_MS, daylight_ms)


def _day(values: dict[CalendarField, int]) -> int:
    """The ordinal of the day, 1 on 0001-01-01; may be outside of what datetime can tell."""
    ages = {field: age for age, field in enumerate(values)}
    if ages.get(_F.WEEK_YEAR, -1) > ages.get(_F.YEAR, -1):
        return _day_of_week_year(values)
    year = values.get(_F.YEAR, _EPOCH_YEAR)
    if values.get(_F.ERA) == _BC:
        year = 1 - year
    match _telling(ages):
        case _F.DAY_OF_YEAR:
            return _first_of(year, 0) + values[_F.DAY_OF_YEAR] - 1
        case _F.WEEK_OF_YEAR:
            first = _week_of(_first_of(year, 0), values.get(_F.DAY_OF_WEEK, _SUNDAY))
            return first + 7 * (values[_F.WEEK_OF_YEAR] - 1)
        case _F.WEEK_OF_MONTH:
            first = _first_of(year, values.get(_F.MONTH, 0))
            first = _week_of(first, values.get(_F.DAY_OF_WEEK, _SUNDAY))
            return first + 7 * (values[_F.WEEK_OF_MONTH] - 1)
        case _F.DAY_OF_WEEK_IN_MONTH:
            return _day_of_week_in_month(values, year)
    return _first_of(year, values.get(_F.MONTH, 0)) + values.get(_F.DAY, 1) - 1


def _telling(ages: dict[CalendarField, int]) -> CalendarField:
    """Which field tells the day within the year: the one whose group was set last.

    A group is a field alone, or one about weeks with the day of the week; only if there is none,
    one about weeks alone counts, and the day of the week alone as the first one in its month.
    """
    weekday = ages.get(_F.DAY_OF_WEEK)
    groups = {field: ages[field] for field in _DAILY if field in ages}
    if weekday is not None:
        groups |= {field: max(ages[field], weekday) for field in _WEEKLY if field in ages}
    if not groups:
        groups = {field: ages[field] for field in _WEEKLY if field in ages}
        if weekday is not None:
            groups = {_F.DAY_OF_WEEK_IN_MONTH: weekday}
    newest = max(groups.values(), default=-1)
    tied = [field for field, age in groups.items() if age == newest]
    return max(tied, key=lambda field: ages.get(field, -1), default=_F.DAY)


def _day_of_week_year(values: dict[CalendarField, int]) -> int:
    week = values.get(_F.WEEK_OF_YEAR, 1)
    weekday = values.get(_F.DAY_OF_WEEK, _SUNDAY)
    if weekday not in _DAYS_OF_WEEK:  # an ISO one, which is Sunday when it is 7
        weeks, iso_index = divmod(weekday - 1, 7)
        week += weeks
        weekday = _from_iso(iso_index + 1)
    year = values[_F.WEEK_YEAR]
    if values.get(_F.ERA) == _BC:
        year = 1 - year
    return _week_of(_first_of(year, 0), _SUNDAY) + weekday - _SUNDAY + 7 * (week - 1)


def _from_iso(weekday: int) -> int:
    return _SUNDAY if weekday == _DAYS_OF_WEEK[-1] else weekday + 1


def iso_weekday(weekday: int) -> int:
    """A day of the week, 1 on Monday, as the field has it; others stay as they are."""
    return _from_iso(weekday) if weekday in _DAYS_OF_WEEK else weekday


def _day_of_week_in_month(values: dict[CalendarField, int], year: int) -> int:
    month = values.get(_F.MONTH, 0)
    weekday = values.get(_F.DAY_OF_WEEK, _SUNDAY)
    count = values.get(_F.DAY_OF_WEEK_IN_MONTH, 1)
    first = _first_of(year, month)
    if count >= 0:
        return _on_or_before(first + 7 * count - 1, weekday)
    return _on_or_before(_first_of(year, month + 1) - 1 + 7 * (count + 1), weekday)


def _week_of(day: int, weekday: int) -> int:
    """That day of the week, in the week (from Sunday on) that has ``day`` in it."""
    sunday = _on_or_before(day, _SUNDAY)
    return sunday if weekday == _SUNDAY else _on_or_before(sunday + 6, weekday)


def _on_or_before(day: int, weekday: int) -> int:
    """The last such day of the week up to ``day``."""
    return day - (day - (weekday - 1)) % 7


def _first_of(year: int, month: int) -> int:
    """The ordinal of a month's first day; months beyond a year's end are those of other years."""
    more, month = divmod(month, 12)
    year += more
    before = year - 1
    leap_days = before // 4 - before // 100 + before // 400
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    is_later = is_leap and month > _FEBRUARY
    return before * 365 + leap_days + _DAYS_BEFORE[month] + is_later + 1


def _time_of_day_ms(values: dict[CalendarField, int]) -> int:
    ages = {field: age for age, field in enumerate(values)}
    by_halves = max(ages.get(_F.HOUR_OF_12, -1), ages.get(_F.AM_PM, -1))
    is_pair = _F.HOUR_OF_12 in ages and _F.AM_PM in ages
    if _F.HOUR in ages and not (is_pair and by_halves > ages[_F.HOUR]):
        hours = values[_F.HOUR]
    else:
        hours = values.get(_F.HOUR_OF_12, 0) + 12 * values.get(_F.AM_PM, 0)
    minutes = hours * 60 + values.get(_F.MINUTE, 0)
    return (minutes * 60 + values.get(_F.SECOND, 0)) * 1000 + values.get(_F.MS, 0)
