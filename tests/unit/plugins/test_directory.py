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


def test_an_inspection_of_a_known_class_is_the_check(directory: PluginDirectory) -> None:
    assert directory.inspect(GOOD) == directory.validate(GOOD)
