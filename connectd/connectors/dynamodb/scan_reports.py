"""What the driver of a scan on Spark tells the daemon: JSON objects on its standard output.

One object a line, whose first member ``connectd`` names the kind; every other line is log text. A
``SegmentMoved`` says that everything up to its position is acknowledged by Kafka, so the daemon may
store it at once. ``Failed`` and ``Finished`` are the last word of a driver. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

from connectd.connectors.dynamodb.job_members import Members
from connectd.connectors.dynamodb.offsets import SegmentPosition

_KIND: Final = "connectd"
_BEGINNING: Final = '{"connectd":'


@dataclass(frozen=True)
class Started:
    """Spark is there, with so many chunks at once."""

    spark: str
    master: str
    slots: int


@dataclass(frozen=True)
class SegmentMoved:
    """A chunk is done: the position after it, and what it has read and sent.

    ``skipped`` records were tolerated; ``consumed`` is in read capacity units. ``ended_ms`` is set
    on the end of a scan with one segment: its last record says that the scan ended then.
    """

    position: SegmentPosition
    items: int = 0
    records: int = 0
    skipped: int = 0
    topics: tuple[str, ...] = ()
    consumed: float = 0.0
    ended_ms: int | None = None


@dataclass(frozen=True)
class Trouble:
    """Something is being tried again, for the ``attempt``-th time; ``segment`` None: all of it."""

    segment: int | None
    error: str
    attempt: int


@dataclass(frozen=True)
class Failed:
    """The scan has ended without being finished. ``retriable``: another try may succeed.

    ``at_start``: Spark was never there.
    """

    error: str
    retriable: bool
    at_start: bool = False


@dataclass(frozen=True)
class Finished:
    """All segments are at their end, and told so; no chunk of any of them can send any more."""


ScanReport = Started | SegmentMoved | Trouble | Failed | Finished


def to_line(report: ScanReport) -> str:
    """The line of a report, its end of line included."""
    return orjson.dumps(_members(report)).decode() + "\n"


def from_line(line: str) -> ScanReport | None:
    """The report that a line is; None: it is log text.

    Raises:
        ConfigError: it looks like a report and is not one.
    """
    if not line.startswith(_BEGINNING):
        return None
    read = Members.parse("line of the Spark driver", line.encode())
    report = _report(read)
    read.end()
    return report


def _members(report: ScanReport) -> dict[str, Any]:
    match report:
        case Started():
            kind, members = "started", vars(report)
        case SegmentMoved(position=position):
            kind = "segment"
            members = {
                "segment": position.segment,
                "offset": dict(position.to_offset()),
                "items": report.items,
                "records": report.records,
                "skipped": report.skipped,
                "topics": report.topics,
                "consumed": report.consumed,
            }
            if report.ended_ms is not None:
                members["ended_ms"] = report.ended_ms
        case Trouble():
            kind, members = "trouble", vars(report)
        case Failed():
            kind, members = "failed", vars(report)
        case Finished():
            kind, members = "finished", {}
    return {_KIND: kind, **members}


def _report(read: Members) -> ScanReport:
    match read.one_of(_KIND, ("started", "segment", "trouble", "failed", "finished")):
        case "started":
            return Started(read.text("spark"), read.text("master"), read.whole_number("slots"))
        case "segment":
            return _segment_moved(read)
        case "trouble":
            return Trouble(
                read.optional_whole_number("segment"),
                read.text("error"),
                read.whole_number("attempt"),
            )
        case "failed":
            return Failed(
                read.text("error"),
                read.boolean("retriable"),
                at_start=read.has("at_start") and read.boolean("at_start"),
            )
        case _:
            return Finished()


def _segment_moved(read: Members) -> SegmentMoved:
    number = read.whole_number("segment")
    return SegmentMoved(
        position=SegmentPosition.from_offset(number, read.object("offset").take_all()),
        items=read.whole_number("items"),
        records=read.whole_number("records"),
        skipped=read.whole_number("skipped"),
        topics=read.texts("topics"),
        consumed=read.number("consumed"),
        ended_ms=read.whole_number("ended_ms") if read.has("ended_ms") else None,
    )
