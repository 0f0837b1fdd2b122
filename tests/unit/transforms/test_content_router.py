"""Topics and filters by the content of a field."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest

from connectd.errors import ConfigError, TransformError
from connectd.model import logical
from connectd.model.record import SourceRecord
from connectd.model.schema import INT64, STRING, Schema, SchemaType
from connectd.plugins import chaining
from connectd.plugins.registry import PluginRegistry
from connectd.transforms.content_router import ContentRouter, FieldValueMatches, topic_problem
from tests.unit.transforms.given import made, record, schema, struct

INNER = schema(("status", STRING), ("n", INT64), name="inner")
OUTER = schema(("order", INNER), ("price", logical.decimal_schema(2)), name="outer")


def routed(value: object, value_schema: Schema | None = None, **settings: str) -> str:
    """The topic that a record with that value goes to."""
    found: SourceRecord = made(ContentRouter, **settings).apply(record(value, value_schema))
    return found.topic


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("paid", "done"), ("a:b", "colon"), ("open", "t-open"), (7, "t-7"), (True, "t-true"),
     (1.5, "t-1.5"), (Decimal("1.50"), "t-1.50"), ("", "nothing")],
)  # fmt: skip
def test_a_value_goes_to_its_topic_or_makes_one(value: object, wanted: str) -> None:
    mapping = "paid:done, a:b:colon, :nothing"
    found = routed(
        {"status": value}, field="status", topic__by__value=mapping, topic__format="t-${field}"
    )
    assert found == wanted


def test_without_a_format_other_values_keep_their_topic() -> None:
    settings = {"field": "status", "topic__by__value": "paid:done"}
    router = made(ContentRouter, **settings)
    kept = record({"status": "open"})
    assert router.apply(kept) is kept
    assert router.apply(record({"status": "paid"})).topic == "done"


def test_the_topic_so_far_may_be_part_of_the_new_one() -> None:
    assert routed({"a": "x"}, field="a", topic__format="${topic}.${field}") == "t.x"


@pytest.mark.parametrize(
    ("value", "value_schema", "path", "wanted"),
    [
        ({"order": {"status": "paid"}}, None, "order.status", "paid"),
        ({"order.status": "paid"}, None, "`order.status`", "paid"),
        (struct(OUTER, order=struct(INNER, status="paid")), OUTER, "order.status", "paid"),
        (struct(OUTER, order=struct(INNER, n=7)), OUTER, "order.n", "7"),
        (struct(OUTER, price=Decimal("1.20")), OUTER, "price", "1.20"),
        ({"document": '{"status":{"s":"paid"}}'}, None, "document.status.s", "paid"),
        ({"m": "paid"}, Schema(SchemaType.MAP, value_schema=STRING), "m", "paid"),
    ],
)
def test_a_path_finds_its_field_in_maps_structs_and_json_texts(
    value: object, value_schema: Schema | None, path: str, wanted: str
) -> None:
    assert routed(value, value_schema, field=path, topic__format="${field}") == wanted


def test_the_key_can_be_looked_at_so_that_tombstones_find_their_topic() -> None:
    router = made(ContentRouter, field="tenant", field__of="key", topic__format="${field}")
    tombstone = SourceRecord("t", None, {"tenant": "a"}, None, None)
    assert router.apply(tombstone).topic == "a"


MISSING: list[tuple[Any, Schema | None]] = [
    (None, None),
    ({}, None),
    ({"order": None}, None),
    ({"order": "text"}, None),
    ({"order": "{broken"}, None),
    ({"order": 7}, None),
    ({"order": {"status": None}}, None),
    (struct(OUTER), OUTER),
    (struct(INNER), INNER),
]


@pytest.mark.parametrize(("value", "value_schema"), MISSING)
def test_a_record_without_the_field_keeps_its_topic_or_is_refused(
    value: object, value_schema: Schema | None
) -> None:
    where = "order.status"
    assert routed(value, value_schema, field=where, topic__format="${field}") == "t"
    with pytest.raises(TransformError, match=r"the field order.status of the value is missing"):
        routed(value, value_schema, field=where, topic__format="${field}", missing__field="fail")
    assert not made(FieldValueMatches, field="order.status", pattern=".*").test(
        record(value, value_schema)
    )


@pytest.mark.parametrize("value", [{}, [], b"x", struct(INNER)])
def test_a_field_without_text_is_refused(value: object) -> None:
    with pytest.raises(TransformError, match="expected a text, a number or a boolean"):
        routed({"a": value}, field="a", topic__format="${field}")


@pytest.mark.parametrize(
    ("topic", "problem"),
    [
        ("a" * 249, None),
        ("a.B_9-", None),
        ("", "is empty"),
        (".", "is '.', which Kafka keeps for itself"),
        ("..", "is '..', which Kafka keeps for itself"),
        ("a" * 250, "has 250 characters, and Kafka allows 249"),
        ("ab/c", r"has '/' (U+002F) at position 3, and Kafka allows letters"),
        ("é", "has 'é' (U+00E9) at position 1"),
        ("a\n", r"has '\n' (U+000A) at position 2"),
    ],
)
def test_a_name_that_kafka_refuses_is_explained(topic: str, problem: str | None) -> None:
    found = topic_problem(topic)
    assert (found is None) == (problem is None)
    assert problem is None or str(found).startswith(problem)


def test_a_refused_topic_names_the_record_but_not_the_content() -> None:
    router = made(ContentRouter, field="a", topic__format="x-${field}")
    with pytest.raises(TransformError) as failure:
        router.apply(record({"a": "secret text"}, origin="orders k1"))
    assert str(failure.value) == (
        "routing: the field a of the value makes a topic name that has ' ' (U+0020) at position 9, "
        "and Kafka allows letters, digits, '.', '_' and '-' (orders k1); give its value a topic in "
        "topic.by.value, or change topic.format"
    )


def test_topics_are_bounded() -> None:
    router = made(
        ContentRouter,
        field="id",
        topic__format="${field}",
        topic__by__value="z:listed",
        topics__max="2",
    )
    topics = [router.apply(record({"id": each})).topic for each in ("a", "b", "a", "z", "b")]
    assert topics == ["a", "b", "a", "listed", "b"]
    with pytest.raises(TransformError, match="has made 2 topics already"):
        router.apply(record({"id": "c"}))
    assert router.apply(record({"id": "a"})).topic == "a"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "Neither topic.by.value nor topic.format is set"),
        ({"topic__format": "x"}, "expected ${field} in it"),
        ({"topic__by__value": "paid"}, "topic.by.value has paid, expected value:topic"),
        ({"topic__by__value": "paid:a/b"}, "topic.by.value has paid:a/b, whose topic has '/'"),
        ({"topic__by__value": "a:x,a:y"}, "two topics for a"),
        ({"topic__format": "${field}", "topics__max": "0"}, "topics.max"),
        ({"topic__format": "${field}", "field": "`a"}, "Incomplete backtick pair"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        made(ContentRouter, **{"field": "a", **settings})


@pytest.mark.parametrize(
    ("pattern", "value", "holds"),
    [("paid|open", "open", True), ("paid|open", "opened", False), ("(?<a>x)+", "xx", True),
     ("[0-9]+", 7, True), ("", "", True)],
)  # fmt: skip
def test_a_predicate_compares_the_whole_text(pattern: str, value: object, holds: bool) -> None:
    predicate = made(FieldValueMatches, field="status", pattern=pattern)
    assert predicate.test(record({"status": value})) is holds


def test_a_filter_works_by_content(registry: PluginRegistry) -> None:
    chain = chaining.make_chain(
        registry,
        {
            "transforms": "drop, unwrap, route",
            "transforms.drop.type": "Filter",
            "transforms.drop.predicate": "isTest",
            "transforms.unwrap.type": "UnwrapDynamoDb",
            "transforms.route.type": "ContentRouter",
            "transforms.route.field": "tenant",
            "transforms.route.topic.format": "orders-${field}",
            "predicates": "isTest",
            "predicates.isTest.type": "FieldValueMatches",
            "predicates.isTest.field": "document.tenant.s",
            "predicates.isTest.pattern": "test-.*",
        },
    )

    def changed(tenant: str) -> SourceRecord | None:
        document = f'{{"tenant":{{"s":"{tenant}"}}}}'
        return chain.apply(record({"document": document, "op": "c", "source": {}}))

    assert changed("test-7") is None
    kept = changed("acme")
    assert kept is not None
    assert (kept.topic, kept.value) == ("orders-acme", {"tenant": "acme"})
