"""How transforms declare their keys: without group, order and width, as Kafka's do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connectd.configdef import validators
from connectd.configdef.definition import (
    REQUIRED,
    ConfigKey,
    ConfigType,
    Importance,
    Validator,
)
from connectd.configdef.values import invalid_value
from connectd.model import java_regex

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW


def key(
    name: str,
    value_type: ConfigType,
    doc: str,
    importance: Importance,
    default: object = REQUIRED,
    validator: Validator | None = None,
) -> ConfigKey:
    """One key."""
    return ConfigKey(name, value_type, doc, importance, default, validator=validator)


@dataclass(frozen=True)
class _Filled:
    def __call__(self, name: str, value: object) -> None:
        if not value:
            raise invalid_value(name, value, "Empty list")

    def __str__(self) -> str:
        return "non-empty list"


@dataclass(frozen=True)
class _Regex:
    """Unlike other checks of texts, this one minds a missing value as well."""

    def __call__(self, name: str, value: object) -> None:
        if value is None:
            raise invalid_value(name, None, "Invalid regex: there is none")
        try:
            java_regex.compiled(str(value))
        except java_regex.InvalidPatternError as error:
            raise invalid_value(name, value, f"Invalid regex: {error}") from error

    def __str__(self) -> str:
        return "valid regex"


filled: Final[Validator] = _Filled()
"""A list with at least one entry."""

regex: Final[Validator] = _Regex()
"""A regular expression."""


@dataclass(frozen=True)
class _NonEmptyRegex:
    def __call__(self, name: str, value: object) -> None:
        validators.non_empty(name, value)
        regex(name, value)

    def __str__(self) -> str:
        return f"{validators.non_empty},{regex}"


non_empty_regex: Final[Validator] = _NonEmptyRegex()
"""A regular expression that is not empty."""

REPLACE_NULL: Final = key(
    "replace.null.with.default",
    ConfigType.BOOLEAN,
    "Whether a null in a field that has a default is read as the default.",
    MEDIUM,
    True,
)
"""The key of every transform that reads fields."""
