from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.expressions import updated
from tests.fakes.wire import AwsError

ITEM: dict[str, Any] = {
    "id": {"S": "k"},
    "n": {"N": "5"},
    "m": {"M": {"inner": {"S": "x"}}},
    "set": {"SS": ["a"]},
}


def _updated(expression: str, values: dict[str, Any] | None = None, **names: str) -> dict[str, Any]:
    named = {f"#{name}": text for name, text in names.items()}
    return updated(ITEM, expression, named, values or {})


def test_set_reads_the_item_as_it_was_before() -> None:
    after = _updated("SET n = :one, other = n", {":one": {"N": "1"}})
    assert (after["n"], after["other"]) == ({"N": "1"}, {"N": "5"})


def test_arithmetic_paths_and_functions() -> None:
    after = _updated(
        "set n = n - :two, m.#in = if_not_exists(nothing, :x) remove #s add more :two",
        {":two": {"N": "2"}, ":x": {"S": "y"}},
        **{"in": "inner", "s": "set"},
    )
    assert after == {
        "id": {"S": "k"},
        "n": {"N": "3"},
        "m": {"M": {"inner": {"S": "y"}}},
        "more": {"N": "2"},
    }


def test_add_joins_sets() -> None:
    assert _updated("ADD #s :v", {":v": {"SS": ["a", "b"]}}, s="set")["set"] == {"SS": ["a", "b"]}


def test_the_item_itself_is_left_alone() -> None:
    _updated("SET m.inner = :v", {":v": {"S": "changed"}})
    assert ITEM["m"] == {"M": {"inner": {"S": "x"}}}


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "SET",
        "SET n",
        "SET n = ",
        "SET n = :missing",
        "SET #missing = :v",
        "SET n = nothing",
        "SET n = m + :v",
        "SET nothing.inner = :v",
        "SET n = :v SET m = :v",
        "FLY n",
        "SET n = :v; DROP",
        "REMOVE n",  # leaves :v unused
    ],
)
def test_malformed_expressions_are_refused(expression: str) -> None:
    with pytest.raises(AwsError, match="ValidationException"):
        _updated(expression, {":v": {"N": "1"}})


@pytest.mark.parametrize("expression", ["SET list[0] = :v", "DELETE #s :v"])
def test_what_is_not_implemented_says_so(expression: str) -> None:
    with pytest.raises(AwsError, match="FakeNotImplemented"):
        _updated(expression, {":v": {"N": "1"}}, s="set")
