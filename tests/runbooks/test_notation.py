"""Answers on pages: what varies may vary, and nothing else."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runbooks.notation import Expected, NotationError

FITTING = [
    ("202", "202\n"),
    ("", ""),
    ("… records, 5 keys", "17 records, 5 keys\n"),
    ("one\n\ntwo", "one\n\ntwo\n"),
    ('{"a": 1, "b": [true, null]}', '{"b":[true,null],"a":1}'),
    ('{\n  "a": {"b": "c"}\n}', '{"a":{"b":"c"}}\n'),
    ('{"state": "FAILED", …}', '{"state":"FAILED","trace":"x"}'),
    ('{"state": "FAILED", …}', '{"state":"FAILED"}'),
    ('{"age_s": …}', '{"age_s":0.25}'),
    ('{"is": …}', '{"is":false}'),
    ('{"trace": "…table t: …refused…"}', '{"trace":"Error: table t: it\\nwas refused\\n at x"}'),
    ('{"tables": [{"name": "b", …}, …]}', '{"tables":[{"name":"a"},{"name":"b","n":1}]}'),
    ('{"tables": […]}', '{"tables":[]}'),
    ('[{"a": 1}]\n200', '[{"a":1}]\n200\n'),
    ('{"error_code": 404, …}\n404', '{"error_code":404,"message":"no"}404\n'),
]

DIFFERENT = [
    ("202", "404\n", "expected '202', found '404'"),
    ("202", "", "expected '202', found no more"),
    ("202", "{}\n202\n", "expected '202', found '{}'"),
    ("202", "202\n202\n", "the page does not have"),
    ("", "curl: (7) Failed to connect\n", "the page does not have"),
    ("… records", "records", "expected '… records'"),
    ("a … z", "a b\nz", "expected 'a … z'"),
    ('{"a": 1}', '{"a":2}', "answer.a: expected 1, found 2"),
    ('{"a": 1}', '{"a":true}', "answer.a: expected 1, found true"),
    ('{"a": 1}', '{"a":"1"}', "answer.a"),
    ('{"a": 1}', '{"a":1,"b":2}', "found b, which the page does not name"),
    ('{"a": 1, …}', '{"b":2}', "expected a, found only b"),
    ('{"a": 1}', "<html>", "expected JSON"),
    ('{"a": 1}', '{"a":1}\noops', "the page does not have"),
    ('{"a": 1}\n200', '{"a":1}', "found no more"),
    ('{"a": …}', '{"a":null}', "answer.a: expected a value, found null"),
    ('{"a": …}', '{"a":{}}', "answer.a"),
    ('{"a": …}', '{"a":[1]}', "answer.a"),
    ('{"a": "…"}', '{"a":1}', "answer.a"),
    ('{"a": "…"}', '{"a":""}', "answer.a"),
    ('{"a": "x…"}', '{"a":"y"}', "answer.a"),
    ('{"a": [1, 2]}', '{"a":[2,1]}', "answer.a[0]"),
    ('{"a": [1, 2]}', '{"a":[1,2,3]}', "expected 2 elements"),
    ('{"a": [1, 1, …]}', '{"a":[1,2]}', "2 elements as on the page"),
    ('[{"state": "RUNNING", …}, …]', '[{"state":"FAILED"}]', "1 elements as on the page"),
]


@pytest.mark.parametrize(("expected", "found"), FITTING)
def test_an_answer_that_fits_is_taken(expected: str, found: str) -> None:
    assert Expected.parse(expected).difference(found) == ""


@pytest.mark.parametrize(("expected", "found", "told"), DIFFERENT)
def test_another_answer_is_refused_and_the_difference_told(
    expected: str, found: str, told: str
) -> None:
    assert told in Expected.parse(expected).difference(found)


@pytest.mark.parametrize(
    "text",
    [
        "…",
        "202\n…",
        "… …",
        "{…}",
        "[…]",
        '{"a": 1, "a": 2}',
        '{…, "a": 1}',
        "[…, 1]",
        '{"a": {"b": […, 1]}}',
        '{"a": }',
        '{"a": 1',
    ],
)
def test_an_answer_that_says_nothing_certain_is_no_answer(text: str) -> None:
    with pytest.raises(NotationError):
        Expected.parse(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab ", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1)


@given(DOCUMENTS, DOCUMENTS)
def test_without_marks_only_the_same_document_fits(expected: Any, found: Any) -> None:
    is_same = json.dumps(expected, sort_keys=True) == json.dumps(found, sort_keys=True)
    told = Expected.parse(json.dumps(expected)).difference(json.dumps(found))
    assert (told == "") is is_same


@given(DOCUMENTS, st.sampled_from(["x", 7, None, {"z": 1}]))
def test_further_members_excuse_none_that_the_page_names(document: Any, other: Any) -> None:
    text = json.dumps(document)[:-1] + ", …}"
    assert Expected.parse(text).difference(json.dumps({**document, "more": other})) == ""
    for name in document:
        changed = copy.deepcopy(document)
        changed[name] = [document[name], other]
        assert Expected.parse(text).difference(json.dumps(changed)) != ""
