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
    assert made.match(PluginKind.SOURCE, "FileSource") is None


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


def test_a_match_has_the_full_name_version_and_keys() -> None:
    made = registry()
    for name in (JSON, "JsonConverter", "Json"):
        found = made.match(PluginKind.CONVERTER, name)
        assert found is not None
        assert (found.class_name, found.versions, found.problem) == (JSON, ("undefined",), None)
        assert found.definition is not None
        assert "schemas.enable" in found.definition
    assert made.match(PluginKind.TRANSFORMATION, "JsonConverter") is None
    assert made.class_names(PluginKind.SOURCE) == [JAVA, "connectd.DynamoDBSource"]
    assert made.versions(JSON) == ["4.1", "undefined"]


def test_a_match_keeps_the_full_name_that_was_asked_for() -> None:
    found = registry().match(PluginKind.SOURCE, JAVA)
    assert found is not None
    assert found.class_name == JAVA
    assert found.versions == ("0.1",)


CAST = "org.apache.kafka.connect.transforms.Cast"


@pytest.fixture
def families() -> PluginRegistry:
    made = registry()
    for name in (f"{CAST}$Value", f"{CAST}$Key", "a.Filter$Only"):
        made.register(PluginDesc(name, PluginKind.TRANSFORMATION, "1", ProbeConverter))
    return made


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (
            CAST,
            f"This class is abstract and cannot be created. Did you mean {CAST}$Key, {CAST}$Value?",
        ),
        (
            "org.apache.kafka.connect.transforms.Transformation",
            "This class is abstract and cannot be created.",
        ),
        (JSON, f"Class class {JSON} does not implement the Transformation interface"),
        (
            "org.apache.kafka.connect.storage.Converter",
            "Class interface org.apache.kafka.connect.storage.Converter does not implement the "
            "Transformation interface",
        ),
    ],
)
def test_a_class_that_is_no_transformation_is_told_from_no_class(
    families: PluginRegistry, name: str, problem: str
) -> None:
    found = families.match(PluginKind.TRANSFORMATION, name)
    assert found is not None
    assert (found.class_name, found.problem) == (name, problem)
    assert (found.versions, found.definition) == ((), None)


def test_a_family_of_another_kind_is_no_suggestion(families: PluginRegistry) -> None:
    found = families.match(PluginKind.PREDICATE, CAST)
    assert found is not None
    assert found.problem == f"Class class {CAST} does not implement the Predicate interface"


@pytest.mark.parametrize("name", ["Cast", "Cast$Key", "Key", f"{CAST}$Neither", "Transformation"])
def test_nested_classes_have_no_short_names_in_common(families: PluginRegistry, name: str) -> None:
    if name == "Key":  # one class of that name alone could be meant
        assert families.match(PluginKind.TRANSFORMATION, name) is not None
        families.register(PluginDesc("b.Flat$Key", PluginKind.TRANSFORMATION, "1", ProbeConverter))
    assert families.match(PluginKind.TRANSFORMATION, name) is None


def test_any_plugin_is_found_whatever_its_kind() -> None:
    made = registry()
    assert made.find_any("DynamoDBSource") is DYNAMODB
    assert made.find_any("JsonConverter") is JSON_CONVERTER
    assert made.find_any("Nope") is None
