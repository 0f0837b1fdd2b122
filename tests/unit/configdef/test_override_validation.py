"""Settings of Kafka clients in a connector's config: whose are looked at, and what is shown."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from connectd.configdef.override_validation import override_parts
from connectd.configdef.overrides import OverridePolicy
from connectd.configdef.validation import Entry

ALL = OverridePolicy.named("All", ())
NONE = OverridePolicy.named("None", ())
ONE_OF_EACH = {
    "consumer.override.group.id": "g",
    "admin.override.client.id": "a",
    "producer.override.acks": "1",
}


def entries(config: Mapping[str, str | None], policy: OverridePolicy = ALL) -> list[Entry]:
    return [each for part in override_parts(config, policy) for each in part.entries]


def names(config: Mapping[str, str | None], policy: OverridePolicy = ALL) -> list[str]:
    return [each["value"]["name"] for each in entries(config, policy)]


@pytest.mark.parametrize(
    ("more", "clients"),
    [
        ({}, ["producer"]),
        ({"topic.creation.default.partitions": "1"}, ["producer", "admin"]),
        ({"offsets.storage.topic": "mine"}, ["producer", "consumer", "admin"]),
        ({"offsets.storage.topic": " "}, ["producer"]),
    ],
)
def test_only_clients_that_are_used_are_looked_at(more: dict[str, str], clients: list[str]) -> None:
    found = names({**ONE_OF_EACH, **more})
    assert [name.partition(".")[0] for name in found] == clients


def test_a_known_setting_is_described_under_its_prefix() -> None:
    (entry,) = entries({"producer.override.batch.size": " 5 "})
    assert entry["value"]["value"] == "5"
    assert entry["definition"]["name"] == "producer.override.batch.size"
    assert entry["definition"]["display_name"] == "batch.size"
    assert entry["definition"]["type"] == "INT"


def test_an_unknown_setting_is_shown_as_it_is_unless_its_name_says_secret() -> None:
    config = {"producer.override.my.token": "hunter2", "producer.override.made.up": "x"}
    assert {
        each["value"]["name"]: (each["definition"], each["value"]["value"])
        for each in entries(config)
    } == {
        "producer.override.my.token": (None, "[hidden]"),
        "producer.override.made.up": (None, "x"),
    }


def test_a_value_counts_once_however_much_is_wrong_with_it() -> None:
    (part,) = override_parts({"producer.override.linger.ms": "abc"}, NONE)
    (entry,) = part.entries
    assert entry["value"]["value"] is None
    assert entry["value"]["errors"] == [
        "The 'None' policy does not allow 'linger.ms' to be overridden in the connector "
        "configuration.",
        "Invalid value abc for configuration linger.ms: Not a number of type LONG",
    ]
    assert part.error_count == 1
