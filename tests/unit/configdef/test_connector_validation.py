"""The validate answer: Kafka's algorithm, texts and shapes, and warnings for what nobody reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from connectd.configdef import connector, validators
from connectd.configdef.catalogue import PluginKind, PluginMatch
from connectd.configdef.connector_validation import (
    CheckedConfig,
    config_infos,
    describe,
    no_connector_type,
)
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width
from connectd.configdef.validation import create_errors, key_info
from connectd.configdef.worker import WorkerConfig

JSON = "org.apache.kafka.connect.json.JsonConverter"
CLASS = "connectd.DynamoDBSource"

CONNECTOR_DEF = ConfigDef(
    [
        ConfigKey("topic", ConfigType.STRING, "Topic.", Importance.HIGH, group="Own", order=1),
        ConfigKey("aws.secret.key", ConfigType.PASSWORD, "Secret.", Importance.LOW, None, "Own", 2),
        ConfigKey(
            "dynamodb.table.env.tag.value", ConfigType.STRING, "Tag.", Importance.HIGH, "dev", "Own"
        ),
        ConfigKey(
            "new.name", ConfigType.INT, "Renamed.", Importance.LOW, 1, aliases=("old.name",)
        ),
        ConfigKey("batch", ConfigType.LIST, "Batch.", Importance.LOW, ("a", "b")),
    ]
)  # fmt: skip
CONVERTER_DEF = ConfigDef(
    [
        ConfigKey(
            "schemas.enable", ConfigType.BOOLEAN, "Schemas.", Importance.HIGH, True, "Schemas"
        ),
        ConfigKey("cache.size", ConfigType.INT, "Cache.", Importance.LOW, 1000, "Schemas",
                  validator=validators.at_least(1)),
    ]
)  # fmt: skip
CAST_DEF = ConfigDef([ConfigKey("spec", ConfigType.LIST, "Spec.", Importance.HIGH)])


class Catalogue:
    def __init__(self) -> None:
        self._defs = {
            (PluginKind.CONVERTER, JSON): CONVERTER_DEF,
            (PluginKind.CONVERTER, "JsonConverter"): CONVERTER_DEF,
            (PluginKind.HEADER_CONVERTER, JSON): CONVERTER_DEF,
            (PluginKind.TRANSFORMATION, "a.Cast"): CAST_DEF,
            (PluginKind.PREDICATE, "a.Named"): ConfigDef([]),
        }

    def match(self, kind: PluginKind, name: str) -> PluginMatch | None:
        definition = self._defs.get((kind, name))
        full_name = JSON if name == "JsonConverter" else name
        if definition is None:
            return None
        return PluginMatch(full_name, ("1.0",), definition)

    def versions(self, class_name: str) -> Sequence[str]:
        return ["1.0"]

    def class_names(self, kind: PluginKind) -> Sequence[str]:
        return [name for each, name in self._defs if each is kind and "." in name]


def worker(**changes: str) -> WorkerConfig:
    properties = {
        "group.id": "connect",
        "key.converter": JSON,
        "value.converter": JSON,
        "config.storage.topic": "connect-configs",
        "offset.storage.topic": "connect-offsets",
        "status.storage.topic": "connect-status",
    }
    return WorkerConfig.from_properties(properties | changes)


GOOD = {"name": "c", "connector.class": CLASS, "topic": "t"}


def check(
    changes: Mapping[str, str | None] | None = None,
    *,
    base: Mapping[str, str] = GOOD,
    connector_def: ConfigDef | None = CONNECTOR_DEF,
    messages: Mapping[str, Sequence[str]] | None = None,
    policy: str = "All",
) -> CheckedConfig:
    return config_infos(
        {**base, **(changes or {})},
        connector_def=connector_def,
        catalogue=Catalogue(),
        worker=worker(**{"connector.client.config.override.policy": policy}),
        messages=messages,
    )


def errors(checked: CheckedConfig) -> dict[str, list[str]]:
    return {
        each["value"]["name"]: each["value"]["errors"]
        for each in checked.infos["configs"]
        if each["value"]["errors"]
    }


def entry(checked: CheckedConfig, name: str) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = [each for each in checked.infos["configs"] if each["value"]["name"] == name]
    return found


def test_a_good_config_has_no_errors_and_every_entry_is_whole() -> None:
    checked = check()
    assert checked.is_valid
    assert checked.warnings == ()
    assert checked.infos["name"] == CLASS
    assert checked.infos["error_count"] == 0
    assert all(each["definition"] and each["value"] for each in checked.infos["configs"])
    assert checked.infos["groups"] == [
        "Common",
        "Transforms",
        "Predicates",
        "Error Handling",
        "Topic Creation",
        "Exactly Once Support",
        "offsets.topic",
        "Own",
    ]


def test_the_document_has_kafkas_member_order() -> None:
    document = json.loads(json.dumps(check({"tasks.max": "0"}).infos))
    assert list(document) == ["name", "error_count", "groups", "configs"]
    (element,) = [each for each in document["configs"] if each["value"]["name"] == "tasks.max"]
    assert list(element) == ["definition", "value"]
    assert element["definition"] == {
        "name": "tasks.max",
        "type": "INT",
        "required": False,
        "default_value": "1",
        "importance": "HIGH",
        "documentation": "The most tasks that the connector may split its work into.",
        "group": "Common",
        "order_in_group": 4,
        "width": "SHORT",
        "display_name": "Tasks max",
        "dependents": [],
    }
    assert list(element["definition"])[6:9] == ["group", "order_in_group", "width"]
    assert element["value"] == {
        "name": "tasks.max",
        "value": "0",
        "recommended_values": [],
        "errors": ["Invalid value 0 for configuration tasks.max: Value must be at least 1"],
        "visible": True,
    }
    assert list(element["value"]) == ["name", "value", "recommended_values", "errors", "visible"]


def test_framework_keys_come_first_in_kafkas_order() -> None:
    names = [each["value"]["name"] for each in check().infos["configs"]]
    assert names[:6] == [
        "name",
        "connector.class",
        "connector.plugin.version",
        "tasks.max",
        "tasks.max.enforce",
        "key.converter",
    ]
    assert names[len(connector.SOURCE_DEF) :] == list(CONNECTOR_DEF.names())


def test_values_are_text_and_defaults_are_shown() -> None:
    checked = check({"tasks.max": " 3 "})
    assert entry(checked, "tasks.max")["value"]["value"] == "3"
    assert entry(checked, "batch")["value"]["value"] == "a,b"
    assert entry(checked, "batch")["definition"]["default_value"] == "a,b"
    assert entry(checked, "errors.log.enable")["value"]["value"] == "false"
    assert entry(checked, "key.converter")["value"]["value"] == JSON
    assert entry(checked, "offsets.storage.topic")["value"]["value"] is None


def test_a_value_that_does_not_parse_is_null_with_two_errors() -> None:
    checked = check({"tasks.max": "abc"})
    assert errors(checked) == {
        "tasks.max": [
            "Invalid value abc for configuration tasks.max: Not a number of type INT",
            "Invalid value null for configuration tasks.max: Value must be non-null",
        ]
    }
    assert checked.infos["error_count"] == 2
    assert entry(checked, "tasks.max")["value"]["value"] is None


def test_missing_required_keys_are_named_each() -> None:
    checked = check(base={"connector.class": CLASS})
    assert create_errors(checked.infos) == [
        'Missing required configuration "name" which has no default value.',
        'Missing required configuration "topic" which has no default value.',
    ]


def test_a_config_without_class_is_answered_by_key() -> None:
    checked = check(base={"aws.secret.key": "hunter2"}, connector_def=None)
    assert 'Missing required configuration "connector.class" which has no default value.' in (
        create_errors(checked.infos)
    )
    assert "hunter2" not in json.dumps(checked.infos)
    assert "hunter2" not in "".join(checked.warnings)


def test_messages_of_the_connector_are_put_on_their_keys() -> None:
    checked = check(
        {"old.name": "5"},
        messages={"topic": ["Too long."], "old.name": ["Too old."], "elsewhere": ["Gone."]},
    )
    assert errors(checked) == {
        "topic": ["Too long."],
        "new.name": ["Too old."],
        "elsewhere": ["Gone."],
    }
    assert entry(checked, "elsewhere")["definition"] is None
    assert checked.infos["error_count"] == 3


def test_nulls_are_refused_wherever_they_are() -> None:
    text = "Null value can not be supplied as the configuration value."
    checked = check(
        {"x": None, "topic": None, "key.converter.a": None, "producer.override.b": None}
    )
    assert errors(checked) == {
        "x": [text],
        "topic": [text],
        "key.converter.a": [text],
        "producer.override.b": [text],
    }
    enum = check({"errors.tolerance": None})
    assert errors(enum)["errors.tolerance"] == [
        "Invalid value null for configuration errors.tolerance: String must be one of: none, all",
        text,
    ]


def test_passwords_are_hidden_also_under_misspelt_names() -> None:
    checked = check(
        {
            "aws.secret.key": "hunter1",
            "aws.secert.key": "hunter2",
            "my.password": "hunter3",
            "producer.override.sasl.jaas.config": "hunter4",
        }
    )
    document = json.dumps(checked.infos)
    assert "hunter" not in document + "".join(checked.warnings)
    assert entry(checked, "aws.secret.key")["value"]["value"] == "[hidden]"
    misspelt = check({}, messages={"aws.secert.key": ["Not known."]})
    assert entry(misspelt, "aws.secert.key")["definition"] is None
    hidden = check({"aws.secert.key": "hunter2"}, messages={"aws.secert.key": ["Not known."]})
    assert entry(hidden, "aws.secert.key")["value"]["value"] == "[hidden]"


def test_unknown_keys_are_warned_of_and_change_nothing_else() -> None:
    """Field case D11."""
    checked = check({"dynamodb.table.env.tag.vale": "prod", "made.up": "1"})
    assert checked.is_valid
    assert checked.warnings == (
        "unknown configuration key 'dynamodb.table.env.tag.vale' is ignored; did you mean "
        "'dynamodb.table.env.tag.value'?",
        "unknown configuration key 'made.up' is ignored; check its spelling or remove it",
    )
    assert checked.infos == check().infos


def test_keys_that_others_read_are_not_unknown() -> None:
    checked = check(
        {
            "producer.override.linger.ms": "5",
            "old.name": "2",
            "key.converter": JSON,
            "key.converter.schemas.enable": "false",
            "key.converter.plugin.version": "1",
        }
    )
    assert checked.is_valid
    assert checked.warnings == ()


def test_keys_about_topics_that_nobody_reads_are_told() -> None:
    checked = check({"topic.creation.default.partitions": "1", "topic.creation.g.partitions": "1"})
    assert checked.is_valid
    assert len(checked.warnings) == 1
    assert "'topic.creation.g.partitions'" in checked.warnings[0]


def test_an_alias_counts_as_its_key() -> None:
    assert entry(check({"old.name": "7"}), "new.name")["value"]["value"] == "7"


def test_converter_settings_are_checked_under_their_prefix() -> None:
    checked = check(
        {
            "value.converter": "JsonConverter",
            "value.converter.schemas.enable": "maybe",
            "value.converter.cache.size": "x",
        }
    )
    assert errors(checked) == {
        "value.converter.schemas.enable": [
            "Invalid value maybe for configuration schemas.enable: Expected value to be either "
            "true or false"
        ],
        "value.converter.cache.size": [
            "Invalid value x for configuration cache.size: Not a number of type INT",
            "Invalid value null for configuration cache.size: Value must be non-null",
        ],
    }
    assert checked.infos["error_count"] == 2  # values with messages, for the prefixed parts
    definition = entry(checked, "value.converter.cache.size")["definition"]
    assert definition["name"] == "value.converter.cache.size"
    assert definition["group"] == "Schemas"
    assert "Schemas" in checked.infos["groups"]


def test_misspelt_and_useless_converter_settings_are_warned_of() -> None:
    misspelt = check({"key.converter": JSON, "key.converter.schemas.enabled": "false"})
    assert misspelt.warnings == (
        "unknown configuration key 'key.converter.schemas.enabled' is ignored; did you mean "
        "'key.converter.schemas.enable'?",
    )
    useless = check({"key.converter.schemas.enable": "false"})
    assert useless.warnings == (
        "'key.converter.schemas.enable' is ignored: without key.converter the worker's converter "
        "is used, with the worker's settings; set key.converter too",
    )


def test_a_converter_that_is_not_there_is_an_error_of_its_key() -> None:
    checked = check({"key.converter": "a.Nope"})
    assert errors(checked) == {
        "key.converter": [
            "Invalid value a.Nope for configuration key.converter: Class a.Nope could not be found."
        ]
    }
    assert entry(checked, "key.converter")["value"]["value"] is None
    assert entry(checked, "key.converter")["value"]["recommended_values"] == [JSON]


def test_an_alias_of_transforms_brings_its_keys() -> None:
    checked = check({"transforms": "t", "transforms.t.type": "a.Cast"})
    assert errors(checked) == {
        "transforms.t.spec": [
            'Missing required configuration "transforms.t.spec" which has no default value.'
        ]
    }
    names = [each["value"]["name"] for each in checked.infos["configs"]]
    assert names[-5 - len(CONNECTOR_DEF) : -len(CONNECTOR_DEF)] == [
        "transforms.t.type",
        "transforms.t.plugin.version",
        "transforms.t.spec",
        "transforms.t.negate",
        "transforms.t.predicate",
    ]
    orders = [entry(checked, name)["definition"]["order_in_group"] for name in names[-10:-5]]
    assert orders == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"transforms": "a"},
            {"transforms.a.type": [
                'Missing required configuration "transforms.a.type" which has no default value.'
            ]},
        ),
        (
            {"transforms": "a", "transforms.a.type": "x.Y"},
            {"transforms.a.type": [
                "Invalid value x.Y for configuration transforms.a.type: Class x.Y could not be "
                "found."
            ]},
        ),
        (
            {"predicates": "p"},
            {"predicates.p.type": [
                'Missing required configuration "predicates.p.type" which has no default value.'
            ]},
        ),
        (
            {"transforms": "a,a", "transforms.a.type": "a.Cast", "transforms.a.spec": "x"},
            {"transforms": [
                "Invalid value [a, a] for configuration transforms: Duplicate alias provided."
            ]},
        ),
        (
            {"transforms": "a", "transforms.a.type": "a.Cast", "transforms.a.spec": "x",
             "transforms.a.predicate": "p"},
            {"transforms.a.predicate": [
                "Invalid value p for configuration transforms.a.predicate: There is no predicate "
                "of this alias in 'predicates'."
            ]},
        ),
        (
            {"transforms": "a", "transforms.a.type": "a.Cast", "transforms.a.spec": "x",
             "transforms.a.negate": "true"},
            {"transforms.a.type": [
                "Config 'transforms.a.negate' was provided but there is no config "
                "'transforms.a.predicate' defining a predicate to be negated."
            ]},
        ),
        (
            {"transforms": "a", "transforms.a.type": "a.Cast", "transforms.a.spec": "x",
             "transforms.a.predicate": "p", "predicates": "p", "predicates.p.type": "a.Named"},
            {},
        ),
    ],
)  # fmt: skip
def test_transforms_and_predicates_are_checked_before_the_task_runs(
    changes: dict[str, str], expected: dict[str, list[str]]
) -> None:
    assert errors(check(changes)) == expected


def test_keys_of_an_alias_that_is_not_listed_are_unknown() -> None:
    (warning,) = check({"transforms.a.type": "a.Cast"}).warnings
    assert "unknown configuration key 'transforms.a.type' is ignored" in warning


@pytest.mark.parametrize(
    ("policy", "is_refused"),
    [
        ("All", False),
        ("None", True),
        ("Principal", True),
        ("org.apache.kafka.connect.connector.policy.NoneConnectorClientConfigOverridePolicy", True),
    ],
)
def test_the_override_policy_is_obeyed(policy: str, is_refused: bool) -> None:
    checked = check(
        {"producer.override.linger.ms": "1", "producer.override.retries": "1"}, policy=policy
    )
    found = errors(checked).get("producer.override.linger.ms", [])
    name = "Principal" if policy == "Principal" else "None"
    assert found == (
        [
            f"The '{name}' policy does not allow 'linger.ms' to be overridden in the connector "
            "configuration."
        ]
        if is_refused
        else []
    )
    assert checked.infos["error_count"] == (2 if is_refused else 0)


def test_what_only_exactly_once_could_do_is_refused() -> None:
    checked = check({"exactly.once.support": "REQUIRED", "transaction.boundary": "Connector"})
    assert errors(checked) == {
        "exactly.once.support": [
            "This worker does not have exactly-once source support enabled."
        ],
        "transaction.boundary": [
            "The connector does not support connector-defined transaction boundaries with the "
            "given configuration. Please reconfigure it to use a different transaction boundary "
            "definition."
        ],
    }  # fmt: skip


def test_an_offsets_topic_of_its_own_is_refused_rather_than_ignored() -> None:
    assert "offsets.storage.topic" in errors(check({"offsets.storage.topic": "mine"}))
    assert check({"offsets.storage.topic": "connect-offsets"}).is_valid


def test_a_message_about_a_whole_config_shows_no_value() -> None:
    config = {"topic": "t", "connector.class": None, "name": "c", "aws.secret.key": "hunter2"}
    assert describe(config) == (
        "{connector.class=null, aws.secret.key=[hidden], name=c, topic=[hidden]}"
    )
    text = no_connector_type(config)
    assert text.startswith("Connector config {")
    assert text.endswith("} contains no connector type")


def test_a_key_without_display_name_shows_its_name() -> None:
    info = key_info(ConfigKey("k", ConfigType.PASSWORD, "D.", Importance.LOW, "x"), prefix="p.")
    assert info["name"] == "p.k"
    assert info["display_name"] == "k"
    assert info["default_value"] == "[hidden]"
    assert (info["group"], info["order_in_group"], info["width"]) == (None, -1, Width.NONE.value)


# spec kafka-connect B.4, B.5 with the keys of 4.1: group, order, type, importance, width, display
FRAMEWORK = [
    ("name", "Common", 1, "STRING", "HIGH", "MEDIUM", "Connector name"),
    ("connector.class", "Common", 2, "STRING", "HIGH", "LONG", "Connector class"),
    ("tasks.max", "Common", 4, "INT", "HIGH", "SHORT", "Tasks max"),
    ("tasks.max.enforce", "Common", 5, "BOOLEAN", "LOW", "SHORT", "Enforce tasks max"),
    ("key.converter", "Common", 6, "CLASS", "LOW", "SHORT", "Key converter class"),
    ("value.converter", "Common", 8, "CLASS", "LOW", "SHORT", "Value converter class"),
    ("header.converter", "Common", 10, "CLASS", "LOW", "SHORT", "Header converter class"),
    ("transforms", "Transforms", 12, "LIST", "LOW", "LONG", "Transforms"),
    ("predicates", "Predicates", 13, "LIST", "LOW", "LONG", "Predicates"),
    ("config.action.reload", "Common", 14, "STRING", "LOW", "MEDIUM", "Reload Action"),
    ("errors.retry.timeout", "Error Handling", 1, "LONG", "MEDIUM", "MEDIUM",
     "Retry Timeout for Errors"),
    ("errors.retry.delay.max.ms", "Error Handling", 2, "LONG", "MEDIUM", "MEDIUM",
     "Maximum Delay Between Retries for Errors"),
    ("errors.tolerance", "Error Handling", 3, "STRING", "MEDIUM", "SHORT", "Error Tolerance"),
    ("errors.log.enable", "Error Handling", 4, "BOOLEAN", "MEDIUM", "SHORT", "Log Errors"),
    ("errors.log.include.messages", "Error Handling", 5, "BOOLEAN", "MEDIUM", "SHORT",
     "Log Error Details"),
    ("topic.creation.groups", "Topic Creation", 1, "LIST", "LOW", "LONG",
     "Topic Creation Groups"),
    ("exactly.once.support", "Exactly Once Support", 2, "STRING", "MEDIUM", "SHORT",
     "Exactly once support"),
    ("transaction.boundary", "Exactly Once Support", 3, "STRING", "MEDIUM", "SHORT",
     "Transaction Boundary"),
    ("transaction.boundary.interval.ms", "Exactly Once Support", 4, "LONG", "LOW", "SHORT",
     "Transaction boundary interval"),
    ("offsets.storage.topic", "offsets.topic", 1, "STRING", "LOW", "LONG", "Offsets topic"),
]  # fmt: skip


@pytest.mark.parametrize("row", FRAMEWORK, ids=[row[0] for row in FRAMEWORK])
def test_framework_keys_are_described_as_in_kafka(row: tuple[object, ...]) -> None:
    info = key_info(connector.SOURCE_DEF.key(str(row[0])))
    members = ("name", "group", "order_in_group", "type", "importance", "width", "display_name")
    assert tuple(info[member] for member in members) == row


def test_a_connector_that_declares_no_keys_may_read_any() -> None:
    checked = check({"mock_mode": "task-failure"}, connector_def=ConfigDef([]))
    assert checked.warnings == ()
