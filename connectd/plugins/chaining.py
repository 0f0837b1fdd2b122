"""The transforms of a connector, in the order in which records pass them (spec B.4, F.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connectd.configdef import connector as framework
from connectd.configdef import parsing
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.definition import ConfigDef, ConfigType
from connectd.configdef.values import trim
from connectd.errors import (
    ConfigError,
    FatalTaskError,
    RecordError,
    RetriableError,
    TransformError,
)
from connectd.model.cluster import Config
from connectd.model.record import SourceRecord
from connectd.plugins import spi
from connectd.plugins.registry import PluginDesc, PluginRegistry

_OF_FRAMEWORK: Final = ("type", "plugin.version", "predicate", "negate")
"""Keys of an alias that are not its plugin's."""


@dataclass(frozen=True)
class Step:
    """A transform, and when it is applied: where the predicate holds, or where it does not.

    ``class_name`` is what people call the transform's class: it is in reports of failed records.
    """

    alias: str
    transformation: spi.Transformation
    predicate: spi.Predicate | None = None
    negate: bool = False
    class_name: str = ""

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        """The record after this step.

        Raises:
            RetriableError: something outside is away; the same record may pass later.
            FatalTaskError: no record will pass until somebody helps.
            TransformError: whatever else the plugin raises; ``errors.tolerance`` decides (F.2).
        """
        try:
            if self.predicate is not None and self.predicate.test(record) is self.negate:
                return record
            return self.transformation.apply(record)
        except (RecordError, RetriableError, FatalTaskError):
            raise
        except Exception as error:
            kind = type(error).__name__
            raise TransformError(f"transforms.{self.alias} failed with {kind}: {error}") from error


@dataclass(frozen=True)
class TransformChain:
    """All steps of a connector; most have none."""

    steps: tuple[Step, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps)

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        """The record after the last step; None: a step has dropped it.

        Raises:
            TransformError: a step does not accept the record.
        """
        current = record
        for step in self.steps:
            changed = step.apply(current)
            if changed is None:
                return None
            current = changed
        return current


def make_chain(registry: PluginRegistry, config: Config) -> TransformChain:
    """The chain that a connector's (resolved) config asks for.

    Raises:
        ConfigError: a class is not there, a setting is wrong, an alias is not declared.
    """
    predicates = {
        alias: _make(_find(registry, PluginKind.PREDICATE, prefix, config), prefix, config)
        for alias in _aliases(config, "predicates")
        for prefix in (f"predicates.{alias}.",)
    }
    return TransformChain(
        tuple(
            _step(registry, alias, config, predicates) for alias in _aliases(config, "transforms")
        )
    )


def _step(
    registry: PluginRegistry, alias: str, config: Config, predicates: Mapping[str, Any]
) -> Step:
    prefix = f"transforms.{alias}."
    plugin = _find(registry, PluginKind.TRANSFORMATION, prefix, config)
    transformation = _make(plugin, prefix, config)
    name = trim(config.get(f"{prefix}predicate", ""))
    if name and name not in predicates:
        raise ConfigError(
            f"{prefix}predicate is {name}, expected one of the aliases in predicates "
            f"({', '.join(predicates) or 'which is empty'})"
        )
    negate_key = f"{prefix}negate"
    negate = parsing.parse_value(negate_key, config.get(negate_key), ConfigType.BOOLEAN)
    return Step(alias, transformation, predicates.get(name), negate is True, plugin.class_name)


def _find(registry: PluginRegistry, kind: PluginKind, prefix: str, config: Config) -> PluginDesc:
    return registry.find(kind, trim(config.get(f"{prefix}type", "")))


def _make(plugin: PluginDesc, prefix: str, config: Config) -> Any:
    settings = {
        name.removeprefix(prefix): text
        for name, text in config.items()
        if name.startswith(prefix) and name.removeprefix(prefix) not in _OF_FRAMEWORK
    }
    try:
        return plugin.cls(parsing.parse(plugin.cls.config_def(), settings))
    except ConfigError as error:
        raise ConfigError(f"{prefix.rstrip('.')} ({plugin.class_name}): {error}") from error


def _aliases(config: Config, list_key: str) -> tuple[str, ...]:
    definition = ConfigDef([framework.SOURCE_DEF.key(list_key)])
    return parsing.parse(definition, config).strings(list_key)
