"""What the REST API tells of plugins, and the check of a config through the registry."""

from __future__ import annotations

import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from connectd.errors import ConfigError, NotFoundError
from connectd.plugins.directory import PluginDirectory
from tests.unit.plugins.probes import JAVA, registry, worker


@pytest.fixture
def directory() -> PluginDirectory:
    return PluginDirectory(registry(), worker())


GOOD = {"name": "c", "connector.class": "DynamoDBSource", "topic": "t"}


def errors(infos: Any) -> dict[str, list[str]]:
    return {
        each["value"]["name"]: each["value"]["errors"]
        for each in infos["configs"]
        if each["value"]["errors"]
    }


def test_lists_come_from_the_registry(directory: PluginDirectory) -> None:
    assert len(directory.list_plugins(connectors_only=True)) == 2
    assert len(directory.list_plugins(connectors_only=False)) == 4


def test_keys_of_a_connector_are_its_own_and_then_the_frameworks(
    directory: PluginDirectory,
) -> None:
    names = [info["name"] for info in directory.config_keys(JAVA)]
    assert names[:5] == ["topic", "tasks.max", "aws.secret.key", "name", "connector.class"]
    assert names.count("tasks.max") == 1


def test_keys_of_a_converter_are_its_own(directory: PluginDirectory) -> None:
    names = [info["name"] for info in directory.config_keys("JsonConverter")]
    assert names == ["schemas.enable", "cache", "basic.password", "converter.type"]


def test_keys_of_an_unknown_plugin_are_not_found(directory: PluginDirectory) -> None:
    with pytest.raises(NotFoundError, match=r"^Unknown plugin Nope\.$"):
        directory.config_keys("Nope")


@pytest.mark.parametrize("version", ["0.1", "[0,1)", "latest", None])
def test_keys_are_those_of_the_wanted_version(
    directory: PluginDirectory, version: str | None
) -> None:
    keys = {info["name"]: info for info in directory.config_keys(JAVA, version)}
    assert keys["connector.plugin.version"]["default_value"] == "0.1"
    assert keys["key.converter"]["default_value"] is None


@pytest.mark.parametrize(
    ("version", "text"),
    [
        (
            "1.0",
            "Plugin connectd.DynamoDBSource not found that matches the version range [1.0,1.0], "
            "available versions: [0.1]",
        ),
        (
            "",
            "Plugin connectd.DynamoDBSource not found that matches the version range [,], "
            "available versions: [0.1]",
        ),
        ("[[", "Invalid version specification: [["),
    ],
)
def test_keys_of_a_version_that_there_is_not_are_refused(
    directory: PluginDirectory, version: str, text: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        directory.config_keys("DynamoDBSource", version)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    "name",
    ["EnvVarConfigProvider", "org.apache.kafka.common.config.provider.FileConfigProvider"],
)
def test_plugins_of_the_worker_itself_have_no_keys_to_show(
    directory: PluginDirectory, name: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        directory.config_keys(name)
    assert str(caught.value) == (
        f"Invalid plugin class {name}. Valid types are sink, source, converter, "
        "header_converter, transformation, predicate."
    )


@pytest.mark.parametrize("name", ["DynamoDBSource", JAVA])
def test_a_connector_of_another_version_is_little_more_than_that_error(
    directory: PluginDirectory, name: str
) -> None:
    config = {**GOOD, "connector.class": name, "connector.plugin.version": "2.0", "topic": "bad"}
    infos = directory.validate({**config, "tasks.max": "0", "x": None})
    full_name = JAVA if name == JAVA else "connectd.DynamoDBSource"
    text = (
        f"Plugin {full_name} not found that matches the version range [2.0,2.0], available "
        "versions: [0.1]"
    )
    assert errors(infos) == {
        "x": ["Null value can not be supplied as the configuration value."],
        "connector.class": [text],
        "connector.plugin.version": [text],
        "tasks.max": ["Invalid value 0 for configuration tasks.max: Value must be at least 1"],
    }
    assert infos["groups"] == ["Common", "Transforms", "Predicates", "Error Handling"]
    assert len(infos["configs"]) == 20


def test_a_good_config_passes(directory: PluginDirectory) -> None:
    infos = directory.validate(GOOD)
    assert infos["error_count"] == 0
    assert infos["name"] == "DynamoDBSource"


def test_the_connectors_own_check_counts(directory: PluginDirectory) -> None:
    assert errors(directory.validate({**GOOD, "topic": "bad"})) == {"topic": ["Not this topic."]}


def test_misspelt_keys_are_logged_with_the_connector_but_without_values(
    directory: PluginDirectory,
) -> None:
    with capture_logs() as lines:
        directory.validate({**GOOD, "aws.secret.kye": "hunter2"})
    (line,) = lines
    assert line["log_level"] == "warning"
    assert line["connector"] == "c"
    assert "did you mean 'aws.secret.key'?" in line["hint"]
    assert "hunter2" not in str(line)


def test_a_config_without_class_is_refused_without_its_values(directory: PluginDirectory) -> None:
    for config in (
        {"aws.secret.key": "hunter2"},
        {"aws.secret.key": "hunter2", "connector.class": None},
    ):
        with pytest.raises(ConfigError, match="contains no connector type") as caught:
            directory.validate(config)
        assert "hunter2" not in str(caught.value)


def test_an_unknown_class_is_refused_without_the_config(directory: PluginDirectory) -> None:
    with pytest.raises(ConfigError, match="Failed to find any class") as caught:
        directory.validate({"connector.class": "Nope", "aws.secret.key": "hunter2"})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("config", [{}, {"connector.class": "Nope"}, {"connector.class": " "}])
def test_an_inspection_answers_by_key_whatever_the_class(
    directory: PluginDirectory, config: dict[str, str]
) -> None:
    infos = directory.inspect({**config, "aws.secret.key": "hunter2"})
    assert infos["error_count"] >= 1
    assert "connector.class" in errors(infos)
    assert "name" in errors(infos)
    assert "hunter2" not in json.dumps(infos)


def test_a_version_that_cannot_be_read_is_a_problem_of_its_key(directory: PluginDirectory) -> None:
    """Kafka answers 500 to such a validation (field case R05)."""
    infos = directory.inspect({**GOOD, "connector.plugin.version": "[["})
    assert errors(infos) == {"connector.plugin.version": ["Unbounded range: [["]}
    assert len(infos["configs"]) > 20


def test_an_override_that_its_setting_cannot_take_is_a_problem_of_its_key(
    directory: PluginDirectory,
) -> None:
    """Kafka answers 500 to such a config (field case R05)."""
    infos = directory.inspect({**GOOD, "producer.override.linger.ms": "abc"})
    assert errors(infos) == {
        "producer.override.linger.ms": [
            "Invalid value abc for configuration linger.ms: Not a number of type LONG"
        ]
    }
    assert infos["error_count"] == 1


def test_a_null_for_a_key_of_the_connector_itself_is_refused(directory: PluginDirectory) -> None:
    """Kafka loses this message, and the task fails later."""
    infos = directory.inspect({**GOOD, "topic": None})
    assert errors(infos) == {
        "topic": ["Null value can not be supplied as the configuration value."]
    }


@pytest.mark.parametrize("name", [" DynamoDBSource", "DynamoDBSource "])
def test_a_class_is_not_found_with_spaces_around_it(directory: PluginDirectory, name: str) -> None:
    with pytest.raises(ConfigError, match=f"which name matches {name}, available"):
        directory.validate({**GOOD, "connector.class": name})


def test_an_inspection_of_a_known_class_is_the_check(directory: PluginDirectory) -> None:
    assert directory.inspect(GOOD) == directory.validate(GOOD)
