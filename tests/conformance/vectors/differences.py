"""Where connectd's classes answer otherwise than the real ones, and why.

An unlisted difference fails; so does a listed one that no longer occurs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = Any


@dataclass(frozen=True)
class Difference:
    """Cases of a class whose real answer has this in its error message, or whose answer of ours
    has that in its own."""

    of_class: str
    reason: str
    theirs: str = ""
    ours: str = ""

    def covers(self, case: Json, theirs: Json, ours: Json) -> bool:
        """Whether this difference is meant."""
        return (
            self.of_class in case["class"]
            and self.theirs in (theirs.get("message") or "")
            and self.ours in (ours.get("message") or "")
        )


KNOWN = (
    Difference(
        "HeaderFrom",
        "a field that the schema lacks is named instead of a NullPointerException",
        theirs='Cannot invoke "org.apache.kafka.connect.data.Field.schema()"',
        ours="Unknown field: ",
    ),
    Difference(
        "TimestampConverter",
        "datetime ends with the year 9999; the record fails instead of getting another moment",
        ours="is outside of the years 1 to 9999",
    ),
    Difference(
        "TimestampRouter",
        "the record is named by its origin, without its content, which may be confidential",
        theirs="Timestamp missing on record: SourceRecord{",
        ours="Timestamp missing on record: ",
    ),
    Difference(
        "InsertField",
        "the field is named instead of an object's address",
        theirs="No value specified for static field: org.apache.kafka",
        ours="No value specified for static field: ",
    ),
    Difference(
        "StringConverter",
        "the message says what to write instead",
        theirs="Unsupported encoding nope",
        ours="converter.encoding is nope",
    ),
    Difference(
        "StringConverter",
        "the text of bytes would be the address of an object in memory; the record fails instead",
        ours="bytes has no text form",
    ),
)


def difference(case: Json, theirs: Json, ours: Json) -> Difference | None:
    """The known difference that explains this one."""
    return next((each for each in KNOWN if each.covers(case, theirs, ours)), None)
