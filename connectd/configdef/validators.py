"""Checks of parsed values, with Kafka's texts (spec kafka-connect A.8).

A validator is called with the name of its key and the parsed value, or None when the value is
missing or failed to parse. Those about numbers, choices and lists then refuse the None as well,
those about strings let it pass: Kafka's "double errors" come from there. ``str(validator)``
describes what is accepted, for the reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from connectd.configdef.definition import Validator
from connectd.configdef.values import Secret, invalid_value, java_text, trim
from connectd.errors import ConfigError
from connectd.model import java_regex

PARTITIONS_TEXT = "Number of partitions must be positive, or -1 to use the broker's default"
REPLICATION_FACTOR_TEXT = (
    "Replication factor must be positive and not larger than the number of brokers in the Kafka "
    "cluster, or -1 to use the broker's default"
)


@dataclass(frozen=True)
class _Range:
    minimum: float | None
    maximum: float | None

    def __call__(self, name: str, value: object) -> None:
        if value is None:
            raise invalid_value(name, None, "Value must be non-null")
        if not isinstance(value, int | float):
            raise TypeError(f"{name}: a range is for numbers, not {type(value).__name__}")
        if self.minimum is not None and not value >= self.minimum:
            raise invalid_value(name, value, f"Value must be at least {java_text(self.minimum)}")
        if self.maximum is not None and not value <= self.maximum:
            raise invalid_value(
                name, value, f"Value must be no more than {java_text(self.maximum)}"
            )

    def __str__(self) -> str:
        ends = [java_text(end) for end in (self.minimum, self.maximum) if end is not None]
        if self.maximum is None:
            ends.append("...")
        elif self.minimum is None:
            ends.insert(0, "...")
        else:
            ends.insert(1, "...")
        return f"[{','.join(ends)}]"


@dataclass(frozen=True)
class _OneOf:
    choices: tuple[str, ...]
    ignore_case: bool

    def __call__(self, name: str, value: object) -> None:
        if isinstance(value, str):
            wanted = value.upper() if self.ignore_case else value
            if wanted in self._shown():
                return
        hint = (
            "String must be one of (case insensitive)"
            if self.ignore_case
            else ("String must be one of")
        )
        raise invalid_value(name, value, f"{hint}: {', '.join(self._shown())}")

    def _shown(self) -> tuple[str, ...]:
        return (
            tuple(choice.upper() for choice in self.choices) if self.ignore_case else self.choices
        )

    def __str__(self) -> str:
        listed = f"[{', '.join(self.choices)}]"
        return f"(case insensitive) {listed}" if self.ignore_case else listed


@dataclass(frozen=True)
class _NonNull:
    def __call__(self, name: str, value: object) -> None:
        if value is None:
            raise invalid_value(name, None, "entry must be non null")

    def __str__(self) -> str:
        return "non-null"


@dataclass(frozen=True)
class _NonEmpty:
    def __call__(self, name: str, value: object) -> None:
        if value is not None and not value:
            shown = "" if isinstance(value, Secret) else value
            raise invalid_value(name, shown, "String must be non-empty")

    def __str__(self) -> str:
        return "non-empty string"


@dataclass(frozen=True)
class _NonEmptyNoControl:
    def __call__(self, name: str, value: object) -> None:
        if value is None:
            return
        text = str(value)
        if not text:
            raise invalid_value(name, text, "String may not be empty")
        controls = [ord(char) for char in text if ord(char) < 0x20 or 0x7F <= ord(char) <= 0x9F]
        if controls:
            codes = ", ".join(map(str, controls))
            raise invalid_value(
                name,
                text,
                "String may not contain control sequences but had the following ASCII chars: "
                f"{codes}",
            )

    def __str__(self) -> str:
        return "non-empty string without ISO control characters"


@dataclass(frozen=True)
class _UniqueAliases:
    kind: str

    def __call__(self, name: str, value: object) -> None:
        aliases = _strings(name, value)
        if len(set(aliases)) < len(aliases):
            raise invalid_value(name, aliases, "Duplicate alias provided.")

    def __str__(self) -> str:
        return f"unique {self.kind} aliases"


@dataclass(frozen=True)
class _Distinct:
    is_empty_allowed: bool
    is_null_allowed: bool

    def __call__(self, name: str, value: object) -> None:
        if value is None:
            if not self.is_null_allowed:
                raise ConfigError(f"Configuration '{name}' values must not be null.")
            return
        entries = _strings(name, value)
        if not entries and not self.is_empty_allowed:
            raise ConfigError(
                f"Configuration '{name}' must not be empty. Valid values include: any non-empty "
                "value"
            )
        if len(set(entries)) < len(entries):
            raise ConfigError(f"Configuration '{name}' values must not be duplicated.")
        if not all(entries):
            raise ConfigError(f"Configuration '{name}' values must not be empty.")

    def __str__(self) -> str:
        return "distinct values" if self.is_empty_allowed else "distinct values, at least one"


@dataclass(frozen=True)
class _PositiveOrDefault:
    detail: str

    def __call__(self, name: str, value: object) -> None:
        if not isinstance(value, int) or (value != -1 and value < 1):
            raise invalid_value(name, value, self.detail)

    def __str__(self) -> str:
        return "positive, or -1 to use the broker's default"


@dataclass(frozen=True)
class _Regex:
    def __call__(self, name: str, value: object) -> None:
        if value is None:
            return
        for pattern in value if isinstance(value, tuple) else (str(value),):
            try:
                java_regex.compiled(pattern)
            except java_regex.InvalidPatternError as error:
                raise invalid_value(name, pattern, f"Invalid regex: {error}") from error

    def __str__(self) -> str:
        return "valid regex"


@dataclass(frozen=True)
class _JsonObject:
    string_values: bool

    def __call__(self, name: str, value: object) -> None:
        if value is None or value == "":
            return
        text = str(value)
        try:
            document = json.loads(text)
        except ValueError as error:
            raise invalid_value(name, text, f"Not valid JSON: {error}") from error
        if not isinstance(document, dict):
            raise invalid_value(name, text, 'Expected a JSON object, like {"a": "b"}')
        if self.string_values:
            wrong = [key for key, member in document.items() if not isinstance(member, str)]
            if wrong:
                raise invalid_value(
                    name, text, f"The values of these members must be strings: {', '.join(wrong)}"
                )

    def __str__(self) -> str:
        return "JSON object of strings" if self.string_values else "JSON object"


@dataclass(frozen=True)
class _Url:
    schemes: tuple[str, ...]

    def __call__(self, name: str, value: object) -> None:
        if value is None or value == "":
            return
        text = str(value)
        try:
            parts = urlsplit(text)
            usable = parts.scheme in self.schemes and bool(parts.hostname)
            _ = parts.port  # raises when it is not a port number
        except ValueError:
            usable = False
        if not usable:
            wanted = " or ".join(f"{scheme}://host[:port]" for scheme in self.schemes)
            raise invalid_value(
                name, _without_userinfo(text), f"Expected a URL of the form {wanted}"
            )

    def __str__(self) -> str:
        return f"URL ({', '.join(self.schemes)})"


@dataclass(frozen=True)
class _Servers:
    def __call__(self, name: str, value: object) -> None:
        for server in _strings(name, value):
            host, colon, port = server.rpartition(":")
            if not (host and colon and port.isascii() and port.isdigit() and int(port) <= 65535):
                raise invalid_value(name, server, "Expected host:port")

    def __str__(self) -> str:
        return "list of host:port"


@dataclass(frozen=True)
class _AllOf:
    parts: tuple[Validator, ...]

    def __call__(self, name: str, value: object) -> None:
        for part in self.parts:
            part(name, value)

    def __str__(self) -> str:
        described = (part for part in self.parts if not hasattr(part, "__name__"))
        return ", ".join(map(str, described))  # a plain function has no words for it


@dataclass(frozen=True)
class _Optional:
    part: Validator

    def __call__(self, name: str, value: object) -> None:
        if value is not None:
            self.part(name, value)

    def __str__(self) -> str:
        return f"{self.part} or not set"


def at_least(minimum: float) -> Validator:
    """A number from ``minimum`` on; None is refused."""
    return _Range(minimum, None)


def at_most(maximum: float) -> Validator:
    """A number up to ``maximum``; None is refused."""
    return _Range(None, maximum)


def between(minimum: float, maximum: float) -> Validator:
    """A number from ``minimum`` to ``maximum``, both included; None is refused."""
    return _Range(minimum, maximum)


def one_of(*choices: str, ignore_case: bool = False) -> Validator:
    """One of some words; None is refused."""
    return _OneOf(choices, ignore_case)


def unique_aliases(kind: str) -> Validator:
    """A list of names of which none comes twice; None is refused."""
    return _AllOf((_NonNull(), _UniqueAliases(kind)))


def distinct(*, is_empty_allowed: bool = True, is_null_allowed: bool = False) -> Validator:
    """A list without empty entries, and without one that comes twice (KIP-1161, Kafka 4.2 on).

    ``parsing.parse`` takes such a list's entries once each before it asks, as Kafka does: a second
    one is refused where a config is validated, and no reason not to start.
    """
    return _Distinct(is_empty_allowed, is_null_allowed)


def takes_each_once(validator: Validator | None) -> bool:
    """Whether ``distinct`` is this validator or a part of it."""
    if isinstance(validator, _AllOf):
        return any(map(takes_each_once, validator.parts))
    return isinstance(validator, _Distinct)


def limits(validator: Validator | None) -> tuple[float | None, float | None]:
    """The smallest and the largest number that it lets pass; None where there is no limit."""
    if isinstance(validator, _Optional):
        return limits(validator.part)
    if isinstance(validator, _Range):
        return validator.minimum, validator.maximum
    return (-1, None) if isinstance(validator, _PositiveOrDefault) else (None, None)


def choices(validator: Validator | None) -> tuple[tuple[str, ...], bool] | None:
    """The words that it lets pass, and whether in any case of letters; None: not only words."""
    if isinstance(validator, _Optional):
        return choices(validator.part)
    if isinstance(validator, _OneOf):
        return validator.choices, validator.ignore_case
    return None


def positive_or_default(detail: str) -> Validator:
    """A whole number from 1 on, or -1 for the broker's own default."""
    return _PositiveOrDefault(detail)


def json_object(*, string_values: bool = False) -> Validator:
    """Text of a JSON object, if wanted with strings as values only; None and "" pass."""
    return _JsonObject(string_values)


def url(*schemes: str) -> Validator:
    """An absolute URL with a host, http or https unless said otherwise; None and "" pass."""
    return _Url(schemes or ("http", "https"))


def all_of(*parts: Validator) -> Validator:
    """Every part in order; the first one that refuses gives the text."""
    return _AllOf(parts)


def optional(part: Validator) -> Validator:
    """The part, unless the value is not set."""
    return _Optional(part)


non_null: Validator = _NonNull()
"""The value must be there."""

non_empty: Validator = _NonEmpty()
"""A string with at least one character; None passes."""

non_empty_no_control: Validator = _NonEmptyNoControl()
"""A connector's name: not empty and without ISO control characters; None passes."""

servers: Validator = all_of(distinct(is_empty_allowed=False), _Servers())
"""A list of ``host:port``, at least one."""

regex: Validator = _Regex()
"""A pattern, or a list of them; None passes."""


def is_blank(text: str) -> bool:
    """Whether nothing is left of a text once trimmed."""
    return not trim(text)


def _strings(name: str, value: object) -> Sequence[str]:
    if value is None:
        return ()
    if not isinstance(value, tuple):
        raise TypeError(f"{name}: this check is for lists, not {type(value).__name__}")
    return value


def _without_userinfo(text: str) -> str:
    """A URL may carry a password before its host; a message must not."""
    return re.sub(r"//[^/@]*@", "//", text)
