"""What the REST API tells of the installed plugins: lists, keys, the check of a config.

``validate`` may run plugin code and so may block; it is called in a thread of its own. Keys that
nobody reads are warned of in the log here, once per check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog

from connectd.configdef import connector, connector_validation, parsing, validation, versions
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.plugin_keys import Submitted
from connectd.configdef.values import trim
from connectd.configdef.worker import WorkerConfig
from connectd.errors import ConfigError, NotFoundError
from connectd.plugins.registry import PluginDesc, PluginRegistry

_KINDS: Final = "sink, source, converter, header_converter, transformation, predicate"
_WITHOUT_KEYS: Final = frozenset(
    {
        "AllConnectorClientConfigOverridePolicy",
        "AllowlistConnectorClientConfigOverridePolicy",
        "BasicAuthSecurityRestExtension",
        "DirectoryConfigProvider",
        "EnvVarConfigProvider",
        "FileConfigProvider",
        "NoneConnectorClientConfigOverridePolicy",
        "PrincipalConnectorClientConfigOverridePolicy",
    }
)
"""Plugins of the worker itself, not of connectors: known by name, but not described."""

_log = structlog.get_logger(__name__)


class PluginDirectory:
    """Answers from the registry and the worker's configuration."""

    def __init__(self, registry: PluginRegistry, worker: WorkerConfig) -> None:
        self._registry = registry
        self._worker = worker

    def list_plugins(self, *, connectors_only: bool) -> Sequence[Mapping[str, str]]:
        """Class, type and version of each, in Kafka's order (spec kafka-connect A.7)."""
        return self._registry.plugins(connectors_only=connectors_only)

    def config_keys(self, plugin: str, version: str | None = None) -> Sequence[Mapping[str, Any]]:
        """The keys that a plugin accepts, its own first, then the framework's.

        Raises:
            NotFoundError: no plugin of that class or alias.
            ConfigError: none of that version, or it is of a kind that has no keys to be shown.
        """
        try:
            wanted = versions.requirement(version)
        except ConfigError as error:
            raise ConfigError(f"Invalid version specification: {version}") from error
        found = self._registry.find_any(plugin)
        if found is None:
            if plugin.rpartition(".")[2] in _WITHOUT_KEYS:
                raise ConfigError(f"Invalid plugin class {plugin}. Valid types are {_KINDS}.")
            raise NotFoundError(f"Unknown plugin {plugin}.")
        if wanted is not None and found.version not in wanted:
            available = self._registry.versions(found.class_name)
            raise ConfigError(versions.mismatch(found.class_name, wanted, available))
        keys = list(found.cls.config_def())
        if found.kind is PluginKind.SOURCE:
            framework = connector.with_defaults(
                connector.SOURCE_DEF, {"connector.plugin.version": found.version}
            )
            own_names = {key.name for key in keys}
            keys += [key for key in framework if key.name not in own_names]
        return [validation.key_info(key) for key in keys]

    def validate(self, config: Submitted) -> Mapping[str, Any]:
        """ConfigInfos of a config that is to become a connector; problems are in the document.

        Raises:
            ConfigError: there is no such connector class, or none is given; in Kafka's words, with
                the values of the config hidden.
        """
        name = config.get("connector.class")
        if name is None:
            raise ConfigError(connector_validation.no_connector_type(config))
        return self._check(config, self._registry.find_connector(name))

    def inspect(self, config: Submitted) -> Mapping[str, Any]:
        """The same, but a class that is missing or unknown is a problem in the document too, so
        that the client also learns of the others (field case R05)."""
        name = config.get("connector.class") or ""
        if trim(name):
            try:
                return self._check(config, self._registry.find_connector(name))
            except ConfigError as error:
                return self._check(config, None, {"connector.class": [str(error)]})
        is_blank = config.get("connector.class") is not None
        text = parsing.missing_value("connector.class")
        return self._check(config, None, {"connector.class": [text]} if is_blank else None)

    def _check(
        self,
        config: Submitted,
        plugin: PluginDesc | None,
        messages: Mapping[str, Sequence[str]] | None = None,
    ) -> Mapping[str, Any]:
        if plugin is not None:
            given = {name: text for name, text in config.items() if text is not None}
            messages = plugin.cls.validate(given)
        checked = connector_validation.config_infos(
            config,
            connector_def=None if plugin is None else plugin.cls.config_def(),
            catalogue=self._registry,
            worker=self._worker,
            messages=messages,
        )
        if plugin is not None:  # without its keys, everything would seem unknown
            for warning in checked.warnings:
                _log.warning(
                    "connector config needs a look", connector=config.get("name"), hint=warning
                )
        return checked.infos
