"""What is taken out of an answer, and that nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.rest.exchange import Answer
from tests.conformance.rest.normalisation import Normaliser

NORMALISER = Normaliser({"127.0.0.1:8083": "<worker>", "/tmp/run-x": "<dir>", "run-x": "<run>"})


def body(value: Any, keep: str | None = None) -> Any:
    """The body of an answer, normalised."""
    return NORMALISER.answer(Answer(200, {}, value), keep=keep)["body"]


@pytest.mark.parametrize(
    ("found", "normalised"),
    [
        ({"worker_id": "127.0.0.1:8083"}, {"worker_id": "<worker>"}),
        (
            {"file": "/tmp/run-x/in.txt", "topic": "run-x-t"},
            {"file": "<dir>/in.txt", "topic": "<run>-t"},
        ),
        ({"version": "4.3.1", "commit": "abc"}, {"version": "<version>", "commit": "<commit>"}),
        ({"last_modified": 17}, {"last_modified": "<ms>"}),
        ({"documentation": "Some text."}, {"documentation": "<documentation>"}),
        ({"trace": "a.B: c\n\tat d"}, {"trace": "a.B: c"}),
        ({"topics": ["b", "a"]}, {"topics": ["a", "b"]}),
        (["b", "a"], ["a", "b"]),
        ({"message": "began at 2026-01-01T00:00:00.123Z."}, {"message": "began at <instant>."}),
        (
            {"message": "matches X, available connectors are: PluginDesc{…}, PluginDesc{…}"},
            {"message": "matches X, available connectors are: <plugins>"},
        ),
    ],
)
def test_what_two_workers_may_differ_in_is_taken_out(found: Any, normalised: Any) -> None:
    assert body(found) == normalised


@pytest.mark.parametrize(
    "kept",
    [
        {"message": "Connector s not found"},
        {"last_modified": None, "version": None, "documentation": ""},
        {"state": "RUNNING", "id": 0},
        {"tasks": [{"id": 1}, {"id": 0}]},
        {"errors": ["b", "a"]},
        {"seqno": 17, "position": 13},
    ],
)
def test_everything_else_stays(kept: Any) -> None:
    assert body(kept) == kept


def test_offsets_have_no_order() -> None:
    first = {"partition": {"a": 1}, "offset": {"o": 1}}
    second = {"partition": {"b": 1}, "offset": {"o": 0}}
    assert body({"offsets": [first, second]}) == body({"offsets": [second, first]})


def test_only_headers_that_matter_are_kept_and_allow_is_a_set() -> None:
    headers = {
        "date": "now",
        "server": "x",
        "content-type": "application/json",
        "allow": "PUT, GET",
    }
    answer = NORMALISER.answer(Answer(405, headers, None))
    assert answer["headers"] == {"content-type": "application/json", "allow": "GET, PUT"}


def test_the_address_in_a_location_is_the_workers() -> None:
    answer = NORMALISER.answer(
        Answer(201, {"location": "http://127.0.0.1:8083/connectors/s"}, None)
    )
    assert answer["headers"] == {"location": "http://<worker>/connectors/s"}


def test_a_step_may_name_the_entries_that_count() -> None:
    assert body({"ours.a": 1, "theirs": 2}, keep="ours.*") == {"ours.a": 1}
    assert body(["ours.a", "theirs"], keep="ours.*") == ["ours.a"]


def test_a_page_of_html_is_a_page() -> None:
    answer = NORMALISER.answer(Answer(400, {"content-type": "text/html"}, "<html>…"))
    assert answer["body"] == "<html>"
