"""Whose settings hold: the connector's or the worker's (spec kafka-connect B.8).

* A connector that names a converter brings all of its settings too; one that does not gets the
  worker's converter with the worker's settings, and its own ``key.converter.*`` are not read.
* A connector's Kafka clients take the worker's ``producer.*`` and then its ``producer.override.*``;
  of the worker's plain settings they take the brokers alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from connectd.configdef import parsing
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.values import Secret, trim, value_text
from connectd.configdef.worker import WorkerConfig
from connectd.errors import ConfigError, ConnectdError
from connectd.model.cluster import Config
from connectd.model.record import ConverterSpec
from connectd.observe import redaction
from connectd.plugins import spi
from connectd.plugins.registry import PluginDesc, PluginRegistry

ConverterPart = Literal["key", "value", "header"]
ClientPart = Literal["producer", "consumer", "admin"]


def converter_settings(
    part: ConverterPart, worker: WorkerConfig, connector_config: Config
) -> tuple[str, dict[str, str]]:
    """Class (name or alias) and settings, without prefix, of a connector's converter.

    ``converter.type`` is always among the settings.
    """
    class_key, prefix = f"{part}.converter", f"{part}.converter."
    own_class = trim(connector_config.get(class_key, ""))
    if own_class:
        settings = {
            name.removeprefix(prefix): text
            for name, text in connector_config.items()
            if name.startswith(prefix)
        }
    else:
        settings = worker.with_prefix(prefix)
    return own_class or worker.parsed.string(class_key), {**settings, "converter.type": part}


def make_converter(
    part: Literal["key", "value"],
    registry: PluginRegistry,
    worker: WorkerConfig,
    connector_config: Config,
) -> spi.Converter:
    """The converter of a connector's message keys or values.

    Its spec has the canonical class name and every setting that it declares, defaults included.

    Raises:
        ConfigError: no such class, or a setting is wrong, or the class makes no converters.
    """
    name, settings = converter_settings(part, worker, connector_config)
    converter: spi.Converter = _make(part, registry.find(PluginKind.CONVERTER, name), settings)
    return converter


def make_header_converter(
    registry: PluginRegistry, worker: WorkerConfig, connector_config: Config
) -> spi.HeaderConverter:
    """The converter of a connector's message headers; as ``make_converter``."""
    name, settings = converter_settings("header", worker, connector_config)
    plugin = registry.find(PluginKind.HEADER_CONVERTER, name)
    converter: spi.HeaderConverter = _make("header", plugin, settings)
    return converter


def _make(part: ConverterPart, plugin: PluginDesc, settings: Mapping[str, str]) -> Any:
    """An instance with a ``spec``: records are encoded, and failures reported, by that."""
    name = f"{part}.converter ({plugin.class_name})"
    spec = _converter_spec(part, plugin, settings)
    try:
        converter = plugin.cls(spec)
    except ConnectdError:
        raise
    except Exception as error:
        raise ConfigError(f"{name} failed with {type(error).__name__}: {error}") from error
    if not isinstance(getattr(converter, "spec", None), ConverterSpec):
        raise ConfigError(
            f"{name}: a converter has an attribute spec, a ConverterSpec, and this one has none; "
            "its __init__ must keep the one that it gets, as docs/plugins.md shows"
        )
    return converter


def _converter_spec(
    part: ConverterPart, plugin: PluginDesc, settings: Mapping[str, str]
) -> ConverterSpec:
    try:
        parsed = parsing.parse(plugin.cls.config_def(), settings)
    except ConfigError as error:
        raise ConfigError(f"{part}.converter ({plugin.class_name}): {error}") from error
    for secret in parsed.secrets():
        redaction.register_secret(secret)
    effective = {
        key: value.reveal() if isinstance(value, Secret) else value_text(value)
        for key, value in parsed.items()
    }
    return ConverterSpec(
        plugin.class_name,
        tuple(sorted((key, text) for key, text in effective.items() if text is not None)),
    )


def has_overrides(part: ClientPart, connector_config: Config) -> bool:
    """Whether the connector wants a Kafka client of its own."""
    return any(name.startswith(f"{part}.override.") for name in connector_config)


def client_settings(
    part: ClientPart, worker: WorkerConfig, connector_config: Config
) -> dict[str, str]:
    """Settings of a connector's Kafka client under Java's names, passwords as they are.

    An admin client starts from the worker's own client settings, the others from the brokers.

    Raises:
        ConfigError: the connector overrides what the worker's policy, or none, allows. Checked when
            it was created too, but the policy may have changed, and a config provider its answer.
    """
    brokers = {"bootstrap.servers": ",".join(worker.bootstrap_servers)}
    prefix = f"{part}.override."
    overrides = {
        name.removeprefix(prefix): text
        for name, text in connector_config.items()
        if name.startswith(prefix)
    }
    worker.override_policy.check(part, overrides)
    plain = worker.client_config() if part == "admin" else brokers
    return {**plain, **worker.with_prefix(f"{part}."), **overrides}
