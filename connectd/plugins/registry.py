"""Finds plugins by name, by the rules of Kafka Connect (spec kafka-connect A.4 step 3, A.7, B.8).

The composition root builds one registry and registers every plugin; importing registers nothing. A
plugin is found by its class name, by further class names that it answers to (those of the Java
plugin whose place it takes), by a class name without its package, and by that without the suffix of
its kind. Full names win; a short name that fits several plugins finds none.

Java's nested classes, ``Cast$Key`` and ``Cast$Value``, are plugins of their own; the class around
them is known too, as one that cannot be used, and so are the interfaces of the kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connectd.configdef.catalogue import PluginKind, PluginMatch
from connectd.errors import ConfigError

UNDEFINED_VERSION: Final = "undefined"

_SUFFIXES: Final = {
    PluginKind.SINK: "Connector",
    PluginKind.SOURCE: "Connector",
    PluginKind.TRANSFORMATION: "Transformation",
    PluginKind.PREDICATE: "Predicate",
    PluginKind.CONVERTER: "Converter",
    PluginKind.HEADER_CONVERTER: "HeaderConverter",
}
_WORDS: Final = {
    PluginKind.SINK: ("Connector", "connectors"),
    PluginKind.SOURCE: ("Connector", "connectors"),
    PluginKind.TRANSFORMATION: ("Transformation", "plugins"),
    PluginKind.PREDICATE: ("Predicate", "plugins"),
    PluginKind.CONVERTER: ("Converter", "plugins"),
    PluginKind.HEADER_CONVERTER: ("HeaderConverter", "plugins"),
}
_JAVA_PACKAGE: Final = "org.apache.kafka.connect."
_INTERFACES: Final = {
    PluginKind.SINK: f"{_JAVA_PACKAGE}sink.SinkConnector",
    PluginKind.SOURCE: f"{_JAVA_PACKAGE}source.SourceConnector",
    PluginKind.TRANSFORMATION: f"{_JAVA_PACKAGE}transforms.Transformation",
    PluginKind.PREDICATE: f"{_JAVA_PACKAGE}transforms.predicates.Predicate",
    PluginKind.CONVERTER: f"{_JAVA_PACKAGE}storage.Converter",
    PluginKind.HEADER_CONVERTER: f"{_JAVA_PACKAGE}storage.HeaderConverter",
}
_ABSTRACT: Final = "This class is abstract and cannot be created."
_CONNECTOR_KINDS: Final = (PluginKind.SINK, PluginKind.SOURCE)


@dataclass(frozen=True)
class PluginDesc:
    """A plugin. ``aliases`` are other names it answers to, in full (with dots) or short.

    ``cls`` has a class method ``config_def``; what else it has, the protocol of its kind says.
    """

    class_name: str
    kind: PluginKind
    version: str
    cls: type[Any]
    aliases: tuple[str, ...] = ()

    @property
    def full_names(self) -> tuple[str, ...]:
        """Its class name and the further class names it answers to."""
        return (self.class_name, *(alias for alias in self.aliases if "." in alias))

    @property
    def short_names(self) -> frozenset[str]:
        """What it answers to besides."""
        simple = {_simple_name(name) for name in (self.class_name, *self.aliases)}
        return frozenset(simple | {_pruned(name, _SUFFIXES[self.kind]) for name in simple})

    def __str__(self) -> str:
        return (
            f"PluginDesc{{klass=class {self.class_name}, name='{self.class_name}', "
            f"version='{self.version}', encodedVersion={self.version}, type={self.kind.value}, "
            f"typeName='{self.kind.value}', location='classpath'}}"
        )


@dataclass(frozen=True)
class UnusablePlugin:
    """A plugin that is installed and cannot be used; ``problem`` says why, and what to do.

    It is not listed, and whoever asks for it by one of its full names is told the problem.
    """

    class_name: str
    package: str
    problem: str
    kinds: tuple[PluginKind, ...] = ()
    aliases: tuple[str, ...] = ()

    def is_meant_by(self, kinds: Sequence[PluginKind], name: str) -> bool:
        """Whether somebody who wants a plugin of these kinds and that name wants this one."""
        return name in (self.class_name, *self.aliases) and any(
            kind in kinds for kind in self.kinds
        )


class PluginRegistry:
    """All plugins of the process. Filled at start, only read afterwards.

    ``unusable`` are those that could not be registered; ``provider_classes`` the config providers
    of other packages, by class name.
    """

    def __init__(self) -> None:
        self._plugins: list[PluginDesc] = []
        self.unusable: list[UnusablePlugin] = []
        self.provider_classes: dict[str, type[Any]] = {}

    def register(self, plugin: PluginDesc) -> None:
        """Add a plugin.

        Raises:
            ValueError: another one of its kind has one of its full names.
        """
        for other in self._of_kind(plugin.kind):
            taken = set(plugin.full_names) & set(other.full_names)
            if taken:
                raise ValueError(
                    f"{', '.join(sorted(taken))} is already the name of {other.class_name}"
                )
        self._plugins.append(plugin)

    def find(self, kind: PluginKind, name: str) -> PluginDesc:
        """The plugin of a kind by class name or alias.

        Raises:
            ConfigError: there is none, or the alias fits several; in Kafka's words.
        """
        return self._find((kind,), name)

    def find_connector(self, name: str) -> PluginDesc:
        """The connector, source or sink, by class name or alias.

        Raises:
            ConfigError: there is none, or the alias fits several; in Kafka's words.
        """
        return self._find(_CONNECTOR_KINDS, name)

    def find_any(self, name: str) -> PluginDesc | None:
        """A plugin of whatever kind by class name or alias; None when there is none, or several."""
        for kinds in (_CONNECTOR_KINDS, *((kind,) for kind in PluginKind)):
            matches = self._matches(kinds, name)
            if len(matches) == 1:
                return matches[0]
        return None

    def match(self, kind: PluginKind, name: str) -> PluginMatch | None:
        """What a name stands for where a plugin of that kind is wanted (``PluginCatalogue``)."""
        matches = self._matches((kind,), name)
        if len(matches) == 1:
            (found,) = matches
            is_full = name in found.full_names
            return PluginMatch(
                class_name=name if is_full else found.class_name,
                versions=(found.version,),
                definition=found.cls.config_def(),
            )
        unusable = self._unusable((kind,), name)
        if unusable is not None and not matches:
            return PluginMatch(class_name=name, problem=unusable.problem)
        if matches or not self._is_class(name):
            return None
        return PluginMatch(class_name=name, problem=self._problem(kind, name))

    def versions(self, class_name: str) -> Sequence[str]:
        """Versions of a class, once for each kind that it is (``PluginCatalogue``)."""
        return [plugin.version for plugin in self._plugins if class_name in plugin.full_names]

    def class_names(self, kind: PluginKind) -> Sequence[str]:
        """Full names of all plugins of a kind, sorted (``PluginCatalogue``)."""
        return sorted(name for plugin in self._of_kind(kind) for name in plugin.full_names)

    def plugins(self, *, connectors_only: bool) -> list[dict[str, str]]:
        """PluginInfo of every plugin (spec kafka-connect A.2), in the order of A.7.

        A plugin is listed under each of its full names, since clients look for the one that they
        are going to configure.
        """
        infos = []
        for kind in _CONNECTOR_KINDS if connectors_only else PluginKind:
            listed = [(name, each) for each in self._of_kind(kind) for name in each.full_names]
            for name, plugin in sorted(listed, key=lambda entry: (entry[0], entry[1].version)):
                info = {"class": name, "type": kind.value}
                if plugin.version != UNDEFINED_VERSION:
                    info["version"] = plugin.version
                infos.append(info)
        return infos

    def _find(self, kinds: Sequence[PluginKind], name: str) -> PluginDesc:
        matches = self._matches(kinds, name)
        if len(matches) == 1:
            return matches[0]
        interface, plural = _WORDS[kinds[0]]
        if matches:
            raise ConfigError(
                f"More than one {plural.removesuffix('s')} matches alias {name}. Please use full "
                f"package and class name instead. Classes found: {_listed(matches)}"
            )
        unusable = self._unusable(kinds, name)
        if unusable is not None:
            raise ConfigError(unusable.problem)
        available = [plugin for plugin in self._plugins if plugin.kind in kinds]
        raise ConfigError(
            f"Failed to find any class that implements {interface} and which name matches {name}, "
            f"available {plural} are: {_listed(available)}"
        )

    def _matches(self, kinds: Sequence[PluginKind], name: str) -> list[PluginDesc]:
        candidates = [plugin for plugin in self._plugins if plugin.kind in kinds]
        exact = [plugin for plugin in candidates if name in plugin.full_names]
        return exact or [plugin for plugin in candidates if name in plugin.short_names]

    def _unusable(self, kinds: Sequence[PluginKind], name: str) -> UnusablePlugin | None:
        return next((each for each in self.unusable if each.is_meant_by(kinds, name)), None)

    def _is_class(self, name: str) -> bool:
        """Whether the name is that of a plugin of any kind, of the class around some, or of an
        interface."""
        return name in _INTERFACES.values() or any(
            name in plugin.full_names or each.startswith(f"{name}$")
            for plugin in self._plugins
            for each in plugin.full_names
        )

    def _problem(self, kind: PluginKind, name: str) -> str:
        """Why a class is no plugin of that kind, in Kafka's words."""
        nested = [each for each in self.class_names(kind) if each.startswith(f"{name}$")]
        if nested:
            return f"{_ABSTRACT} Did you mean {', '.join(nested)}?"
        if name == _INTERFACES[kind]:
            return _ABSTRACT
        word = "interface" if name in _INTERFACES.values() else "class"
        return f"Class {word} {name} does not implement the {_WORDS[kind][0]} interface"

    def _of_kind(self, kind: PluginKind) -> Iterator[PluginDesc]:
        return (plugin for plugin in self._plugins if plugin.kind is kind)


def _simple_name(full_name: str) -> str:
    return full_name.rpartition(".")[2].rpartition("$")[2]


def _pruned(simple_name: str, suffix: str) -> str:
    position = simple_name.rfind(suffix)
    return simple_name[:position] if position > 0 else simple_name


def _listed(plugins: Sequence[PluginDesc]) -> str:
    return ", ".join(map(str, sorted(plugins, key=lambda plugin: plugin.class_name)))
