"""From strings to typed values, by the rules of Kafka's ConfigDef (spec kafka-connect A.8).

``evaluate`` looks at every key of a definition and keeps value and errors apart; ``parse`` wants
all of it to be right, and takes each entry of a ``validators.distinct`` list once; ``validation``
turns the former into the REST answer. Strings are trimmed, an empty
string is an empty list, a key's validator also sees the None of a value that is missing or failed
to parse. Placeholders of config providers (``${provider:path:key}``) are text like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from connectd.configdef import validators
from connectd.configdef.definition import REQUIRED, ConfigDef, ConfigKey, ConfigType
from connectd.configdef.values import Secret, Value, invalid_value, trim
from connectd.errors import ConfigError

_COMMA: Final = re.compile(r"\s*,\s*", re.ASCII)
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_DECIMAL_NUMBER: Final = re.compile(
    r"(?P<number>[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?"
)
_BITS: Final = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_DIGITS_MAX: Final = 20  # a LONG has at most 19; a longer text is refused before it is converted


@dataclass(frozen=True)
class Evaluation:
    """What became of one key. ``is_set``: the configuration names it, under any of its names."""

    value: Value
    errors: tuple[str, ...]
    is_set: bool


class ParsedConfig(Mapping[str, Value]):
    """Typed values of every key of a definition, defaults included.

    The getters state the type that the key was declared with; asking for another one is a bug of
    the caller (``TypeError``), asking for an undeclared key too (``KeyError``).
    """

    def __init__(self, values: Mapping[str, Value], names_set: frozenset[str]) -> None:
        self._values = dict(values)
        self._names_set = names_set

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"ParsedConfig({self._values!r})"

    def is_set(self, name: str) -> bool:
        """Whether the user gave a value, as opposed to the default."""
        return name in self._names_set

    def boolean(self, name: str) -> bool:
        """The value of a BOOLEAN key."""
        value = self._values[name]
        if not isinstance(value, bool):
            raise self._wrong_type(name, "boolean")
        return value

    def integer(self, name: str) -> int:
        """The value of a SHORT, INT or LONG key."""
        value = self.optional_integer(name)
        if value is None:
            raise self._wrong_type(name, "integer")
        return value

    def optional_integer(self, name: str) -> int | None:
        """The value of a SHORT, INT or LONG key whose default is None."""
        value = self._values[name]
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise self._wrong_type(name, "integer")
        return value

    def double(self, name: str) -> float:
        """The value of a DOUBLE key."""
        value = self._values[name]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong_type(name, "double")
        return float(value)

    def string(self, name: str) -> str:
        """The value of a STRING or CLASS key."""
        value = self.optional_string(name)
        if value is None:
            raise self._wrong_type(name, "string")
        return value

    def optional_string(self, name: str) -> str | None:
        """The value of a STRING or CLASS key whose default is None."""
        value = self._values[name]
        if value is not None and not isinstance(value, str):
            raise self._wrong_type(name, "string")
        return value

    def strings(self, name: str) -> tuple[str, ...]:
        """The entries of a LIST key."""
        value = self.optional_strings(name)
        if value is None:
            raise self._wrong_type(name, "list")
        return value

    def optional_strings(self, name: str) -> tuple[str, ...] | None:
        """The entries of a LIST key whose default is None."""
        value = self._values[name]
        if value is not None and not isinstance(value, tuple):
            raise self._wrong_type(name, "list")
        return value

    def optional_secret(self, name: str) -> Secret | None:
        """The value of a PASSWORD key."""
        value = self._values[name]
        if value is not None and not isinstance(value, Secret):
            raise self._wrong_type(name, "password")
        return value

    def secrets(self) -> list[str]:
        """What the PASSWORD keys hold, defaults included, to keep it out of logs."""
        return [value.reveal() for value in self._values.values() if isinstance(value, Secret)]

    def _wrong_type(self, name: str, wanted: str) -> TypeError:
        return TypeError(f"{name} was asked for as {wanted} but is {self._values[name]!r}")


def parse(definition: ConfigDef, config: Mapping[str, str | None]) -> ParsedConfig:
    """Typed values of all keys of the definition; keys that it does not know are ignored.

    Raises:
        ConfigError: something is missing or wrong; one line per problem, each with its key.
    """
    evaluations = {
        key.name: _evaluate_key(key, config, is_each_once=validators.takes_each_once(key.validator))
        for key in definition
    }
    errors = [error for evaluation in evaluations.values() for error in evaluation.errors]
    if errors:
        raise ConfigError("\n".join(errors))
    return ParsedConfig(
        {name: evaluation.value for name, evaluation in evaluations.items()},
        frozenset(name for name, evaluation in evaluations.items() if evaluation.is_set),
    )


def evaluate(definition: ConfigDef, config: Mapping[str, str | None]) -> dict[str, Evaluation]:
    """Value and errors of every key of the definition, in its order. Never raises ConfigError."""
    return {key.name: _evaluate_key(key, config) for key in definition}


def parse_value(name: str, text: str | None, value_type: ConfigType) -> Value:
    """One value by its type; None stays None.

    Raises:
        ConfigError: the text is not of that type.
    """
    if text is None:
        return None
    trimmed = trim(text)
    match value_type:
        case ConfigType.STRING | ConfigType.CLASS:
            return trimmed
        case ConfigType.PASSWORD:
            return Secret(trimmed)
        case ConfigType.LIST:
            return tuple(_COMMA.split(trimmed)) if trimmed else ()
        case ConfigType.BOOLEAN:
            lowered = trimmed.lower()
            if lowered not in ("true", "false"):
                raise invalid_value(name, text, "Expected value to be either true or false")
            return lowered == "true"
        case ConfigType.DOUBLE:
            return _parse_double(name, text, trimmed)
        case _:
            return _parse_whole_number(name, text, trimmed, value_type)


def default_value(key: ConfigKey) -> Value:
    """The typed default of a key that is not required; one declared as text is parsed."""
    default = key.default
    if default is REQUIRED:
        raise ValueError(f"{key.name} has no default")
    if isinstance(default, str):
        return parse_value(key.name, default, key.type)
    if isinstance(default, list):
        return tuple(default)
    if default is None or isinstance(default, bool | int | float | tuple | Secret):
        return default
    raise TypeError(f"{key.name}: a default is not a {type(default).__name__}")


def missing_value(name: str) -> str:
    """The text for a required key that is not set."""
    return f'Missing required configuration "{name}" which has no default value.'


def _evaluate_key(
    key: ConfigKey, config: Mapping[str, str | None], *, is_each_once: bool = False
) -> Evaluation:
    errors: list[str] = []
    value: Value = None
    used_name = next((name for name in (key.name, *key.aliases) if name in config), None)
    if used_name is not None:
        try:
            value = parse_value(used_name, config[used_name], key.type)
        except ConfigError as error:
            errors.append(str(error))
    elif key.is_required:
        errors.append(missing_value(key.name))
    else:
        value = default_value(key)
    if is_each_once and isinstance(value, tuple):
        value = tuple(dict.fromkeys(value))
    if key.validator is not None:
        try:
            key.validator(used_name or key.name, value)
        except ConfigError as error:
            errors.append(str(error))
    return Evaluation(value, tuple(errors), used_name is not None)


def _parse_whole_number(name: str, text: str, trimmed: str, value_type: ConfigType) -> int:
    if _WHOLE_NUMBER.fullmatch(trimmed) and len(trimmed.lstrip("+-0")) <= _DIGITS_MAX:
        number = int(trimmed)
        limit = 1 << (_BITS[value_type] - 1)
        if -limit <= number < limit:
            return number
    raise invalid_value(name, text, f"Not a number of type {value_type.value}")


def _parse_double(name: str, text: str, trimmed: str) -> float:
    match = _DECIMAL_NUMBER.fullmatch(trimmed)
    if match is None:
        raise invalid_value(name, text, "Not a number of type DOUBLE")
    return float(match["number"])
