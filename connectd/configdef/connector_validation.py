"""Checking a connector's config: framework, connector, transforms, converters, client overrides.

``config_infos`` is the algorithm of spec kafka-connect A.8, corrected by what a worker of Kafka 4.3
answers, and gives the ConfigInfos document of the REST API; problems are in the document, nothing
is raised. What Kafka passes over in silence, keys that nobody reads, comes back as warnings for the
log (field case D11). No value of the config is repeated outside of the document, passwords not even
there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from connectd.configdef import connector as framework
from connectd.configdef import (
    override_validation,
    plugin_keys,
    spelling,
    topic_creation,
    validation,
)
from connectd.configdef.catalogue import PluginCatalogue, PluginKind
from connectd.configdef.definition import ConfigDef
from connectd.configdef.hash_order import hash_ordered
from connectd.configdef.plugin_keys import Choices, PluginChoice, Submitted
from connectd.configdef.validation import ConfigValue, Part
from connectd.configdef.values import invalid_value, trim
from connectd.configdef.worker import WorkerConfig
from connectd.observe.redaction import HIDDEN

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
_CONNECTOR: Final = ("connector.class", "connector.plugin.version")


@dataclass(frozen=True)
class CheckedConfig:
    """The answer to a client, and what only the log hears."""

    infos: dict[str, Any]
    warnings: tuple[str, ...]

    @property
    def is_valid(self) -> bool:
        """Whether a connector may be created from it."""
        return bool(self.infos["error_count"] == 0)


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
    chosen = plugin_keys.choose_plugin(config, catalogue, PluginKind.SOURCE, *_CONNECTOR)
    versions = () if chosen.usable is None else chosen.usable.versions
    problem = plugin_keys.version_problem(chosen, versions)
    if problem is not None and plugin_keys.is_readable(chosen.version):
        return CheckedConfig(_without_plugin(config, chosen, catalogue, problem), ())
    choices = plugin_keys.choose(config, catalogue, worker)
    main_def = _main_definition(chosen, choices, worker)
    main_def = main_def.merged(connector_def or ConfigDef([]))
    found = _by_name(
        {_CONNECTOR[1]: [problem]} if problem is not None else {},
        _framework_messages(config, worker),
        _null_messages(config),
        messages or {},
    )
    values = _main_values(config, main_def, chosen, choices, catalogue)
    main = _main_part(config, main_def, values, found)
    parts = [
        main,
        *override_validation.override_parts(config, worker.override_policy),
        *_converter_parts(config, choices, main),
    ]
    infos = _document(config, parts)
    # A connector that declares no key of its own may read any.
    declares_keys = bool(connector_def)
    warnings = (
        *_warnings(config, main_def, choices, declares_keys=declares_keys),
        *topic_creation.warnings(config, is_enabled=worker.topic_creation_enabled),
    )
    return CheckedConfig(infos, warnings)


def describe(config: Submitted) -> str:
    """A config inside of a message, in the form of a Java map, all values hidden (case X05) but
    the name."""
    shown = {name: "null" if config[name] is None else HIDDEN for name in hash_ordered(config)}
    if config.get("name") is not None:
        shown["name"] = str(config["name"])
    return "{" + ", ".join(f"{name}={text}" for name, text in shown.items()) + "}"


def no_connector_type(config: Submitted) -> str:
    """Kafka's text for a config without ``connector.class``."""
    return f"Connector config {describe(config)} contains no connector type"


def _document(config: Submitted, parts: Sequence[Part]) -> dict[str, Any]:
    return {
        "name": config.get("connector.class") or "",
        "error_count": sum(part.error_count for part in parts),
        "groups": list(dict.fromkeys(group for part in parts for group in part.groups)),
        "configs": [each for part in parts for each in part.entries],
    }


def _main_definition(chosen: PluginChoice, choices: Choices, worker: WorkerConfig) -> ConfigDef:
    """The framework's keys and those of aliases, with the defaults that hold for this config."""
    defaults = {
        chosen.version_key: chosen.default_version,
        **plugin_keys.converter_defaults(choices, worker),
    }
    keys = [key for alias in choices.aliases for key in alias.declared()]
    aliases = ConfigDef(list({key.name: key for key in keys}.values()))
    return framework.with_defaults(framework.SOURCE_DEF, defaults).merged(aliases)


def _main_values(
    config: Submitted,
    main_def: ConfigDef,
    chosen: PluginChoice,
    choices: Choices,
    catalogue: PluginCatalogue,
) -> dict[str, ConfigValue]:
    values = {value.name: value for value in validation.validate(main_def, config)}
    values[chosen.version_key] = replace(
        values[chosen.version_key],
        recommended=() if chosen.usable is None else chosen.usable.versions,
        visible=values[chosen.class_key].value is not None,
    )
    for converter in choices.converters.values():
        values |= plugin_keys.check_converter(converter, values, catalogue)
    for alias in choices.aliases:
        values |= plugin_keys.check_alias(alias, config, values, catalogue)
    return values


def _main_part(
    config: Submitted, main_def: ConfigDef, values: Mapping[str, ConfigValue], messages: Messages
) -> Part:
    """Declared keys in their order, behind what is wrong with keys that nobody declared."""
    by_key: dict[str, list[str]] = {}
    for name, texts in messages.items():
        by_key.setdefault(validation.declared_name(main_def, name) or name, []).extend(texts)
    declared = [
        validation.entry(
            main_def.key(name),
            replace(value, errors=(*value.errors, *by_key.pop(name, ()))),
        )
        for name, value in values.items()
    ]
    order = [name for name in hash_ordered([*values, *by_key]) if name in by_key]
    undeclared = [
        validation.undeclared(name, config.get(name), main_def, by_key[name]) for name in order
    ]
    entries = [*undeclared, *declared]
    error_count = sum(len(each["value"]["errors"]) for each in entries)
    return Part(entries, error_count, main_def.groups())


def _without_plugin(
    config: Submitted, chosen: PluginChoice, catalogue: PluginCatalogue, problem: str
) -> dict[str, Any]:
    """The answer when no connector of the wanted version exists: little more than that."""
    definition = framework.with_defaults(
        framework.COMMON_DEF, {chosen.version_key: chosen.default_version}
    )
    values = _main_values(config, definition, chosen, Choices({}, ()), catalogue)
    for part in framework.CONVERTER_KINDS:
        key = f"{part}.converter.plugin.version"
        has_class = values[f"{part}.converter"].value is not None
        values[key] = replace(values[key], visible=has_class)
    found = _by_name({name: [problem] for name in _CONNECTOR}, _null_messages(config))
    return _document(config, [_main_part(config, definition, values, found)])


def _converter_parts(config: Submitted, choices: Choices, main: Part) -> Iterator[Part]:
    """The settings of converters that the config itself names (spec kafka-connect A.8.7)."""
    faulty = {each["value"]["name"] for each in main.entries if each["value"]["errors"]}
    for part, choice in choices.converters.items():
        definition = None if choice.usable is None else choice.usable.definition
        if choice.text is None or definition is None:
            continue
        if choice.class_key in faulty or choice.version_key in faulty:
            continue
        prefix = f"{part}.converter."
        settings = {
            name.removeprefix(prefix): text
            for name, text in config.items()
            if name.startswith(prefix)
        }
        values = {
            value.name: value
            for value in validation.validate(definition, {"converter.type": part, **settings})
        }
        yield validation.settings_part(
            [
                validation.entry(definition.key(name), values[name], prefix=prefix)
                for name in hash_ordered(values)
            ],
            tuple(
                dict.fromkeys(
                    group
                    for name in hash_ordered(values)
                    if (group := definition.key(name).group) is not None
                )
            ),
        )


def _framework_messages(config: Submitted, worker: WorkerConfig) -> Messages:
    """What single keys of the framework cannot know."""
    found: dict[str, list[str]] = {}
    if _lowered(config, "exactly.once.support") == "required":
        found["exactly.once.support"] = [_NO_EXACTLY_ONCE]
    if _lowered(config, "transaction.boundary") == "connector":
        found["transaction.boundary"] = [_NO_CONNECTOR_BOUNDARY]
    own_topic = trim(config.get("offsets.storage.topic") or "")
    if worker.cluster is not None and own_topic not in ("", worker.cluster.offset_topic.name):
        found["offsets.storage.topic"] = [_NO_OFFSETS_TOPIC]
    predicates = plugin_keys.aliases(config, "predicates")
    for alias in plugin_keys.aliases(config, "transforms"):
        key = f"transforms.{alias}.predicate"
        predicate = config.get(key)
        if predicate is not None and trim(predicate) not in predicates:
            detail = "There is no predicate of this alias in 'predicates'."
            found[key] = [str(invalid_value(key, predicate, detail))]
    return found


def _null_messages(config: Submitted) -> Messages:
    return {name: [NULL_VALUE] for name, text in config.items() if text is None}


def _warnings(
    config: Submitted, main_def: ConfigDef, choices: Choices, *, declares_keys: bool
) -> Iterator[str]:
    for name in config:
        if _is_undeclared(name, main_def):
            if not declares_keys:
                continue
            yield spelling.unknown_key(name, main_def.names())
    for part, choice in choices.converters.items():
        prefix = f"{part}.converter."
        settings = [
            name for name in config if name.startswith(prefix) and name not in framework.SOURCE_DEF
        ]
        definition = None if choice.usable is None else choice.usable.definition
        for name in settings:
            if choice.class_key not in config:
                yield (
                    f"'{name}' is ignored: without {choice.class_key} the worker's converter is "
                    f"used, with the worker's settings; set {choice.class_key} too"
                )
            elif definition and not validation.declared_name(definition, name.removeprefix(prefix)):
                yield spelling.unknown_key(name, [prefix + each for each in definition.names()])


def _is_undeclared(name: str, main_def: ConfigDef) -> bool:
    """Nobody reads the key. Settings of converters and clients are read by those."""
    prefixes = (
        *framework.PREFIXES,
        *(f"{part}.converter." for part in framework.CONVERTER_KINDS),
    )
    return not name.startswith(prefixes) and validation.declared_name(main_def, name) is None


def _by_name(*many: Messages) -> Messages:
    joined: dict[str, list[str]] = {}
    for messages in many:
        for name, texts in messages.items():
            joined.setdefault(name, []).extend(texts)
    return joined


def _lowered(config: Submitted, name: str) -> str:
    return trim(config.get(name) or "").lower()
