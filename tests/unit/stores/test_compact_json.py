"""JSON bytes as a Java worker writes them (spec kafka-connect C.1)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.stores import compact_json

_documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_documents)
def test_what_is_written_is_json_of_the_same_value(document: object) -> None:
    assert json.loads(compact_json.dumps(document)) == document


@pytest.mark.parametrize(
    ("value", "text"),
    [
        # The right-hand side is what Java's Double.toString gives.
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.5, "0.5"),
        (100.25, "100.25"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (0.00012345, "1.2345E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-1.5e10, "-1.5E10"),
        (12345678.9, "1.23456789E7"),
        (1e100, "1.0E100"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (2.2250738585072014e-308, "2.2250738585072014E-308"),
    ],
)
def test_doubles_are_in_javas_notation(value: float, text: str) -> None:
    assert compact_json.dumps(value).decode() == text


def test_text_is_escaped_as_little_as_possible() -> None:
    text = '"\\/\b\t\n\f\r\x00\x1f\x7f é☃🎉'
    assert compact_json.dumps(text).decode() == (
        '"\\"\\\\/\\b\\t\\n\\f\\r\\u0000\\u001F\x7f é☃\\uD83C\\uDF89"'
    )


def test_members_keep_their_order_and_nothing_is_padded() -> None:
    assert compact_json.dumps(["c", {"b": [1, None], "a": {}}, True]) == (
        b'["c",{"b":[1,null],"a":{}},true]'
    )


@pytest.mark.parametrize(
    "document", [float("nan"), float("inf"), b"bytes", {1: "a"}, {"a": object()}, "\ud800"]
)
def test_what_json_cannot_say_is_refused(document: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  the text is for people
        compact_json.dumps(document)
