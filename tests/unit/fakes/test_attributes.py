from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.attributes import canonical_number, canonical_value, stored
from tests.fakes.wire import AwsError


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("007", "7"),
        ("7.0", "7"),
        ("-0", "0"),
        ("-0.50", "-0.5"),
        ("1E2", "100"),
        ("1e-3", "0.001"),
        ("+5", "5"),
        ("1234567895171680000000000000000000000000", "1234567895171680000000000000000000000000"),
        ("1" + "0" * 100, "1" + "0" * 100),
        ("9" * 38, "9" * 38),
        ("1E-130", "0." + "0" * 129 + "1"),
    ],
)
def test_numbers_have_one_normal_form(written: str, normal: str) -> None:
    assert canonical_number(written) == normal


@pytest.mark.parametrize("text", ["", "x", "1_000", " 1", "NaN", "Infinity", "1" * 39, "1E126"])
def test_what_is_no_number_for_dynamodb_is_refused(text: str) -> None:
    with pytest.raises(AwsError, match="ValidationException"):
        canonical_number(text)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "æ"}, 2),
        ({"N": "-12.30"}, 4),
        ({"B": "AP8="}, 2),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", "bc"]}, 3),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}]}, 6),
        ({"M": {"k": {"S": "v"}}}, 6),
    ],
)
def test_sizes_follow_the_rules_of_dynamodb(value: dict[str, Any], size: int) -> None:
    assert canonical_value(value)[1] == size


def test_equal_items_have_equal_bytes_whatever_their_order() -> None:
    first = stored({"id": {"S": "k"}, "set": {"NS": ["2", "1.0"]}, "m": {"M": {"b": {"S": "x"}}}})
    second = stored({"m": {"M": {"b": {"S": "x"}}}, "set": {"NS": ["1", "2"]}, "id": {"S": "k"}})
    assert first == second


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"S": "a", "N": "1"},
        {"S": 1},
        {"X": "a"},
        {"NULL": False},
        {"BOOL": "true"},
        {"B": "not base64!"},
        {"SS": []},
        {"NS": ["1", "1.0"]},
        {"L": {}},
        {"M": []},
        "text",
    ],
)
def test_malformed_values_are_refused(value: Any) -> None:
    with pytest.raises(AwsError, match="ValidationException"):
        canonical_value(value)


def test_documents_nest_no_deeper_than_32_levels() -> None:
    value: dict[str, Any] = {"S": "x"}
    for _ in range(31):
        value = {"L": [value]}
    canonical_value(value)
    with pytest.raises(AwsError, match="Nesting"):
        canonical_value({"L": [value]})
