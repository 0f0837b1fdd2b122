"""Keys that the framework gives to every source connector (spec kafka-connect B.4, B.5).

Names, groups, orders, widths and display names are those of Kafka 4.3, since forms are drawn from
them. Two lists of aliases, ``transforms`` and ``predicates``, bring further keys with each alias:
``alias_keys`` and ``alias_plugin_keys`` declare those. Defaults that depend on the worker or on a
plugin are not set here; ``with_defaults`` puts them in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from connectd.configdef import validators
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.definition import (
    REQUIRED,
    ConfigDef,
    ConfigKey,
    ConfigType,
    Importance,
    Recommender,
    Validator,
    Width,
)

_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_BOOLEAN, _STRING, _CLASS = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.CLASS
_INT, _LONG, _LIST = ConfigType.INT, ConfigType.LONG, ConfigType.LIST

_COMMON, _ERRORS, _EOS = "Common", "Error Handling", "Exactly Once Support"
_INHERITED = "Not set: the worker's, with the worker's settings."

# The declarations below read as tables.
# fmt: off

_COMMON_KEYS: Final = (
    ConfigKey("name", _STRING, "Name of the connector, unique in the cluster.",
              _HIGH, REQUIRED, _COMMON, 1, Width.MEDIUM, "Connector name",
              validators.non_empty_no_control),
    ConfigKey("connector.class", _STRING, "Class of the connector: its full name or an alias.",
              _HIGH, REQUIRED, _COMMON, 2, Width.LONG, "Connector class"),
    ConfigKey("connector.plugin.version", _STRING,
              "Version of the connector's plugin; each plugin has one here.",
              _MEDIUM, None, _COMMON, 3, Width.MEDIUM, "Connector version"),
    ConfigKey("tasks.max", _INT, "The most tasks that the connector may split its work into.",
              _HIGH, 1, _COMMON, 4, Width.SHORT, "Tasks max", validators.at_least(1)),
    ConfigKey("tasks.max.enforce", _BOOLEAN,
              "Whether more tasks than tasks.max fail the connector (deprecated in Kafka).",
              _LOW, True, _COMMON, 5, Width.SHORT, "Enforce tasks max"),
    ConfigKey("key.converter", _CLASS, f"Converter of message keys. {_INHERITED}",
              _LOW, None, _COMMON, 6, Width.SHORT, "Key converter class"),
    ConfigKey("key.converter.plugin.version", _STRING,
              "Version of the key converter's plugin; each plugin has one here.",
              _LOW, None, _COMMON, 7, Width.SHORT, "Key converter version"),
    ConfigKey("value.converter", _CLASS, f"Converter of message values. {_INHERITED}",
              _LOW, None, _COMMON, 8, Width.SHORT, "Value converter class"),
    ConfigKey("value.converter.plugin.version", _STRING,
              "Version of the value converter's plugin; each plugin has one here.",
              _LOW, None, _COMMON, 9, Width.SHORT, "Value converter version"),
    ConfigKey("header.converter", _CLASS, f"Converter of message headers. {_INHERITED}",
              _LOW, None, _COMMON, 10, Width.SHORT, "Header converter class"),
    ConfigKey("header.converter.plugin.version", _STRING,
              "Version of the header converter's plugin; each plugin has one here.",
              _LOW, None, _COMMON, 11, Width.SHORT, "Header converter version"),
    ConfigKey("transforms", _LIST, "Aliases of the transforms that records pass, in order.",
              _LOW, (), "Transforms", 12, Width.LONG, "Transforms",
              validators.unique_aliases("transformation")),
    ConfigKey("predicates", _LIST, "Aliases of the predicates that transforms may refer to.",
              _LOW, (), "Predicates", 13, Width.LONG, "Predicates",
              validators.unique_aliases("predicate")),
    ConfigKey("config.action.reload", _STRING,
              "What happens when a config provider says that a value has changed.",
              _LOW, "restart", _COMMON, 14, Width.MEDIUM, "Reload Action",
              validators.one_of("none", "restart")),
    ConfigKey("errors.retry.timeout", _LONG,
              "How long an operation that failed because something is away (a schema registry) is "
              "tried again, in ms; -1 is for ever, 0 is never. Not set: for ever, and the task "
              "says so; Kafka would skip the record.",
              _MEDIUM, 0, _ERRORS, 1, Width.MEDIUM, "Retry Timeout for Errors"),
    ConfigKey("errors.retry.delay.max.ms", _LONG, "The longest wait between two such tries.",
              _MEDIUM, 60_000, _ERRORS, 2, Width.MEDIUM,
              "Maximum Delay Between Retries for Errors"),
    ConfigKey("errors.tolerance", _STRING,
              "none: a record that cannot be processed fails the task; all: it is skipped.",
              _MEDIUM, "none", _ERRORS, 3, Width.SHORT, "Error Tolerance",
              validators.one_of("none", "all")),
    ConfigKey("errors.log.enable", _BOOLEAN, "Whether each such record is written to the log.",
              _MEDIUM, False, _ERRORS, 4, Width.SHORT, "Log Errors"),
    ConfigKey("errors.log.include.messages", _BOOLEAN,
              "Whether that line has the record itself, which may be confidential.",
              _MEDIUM, False, _ERRORS, 5, Width.SHORT, "Log Error Details"),
)

_SOURCE_KEYS: Final = (
    ConfigKey("topic.creation.groups", _LIST,
              "Groups of topics that are created with settings of their own, beside the group "
              "default: topic.creation.<group>.include, .exclude, .partitions, "
              ".replication.factor and any setting of a topic.",
              _LOW, (), "Topic Creation", 1, Width.LONG, "Topic Creation Groups",
              validators.unique_aliases("topic creation group")),
    ConfigKey("exactly.once.support", _STRING,
              "required: refuse the connector unless it can write exactly once.",
              _MEDIUM, "requested", _EOS, 2, Width.SHORT, "Exactly once support",
              validators.one_of("required", "requested", ignore_case=True)),
    ConfigKey("transaction.boundary", _STRING,
              "Where transactions begin and end, when records are written exactly once.",
              _MEDIUM, "poll", _EOS, 3, Width.SHORT, "Transaction Boundary",
              validators.one_of("interval", "poll", "connector", ignore_case=True)),
    ConfigKey("transaction.boundary.interval.ms", _LONG,
              "Length of a transaction with the boundary interval; not set: the worker's "
              "offset.flush.interval.ms.",
              _LOW, None, _EOS, 4, Width.SHORT, "Transaction boundary interval",
              validators.optional(validators.at_least(0))),
    ConfigKey("offsets.storage.topic", _STRING,
              "A topic of its own for this connector's positions. Not supported yet: not set, "
              "they are in the worker's offset.storage.topic.",
              _LOW, None, "offsets.topic", 1, Width.LONG, "Offsets topic", validators.non_empty),
)

_TRANSFORMATION_KEYS: Final = (
    ConfigKey("predicate", _STRING,
              "Alias of a predicate: only records for which it holds are transformed.",
              _MEDIUM, None),
    ConfigKey("negate", _BOOLEAN, "Transform the other records instead.", _MEDIUM, False),
)

# fmt: on

COMMON_DEF: Final = ConfigDef(_COMMON_KEYS)
"""The framework's keys of every connector."""

SOURCE_DEF: Final = ConfigDef([*_COMMON_KEYS, *_SOURCE_KEYS])
"""The framework's keys of a source connector."""

CONVERTER_KINDS: Final = {
    "header": PluginKind.HEADER_CONVERTER,
    "key": PluginKind.CONVERTER,
    "value": PluginKind.CONVERTER,
}
"""The three converters of a connector, in the order in which their keys are listed."""

ALIAS_KINDS: Final = {
    "transforms": PluginKind.TRANSFORMATION,
    "predicates": PluginKind.PREDICATE,
}
"""Keys with lists of aliases, and the kind of plugin that each alias stands for."""

TOPIC_CREATION_PREFIX: Final = "topic.creation."
"""The beginning of keys about the topics that a connector writes to."""

PREFIXES: Final = (
    TOPIC_CREATION_PREFIX,
    "producer.override.",
    "consumer.override.",
    "admin.override.",
)
"""Beginnings of keys that are not declared one by one."""


def with_defaults(definition: ConfigDef, defaults: Mapping[str, str | None]) -> ConfigDef:
    """The same keys, some with other defaults: those that depend on the worker or on plugins."""
    return ConfigDef(
        [
            replace(key, default=defaults[key.name]) if key.name in defaults else key
            for key in definition
        ]
    )


def alias_keys(list_key: str, alias: str, version: str | None) -> list[ConfigKey]:
    """The first two keys of one alias in ``transforms`` or ``predicates``: class and version.

    ``version`` is the one that is used unless another one is asked for.
    """
    kind = ALIAS_KINDS[list_key].value
    prefix, group = alias_prefix(list_key, alias), alias_group(list_key, alias)
    word = kind.capitalize()
    # fmt: off
    return [
        ConfigKey(f"{prefix}type", _CLASS, f"Class of the {kind} '{alias}'.",
                  _HIGH, REQUIRED, group, 0, Width.LONG, f"{word} type for {alias}"),
        ConfigKey(f"{prefix}plugin.version", _STRING, f"Version of the {kind} '{alias}'.",
                  _HIGH, version, group, 1, Width.LONG, f"{word} version for {alias}"),
    ]
    # fmt: on


def alias_plugin_keys(list_key: str, alias: str, plugin_def: ConfigDef) -> list[ConfigKey]:
    """The further keys of an alias: those of its plugin, and of every transformation.

    They are in the order in which Kafka embeds them. A validator is told the plugin's own name of
    a key, without the prefix of the alias, and so is the reader of its messages.
    """
    given = _TRANSFORMATION_KEYS if list_key == "transforms" else ()
    taken = {key.name for key in given}
    own = ConfigDef([*given, *(key for key in plugin_def if key.name not in taken)])
    prefix, group = alias_prefix(list_key, alias), alias_group(list_key, alias)
    return [
        replace(
            key,
            name=prefix + key.name,
            aliases=tuple(prefix + name for name in key.aliases),
            dependents=tuple(prefix + name for name in key.dependents),
            display_name=key.display_name or key.name,
            group=f"{group}: {key.group}" if key.group else group,
            order=order,
            validator=key.validator and _unprefixed_validator(prefix, key.validator),
            recommender=key.recommender and _unprefixed_recommender(prefix, key.recommender),
        )
        for order, key in enumerate(_as_embedded(own), start=2)
    ]


def alias_prefix(list_key: str, alias: str) -> str:
    """The beginning of an alias' keys."""
    return f"{list_key}.{alias}."


def alias_group(list_key: str, alias: str) -> str:
    """The group of an alias' keys."""
    return f"{list_key.capitalize()}: {alias}"


def _as_embedded(definition: ConfigDef) -> list[ConfigKey]:
    """By group, then order, then what must be set, then importance, then name."""
    groups = definition.groups()
    importances = list(Importance)
    return sorted(
        definition,
        key=lambda key: (
            -1 if key.group is None else groups.index(key.group),
            key.order,
            not key.is_required,
            importances.index(key.importance),
            key.name,
        ),
    )


def _unprefixed_validator(prefix: str, validator: Validator) -> Validator:
    return lambda name, value: validator(name.removeprefix(prefix), value)


def _unprefixed_recommender(prefix: str, recommender: Recommender) -> Recommender:
    def recommend(given: Mapping[str, str]) -> Sequence[str]:
        own = {
            name.removeprefix(prefix): text
            for name, text in given.items()
            if name.startswith(prefix)
        }
        return recommender(own)

    return recommend
