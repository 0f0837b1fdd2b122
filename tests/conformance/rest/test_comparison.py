"""The comparison finds what differs, and names it so that a person finds it too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.rest import report
from tests.conformance.rest.comparison import ABSENT, Difference, differences
from tests.conformance.rest.differences import Known, judge

NO_RECORDS: dict[str, Any] = {"configs": {}, "offsets": {}, "statuses": {}}


def transcript(body: Any = None, *, status: int = 200, records: Any = None) -> dict[str, Any]:
    """A transcript of one step."""
    answer = {"status": status, "headers": {}, "body": body}
    step = {"step": "GET /", "request": "GET /", "answer": answer}
    return {"scenario": "one", "about": "", "steps": [step], "records": records or NO_RECORDS}


def found(real: Any, ours: Any) -> list[tuple[str, Any, Any]]:
    """Place, real and ours of every difference between two bodies."""
    compared = differences(transcript(real), transcript(ours))
    return [(each.place, each.real, each.ours) for each in compared]


def test_equal_transcripts_do_not_differ() -> None:
    body = {"a": [1, {"b": None}], "c": "x"}
    assert found(body, {"c": "x", "a": [1, {"b": None}]}) == []


@pytest.mark.parametrize(
    ("real", "ours", "difference"),
    [
        ({"a": 1}, {"a": 2}, ("body.a", 1, 2)),
        ({"a": 1}, {"a": "1"}, ("body.a", 1, "1")),
        ({"a": True}, {"a": 1}, ("body.a", True, 1)),
        ({"a": None}, {}, ("body.a", None, ABSENT)),
        ({}, {"a": None}, ("body.a", ABSENT, None)),
        (None, {}, ("body", None, {})),
        (["a"], ["b"], ("body", ["a"], ["b"])),
        ([{"name": "x", "v": 1}], [{"name": "x", "v": 2}], ("body[x].v", 1, 2)),
        ([{"id": 0, "s": "A"}], [{"id": 0, "s": "B"}], ("body[0].s", "A", "B")),
    ],
)
def test_a_difference_is_found_and_placed(
    real: Any, ours: Any, difference: tuple[str, Any, Any]
) -> None:
    assert found(real, ours) == [difference]


def test_named_entries_are_matched_by_name_and_their_order_is_a_difference_of_its_own() -> None:
    first, second = {"name": "a"}, {"name": "b"}
    assert found([first, second], [second, first]) == [("body order", ["a", "b"], ["b", "a"])]
    assert found([first], [first, second]) == [("body[b]", ABSENT, second)]


def test_repeated_names_are_numbered() -> None:
    real = [{"key": "k", "value": 1}, {"key": "k", "value": 2}]
    ours = [{"key": "k", "value": 1}, {"key": "k", "value": 3}]
    assert found(real, ours) == [("body[k (2)].value", 2, 3)]


def test_statuses_records_and_waits_in_vain_are_compared() -> None:
    ours = transcript(status=404, records={**NO_RECORDS, "offsets": {"k": None}})
    ours["steps"][0]["waited in vain for"] = "RUNNING"
    places = [(each.step, each.place) for each in differences(transcript(), ours)]
    assert places == [("GET /", "until"), ("GET /", "status"), ("records", "offsets.k")]


DIFFERENCE = Difference("one", "GET /", "body.message", "old words", "new words")


@pytest.mark.parametrize(
    "known",
    [
        Known("any"),
        Known("patterns", scenario="o*", step="GET *", place="*.message"),
        Known("values", real="old*", ours="new words"),
        Known("a rule", when=lambda difference: difference.ours != difference.real),
    ],
)
def test_a_listed_difference_is_no_error(known: Known) -> None:
    verdict = judge([DIFFERENCE], [known])
    assert verdict.unlisted == []
    assert verdict.stale == []


@pytest.mark.parametrize(
    "known",
    [
        Known("another scenario", scenario="two"),
        Known("another step", step="GET"),
        Known("another place", place="body"),
        Known("another value", ours="newer words"),
        Known("no text", real=7),
        Known("a rule", when=lambda difference: difference.ours == difference.real),
    ],
)
def test_an_entry_that_covers_nothing_is_stale_and_the_difference_unlisted(known: Known) -> None:
    verdict = judge([DIFFERENCE], [known])
    assert verdict.unlisted == [DIFFERENCE]
    assert verdict.stale == [known]


def test_a_report_says_where_and_what() -> None:
    assert report.of_difference(DIFFERENCE).splitlines() == [
        "one / GET /",
        "  body.message",
        '    real: "old words"',
        '    ours: "new words"',
    ]
