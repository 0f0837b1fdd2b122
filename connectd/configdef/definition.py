"""How a configuration key is declared, once.

A ``ConfigKey`` carries everything that users, validation, the reference and the Helm schema need; a
``ConfigDef`` is an ordered set of them. The semantics (parsing, trimming, the texts of errors, a
validator also running on a value that failed to parse) follow Kafka's ConfigDef, as described in
spec kafka-connect A.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final


class ConfigType(Enum):
    """Types of values, under the names that the REST API shows."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105  the name of a type


class Importance(Enum):
    """How much a user should care."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Width(Enum):
    """How wide a form should draw the field."""

    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


class _Required(Enum):
    REQUIRED = "REQUIRED"


REQUIRED: Final = _Required.REQUIRED
"""The default of a key that has none."""

Validator = Callable[[str, Any], None]
"""``validator(name, parsed_value)`` raises ``ConfigError`` with Kafka's text."""

Recommender = Callable[[Mapping[str, str]], Sequence[str]]
"""Values that a form may offer, given the other values."""


@dataclass(frozen=True)
class ConfigKey:
    """One key: its name, type, default and everything that documents it.

    ``since`` and ``unit`` serve the reference; ``aliases`` are other names that are accepted (the
    first one set wins, the key's own name before all).
    """

    name: str
    type: ConfigType
    doc: str
    importance: Importance
    default: object = REQUIRED
    group: str | None = None
    order: int = -1
    width: Width = Width.NONE
    display_name: str | None = None
    validator: Validator | None = None
    recommender: Recommender | None = None
    dependents: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def is_required(self) -> bool:
        """Whether a user must set it."""
        return self.default is REQUIRED

    @property
    def is_secret(self) -> bool:
        """Whether its value is hidden everywhere."""
        return self.type is ConfigType.PASSWORD


class ConfigDef:
    """An ordered set of keys."""

    def __init__(self, keys: Sequence[ConfigKey]) -> None:
        names = [key.name for key in keys]
        duplicates = sorted({name for name in names if names.count(name) > 1})
        if duplicates:
            raise ValueError(f"configuration keys declared twice: {', '.join(duplicates)}")
        self._keys = {key.name: key for key in keys}

    def __iter__(self) -> Iterator[ConfigKey]:
        return iter(self._keys.values())

    def __contains__(self, name: str) -> bool:
        return name in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def key(self, name: str) -> ConfigKey:
        """The key of that name.

        Raises:
            KeyError: it is not declared.
        """
        return self._keys[name]

    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self._keys)

    def groups(self) -> tuple[str, ...]:
        """The groups of its keys, in the order in which they first occur."""
        return tuple(dict.fromkeys(key.group for key in self if key.group is not None))

    def merged(self, other: ConfigDef) -> ConfigDef:
        """Both; a key of ``other`` takes the place of one here that has its name."""
        return ConfigDef(list({**self._keys, **other._keys}.values()))
