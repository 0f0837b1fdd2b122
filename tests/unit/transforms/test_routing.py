"""Routers, the filter, predicates and chains of them (spec kafka-connect F)."""

from __future__ import annotations

import re

import pytest

from connectd.configdef.catalogue import PluginKind
from connectd.errors import ConfigError, TransformError
from connectd.model.record import SourceRecord
from connectd.plugins import chaining
from connectd.plugins.registry import PluginDesc, PluginRegistry
from connectd.transforms import catalogue, content_router, predicates, routers
from tests.unit.transforms.given import made, record

PACKAGE = "org.apache.kafka.connect.transforms."


@pytest.mark.parametrize(
    ("regex", "replacement", "topic", "wanted"),
    [
        ("(.*)-v1", "$1-v2", "orders-v1", "orders-v2"),
        ("(.*)-v1", "$1-v2", "orders-v1x", "orders-v1x"),
        ("(?<n>.*)", "x-${n}", "a", "x-a"),
        ("(a)(b)", "$2$1", "ab", "ba"),
        ("(a)", "$12", "a", "a2"),
        ("a", r"\$1\\", "a", "$1\\"),
        ("", "x", "a", "a"),
    ],
)
def test_regex_router_renames_topics_that_match_whole(
    regex: str, replacement: str, topic: str, wanted: str
) -> None:
    router = made(routers.RegexRouter, regex=regex, replacement=replacement)
    assert router.apply(SourceRecord(topic, None, None, None, None)).topic == wanted


def test_regex_router_refuses_a_group_that_java_may_fill_otherwise() -> None:
    with pytest.raises(
        ConfigError, match=r"^replacement is x-\$1: found a reference to group 1, of"
    ):
        made(routers.RegexRouter, regex="(?:(.)c)*", replacement="x-$1")


def test_timestamp_router_puts_the_time_into_the_name() -> None:
    router = made(routers.TimestampRouter, topic__format="${timestamp}_${topic}")
    assert router.apply(record(1, timestamp_ms=0)).topic == "19700101_t"
    with pytest.raises(TransformError, match="Timestamp missing on record"):
        router.apply(record(1))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("XXXX", "invalid ISO 8601 format: length=4"),
        ("b", "Illegal pattern character 'b'"),
        ("yyyy'T", "Unterminated quote"),
    ],
)
def test_a_wrong_time_pattern_is_an_error_of_each_record(pattern: str, message: str) -> None:
    router = made(routers.TimestampRouter, timestamp__format=pattern)
    for _ in range(2):
        with pytest.raises(TransformError, match=f"^timestamp.format is {pattern}: {message}$"):
            router.apply(record(1, timestamp_ms=0))
    with pytest.raises(TransformError, match="Timestamp missing on record"):
        router.apply(record(1))


def test_predicates_hold_where_they_should() -> None:
    tombstone = made(predicates.RecordIsTombstone)
    assert (tombstone.test(record(None)), tombstone.test(record(""))) == (True, False)
    header = made(predicates.HasHeaderKey, name="h")
    assert header.test(record(1, headers=[("h", None, None)]))
    assert not header.test(record(1, headers=[("H", None, None)]))
    topic = made(predicates.TopicNameMatches, pattern="t+")
    assert topic.test(record(1))
    with pytest.raises(ConfigError, match="String must be non-empty"):
        made(predicates.TopicNameMatches, pattern="")
    with pytest.raises(ConfigError, match="Invalid regex"):
        made(predicates.TopicNameMatches, pattern="(")


@pytest.fixture
def registry() -> PluginRegistry:
    found = PluginRegistry()
    for kind, classes in (
        (PluginKind.TRANSFORMATION, catalogue.TRANSFORMATIONS),
        (PluginKind.PREDICATE, catalogue.PREDICATES),
    ):
        for name, cls in classes.items():
            found.register(PluginDesc(name, kind, "1", cls))
    return found


CHAIN = {
    "transforms": "drop, route",
    "transforms.drop.type": f"{PACKAGE}Filter",
    "transforms.drop.predicate": "gone",
    "transforms.route.type": "RegexRouter",
    "transforms.route.regex": "(.*)",
    "transforms.route.replacement": "new-$1",
    "predicates": "gone",
    "predicates.gone.type": f"{PACKAGE}predicates.RecordIsTombstone",
}


def test_a_chain_applies_its_steps_in_order(registry: PluginRegistry) -> None:
    chain = chaining.make_chain(registry, CHAIN)
    kept = chain.apply(record("v"))
    assert kept is not None
    assert kept.topic == "new-t"
    assert chain.apply(record(None)) is None
    turned = chaining.make_chain(registry, {**CHAIN, "transforms.drop.negate": "true"})
    assert turned.apply(record("v")) is None
    assert turned.apply(record(None)) is not None
    assert not chaining.make_chain(registry, {})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"transforms.drop.predicate": "other"}, "transforms.drop.predicate is other"),
        ({"transforms.route.type": "Nope"}, "which name matches Nope"),
        ({"transforms.route.regex": "("}, "transforms.route .*RegexRouter.*Invalid regex"),
    ],
)
def test_a_chain_that_cannot_be_made_says_why(
    registry: PluginRegistry, changed: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        chaining.make_chain(registry, {**CHAIN, **changed})


def test_whatever_a_transform_raises_is_an_error_of_the_record() -> None:
    class Broken:
        def apply(self, given: SourceRecord) -> SourceRecord:
            raise ZeroDivisionError("by zero")

    step = chaining.Step("b", Broken())  # type: ignore[arg-type]
    with pytest.raises(TransformError, match=re.escape("transforms.b failed with ZeroDivision")):
        chaining.TransformChain((step,)).apply(record(1))


@pytest.mark.parametrize("value", [None, 1, "x", {}, {"a": None}, [1], b"1"])
def test_a_tombstone_or_odd_value_passes_or_is_refused_but_never_breaks_a_step(
    value: object,
) -> None:
    settings = {
        "spec": "a:int8",
        "field": "a",
        "fields": "a",
        "headers": "h",
        "operation": "move",
        "topic__field": "x",
        "schema__name": "n",
        "target__type": "unix",
        "regex": "x",
        "replacement": "1",
        "header": "h",
        "value__literal": "v",
        "topic__by__value": "a:b",
    }
    for cls in catalogue.TRANSFORMATIONS.values():
        known = {name.replace(".", "__") for name in cls.config_def().names()}
        transform = made(cls, **{name: text for name, text in settings.items() if name in known})
        try:
            transform.apply(record(value))
        except TransformError:
            continue


ENDLESS = "(?:a|b|ab)*c"
"""A matcher that backtracks tries every way to split a row of ab."""


@pytest.mark.timeout(30)
def test_a_pattern_that_never_ends_fails_its_record() -> None:
    topic = "ab" * 90 + "dc"
    given = SourceRecord(topic, None, None, None, {"f": topic})
    router = made(routers.RegexRouter, regex=ENDLESS, replacement="z")
    with pytest.raises(TransformError, match="takes more than"):
        router.apply(given)
    for predicate in (
        made(predicates.TopicNameMatches, pattern=ENDLESS),
        made(content_router.FieldValueMatches, field="f", pattern=ENDLESS),
    ):
        with pytest.raises(TransformError, match="takes more than"):
            predicate.test(given)
