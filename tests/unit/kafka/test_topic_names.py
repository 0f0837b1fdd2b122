"""Names that a topic may have."""

from __future__ import annotations

import pytest

from connectd.kafka import topic_names


@pytest.mark.parametrize("name", ["a", "Orders_2.items-x", "x" * 249, "..."])
def test_a_name_that_kafka_takes_has_no_problem(name: str) -> None:
    assert topic_names.problem(name) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "the name is empty"),
        (".", "the name is '.' or '..'"),
        ("..", "the name is '.' or '..'"),
        ("x" * 250, "the name has 250 characters, expected at most 249"),
        ("a b", "contains ' '"),
        ("a/b", "contains '/'"),
        ("größe", "contains 'ö'"),
        ("a\n", "contains '\\n'"),
    ],
)
def test_a_name_that_kafka_refuses_is_explained(name: str, problem: str) -> None:
    assert problem in str(topic_names.problem(name))
