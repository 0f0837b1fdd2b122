"""JSON Schema of a worker's properties, generated from the declarations of the keys.

For whoever writes properties as YAML or JSON and wants to be told of a mistake before a worker is
started: the Helm chart's values, and editors (``connectd reference --format schema``). It refuses
only what the worker would refuse as well. What a schema cannot say, relations between keys and the
syntax of some texts, is left to the worker.

A value may be a number or a boolean where the key is one, or the text of it; and any value may be a
reference (``${provider:path:key}``), which only the worker can resolve.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from connectd.configdef import parsing, validators
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType
from connectd.configdef.values import value_text

Schema = dict[str, Any]

DIALECT: Final = "http://json-schema.org/draft-07/schema#"

_REFERENCE: Final = r"\$\{.+\}"
_WHOLE: Final = r"^\s*[+-]?[0-9]+\s*$"
_DECIMAL: Final = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
_BOOLEAN: Final = r"^\s*([tT][rR][uU][eE]|[fF][aA][lL][sS][eE])\s*$"
_SCALAR: Final[Schema] = {"type": ["string", "number", "boolean"]}


def properties_schema(definition: ConfigDef, *, title: str, prefixes: Iterable[str] = ()) -> Schema:
    """An object with the keys of a definition; others are allowed, as the worker allows them.

    ``prefixes`` are the beginnings of keys that are passed on as they are: scalars like all others.
    Nothing is required: an environment variable may give what the properties leave out.
    """
    described = ", ".join(f"{prefix}*" for prefix in prefixes)
    return {
        "title": title,
        "description": f"Passed on as they are: {described}." if described else title,
        "type": "object",
        "properties": {key.name: value_schema(key) for key in definition},
        "additionalProperties": _SCALAR,
    }


def value_schema(key: ConfigKey) -> Schema:
    """What the value of one key may look like."""
    schema: Schema = {"description": " ".join(key.doc.split()), **_accepted(key)}
    if not key.is_required:
        text = value_text(parsing.default_value(key), key.type)
        if text is not None:
            schema["default"] = text
    return schema


def secret_names(definitions: Iterable[ConfigDef], prefixes: Collection[str] = ()) -> list[str]:
    """The names of all secrets of some definitions, sorted; ``prefixes`` go before each as well."""
    secrets = [key for each in definitions for key in each if key.is_secret]
    plain = {name for key in secrets for name in (key.name, *key.aliases)}
    return sorted(plain | {f"{prefix}{name}" for prefix in prefixes for name in plain})


def _accepted(key: ConfigKey) -> Schema:
    match key.type:
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG:
            return _any_of({"type": "integer", **_limits(key)}, _WHOLE)
        case ConfigType.DOUBLE:
            return _any_of({"type": "number", **_limits(key)}, _DECIMAL)
        case ConfigType.BOOLEAN:
            return _any_of({"type": "boolean"}, _BOOLEAN)
        case ConfigType.LIST | ConfigType.PASSWORD | ConfigType.CLASS:
            return _SCALAR
        case ConfigType.STRING:
            words = validators.choices(key.validator)
            return _SCALAR if words is None else _words(*words)


def _limits(key: ConfigKey) -> Schema:
    smallest, largest = validators.limits(key.validator)
    found = {"minimum": smallest, "maximum": largest}
    return {name: limit for name, limit in found.items() if limit is not None}


def _words(choices: tuple[str, ...], ignore_case: bool) -> Schema:
    spelled = "|".join(_in_any_case(word) if ignore_case else word for word in choices)
    return {"type": "string", "pattern": rf"^\s*({spelled})\s*$|{_REFERENCE}"}


def _in_any_case(word: str) -> str:
    pairs = (f"[{each.lower()}{each.upper()}]" if each.isalpha() else each for each in word)
    return "".join(pairs)


def _any_of(itself: Schema, text: str) -> Schema:
    return {"anyOf": [itself, {"type": "string", "pattern": f"{text}|{_REFERENCE}"}]}
