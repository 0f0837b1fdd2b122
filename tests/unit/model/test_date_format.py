"""Texts are read by date patterns as Java reads them; the expected moments are Java's."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from connectd.model.date_format import DateFormat, DateFormatError, DateRangeError

NOW = datetime(2026, 11, 28, 8, tzinfo=UTC)


def read(pattern: str, text: str, *, now: datetime = NOW) -> str:
    """The moment, to the minute."""
    return f"{DateFormat(pattern, now=now).parse(text):%Y-%m-%d %H:%M}"


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        ("YYYY-MM-dd", "2020-02-20", "2019-12-29 00:00"),
        ("YYYY-'W'ww-u", "2020-W53-7", "2020-12-27 00:00"),
        ("yyyy-ww", "2020-10", "2020-03-01 00:00"),
        ("yyyy-MM W", "2020-02 3", "2020-02-09 00:00"),
        ("yyyy-MM F E", "2020-02 3 Thu", "2020-02-20 00:00"),
        ("yyyy-MM F E", "2020-02 -1 Mon", "2020-02-24 00:00"),
        ("yyyy DDD MM dd", "2020 300 02 03", "2020-02-03 00:00"),
        ("yyyy MM dd DDD", "2020 02 03 300", "2020-10-26 00:00"),
    ],
)
def test_the_fields_that_came_last_tell_the_day(pattern: str, text: str, wanted: str) -> None:
    assert read(pattern, text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("24:30", "2020-02-20 00:30"),
        ("0:30", "2020-02-20 00:30"),
        ("25:10", "2020-02-21 01:10"),
        ("23:-1", "2020-02-20 22:59"),
    ],
)
def test_hours_beyond_the_day_carry_over(text: str, wanted: str) -> None:
    assert read("yyyy-MM-dd kk:mm", f"2020-02-20 {text}") == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("47-01-01", "1947-01-01 00:00"),
        ("46-11-27", "2046-11-27 00:00"),
        ("46-11-28", "2046-11-28 00:00"),
        ("46-11-29", "1946-11-29 00:00"),
        ("45-12-31", "2045-12-31 00:00"),
        ("2045-12-31", "2045-12-31 00:00"),
        ("00-01-01", "2000-01-01 00:00"),
    ],
)
def test_years_of_two_digits_are_at_most_eighty_years_ago(text: str, wanted: str) -> None:
    assert read("yy-MM-dd", text) == wanted


def test_the_window_of_two_digits_moves_with_the_day_and_minds_leap_years() -> None:
    assert read("yy-MM-dd", "47-01-01", now=datetime(2027, 1, 2, tzinfo=UTC)) == "2047-01-01 00:00"
    leap_day = datetime(2180, 2, 29, tzinfo=UTC)  # 2100 has none
    assert read("yy-MM-dd", "00-02-28", now=leap_day) == "2100-02-28 00:00"
    assert read("yy-MM-dd", "00-02-27", now=leap_day) == "2200-02-27 00:00"


def test_a_year_of_two_digits_needs_to_know_what_is_now() -> None:
    with pytest.raises(TypeError, match="what is now"):
        DateFormat("yy").parse("20")


@pytest.mark.parametrize(
    ("letters", "zone", "wanted"),
    [
        ("X", "+0130", "09:00"),
        ("X", "+01", "09:00"),
        ("XX", "+0130", "08:30"),
        ("XXX", "-01:30", "11:30"),
        ("XXX", "Z", "10:00"),
        ("Z", "GMT+2:00", "08:00"),
        ("Z", "PST", "18:00"),
        ("z", "PDT", "17:00"),
        ("zzz", "EST", "15:00"),
        ("zzz", "CET", "09:00"),
        ("z", "cest", "08:00"),
        ("z", "Pacific Daylight Time", "17:00"),
        ("z", "Japan Daylight Time", "01:00"),
        ("z", "UTC+5", "10:00"),
    ],
)
def test_offsets_and_names_of_zones_are_read(letters: str, zone: str, wanted: str) -> None:
    assert read(f"yyyy-MM-dd HH:mm{letters}", f"2020-02-20 10:00{zone}") == f"2020-02-20 {wanted}"


def test_a_zone_has_the_offset_that_it_had_then() -> None:
    assert read("yyyy-MM-dd HH:mm z", "1985-07-01 12:00 MSD") == "1985-07-01 08:00"
    assert read("yyyy-MM-dd HH:mm z", "2020-07-01 12:00 MSD") == "2020-07-01 09:00"


@pytest.mark.parametrize(
    ("letters", "zone"),
    [
        *(("XXX", "+01"), ("XX", "+01:30"), ("Z", "Z"), ("Z", "+01:00"), ("X", "-99")),
        *(("z", "XYZ"), ("z", "GMT+2"), ("Z", "+0160"), ("X", "UTC"), ("z", ""), ("z", "Z")),
    ],
)
def test_what_is_no_zone_in_java_is_refused(letters: str, zone: str) -> None:
    with pytest.raises(DateFormatError):
        read(f"yyyy-MM-dd HH:mm{letters}", f"2020-02-20 10:00{zone}")


def test_moments_that_cannot_be_told_are_refused() -> None:
    assert read("G yyyy", "AD 2020") == "2020-01-01 00:00"
    for pattern, text in (("G yyyy", "BC 44"), ("yyyy", "10000"), ("yyyy", "0"), ("D", "9" * 5000)):
        with pytest.raises(DateRangeError, match="years 1 to 9999"):
            read(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("XXXX", "invalid ISO 8601 format: length=4"),
        ("XXXX'", "invalid ISO 8601 format: length=4"),
        ("XXXXb", "Illegal pattern character 'b'"),
        ("yyyy'T", "Unterminated quote"),
    ],
)
def test_what_is_no_pattern_is_refused_in_java_words(pattern: str, message: str) -> None:
    with pytest.raises(DateFormatError, match=f"^{message}$"):
        DateFormat(pattern)
