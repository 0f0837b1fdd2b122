"""Pairs of a date pattern and a text, asked of ``SimpleDateFormat`` itself, in UTC and English.

Years of two digits are asked with a century that begins at a given moment, since Java's own begins
80 years before the day on which it is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

from tests.conformance.vectors import cases, zone_names

Json = Any
Pair = tuple[str, str]
SIMPLE_DATE_FORMAT = "java.text.SimpleDateFormat"
TIMESTAMP_ROUTER = f"{cases.TRANSFORMS}TimestampRouter"
CENTURY_STARTS_MS = (-728_956_800_000, -730_339_200_000, 946_684_800_000)
"""1946-11-26, 1946-11-10 and 2000-01-01."""

OFFSETS = (
    *("Z", "z", "+01", "-01", "+1", "+0100", "+0130", "-0130", "+01:00", "+01:30", "-99", "+2400"),
    *("+23:59", "+2359", "+0160", "+00:60", "+012", "+01:3", "+1:30", "UTC", "UTC+1", "utc", "UT"),
    *("GMT", "gmt", "GMT+2", "GMT+02", "GMT+02:00", "GMT-2:30", "GMT+0200", "GMT+24:00", "GMTx"),
    *("GMT+", "+", "-", "", " +0100", " Z", " UTC", " GMT", "\tPST", "\u00a0UTC", "01:00", "ZZ"),
    *("PST", "PDT", "EST", "EDT", "CET", "CEST", "IST", "BST", "MSK", "MSD", "JST", "JDT", "CST"),
    *("pst", "Pst", "PSTX", "PS", "Pacific Daylight Time", "pacific standard time", "XYZ", "WET"),
    *("Europe/Paris", "America/New_York", "Central European Time", "Coordinated Universal Time"),
    *("Central European Summer Time", "Greenwich Mean Time", "British Summer Time", "A", "PT"),
)
ZONE_LETTERS = ("z", "zzz", "zzzz", "Z", "ZZZ", "X", "XX", "XXX")
WALL_TIMES = ("1950-07-01 12:00", "1985-01-15 02:30", "2020-07-20 10:00", "2050-12-31 23:59")

DAY_FIELDS = {
    "yyyy": ("2020", "1999"),
    "YYYY": ("2020", "2021"),
    "MM": ("02", "14", "-3"),
    "dd": ("29", "45", "0"),
    "DDD": ("060", "400", "-1"),
    "ww": ("10", "60", "0"),
    "W": ("3", "7", "0"),
    "F": ("3", "-1", "0"),
    "E": ("Thu", "Sunday", "mon"),
    "u": ("4", "7", "0"),
}
TIME_FIELDS = {
    "HH": ("13", "25", "-1"),
    "kk": ("24", "25", "0"),
    "KK": ("11", "12", "0"),
    "hh": ("12", "13", "0"),
    "a": ("PM", "am", "pm"),
    "mm": ("30", "61", "-5"),
}
NUMBERS = (
    *("1", "01", "001", "-1", "--1", "+1", "- 1", "1-", "\u0663", "\uff11", "1.9", "1,000", "NaN"),
    *(
        "\u221e",
        "-\u221e",
        "1E1",
        "1E-1",
        "15E-1",
        "1e1",
        "1E",
        "1E+1",
        "0x1",
        "x",
        "",
        " 1",
        "\t1",
    ),
    *("\n1", "\u00a01", "2147483647", "2147483648", "4294967297", "-4294967295"),
    *("9223372036854775808", "18446744073709551617", "000000000000000000000000001"),
)
TWO_DIGIT_YEARS = (
    *(
        "46-11-09",
        "46-11-10",
        "46-11-25",
        "46-11-26",
        "46-11-27",
        "46-12-01",
        "45-12-31",
        "00-01-01",
    ),
    *("47-01-01", "69-01-01", "99-12-31", "1-1-1", "001-1-1", "2020-1-1", "\u0664\u0667-1-1"),
    *(" 47-1-1", "-4-1-1", "4E-1-1"),
)
BAD_PATTERNS = (
    *("b", "XXXX", "XXXXXX yyyy", "XXXXb", "bXXXX", "XXXX'", "'", "yyyy'T", "'''", "P", "yyyy-xx"),
)
HANDPICKED: dict[str, tuple[str, ...]] = {
    "YYYY-MM-dd": ("2020-02-20", "2019-12-31", "2021-01-01"),
    "YYYY-'W'ww-u": ("2020-W53-7", "2021-W01-1", "2020-W01-8", "2020-W10-0", "2020-W10--7"),
    "YYYY": ("2020", "2023"),
    "yyyy-ww": ("2020-10", "2020-53", "2021-1"),
    "yyyy-MM W": ("2020-02 3", "2020-03 1"),
    "yyyy-MM F E": ("2020-02 3 Thu", "2020-02 5 Sat", "2020-02 -1 Mon"),
    "G yyyy": (
        "AD 2020",
        "ad 2020",
        "BC 44",
        "BC 1",
        "Anno Domini 2020",
        "Before Christ 5",
        "CE 7",
    ),
    "yyyy G": ("2020 AD", "2020  AD", "2020 BC"),
    "yyyy-MM-dd kk:mm": ("2020-02-20 24:30", "2020-02-20 0:30", "2020-02-20 25:10"),
    "yyyy/MM/dd hh:mm aa": ("2020/02/20 1:05 PM", "2020/02/20 12:05 AM", "2020/02/20 13:05 PM"),
    "EEE MMM dd HH:mm:ss zzz yyyy": (
        "Thu Feb 20 10:00:00 UTC 2020",
        "Thu Feb 20 10:00:00 EST 2020",
        "Thu Feb 20 10:00:00 CET 2020",
        "Mon Feb 20 10:00:00 PDT 2020",
        "Thu  Feb 20 10:00:00 UTC 2020",
    ),
    "d MMM yyyy": ("4 Mar 2021", "4 march 2021", "4 Marchx 2021", "4 03 2021", "4 Sept 2021"),
    "d LLLL yyyy": ("4 Mar 2021", "4 MARCH 2021", "4 3 2021"),
    "MMMM": ("May", "Mayor", "\u017fep", "Dec", "D"),
    "yyyyMMdd": (
        "20200220",
        "2020022",
        "202002200",
        " 20200220",
        "2020 220",
        "2020-1-2",
        "20201E1",
    ),
    "yyyyMMddHHmmssSSS": ("20200220101112345", "2020022010111234", "202002201011123456"),
    "yyMMdd": ("470101", "700101", "7001", "70 1 1"),
    "yyyyMd": ("202022", "2020222"),
    "HHmm": ("1030", "930", "10300"),
    "yyyyMMMdd": ("2020Feb20", "2020feb 20", "2020 Feb20"),
    "yyyyZ": ("2020+0100", "2020 +0100", "2020UTC"),
    "ss.SSS": ("01.5", "01.50", "01.5000", "59.999999999", "1.-5"),
    "yyyy-MM-dd'T'HH:mm:ss'Z'": ("2020-02-20T10:00:00Z", "2020-02-20T10:00:00z", "2020-02-20"),
    "'a''b'yyyy": ("a'b2020", "ab2020"),
    "yyyy''MM": ("2020'02", "2020''02"),
    "X yyyy z": ("+01 2020 EST", "Z 2020 PDT", "+01 2020 GMT"),
    "z X": ("PDT +01", "PDT Z"),
    "yyyy yyyy": ("2019 2020",),
    "yy yyyy": ("46 2020", "46 1946"),
    "yyyy yy": ("2020 46",),
    "": ("", "x"),
    "'x'": ("x", "y", "xx"),
    "#": ("#", "\u00a7"),
    "\u00e9yyyy": ("\u00e92020", "e2020"),
    **dict.fromkeys(BAD_PATTERNS, ("2020",)),
}


def date_cases() -> Iterator[Json]:
    """Every pair, with its century."""
    for pattern, text in _pairs():
        yield case(pattern, text, CENTURY_STARTS_MS[0])
    patterns = ("yy-MM-dd", "y-M-d", "YY-ww-u", "yyy-MM-dd")
    for pattern, text, start_ms in product(patterns, TWO_DIGIT_YEARS, CENTURY_STARTS_MS):
        yield case(pattern, text, start_ms)

    for pattern in BAD_PATTERNS:
        settings = {"timestamp.format": pattern}
        for timestamp in (cases.MOMENT_MS, None):
            asked = cases.record(None, None, timestamp=timestamp)
            yield cases.case("transform", TIMESTAMP_ROUTER, settings, record=asked)


def case(pattern: str, text: str, century_start_ms: int) -> Json:
    """A question to Java's class."""
    return {
        "kind": "date.read",
        "class": SIMPLE_DATE_FORMAT,
        "config": {},
        "pattern": pattern,
        "text": text,
        "centuryStart": century_start_ms,
    }


def _pairs() -> Iterator[Pair]:
    for pattern, texts in HANDPICKED.items():
        yield from ((pattern, text) for text in texts)
    for letter, offset in product(ZONE_LETTERS, OFFSETS):
        yield f"yyyy-MM-dd'T'HH:mm:ss{letter}", f"2020-02-20T10:00:00{offset}"
    for wall, offset in product(WALL_TIMES, OFFSETS):
        yield "yyyy-MM-dd HH:mm z", f"{wall} {offset}"
    for wall, name in product(WALL_TIMES, _zone_names()):
        yield "yyyy-MM-dd HH:mm zzzz", f"{wall} {name}, or so"
    for fields, count in ((DAY_FIELDS, 2), (DAY_FIELDS, 3), (TIME_FIELDS, 2), (TIME_FIELDS, 3)):
        for index, letters in enumerate(permutations(fields, count)):
            turns = (index + place for place in range(count))
            choices = (fields[letter] for letter in letters)
            chosen = (each[turn % len(each)] for each, turn in zip(choices, turns, strict=True))
            yield " ".join(letters), " ".join(chosen)
    for letter, number in product("yMdDFuwWHhkKmsS", NUMBERS):
        yield f"{letter}", number
        yield f"yyyy-{letter}/", f"2020-{number}/"


def _zone_names() -> Iterator[str]:
    """All that our table has."""
    for line in zone_names.TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        yield from (name[1:] for name in line.split("\t")[2].split(";"))
