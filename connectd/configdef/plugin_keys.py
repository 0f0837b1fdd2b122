"""Keys of a connector's config that name plugins and their versions.

Which plugin a config names decides on further keys (those of a transform) and on defaults (the
version). ``choose`` looks the plugins up; ``check_converter`` and ``check_alias`` then correct what
the plain check of the keys has found, since that knows nothing of plugins (spec kafka-connect A.8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from connectd.configdef import connector as framework
from connectd.configdef import parsing, versions
from connectd.configdef.catalogue import PluginCatalogue, PluginKind, PluginMatch
from connectd.configdef.definition import ConfigDef, ConfigKey
from connectd.configdef.validation import ConfigValue
from connectd.configdef.values import invalid_value, trim
from connectd.configdef.worker import WorkerConfig
from connectd.errors import ConfigError

Submitted = Mapping[str, str | None]
"""A config as a client sent it; None is JSON's null."""


@dataclass(frozen=True)
class PluginChoice:
    """A plugin that a config names, or that it gets because it names none.

    ``text`` is what the config says, as it was sent; None: nothing, or null. ``version`` likewise.
    ``is_exact``: the plugin is found by that text even without trimming it.
    """

    kind: PluginKind
    class_key: str
    version_key: str
    text: str | None
    version: str | None
    match: PluginMatch | None
    is_exact: bool

    @property
    def usable(self) -> PluginMatch | None:
        """The plugin, if there is one of that name and kind."""
        return None if self.match is None or self.match.problem else self.match

    @property
    def default_version(self) -> str | None:
        """The version that is taken unless the config asks for one."""
        if self.usable is None or not self.is_exact:
            return None
        return self.usable.versions[-1]


@dataclass(frozen=True)
class AliasChoice:
    """The plugin of one alias in ``transforms`` or ``predicates``."""

    list_key: str
    alias: str
    plugin: PluginChoice

    def declared(self) -> list[ConfigKey]:
        """The keys that the alias brings; the plugin's own ones only while it can be used."""
        keys = framework.alias_keys(self.list_key, self.alias, self.plugin.default_version)
        usable = self.plugin.usable if self.plugin.is_exact else None
        if usable is None or version_problem(self.plugin, usable.versions) is not None:
            return keys
        own = usable.definition or ConfigDef([])
        return [*keys, *framework.alias_plugin_keys(self.list_key, self.alias, own)]


@dataclass(frozen=True)
class Choices:
    """Every plugin of a connector's config beside the connector itself."""

    converters: Mapping[str, PluginChoice]
    aliases: tuple[AliasChoice, ...]


def choose(config: Submitted, catalogue: PluginCatalogue, worker: WorkerConfig) -> Choices:
    """Look up the converters, transforms and predicates of a config."""
    converters = {
        part: choose_plugin(
            config,
            catalogue,
            kind,
            f"{part}.converter",
            f"{part}.converter.plugin.version",
            inherited=worker.parsed.string(f"{part}.converter"),
        )
        for part, kind in framework.CONVERTER_KINDS.items()
    }
    return Choices(converters, tuple(_choose_aliases(config, catalogue)))


def choose_plugin(
    config: Submitted,
    catalogue: PluginCatalogue,
    kind: PluginKind,
    class_key: str,
    version_key: str,
    *,
    inherited: str | None = None,
) -> PluginChoice:
    """Look up the plugin of one key; ``inherited`` is the one of the worker, if that has one."""
    text = config.get(class_key)
    name = inherited if text is None else trim(text)
    return PluginChoice(
        kind=kind,
        class_key=class_key,
        version_key=version_key,
        text=text,
        version=config.get(version_key),
        match=None if name is None else catalogue.match(kind, name),
        is_exact=text is None or text == name,
    )


def converter_defaults(choices: Choices, worker: WorkerConfig) -> dict[str, str | None]:
    """The defaults of the keys of converters: the worker's classes, and what version they have.

    A class that the worker has under a short name is shown in full, if it is a plugin here.
    """
    defaults: dict[str, str | None] = {}
    for choice in choices.converters.values():
        inherited = worker.parsed.string(choice.class_key)
        is_known = choice.text is None and choice.match is not None
        defaults[choice.class_key] = (
            choice.match.class_name if is_known and choice.match is not None else inherited
        )
        defaults[choice.version_key] = choice.default_version
    return defaults


def version_problem(choice: PluginChoice, available: Sequence[str]) -> str | None:
    """Why there is no such version of the plugin, or why the wish cannot be read."""
    try:
        wanted = versions.requirement(choice.version)
    except ConfigError as error:
        return str(error)
    if wanted is None or choice.usable is None:
        return None
    if any(version in wanted for version in choice.usable.versions):
        return None
    return versions.mismatch(choice.usable.class_name, wanted, available)


def is_readable(version: str | None) -> bool:
    """Whether the wish for a version is in the notation for them."""
    return _unreadable(version) is None


def check_converter(
    choice: PluginChoice, values: Mapping[str, ConfigValue], catalogue: PluginCatalogue
) -> dict[str, ConfigValue]:
    """What is to replace the values of a converter's class and version.

    The version of a converter that the worker has, not the connector, is of no importance.
    """
    class_value = _class_value(choice, values[choice.class_key], catalogue)
    version_value = values[choice.version_key]
    class_errors, version_errors = list(class_value.errors), list(version_value.errors)
    if (unreadable := _unreadable(choice.version)) is not None:
        version_errors.append(unreadable)
    elif choice.text is not None and choice.match is not None:
        every_version = catalogue.versions(choice.match.class_name)
        if choice.match.problem:
            class_errors.append(choice.match.problem)
        elif (problem := version_problem(choice, every_version)) is not None:
            class_errors.append(problem)
            version_errors.append(problem)
        elif not choice.is_exact:
            class_errors.append(f"Failed to load class {choice.text}: {choice.text}")
    has_class = class_value.value is not None
    version_value = replace(
        version_value,
        visible=has_class,
        recommended=choice.usable.versions if has_class and choice.usable else (),
    )
    return {
        choice.class_key: replace(class_value, errors=tuple(class_errors)),
        choice.version_key: replace(version_value, errors=tuple(version_errors)),
    }


def check_alias(
    alias: AliasChoice,
    config: Submitted,
    values: Mapping[str, ConfigValue],
    catalogue: PluginCatalogue,
) -> dict[str, ConfigValue]:
    """What is to replace the values of an alias' class and version."""
    choice = alias.plugin
    class_value = _class_value(choice, values[choice.class_key], catalogue)
    usable = choice.usable
    version_value = replace(
        values[choice.version_key], recommended=() if usable is None else usable.versions
    )
    of_version = None if usable is None else version_problem(choice, usable.versions)
    of_class = (
        _lonely_negate(alias, config)
        or (choice.match is not None and choice.match.problem)
        or of_version
    )
    return {
        choice.class_key: _with_error(class_value, of_class or None),
        choice.version_key: _with_error(version_value, of_version),
    }


def aliases(config: Submitted, list_key: str) -> tuple[str, ...]:
    """The aliases in a list, each once. An empty one, as in ``a,,b``, is one too."""
    parsed = parsing.parse_value(
        list_key, config.get(list_key), framework.COMMON_DEF.key(list_key).type
    )
    return tuple(dict.fromkeys(parsed)) if isinstance(parsed, tuple) else ()


def _choose_aliases(config: Submitted, catalogue: PluginCatalogue) -> Iterator[AliasChoice]:
    for list_key, kind in framework.ALIAS_KINDS.items():
        for alias in aliases(config, list_key):
            prefix = framework.alias_prefix(list_key, alias)
            plugin = choose_plugin(
                config, catalogue, kind, f"{prefix}type", f"{prefix}plugin.version"
            )
            yield AliasChoice(list_key, alias, plugin)


def _class_value(
    choice: PluginChoice, value: ConfigValue, catalogue: PluginCatalogue
) -> ConfigValue:
    """A class that cannot be found is an error, and then there is no value."""
    value = replace(value, recommended=tuple(catalogue.class_names(choice.kind)))
    if value.value is None or choice.text is None:
        return value
    if choice.match is None:
        detail = f"Class {choice.text} could not be found."
        missing = invalid_value(choice.class_key, choice.text, detail)
        return replace(value, value=None, errors=(str(missing), *value.errors))
    return replace(value, value=choice.match.class_name)


def _lonely_negate(alias: AliasChoice, config: Submitted) -> str | None:
    prefix = framework.alias_prefix(alias.list_key, alias.alias)
    negate, predicate = f"{prefix}negate", f"{prefix}predicate"
    if alias.list_key != "transforms" or negate not in config or predicate in config:
        return None
    return (
        f"Config '{negate}' was provided but there is no config '{predicate}' defining a "
        "predicate to be negated."
    )


def _unreadable(version: str | None) -> str | None:
    try:
        versions.requirement(version)
    except ConfigError as error:
        return str(error)
    return None


def _with_error(value: ConfigValue, error: str | None) -> ConfigValue:
    return value if error is None else replace(value, errors=(*value.errors, error))
