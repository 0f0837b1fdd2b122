"""Configs as clients send them: JSON objects whose values are, or become, strings.

Numbers and booleans are accepted and kept as text, as Kafka Connect does; objects and arrays are
not (field case R12). A null stays None, for the validation to refuse or a patch to remove the key.
"""

from __future__ import annotations

import json
from typing import Final

from connectd.errors import ConfigError

KEYS_MAX: Final = 2_000
"""More keys than any connector has; a config is one record of the config topic."""


def loads(body: bytes | str) -> object:
    """A JSON document whose numbers are text, as they are written (``1.50``).

    Raises:
        ConfigError: it is not JSON. The text says where, and repeats nothing of the document.
    """
    try:
        document: object = json.loads(
            body, parse_int=str, parse_float=str, parse_constant=_no_constant
        )
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        where = (
            f" at line {error.lineno}, column {error.colno}"
            if isinstance(error, json.JSONDecodeError)
            else ""
        )
        raise ConfigError(f"The request body is not valid JSON{where}") from error
    except RecursionError as error:
        raise ConfigError("The request body is nested too deeply") from error
    return document


def config_of(document: object) -> dict[str, str | None]:
    """A config from a JSON value.

    Raises:
        ConfigError: not an object, or a value that is not a string, number, boolean or null. The
            text names keys, never values.
    """
    if not isinstance(document, dict):
        raise ConfigError(
            f"A connector config is a JSON object of strings, found {_json_type(document)}"
        )
    if len(document) > KEYS_MAX:
        raise ConfigError(f"A connector config has at most {KEYS_MAX} keys, found {len(document)}")
    nested = [name for name, value in document.items() if isinstance(value, dict | list)]
    if nested:
        raise ConfigError(
            "The values of a connector config must be strings, found an object or array for "
            f"{', '.join(nested)}; write it as text"
        )
    return {_unicode(str(name)): _text(name, value) for name, value in document.items()}


def _text(name: str, value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return _unicode(str(value), name)


def _unicode(text: str, name: str | None = None) -> str:
    """JSON can spell half of a surrogate pair, which nothing can store."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        where = "a key" if name is None else f"the value of {name}"
        raise ConfigError(
            f"Half of a surrogate pair in {where}; send the whole character"
        ) from error
    return text


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "an array"
    return "a boolean" if isinstance(value, bool) else "a string or number"


def _no_constant(name: str) -> object:
    raise ConfigError(f"The request body is not valid JSON: found {name}")
