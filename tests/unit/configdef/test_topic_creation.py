"""Groups of topics and their settings; texts as a worker of Kafka 4.3.1 answered them."""

from __future__ import annotations

import pytest

from connectd.configdef import topic_creation
from connectd.errors import ConfigError

_DEFAULT = {
    "topic.creation.default.partitions": "2",
    "topic.creation.default.replication.factor": "1",
}


def _rules(**keys: str) -> topic_creation.TopicRules:
    """In ``keys`` two underscores stand for a dot."""
    given = {f"topic.creation.{name.replace('__', '.')}": text for name, text in keys.items()}
    rules = topic_creation.read({**_DEFAULT, **given})
    assert rules is not None
    return rules


def test_without_a_key_there_are_no_rules() -> None:
    assert topic_creation.read({"topic": "t"}) is None


@pytest.mark.parametrize(
    "config", [{"topic.creation.groups": ""}, {"topic.creation.default.cleanup.policy": "compact"}]
)
def test_the_default_group_must_say_how_large_its_topics_are(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as raised:
        topic_creation.read(config)
    assert str(raised.value).splitlines() == [
        'Missing required configuration "topic.creation.default.replication.factor" which has no '
        "default value.",
        'Missing required configuration "topic.creation.default.partitions" which has no default '
        "value.",
    ]


def test_every_other_key_is_a_setting_of_the_topic() -> None:
    rules = _rules(default__cleanup__policy="compact", default__retention__ms="1000")
    group = rules.group_of("anything")
    assert (group.name, group.partitions, group.replication_factor) == ("default", 2, 1)
    assert group.settings == {"cleanup.policy": "compact", "retention.ms": "1000"}


def test_a_group_takes_its_sizes_from_the_default_group_but_not_its_settings() -> None:
    rules = _rules(
        groups="logs",
        logs__include="log-.*",
        logs__partitions="-1",
        default__cleanup__policy="compact",
    )
    group = rules.group_of("log-1")
    assert (group.name, group.partitions, group.replication_factor) == ("logs", -1, 1)
    assert group.settings == {}


def test_the_first_group_that_includes_and_does_not_exclude_the_whole_name_is_it() -> None:
    rules = _rules(
        groups="a, default, b, nothing",
        a__include="orders.*, x",
        a__exclude="orders-old",
        b__include="o.*",
    )
    names = ("orders-1", "orders-old", "x", "xx", "other", "zzz", "an-orders")
    assert [rules.group_of(name).name for name in names] == [
        *("a", "b", "a", "default", "b", "default", "default")
    ]


def test_the_default_group_takes_what_is_left_whatever_it_is_told() -> None:
    rules = _rules(default__include="only-this", default__exclude=".*")
    assert rules.group_of("another").name == "default"


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        (
            "default.replication.factor",
            "0",
            "Invalid value 0 for configuration replication.factor: "
            "Replication factor must be positive and not larger than the number of brokers in the "
            "Kafka cluster, or -1 to use the broker's default",
        ),
        (
            "default.partitions",
            "-2",
            "Invalid value -2 for configuration partitions: "
            "Number of partitions must be positive, or -1 to use the broker's default",
        ),
        (
            "default.replication.factor",
            "40000",
            "Invalid value 40000 for configuration topic.creation.default.replication.factor: "
            "Not a number of type SHORT",
        ),
        (
            "g.include",
            "[",
            "Invalid value [[] for configuration include: Syntax error in regular expression: ",
        ),
        ("groups", "g,g", "Invalid value [g, g] for configuration topic.creation.groups: "),
    ],
)
def test_what_is_wrong_is_told_as_kafka_tells_it(key: str, text: str, message: str) -> None:
    config = {**_DEFAULT, "topic.creation.groups": "g", f"topic.creation.{key}": text}
    with pytest.raises(ConfigError) as raised:
        topic_creation.read(config)
    assert str(raised.value).startswith(message)


def test_keys_that_nobody_reads_are_told() -> None:
    config = {
        **_DEFAULT,
        "topic.creation.groups": "g,default",
        "topic.creation.gg.partitions": "3",
        "topic.creation.g.include": ".*",
        "topic.creation.default.include": ".*",
    }
    warnings = list(topic_creation.warnings(config, is_enabled=True))
    assert len(warnings) == 3
    assert "'default' in topic.creation.groups is ignored" in warnings[0]
    assert "topic.creation.gg.partitions" in warnings[1]
    assert "'topic.creation.default.include' is ignored" in warnings[2]


def test_a_worker_that_creates_no_topics_is_told_of() -> None:
    (warning,) = topic_creation.warnings(_DEFAULT, is_enabled=False)
    assert "topic.creation.enable is false" in warning
    assert list(topic_creation.warnings(_DEFAULT, is_enabled=True)) == []
    assert list(topic_creation.warnings({"topic": "t"}, is_enabled=False)) == []


def test_the_patterns_of_a_group_are_one_in_which_a_name_stands_for_one_group() -> None:
    with pytest.raises(ConfigError, match=r"creation\.g\.include: Syntax .* a second group n "):
        _rules(groups="g", g__include="(?<n>a), (?<n>b)")


def test_what_default_includes_is_not_looked_at() -> None:
    rules = topic_creation.read({**_DEFAULT, "topic.creation.default.include": "("})
    assert rules is not None
    assert rules.group_of("any").name == "default"
    assert rules.group_of("any").settings == {}
