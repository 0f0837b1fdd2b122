"""Keys that the framework gives to every source connector (spec kafka-connect B.4, B.5).

Names, groups, orders, widths and display names are those of Kafka 4.1, since forms are drawn from
them. Two aliases lists, ``transforms`` and ``predicates``, bring further keys with each alias:
``alias_keys`` declares those.
"""

from __future__ import annotations

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
              "How long a failed operation is tried again, in ms; -1 is for ever, 0 is never.",
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
              validators.one_of("requested", "required", ignore_case=True)),
    ConfigKey("transaction.boundary", _STRING,
              "Where transactions begin and end, when records are written exactly once.",
              _MEDIUM, "poll", _EOS, 3, Width.SHORT, "Transaction Boundary",
              validators.one_of("poll", "interval", "connector", ignore_case=True)),
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

# fmt: on

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

PREFIXES: Final = (
    "topic.creation.",
    "producer.override.",
    "consumer.override.",
    "admin.override.",
)
"""Beginnings of keys that are not declared one by one."""


def alias_keys(list_key: str, alias: str, plugin_def: ConfigDef | None) -> list[ConfigKey]:
    """The keys that one alias in ``transforms`` or ``predicates`` brings.

    ``plugin_def`` has the keys of its plugin, None while the type is not known.
    """
    kind = ALIAS_KINDS[list_key]
    word = kind.value.capitalize()
    prefix = f"{list_key}.{alias}."
    group = f"{list_key.capitalize()}: {alias}"
    keys = [
        ConfigKey(
            f"{prefix}type",
            _CLASS,
            f"Class of the {kind.value} '{alias}'.",
            _HIGH,
            group=group,
            width=Width.LONG,
            display_name=f"{word} type for {alias}",
        )
    ]
    if kind is PluginKind.TRANSFORMATION:
        keys += [
            ConfigKey(
                f"{prefix}predicate",
                _STRING,
                "Alias of a predicate: only records for which it holds are transformed.",
                _MEDIUM,
                default=None,
                group=group,
                width=Width.MEDIUM,
                display_name="Predicate",
            ),
            ConfigKey(
                f"{prefix}negate",
                _BOOLEAN,
                "Transform the other records instead.",
                _MEDIUM,
                default=False,
                group=group,
                width=Width.MEDIUM,
                display_name="Negate",
            ),
        ]
    own_names = {key.name for key in keys}
    keys += [
        replace(key, name=prefix + key.name, group=group)
        for key in plugin_def or ()
        if prefix + key.name not in own_names
    ]
    return [replace(key, order=order) for order, key in enumerate(keys)]
