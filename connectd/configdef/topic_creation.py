"""Which topics a source connector creates, and how: groups of topics (KIP-158, spec B.5).

A connector that names ``topic.creation.`` keys says, for the group ``default`` and for each one in
``topic.creation.groups``, how many partitions and replicas a new topic has, and any setting of a
topic. A topic belongs to the first group in that order that includes and does not exclude its
name, else to ``default``. Keys of single groups are not declared to clients, as in Kafka: a wrong
one fails the connector when it starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from connectd.configdef import parsing, spelling, validators
from connectd.configdef.connector import SOURCE_DEF, TOPIC_CREATION_PREFIX
from connectd.configdef.definition import (
    REQUIRED,
    ConfigDef,
    ConfigKey,
    ConfigType,
    Importance,
    Validator,
)
from connectd.configdef.values import invalid_value
from connectd.model import java_regex

DEFAULT_GROUP: Final = "default"

_GROUPS_KEY: Final = "topic.creation.groups"
_RULES: Final = ("include", "exclude")
_SIZES: Final = ("replication.factor", "partitions")


@dataclass(frozen=True)
class TopicGroup:
    """Topics that are created alike; -1 stands for the broker's default."""

    name: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str]
    include: java_regex.Pattern
    exclude: java_regex.Pattern

    def matches(self, topic: str) -> bool:
        """Whether the whole name of a topic is included and not excluded.

        Raises:
            TransformError: a pattern takes too long on this name.
        """
        is_included = java_regex.fullmatch(self.include, topic) is not None
        return is_included and java_regex.fullmatch(self.exclude, topic) is None


@dataclass(frozen=True)
class TopicRules:
    """All groups of a connector in the order in which they are asked, ``default`` last."""

    groups: tuple[TopicGroup, ...]

    def group_of(self, topic: str) -> TopicGroup:
        """The first group that a topic belongs to."""
        last = self.groups[-1]
        return next((group for group in self.groups if group.matches(topic)), last)


def read(config: Mapping[str, str]) -> TopicRules | None:
    """The rules of a connector's (resolved) config; None when it has no ``topic.creation.`` key.

    Raises:
        ConfigError: something is missing or wrong; one line per problem.
    """
    if not any(name.startswith(TOPIC_CREATION_PREFIX) for name in config):
        return None
    names = _group_names(config)
    default = _read_group(DEFAULT_GROUP, config, defaults=None)
    others = (_read_group(name, config, defaults=default) for name in names)
    return TopicRules((*others, default))


def warnings(config: Mapping[str, str | None], *, is_enabled: bool) -> Iterator[str]:
    """Keys about topics that nobody reads, for the log."""
    given = {name: text for name, text in config.items() if text is not None}
    used = [name for name in given if name.startswith(TOPIC_CREATION_PREFIX)]
    if used and not is_enabled:
        yield (
            f"'{used[0]}' has no effect: the worker's topic.creation.enable is false, topics are "
            "created by the broker or not at all"
        )
        return
    groups = parsing.evaluate(ConfigDef([SOURCE_DEF.key(_GROUPS_KEY)]), given)[_GROUPS_KEY].value
    names = [DEFAULT_GROUP, *(groups if isinstance(groups, tuple) else ())]
    if DEFAULT_GROUP in names[1:]:
        yield f"'{DEFAULT_GROUP}' in {_GROUPS_KEY} is ignored: it is always the last group"
    for key in used:
        if key == _GROUPS_KEY:
            continue
        if key in (f"{TOPIC_CREATION_PREFIX}{DEFAULT_GROUP}.{rule}" for rule in _RULES):
            yield f"'{key}' is ignored: the group {DEFAULT_GROUP} takes all topics that are left"
        elif not any(key.startswith(f"{TOPIC_CREATION_PREFIX}{name}.") for name in names):
            yield spelling.unknown_key(
                key, [f"{TOPIC_CREATION_PREFIX}{name}.{size}" for name in names for size in _SIZES]
            )


def _group_names(config: Mapping[str, str]) -> list[str]:
    parsed = parsing.parse(ConfigDef([SOURCE_DEF.key(_GROUPS_KEY)]), config)
    return [name for name in parsed.strings(_GROUPS_KEY) if name != DEFAULT_GROUP]


def _read_group(name: str, config: Mapping[str, str], *, defaults: TopicGroup | None) -> TopicGroup:
    prefix = f"{TOPIC_CREATION_PREFIX}{name}."
    factor_key, partitions_key = (prefix + size for size in _SIZES)
    include_key, exclude_key = (prefix + rule for rule in _RULES)
    check_include, check_exclude = (
        None if defaults is None else _named(rule, _check_patterns) for rule in _RULES
    )
    # fmt: off
    parsed = parsing.parse(ConfigDef([
        ConfigKey(factor_key, ConfigType.SHORT, "Replicas of a new topic.", Importance.LOW,
                  REQUIRED if defaults is None else defaults.replication_factor,
                  validator=_sized("replication.factor", validators.REPLICATION_FACTOR_TEXT)),
        ConfigKey(partitions_key, ConfigType.INT, "Partitions of a new topic.", Importance.LOW,
                  REQUIRED if defaults is None else defaults.partitions,
                  validator=_sized("partitions", validators.PARTITIONS_TEXT)),
        ConfigKey(include_key, ConfigType.LIST, "Topics that it is for.", Importance.LOW, (),
                  validator=check_include),
        ConfigKey(exclude_key, ConfigType.LIST, "Topics that it is not for.", Importance.LOW, (),
                  validator=check_exclude),
    ]), config)
    # fmt: on
    is_default = defaults is None
    return TopicGroup(
        name=name,
        partitions=parsed.integer(partitions_key),
        replication_factor=parsed.integer(factor_key),
        settings={
            key.removeprefix(prefix): text
            for key, text in config.items()
            if key.startswith(prefix) and key not in parsed
        },
        include=_pattern(include_key, (".*",) if is_default else parsed.strings(include_key)),
        exclude=_pattern(exclude_key, () if is_default else parsed.strings(exclude_key)),
    )


def _named(name: str, validator: Validator) -> Validator:
    """A validator whose messages name the key without its prefix, as Kafka's do."""
    return lambda _, value: validator(name, value)


def _sized(name: str, text: str) -> Validator:
    # That it is missing or no number is told already.
    return _named(name, validators.optional(validators.positive_or_default(text)))


def _pattern(key: str, patterns: tuple[str, ...]) -> java_regex.Pattern:
    """One pattern of them all, as in Kafka; each is one by itself, but their groups meet here."""
    try:
        return java_regex.compiled("|".join(patterns))
    except java_regex.InvalidPatternError as error:
        raise invalid_value(
            key, ",".join(patterns), f"Syntax error in regular expression: {error}"
        ) from error


def _check_patterns(name: str, value: object) -> None:
    for pattern in value if isinstance(value, tuple) else ():
        try:
            java_regex.compiled(pattern)
        except java_regex.InvalidPatternError as error:
            raise invalid_value(
                name, value, f"Syntax error in regular expression: {error}"
            ) from error
