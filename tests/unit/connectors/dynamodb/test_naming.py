"""Names of topics, schemas and attributes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.connectors.dynamodb import naming
from connectd.errors import ConfigError
from tests.kit import items


def test_nothing_stands_between_prefix_and_table() -> None:
    assert naming.TopicNaming().topic("orders") == "dynamodb-orders"
    assert naming.TopicNaming("").topic("orders") == "orders"


def test_a_mapped_table_keeps_the_prefix_and_loses_its_name() -> None:
    named = naming.TopicNaming("cdc.", {"orders-prod": "orders"})
    assert named.topic("orders-prod") == "cdc.orders"
    assert named.topic("other") == "cdc.other"


def test_with_the_prefix_alone_all_tables_share_a_topic() -> None:
    named = naming.TopicNaming("everything", prefix_only=True)
    assert {named.topic("a-table"), named.topic("another")} == {"everything"}


def test_a_topic_of_the_longest_name_is_accepted_and_one_more_is_refused() -> None:
    assert len(naming.TopicNaming("").topic("t" * 249)) == 249
    with pytest.raises(ConfigError, match="250 characters, expected at most 249"):
        naming.TopicNaming("").topic("t" * 250)


@pytest.mark.parametrize("prefix", ["ordérs-", "a b", "a/b", "", "."])
def test_a_topic_that_kafka_refuses_is_refused_at_once(prefix: str) -> None:
    with pytest.raises(ConfigError, match=r"kafka\.topic\.prefix"):
        naming.TopicNaming(prefix, prefix_only=prefix in ("", ".")).topic("orders")


def test_a_topic_map_is_a_json_object_of_strings() -> None:
    assert naming.parse_topic_map('{"orders":"o","a":"b"}') == {"orders": "o", "a": "b"}
    assert naming.parse_topic_map(" ") == {}


@pytest.mark.parametrize("text", ["{", "[]", '"orders"', '{"orders":1}', "orders=o", "null"])
def test_anything_else_is_no_topic_map(text: str) -> None:
    with pytest.raises(ConfigError, match=r"kafka\.topic\.map"):
        naming.parse_topic_map(text)


@pytest.mark.parametrize(
    ("name", "adjusted"),
    [
        ("dynamodb-my-table.Key", "dynamodb_my_table.Key"),
        ("prod.orders.Key", "prod.orders.Key"),
        ("9lives.Key", "_lives.Key"),
        (".Key", "_Key"),
        ("_ok.Key", "_ok.Key"),
    ],
)
def test_schema_names_become_what_avro_accepts(name: str, adjusted: str) -> None:
    assert naming.schema_name(name) == adjusted


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("test-1234", "test1234"),
        ("1-starts", "starts"),
        ("a.b", "ab"),
        ("12abc", "2abc"),
        ("99", "9"),
        ("9", ""),
        ("-", ""),
        ("名前", ""),
        ("😀x", "x"),
        ("_id", "_id"),
        ("name ", "name"),
        ("line\nbreak", "linebreak"),
    ],
)
def test_attributes_lose_the_characters_that_release_0_12_deletes(name: str, clean: str) -> None:
    assert naming.sanitised_attribute(name) == clean


def test_only_names_that_change_are_renamed() -> None:
    assert naming.AttributeSanitiser().renamed(["id", "a.b", "ok_1"]) == {"a.b": "ab"}


@pytest.mark.parametrize("name", ["名前", "-", "9"])
def test_a_name_of_which_nothing_would_be_left_stays(name: str) -> None:
    assert naming.AttributeSanitiser().renamed(["id", name]) == {}


def test_names_that_would_become_equal_stay_as_they_are() -> None:
    sanitiser = naming.AttributeSanitiser()
    assert sanitiser.renamed(["a-b", "ab"]) == {}
    assert sanitiser.renamed(["a-b", "a.b", "c-d"]) == {"c-d": "cd"}
    assert sanitiser.renamed(["a-b"]) == {"a-b": "ab"}


def test_a_name_that_another_attribute_has_is_not_taken_from_it() -> None:
    sanitiser = naming.AttributeSanitiser()
    assert sanitiser.renamed(["9", "99"]) == {}
    assert sanitiser.renamed(["2abc", "12abc"]) == {"2abc": "abc"}


@given(st.lists(items.names, unique=True, max_size=12))
@items.examples
def test_no_attribute_is_ever_lost_whatever_the_order(names: list[str]) -> None:
    sanitiser = naming.AttributeSanitiser()
    renamed = sanitiser.renamed(names)
    results = [renamed.get(name, name) for name in names]
    assert len(set(results)) == len(names)
    assert sanitiser.renamed(list(reversed(names))) == renamed
    assert all(re.fullmatch("[A-Za-z0-9_]+", clean) for clean in renamed.values())


def test_what_is_remembered_of_names_has_a_bound() -> None:
    sanitiser = naming.AttributeSanitiser()
    for start in range(0, 30_000, 100):
        sanitiser.renamed([f"attribute_{number}" for number in range(start, start + 100)])
    assert sanitiser.remembered_names <= 10_100
    assert sanitiser.renamed(["attribute_1", "a.b"]) == {"a.b": "ab"}
