"""Finding plugins by class name and alias, with Kafka's words when that fails."""

from __future__ import annotations

import pytest

from connectd.configdef.catalogue import PluginKind
from connectd.errors import ConfigError
from connectd.plugins.registry import PluginDesc, PluginRegistry
from tests.unit.plugins.probes import (
    DYNAMODB,
    JAVA,
    JSON,
    JSON_CONVERTER,
    ProbeConverter,
    ProbeSource,
    registry,
)


@pytest.mark.parametrize(
    "name", ["connectd.DynamoDBSource", JAVA, "DynamoDBSourceConnector", "DynamoDBSource"]
)
def test_a_connector_is_found_by_all_of_its_names(name: str) -> None:
    assert registry().find_connector(name) is DYNAMODB
    assert registry().find(PluginKind.SOURCE, name) is DYNAMODB


@pytest.mark.parametrize("name", [JSON, "JsonConverter", "Json"])
def test_a_converter_is_found_by_class_simple_name_and_name_without_suffix(name: str) -> None:
    assert registry().find(PluginKind.CONVERTER, name) is JSON_CONVERTER


@pytest.mark.parametrize("name", ["dynamodbsource", "trustpilot.DynamoDBSource", "", "Connector"])
def test_other_spellings_are_not_found(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        registry().find_connector(name)
    assert str(caught.value) == (
        "Failed to find any class that implements Connector and which name matches "
        f"{name}, available connectors are: PluginDesc{{klass=class connectd.DynamoDBSource, "
        "name='connectd.DynamoDBSource', version='0.1', encodedVersion=0.1, type=source, "
        "typeName='source', location='classpath'}"
    )


def test_a_plugin_is_found_only_among_its_kind() -> None:
    with pytest.raises(ConfigError, match="implements Converter and which name matches DynamoDB"):
        registry().find(PluginKind.CONVERTER, "DynamoDBSource")


def test_an_alias_that_fits_several_finds_none_but_a_full_name_does() -> None:
    made = PluginRegistry()
    one = PluginDesc("a.FileSourceConnector", PluginKind.SOURCE, "1", ProbeSource)
    two = PluginDesc("b.FileSourceConnector", PluginKind.SOURCE, "2", ProbeSource)
    made.register(two)
    made.register(one)
    with pytest.raises(ConfigError) as caught:
        made.find_connector("FileSource")
    assert str(caught.value).startswith(
        "More than one connector matches alias FileSource. Please use full package and class name "
        "instead. Classes found: PluginDesc{klass=class a.FileSourceConnector,"
    )
    assert made.find_connector("b.FileSourceConnector") is two
    assert made.find_any("FileSource") is None
    assert made.config_def(PluginKind.SOURCE, "FileSource") is None


def test_two_plugins_of_a_kind_cannot_have_one_name() -> None:
    made = registry()
    with pytest.raises(ValueError, match=r"is already the name of connectd\.DynamoDBSource"):
        made.register(PluginDesc(JAVA, PluginKind.SOURCE, "1", ProbeSource))
    made.register(PluginDesc(JAVA, PluginKind.SINK, "1", ProbeSource))


def test_importing_and_building_register_nothing() -> None:
    assert PluginRegistry().plugins(connectors_only=False) == []


def test_plugins_are_listed_under_each_full_name_in_kafkas_order() -> None:
    made = registry()
    made.register(PluginDesc("z.Sink", PluginKind.SINK, "3", ProbeSource))
    made.register(PluginDesc("a.Cast", PluginKind.TRANSFORMATION, "3", ProbeConverter))
    connectors = [
        {"class": "z.Sink", "type": "sink", "version": "3"},
        {"class": JAVA, "type": "source", "version": "0.1"},
        {"class": "connectd.DynamoDBSource", "type": "source", "version": "0.1"},
    ]
    assert made.plugins(connectors_only=True) == connectors
    assert made.plugins(connectors_only=False) == [
        *connectors,
        {"class": "a.Cast", "type": "transformation", "version": "3"},
        {"class": JSON, "type": "converter"},
        {"class": JSON, "type": "header_converter", "version": "4.1"},
    ]


def test_the_catalogue_for_checks_of_configs() -> None:
    made = registry()
    definition = made.config_def(PluginKind.CONVERTER, "JsonConverter")
    assert definition is not None
    assert "schemas.enable" in definition
    assert made.config_def(PluginKind.TRANSFORMATION, "JsonConverter") is None
    assert made.class_names(PluginKind.SOURCE) == [JAVA, "connectd.DynamoDBSource"]


def test_any_plugin_is_found_whatever_its_kind() -> None:
    made = registry()
    assert made.find_any("DynamoDBSource") is DYNAMODB
    assert made.find_any("JsonConverter") is JSON_CONVERTER
    assert made.find_any("Nope") is None
