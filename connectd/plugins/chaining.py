"""The transforms of a connector, in the order in which records pass them (spec B.4, F.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
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
from connectd.observe import redaction
from connectd.plugins import answers, containment, spi, texts
from connectd.plugins.registry import PluginDesc, PluginRegistry

_OF_FRAMEWORK: Final = ("type", "plugin.version", "predicate", "negate")
"""Keys of an alias that are not its plugin's."""


@dataclass(frozen=True)
class Step:
    """A transform, and when it is applied: where the predicate holds, or where it does not.

    ``class_name`` is what people call the transform's class: it is in reports of failed records.
    ``predicate_name`` is the predicate's alias and class, for messages.
    """

    alias: str
    transformation: spi.Transformation
    predicate: spi.Predicate | None = None
    negate: bool = False
    class_name: str = ""
    predicate_name: str = ""

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        """The record after this step.

        Raises:
            RetriableError: something outside is away; the same record may pass later.
            FatalTaskError: no record will pass until somebody helps; or a plugin gave what is no
                answer, or tried to end the worker.
            TransformError: whatever else the plugin raises; ``errors.tolerance`` decides (F.2).
        """
        is_deciding = self.predicate is not None
        try:
            if self.predicate is not None:
                holds = self.predicate.test(record)
                if holds is self.negate:
                    return record
                if holds is not True and holds is not False:
                    raise answers.wrong(f"{self._name(True)}: test", holds, "a bool")
                is_deciding = False
            changed = self.transformation.apply(record)
        except (RecordError, RetriableError, FatalTaskError):
            raise
        except Exception as error:
            kind = type(error).__name__
            raise TransformError(
                f"{self._name(is_deciding)} failed with {kind}: {error}"
            ) from error
        except BaseException as error:
            raise containment.escape(self._name(is_deciding), error) from error
        if changed is None or isinstance(changed, SourceRecord):
            return changed
        raise answers.wrong(f"{self._name(False)}: apply", changed, "a SourceRecord, or None")

    @property
    def ignores_texts(self) -> bool:
        """Whether it does the same whatever the texts of a record say."""
        return texts.ignores_texts(self.transformation) and (
            self.predicate is None or texts.ignores_texts(self.predicate)
        )

    def _name(self, is_deciding: bool) -> str:
        """The plugin at fault: the predicate, or the transform."""
        if is_deciding:
            return f"predicates.{self.predicate_name}"
        name = f"transforms.{self.alias}"
        return f"{name} ({self.class_name})" if self.class_name else name


@dataclass(frozen=True)
class TransformChain:
    """All steps of a connector; most have none."""

    steps: tuple[Step, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps)

    @cached_property
    def ignores_texts(self) -> bool:
        """Whether all steps do the same whatever the texts of a record say."""
        return all(step.ignores_texts for step in self.steps)

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
        alias: _predicate(registry, alias, config) for alias in _aliases(config, "predicates")
    }
    return TransformChain(
        tuple(
            _step(registry, alias, config, predicates) for alias in _aliases(config, "transforms")
        )
    )


def _predicate(registry: PluginRegistry, alias: str, config: Config) -> tuple[spi.Predicate, str]:
    """The predicate, and its name for messages."""
    prefix = f"predicates.{alias}."
    plugin = _find(registry, PluginKind.PREDICATE, prefix, config)
    return _make(plugin, prefix, config), f"{alias} ({plugin.class_name})"


def _step(
    registry: PluginRegistry,
    alias: str,
    config: Config,
    predicates: Mapping[str, tuple[spi.Predicate, str]],
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
    predicate, predicate_name = predicates.get(name, (None, ""))
    return Step(alias, transformation, predicate, negate is True, plugin.class_name, predicate_name)


def _find(registry: PluginRegistry, kind: PluginKind, prefix: str, config: Config) -> PluginDesc:
    return registry.find(kind, trim(config.get(f"{prefix}type", "")))


def _make(plugin: PluginDesc, prefix: str, config: Config) -> Any:
    settings = {
        name.removeprefix(prefix): text
        for name, text in config.items()
        if name.startswith(prefix) and name.removeprefix(prefix) not in _OF_FRAMEWORK
    }
    name = f"{prefix.rstrip('.')} ({plugin.class_name})"
    try:
        parsed = parsing.parse(plugin.cls.config_def(), settings)
        for secret in parsed.secrets():
            redaction.register_secret(secret)
        return plugin.cls(parsed)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error
    except Exception as error:
        raise ConfigError(f"{name} failed with {type(error).__name__}: {error}") from error


def _aliases(config: Config, list_key: str) -> tuple[str, ...]:
    definition = ConfigDef([framework.SOURCE_DEF.key(list_key)])
    return parsing.parse(definition, config).strings(list_key)
