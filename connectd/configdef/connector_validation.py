"""Checking a connector's config: framework, connector, transforms, converters, client overrides.

``config_infos`` is the algorithm of spec kafka-connect A.8 and gives the ConfigInfos document of
the REST API; problems are in the document, nothing is raised. What Kafka passes over in silence,
keys that nobody reads, comes back as warnings for the log, and as entries without definition or
errors (field case D11). No value of the config is repeated outside of the document, passwords not
even there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from connectd.configdef import connector as framework
from connectd.configdef import parsing, spelling, validation
from connectd.configdef.catalogue import PluginCatalogue, PluginKind
from connectd.configdef.definition import ConfigDef, ConfigKey
from connectd.configdef.overrides import OVERRIDE_PREFIXES
from connectd.configdef.validation import ConfigValue, Entry
from connectd.configdef.values import invalid_value, trim
from connectd.configdef.worker import WorkerConfig
from connectd.observe.redaction import HIDDEN, is_secret_name

Submitted = Mapping[str, str | None]
"""A config as a client sent it; None is JSON's null."""

Messages = Mapping[str, Sequence[str]]
"""Messages by key."""

NULL_VALUE: Final = "Null value can not be supplied as the configuration value."
_NO_EXACTLY_ONCE: Final = "This worker does not have exactly-once source support enabled."
_NO_CONNECTOR_BOUNDARY: Final = (
    "The connector does not support connector-defined transaction boundaries with the given "
    "configuration. Please reconfigure it to use a different transaction boundary definition."
)
_NO_OFFSETS_TOPIC: Final = (
    "A connector cannot have an offsets topic of its own yet: its positions are in the worker's "
    "offset.storage.topic. Remove the key; positions in another topic are not found."
)


@dataclass(frozen=True)
class CheckedConfig:
    """The answer to a client, and what only the log hears."""

    infos: dict[str, Any]
    warnings: tuple[str, ...]

    @property
    def is_valid(self) -> bool:
        """Whether a connector may be created from it."""
        return bool(self.infos["error_count"] == 0)


@dataclass(frozen=True)
class _Part:
    """Entries that are listed together, and how many problems they count for."""

    entries: list[Entry]
    error_count: int
    groups: tuple[str, ...]


def config_infos(
    config: Submitted,
    *,
    connector_def: ConfigDef | None,
    catalogue: PluginCatalogue,
    worker: WorkerConfig,
    messages: Messages | None = None,
) -> CheckedConfig:
    """Check a source connector's config.

    ``connector_def`` has the connector's own keys, None when its class is missing or unknown;
    ``messages`` are those of the connector's own ``validate``, or about its class.
    """
    main_def, class_kinds = _main_definition(config, connector_def, catalogue)
    found = _by_name(_framework_messages(config, worker), messages or {})
    parts = [
        _main_part(config, main_def, class_kinds, catalogue, found),
        *_override_parts(config, worker),
        *_converter_parts(config, catalogue),
    ]
    infos = {
        "name": config.get("connector.class") or "",
        "error_count": sum(part.error_count for part in parts),
        "groups": list(dict.fromkeys(group for part in parts for group in part.groups)),
        "configs": [each for part in parts for each in part.entries],
    }
    return CheckedConfig(infos, tuple(_warnings(config, main_def, catalogue)))


def describe(config: Submitted) -> str:
    """A config inside of a message, in the form of a Java map, all values hidden (case X05)."""
    return "{" + ", ".join(f"{name}={HIDDEN}" for name in config) + "}"


def no_connector_type(config: Submitted) -> str:
    """Kafka's text for a config without ``connector.class``."""
    return f"Connector config {describe(config)} contains no connector type"


def _main_definition(
    config: Submitted, connector_def: ConfigDef | None, catalogue: PluginCatalogue
) -> tuple[ConfigDef, dict[str, PluginKind]]:
    """The framework's keys, those of aliases, the connector's; and which keys name plugins."""
    kinds = {f"{part}.converter": kind for part, kind in framework.CONVERTER_KINDS.items()}
    keys: list[ConfigKey] = list(framework.SOURCE_DEF)
    for list_key, kind in framework.ALIAS_KINDS.items():
        for alias in _aliases(config, list_key):
            type_key = f"{list_key}.{alias}.type"
            kinds[type_key] = kind
            plugin_def = _plugin_def(config, type_key, kind, catalogue)
            keys += framework.alias_keys(list_key, alias, plugin_def)
    unique = ConfigDef(list({key.name: key for key in keys}.values()))
    return unique.merged(connector_def or ConfigDef([])), kinds


def _main_part(
    config: Submitted,
    main_def: ConfigDef,
    class_kinds: Mapping[str, PluginKind],
    catalogue: PluginCatalogue,
    messages: Messages,
) -> _Part:
    by_key: dict[str, list[str]] = {}
    for name, texts in messages.items():
        by_key.setdefault(validation.declared_name(main_def, name) or name, []).extend(texts)
    declared = []
    for value in validation.validate(main_def, config):
        kind = class_kinds.get(value.name)
        checked = value if kind is None else _check_class(value, config, kind, catalogue)
        checked = replace(checked, errors=(*checked.errors, *by_key.pop(value.name, ())))
        declared.append(validation.entry(main_def.key(value.name), checked))
    unread = [name for name in config if _is_undeclared(name, main_def)]
    undeclared = [
        validation.undeclared(name, config.get(name), main_def, by_key.get(name, ()))
        for name in dict.fromkeys([*unread, *by_key])
    ]
    entries = [*undeclared, *declared]
    return _Part(entries, sum(map(_message_count, entries)), main_def.groups())


def _override_parts(config: Submitted, worker: WorkerConfig) -> Iterator[_Part]:
    """Client settings are checked for permission only; the client itself checks the rest."""
    for prefix in OVERRIDE_PREFIXES:
        entries = []
        for name, text in config.items():
            if not name.startswith(prefix):
                continue
            errors = worker.override_policy.errors(name.removeprefix(prefix))
            if text is None:
                errors.append(NULL_VALUE)
            shown = HIDDEN if text is not None and is_secret_name(name) else text
            entries.append(validation.entry(None, ConfigValue(name, shown, tuple(errors))))
        yield _Part(entries, sum(1 for each in entries if _message_count(each)), ())


def _converter_parts(config: Submitted, catalogue: PluginCatalogue) -> Iterator[_Part]:
    """The settings of converters that the config itself names (spec kafka-connect A.8.7)."""
    for part, kind in framework.CONVERTER_KINDS.items():
        plugin_def = _plugin_def(config, f"{part}.converter", kind, catalogue)
        if plugin_def is None:
            continue
        prefix = f"{part}.converter."
        settings = {
            name.removeprefix(prefix): text
            for name, text in config.items()
            if name.startswith(prefix)
        }
        values = validation.validate(plugin_def, {**settings, "converter.type": part})
        entries = [
            validation.entry(plugin_def.key(value.name), value, prefix=prefix) for value in values
        ]
        failed = sum(1 for each in entries if _message_count(each))
        yield _Part(entries, failed, plugin_def.groups())


def _check_class(
    value: ConfigValue, config: Submitted, kind: PluginKind, catalogue: PluginCatalogue
) -> ConfigValue:
    """A class that cannot be found is an error, and then there is no value."""
    value = replace(value, recommended=tuple(catalogue.class_names(kind)))
    if value.value is None or catalogue.config_def(kind, value.value) is not None:
        return value
    text = config.get(value.name)
    missing = invalid_value(value.name, text, f"Class {text} could not be found.")
    return replace(value, value=None, errors=(str(missing), *value.errors))


def _framework_messages(config: Submitted, worker: WorkerConfig) -> Messages:
    """What single keys of the framework cannot know."""
    found: dict[str, list[str]] = {}

    def add(name: str, message: str) -> None:
        found.setdefault(name, []).append(message)

    for name, text in config.items():
        if text is None and not name.startswith(OVERRIDE_PREFIXES):
            add(name, NULL_VALUE)
    if _lowered(config, "exactly.once.support") == "required":
        add("exactly.once.support", _NO_EXACTLY_ONCE)
    if _lowered(config, "transaction.boundary") == "connector":
        add("transaction.boundary", _NO_CONNECTOR_BOUNDARY)
    own_topic = trim(config.get("offsets.storage.topic") or "")
    if worker.cluster is not None and own_topic not in ("", worker.cluster.offset_topic.name):
        add("offsets.storage.topic", _NO_OFFSETS_TOPIC)
    predicates = _aliases(config, "predicates")
    for alias in _aliases(config, "transforms"):
        predicate_key, negate_key = f"transforms.{alias}.predicate", f"transforms.{alias}.negate"
        predicate = config.get(predicate_key)
        if predicate is not None and trim(predicate) not in predicates:
            detail = "There is no predicate of this alias in 'predicates'."
            add(predicate_key, str(invalid_value(predicate_key, predicate, detail)))
        if negate_key in config and predicate_key not in config:
            add(
                f"transforms.{alias}.type",
                f"Config '{negate_key}' was provided but there is no config '{predicate_key}' "
                "defining a predicate to be negated.",
            )
    return found


def _warnings(config: Submitted, main_def: ConfigDef, catalogue: PluginCatalogue) -> Iterator[str]:
    for name in config:
        if _is_undeclared(name, main_def):
            yield spelling.unknown_key(name, main_def.names())
        elif name.startswith("topic.creation."):
            yield f"'{name}' has no effect yet: topics are created by the broker, with its defaults"
    for part, kind in framework.CONVERTER_KINDS.items():
        class_key, prefix = f"{part}.converter", f"{part}.converter."
        settings = [
            name for name in config if name.startswith(prefix) and name not in framework.SOURCE_DEF
        ]
        plugin_def = _plugin_def(config, class_key, kind, catalogue)
        for name in settings:
            if class_key not in config:
                yield (
                    f"'{name}' is ignored: without {class_key} the worker's converter is used, "
                    f"with the worker's settings; set {class_key} too"
                )
            elif plugin_def and not validation.declared_name(plugin_def, name.removeprefix(prefix)):
                known = [prefix + each for each in plugin_def.names()]
                yield spelling.unknown_key(name, known)


def _is_undeclared(name: str, main_def: ConfigDef) -> bool:
    """Nobody reads the key. Settings of converters and clients are read by those."""
    prefixes = (
        *framework.PREFIXES,
        *(f"{part}.converter." for part in framework.CONVERTER_KINDS),
    )
    return not name.startswith(prefixes) and validation.declared_name(main_def, name) is None


def _aliases(config: Submitted, list_key: str) -> tuple[str, ...]:
    key = framework.SOURCE_DEF.key(list_key)
    parsed = parsing.parse_value(list_key, config.get(list_key), key.type)
    aliases = parsed if isinstance(parsed, tuple) else ()
    return tuple(dict.fromkeys(alias for alias in aliases if alias))


def _plugin_def(
    config: Submitted, class_key: str, kind: PluginKind, catalogue: PluginCatalogue
) -> ConfigDef | None:
    name = trim(config.get(class_key) or "")
    return catalogue.config_def(kind, name) if name else None


def _by_name(*many: Messages) -> Messages:
    joined: dict[str, list[str]] = {}
    for messages in many:
        for name, texts in messages.items():
            joined.setdefault(name, []).extend(texts)
    return joined


def _message_count(each: Entry) -> int:
    return len(each["value"]["errors"])


def _lowered(config: Submitted, name: str) -> str:
    return trim(config.get(name) or "").lower()
