"""Files that hold the config of one connector, for standalone workers and the command line.

Three forms, told apart by their content (KIP-980): a flat JSON object; a JSON object with ``name``,
``config`` and perhaps ``initial_state``, as it would be sent to ``POST /connectors``; or a
properties file. The first two texts of errors are those of Kafka Connect (spec B.3).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from connectd.configdef import properties
from connectd.configdef.values import trim
from connectd.errors import ConfigError
from connectd.model.states import TargetState

_INITIAL_STATES: Final = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}


@dataclass(frozen=True)
class ConnectorFile:
    """What a file says; ``target`` is None where it does not say it. ``config`` may hold secrets,
    and None for JSON's null."""

    path: str
    name: str
    config: dict[str, str | None]
    target: TargetState | None = None


def load(path: str | Path) -> ConnectorFile:
    """Read a file.

    Raises:
        ConfigError: it cannot be read, has none of the three forms, or names no connector.
    """
    text = properties.read_text(path)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        if str(path).lower().endswith(".json"):
            found = f"Connector configuration at '{path}' is not JSON: {error}"
            raise ConfigError(found) from error
        pairs: dict[str, str | None] = dict(properties.parse_text(text, source=str(path)))
        return _named(str(path), pairs)
    if not isinstance(document, dict):
        raise ConfigError(
            f"Connector configuration at '{path}' is not a JSON object, found a "
            f"{type(document).__name__}"
        )
    if isinstance(document.get("config"), dict):
        return _request(str(path), document)
    return _named(str(path), _flat(str(path), document))


def _named(path: str, config: dict[str, str | None], name: str | None = None) -> ConnectorFile:
    found = trim(name or config.get("name") or "")
    if not found:
        raise ConfigError(
            f"Connector configuration at '{path}' is missing the mandatory 'name' configuration"
        )
    return ConnectorFile(path, found, {**config, "name": found})


def _request(path: str, document: dict[str, Any]) -> ConnectorFile:
    config = _flat(path, document["config"])
    name = _scalar(path, "name", document.get("name"))
    if name is None:
        raise ConfigError(
            f"Connector configuration at '{path}' is missing the mandatory 'name' configuration"
        )
    if config.get("name") is not None and config["name"] != name:
        raise ConfigError(
            "Connector name configuration in 'config' doesn't match the one specified in 'name' "
            f"at '{path}'"
        )
    file = _named(path, config, name)
    state = _scalar(path, "initial_state", document.get("initial_state"))
    if state is None:
        return file
    target = _INITIAL_STATES.get(trim(state).upper())
    if target is None:
        raise ConfigError(
            f"Connector configuration at '{path}' has the initial_state '{state}', expected one of "
            f"{', '.join(_INITIAL_STATES)}"
        )
    return ConnectorFile(path, file.name, file.config, target)


def _flat(path: str, document: dict[str, Any]) -> dict[str, str | None]:
    return {name: _scalar(path, name, value) for name, value in document.items()}


def _scalar(path: str, name: str, value: object) -> str | None:
    """As Kafka Connect takes it: numbers and booleans stand for their text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise ConfigError(
        f"Connector configuration at '{path}': '{name}' is a "
        f"{'list' if isinstance(value, list) else 'JSON object'}, expected text; write lists with "
        "commas"
    )
