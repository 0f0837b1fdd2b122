"""Whose settings hold: the connector's or the worker's."""

from __future__ import annotations

import functools

import pytest

from connectd.configdef.catalogue import PluginKind
from connectd.errors import ConfigError
from connectd.model.record import ConverterSpec
from connectd.plugins import layering
from connectd.plugins.registry import PluginDesc
from tests.unit.plugins.probes import JSON, ProbeConverter, registry, worker


def test_without_its_own_class_a_connector_gets_the_workers_converter_with_its_settings() -> None:
    name, settings = layering.converter_settings(
        "value",
        worker(value_converter_schemas_enable="false", key_converter_cache="3"),
        {"value.converter.schemas.enable": "true", "value.converter.cache": "5"},
    )
    assert (name, settings) == (JSON, {"schemas.enable": "false", "converter.type": "value"})


def test_with_its_own_class_only_its_own_settings_hold() -> None:
    name, settings = layering.converter_settings(
        "key",
        worker(key_converter_schemas_enable="false"),
        {"key.converter": " JsonConverter ", "key.converter.cache": "5", "value.converter.x": "y"},
    )
    assert (name, settings) == ("JsonConverter", {"cache": "5", "converter.type": "key"})


def test_the_header_converter_defaults_to_kafkas() -> None:
    name, settings = layering.converter_settings("header", worker(), {})
    assert name == "org.apache.kafka.connect.storage.SimpleHeaderConverter"
    assert settings == {"converter.type": "header"}


def test_a_converter_is_made_with_its_canonical_name_and_effective_settings() -> None:
    converter = layering.make_converter(
        "key",
        registry(),
        worker(),
        {
            "key.converter": "Json",
            "key.converter.schemas.enable": " FALSE ",
            "key.converter.basic.password": "hunter2",
            "key.converter.unknown": "x",
        },
    )
    assert isinstance(converter, ProbeConverter)
    assert converter.spec.class_name == JSON
    assert converter.spec.settings == (
        ("basic.password", "hunter2"),
        ("cache", "10"),
        ("converter.type", "key"),
        ("schemas.enable", "false"),
    )


def test_a_wrong_setting_names_the_converter() -> None:
    with pytest.raises(ConfigError) as caught:
        layering.make_converter("value", registry(), worker(value_converter_cache="0"), {})
    assert str(caught.value) == (
        f"value.converter ({JSON}): Invalid value 0 for configuration cache: Value must be at "
        "least 1"
    )


class _WithoutSpec(ProbeConverter):
    def __init__(self, spec: ConverterSpec) -> None:
        """It forgets what it is given."""


class _SpecOfItsOwn(ProbeConverter):
    def __init__(self, spec: ConverterSpec) -> None:
        super().__init__({"class": "x"})  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize("cls", [_WithoutSpec, _SpecOfItsOwn])
@pytest.mark.parametrize("part", ["key", "value", "header"])
def test_a_converter_that_does_not_keep_its_spec_is_named(
    cls: type[ProbeConverter], part: layering.ConverterPart
) -> None:
    found = registry()
    for kind in (PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER):
        found.register(PluginDesc("com.acme.Csv", kind, "1", cls))
    config = {f"{part}.converter": "com.acme.Csv"}
    make = layering.make_header_converter
    if part != "header":
        make = functools.partial(layering.make_converter, part)  # type: ignore[assignment]
    with pytest.raises(ConfigError) as caught:
        make(found, worker(), config)
    assert str(caught.value) == (
        f"{part}.converter (com.acme.Csv): a converter has an attribute spec, a ConverterSpec, and "
        "this one has none; its __init__ must keep the one that it gets, as docs/plugins.md shows"
    )


def test_a_converter_that_cannot_be_made_is_named() -> None:
    class Fails(ProbeConverter):
        def __init__(self, spec: ConverterSpec) -> None:
            raise KeyError("separator")

    found = registry()
    found.register(PluginDesc("com.acme.Csv", PluginKind.CONVERTER, "1", Fails))
    with pytest.raises(ConfigError) as caught:
        layering.make_converter("key", found, worker(), {"key.converter": "com.acme.Csv"})
    assert str(caught.value) == "key.converter (com.acme.Csv) failed with KeyError: 'separator'"


def test_an_unknown_converter_is_refused() -> None:
    with pytest.raises(ConfigError, match="implements Converter and which name matches Nope"):
        layering.make_converter("key", registry(), worker(), {"key.converter": "Nope"})


def test_connector_clients_take_brokers_prefix_and_overrides_in_that_order() -> None:
    config = worker(
        bootstrap_servers="a:1,b:2",
        security_protocol="SSL",
        producer_linger_ms="1",
        producer_acks="1",
        consumer_x="y",
        admin_retries="2",
    )
    connector = {"producer.override.linger.ms": "9", "topic": "t"}
    assert layering.client_settings("producer", config, connector) == {
        "bootstrap.servers": "a:1,b:2",
        "linger.ms": "9",
        "acks": "1",
    }
    assert layering.client_settings("consumer", config, {}) == {
        "bootstrap.servers": "a:1,b:2",
        "x": "y",
    }
    assert layering.client_settings("admin", config, {"admin.override.retries": "3"}) == {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "SSL",
        "retries": "3",
    }


@pytest.mark.parametrize(
    ("policy", "setting", "text"),
    [
        ("None", "linger.ms", "The 'None' policy does not allow 'linger.ms'"),
        ("All", "plugin.library.paths", "under any policy: it loads a library"),
        ("All", "acks", "acks: found 0, expected all"),
    ],
)
def test_a_client_is_not_made_with_what_is_not_allowed(
    policy: str, setting: str, text: str
) -> None:
    """The policy may have changed since the connector was created, or what a provider says."""
    config = worker(connector_client_config_override_policy=policy)
    with pytest.raises(ConfigError, match=r"^Client Config Overrides not allowed: ") as caught:
        layering.client_settings("producer", config, {f"producer.override.{setting}": "0"})
    assert text in str(caught.value)


def test_the_policy_is_about_connectors_and_not_about_the_worker() -> None:
    config = worker(connector_client_config_override_policy="None", producer_linger_ms="7")
    assert layering.client_settings("producer", config, {})["linger.ms"] == "7"
