"""Values of a config as the REST API shows them: one entry per key (spec kafka-connect A.2, A.8).

``validate`` checks a config against a definition; the other functions give keys and values the form
of the API, dicts in the order in which Kafka serialises their members.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from connectd.configdef import parsing, spelling
from connectd.configdef.definition import ConfigDef, ConfigKey
from connectd.configdef.values import value_text
from connectd.observe.redaction import HIDDEN, is_secret_name, without_url_logins

Entry = dict[str, Any]
"""``{"definition": …, "value": …}``: one element of ``configs``."""


@dataclass(frozen=True)
class ConfigValue:
    """What became of one key. ``value`` is text, None when there is none or it is not usable."""

    name: str
    value: str | None
    errors: tuple[str, ...] = ()
    recommended: tuple[str, ...] = ()
    visible: bool = True


@dataclass(frozen=True)
class Part:
    """Entries that are listed together, their groups, and how many problems they count for."""

    entries: list[Entry]
    error_count: int
    groups: tuple[str, ...]


def settings_part(entries: list[Entry], groups: tuple[str, ...] = ()) -> Part:
    """Settings of a converter or client: a value counts once, however much is wrong with it."""
    return Part(entries, sum(1 for each in entries if each["value"]["errors"]), groups)


def validate(definition: ConfigDef, config: Mapping[str, str | None]) -> list[ConfigValue]:
    """Check every key of the definition, in its order. Passwords come back hidden."""
    given = {name: value for name, value in config.items() if value is not None}
    return [
        ConfigValue(
            name=name,
            value=value_text(evaluation.value, definition.key(name).type),
            errors=evaluation.errors,
            recommended=_recommended(definition.key(name), given),
        )
        for name, evaluation in parsing.evaluate(definition, config).items()
    ]


def entry(key: ConfigKey | None, value: ConfigValue, *, prefix: str = "") -> Entry:
    """An element of ``configs``; a value without key is one that nobody declared."""
    return {
        "definition": None if key is None else key_info(key, prefix=prefix),
        "value": {
            "name": prefix + value.name,
            "value": None if value.value is None else without_url_logins(value.value),
            "recommended_values": list(value.recommended),
            "errors": list(value.errors),
            "visible": value.visible,
        },
    }


def undeclared(
    name: str, value: str | None, definition: ConfigDef, errors: Iterable[str] = ()
) -> Entry:
    """The entry of a key that nobody declared.

    Its value is hidden when its name, or that of the declared key it is probably meant to be, says
    that it is a secret.
    """
    meant = spelling.nearest(name, definition.names())
    is_secret = is_secret_name(name) or (meant is not None and definition.key(meant).is_secret)
    shown = HIDDEN if is_secret and value is not None else value
    return entry(None, ConfigValue(name, shown, tuple(errors)))


def key_info(key: ConfigKey, *, prefix: str = "") -> dict[str, Any]:
    """A key as the API describes it (ConfigKeyInfo)."""
    default = None if key.is_required else value_text(parsing.default_value(key), key.type)
    return {
        "name": prefix + key.name,
        "type": key.type.value,
        "required": key.is_required,
        "default_value": default,
        "importance": key.importance.value,
        "documentation": key.doc,
        "group": key.group,
        "order_in_group": key.order,
        "width": key.width.value,
        "display_name": key.display_name or key.name,
        "dependents": list(key.dependents),
    }


def create_errors(infos: Mapping[str, Any]) -> list[str]:
    """All messages of a ConfigInfos document, in its order: the lines of a refused create."""
    return [message for each in infos["configs"] for message in each["value"]["errors"]]


def declared_name(definition: ConfigDef, name: str) -> str | None:
    """The own name of the key that a definition knows under this name, or None."""
    if name in definition:
        return name
    return next((key.name for key in definition if name in key.aliases), None)


def _recommended(key: ConfigKey, given: Mapping[str, str]) -> tuple[str, ...]:
    return () if key.recommender is None else tuple(key.recommender(given))
