"""Where connectd's classes answer otherwise than the real ones, and why.

An unlisted difference fails; so does a listed one that no longer occurs.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

from tests.conformance.vectors import pattern_differences

Json = Any


@dataclass(frozen=True)
class Difference:
    """Cases of a class whose real answer has this in its error message, whose answer of ours has
    that in its own, and whose bytes (or JSON, of a record) have one of those in them."""

    of_class: str
    reason: str
    theirs: str = ""
    ours: str = ""
    asked: tuple[bytes, ...] = ()

    def covers(self, case: Json, theirs: Json, ours: Json) -> bool:
        """Whether this difference is meant."""
        return (
            self.of_class in case["class"]
            and self.theirs in (theirs.get("message") or "")
            and self.ours in (ours.get("message") or "")
            and self._is_asked(case)
        )

    def _is_asked(self, case: Json) -> bool:
        given = base64.b64decode(case["bytes"] or "") if "bytes" in case else json.dumps(case)
        text = given if isinstance(given, bytes) else given.encode()
        return not self.asked or any(each in text for each in self.asked)


KNOWN = (
    Difference(
        "HeaderFrom",
        "a field that the schema lacks is named instead of a NullPointerException",
        theirs='Cannot invoke "org.apache.kafka.connect.data.Field.schema()"',
        ours="Unknown field: ",
    ),
    Difference(
        "TimestampConverter",
        "moments end with the year 9999; the record fails instead of getting another moment",
        ours="is outside of the years 1 to 9999",
    ),
    Difference(
        "TimestampConverter",
        "days before 1582 are those of the Julian calendar in Java, Gregorian ones here",
        asked=(b'"21-03-04"', b'"4/3/7"'),
    ),
    Difference(
        "SimpleDateFormat",
        "moments have the years 1 to 9999; a text of another one is refused",
        ours="the years 1 to 9999 are all that can be told",
    ),
    Difference(
        "SimpleDateFormat",
        "days before 1582 are those of the Julian calendar in Java, Gregorian ones here",
        asked=(
            *(b'"pattern": "y"', b'"pattern": "yyyy-y/"', b'"pattern": "yyy-MM-dd"'),
            *(b'"text": "1-1-1"', b'"text": "001-1-1"', b'"text": "-4-1-1"'),
        ),
    ),
    Difference(
        "SimpleDateFormat",
        "a day of the week beside the ends of an int is another one once Java's overflows",
        asked=(b'"pattern": "u"', b'"pattern": "yyyy-u/"'),
    ),
    Difference(
        "TimestampRouter",
        "the message about a wrong pattern names the setting",
        ours="timestamp.format is ",
    ),
    Difference(
        "RegexRouter",
        "what is wrong with a regular expression is told in connectd's words, with its place",
        theirs="for configuration regex: Invalid regex: ",
        ours="for configuration regex: Invalid regex: ",
    ),
    Difference(
        "TopicNameMatches",
        "what is wrong with a regular expression is told in connectd's words, with its place",
        theirs="for configuration pattern: Invalid regex: ",
        ours="for configuration pattern: Invalid regex: ",
    ),
    *(
        Difference(
            name,
            "what is missing is a regular expression; Java speaks of a variable of its own",
            asked=(b'"config": {}',),
        )
        for name in ("RegexRouter", "TopicNameMatches")
    ),
    Difference(
        "TimestampRouter",
        "a record without timestamp is named by its origin; its content may be confidential",
        theirs="Timestamp missing on record: SourceRecord{",
        ours="Timestamp missing on record: ",
    ),
    Difference(
        "InsertField",
        "a static field without a value is named, instead of an object's address",
        theirs="No value specified for static field: org.apache.kafka",
        ours="No value specified for static field: ",
    ),
    Difference(
        "StringConverter",
        "the message about an unknown encoding says what to write instead",
        theirs="Unsupported encoding ",
        ours="converter.encoding is ",
    ),
    Difference(
        "StringConverter",
        "an encoding is found under Python's spellings of its name as well",
        theirs="Unsupported encoding ",
        asked=(b'"UTF-16-LE"', b'"UTF 8"'),
    ),
    Difference(
        "StringConverter",
        "the text of bytes would be the address of an object in memory; the record fails instead",
        ours="bytes has no text form",
    ),
    Difference(
        "JsonConverter",
        "moments end with the year 9999; the record fails instead of getting another moment",
        ours="is outside of the years 1 to 9999",
    ),
    Difference(
        "JsonConverter",
        "a time of day ends before 24:00; Java's has no such end",
        ours="Time values must use number of milliseconds",
        asked=(b"86400000",),
    ),
    Difference(
        "JsonConverter",
        "what is nested deeper than 200 levels is refused, so that Python's stack is enough",
        ours="Converting byte[] to Kafka Connect data failed",
        asked=(b"[" * 300,),
    ),
    Difference(
        "JsonConverter",
        "bytes that are no UTF-8 are refused, also where Jackson makes characters of them",
        ours="Converting byte[] to Kafka Connect data failed",
        asked=(b"\xc0\x80",),
    ),
    Difference(
        "JsonConverter",
        "a Python dict takes no lists or maps as keys; the record fails",
        ours="is no type of keys",
    ),
    Difference(
        "Converter",
        "Python tells each byte of a surrogate that is no UTF-8, Java the three of them at once",
        asked=(b"\xed\xa0\x80",),
    ),
    Difference(
        "SimpleHeaderConverter",
        "days before 1582 are those of the Julian calendar in Java, Gregorian ones here",
        asked=(b"0001-01-01",),
    ),
    Difference(
        "SimpleHeaderConverter",
        "a time of day ends before 24:00; such a text is no time here",
        asked=(b"25:61:61.000Z", b"99:00:00.000Z"),
    ),
    Difference(
        "SimpleHeaderConverter",
        "days and times have two types in Python; a list of both is the text that it was",
        asked=(b'["12:13:14.555Z","2020-02-20"]', b'["2020-02-20","12:13:14.555Z"]'),
    ),
    Difference(
        "SimpleHeaderConverter",
        "a Python dict takes no lists or maps as keys; the text stays what it was",
        asked=(b"{[", b"{{"),
    ),
    Difference(
        "SimpleHeaderConverter",
        "what is nested too deep stays the text that it was; Java runs out of stack",
        asked=(b"[" * 300,),
    ),
    *(
        Difference("regex.Pattern", reason, ours=found)
        for found, reason in pattern_differences.UNSUPPORTED
    ),
    Difference(
        "regex.Pattern",
        "what a group holds behind repetitions and look-arounds can differ; a replacement that "
        "refers to such a group is refused",
        ours="groups of which Java may keep something else",
    ),
    Difference(
        "regex.Pattern",
        "nothing is found in the middle of a character; Java finds `\\B` between its halves",
        asked=(b'"pattern": "\\\\B"',),
    ),
    Difference(
        "regex.Pattern",
        "characters newer than Unicode 13 have their properties; Java 17 does not know them",
        asked=(b"\\ud837\\udf00",),
    ),
)


def difference(case: Json, theirs: Json, ours: Json) -> Difference | None:
    """The known difference that explains this one."""
    return next((each for each in KNOWN if each.covers(case, theirs, ours)), None)
