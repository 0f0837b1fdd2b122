"""What these connectors have in common: no declared keys, numbers read late, no promises."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import connectd
from connectd.errors import ConfigError
from connectd.model.cluster import Config
from connectd.plugins import authoring

_UNKNOWN_EXACTLY_ONCE: Final = (
    "The connector does not implement the API required for preflight validation of exactly-once "
    "source support. Please consult the documentation for the connector to determine whether it "
    "supports exactly-once semantics, and then consider reconfiguring the connector to use the "
    'value "requested" for this property (which will disable this preflight check and allow the '
    "connector to be created)."
)
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


class ToolSource(authoring.SingleTaskSource):
    """What these connectors are besides what their tasks do."""

    version: ClassVar[str] = connectd.__version__

    @classmethod
    def validate(cls, config: Config) -> Mapping[str, Sequence[str]]:
        """Kafka's answer to ``exactly.once.support=required`` where nothing is said of it."""
        if config.get("exactly.once.support", "").lower() == "required":
            return {"exactly.once.support": [_UNKNOWN_EXACTLY_ONCE]}
        return {}


def integer(config: Config, key: str, default: int | None = None, *, bits: int = 64) -> int:
    """A whole number of a config; spaces are not taken away, as Java does not.

    Raises:
        ConfigError: it is none, or missing without a default.
    """
    text = config.get(key)
    if text is None and default is not None:
        return default
    if text is None or not _INTEGER.fullmatch(text):
        raise ConfigError(f"{key} is {text!r}, expected a whole number")
    value = int(text)
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ConfigError(f"{key} is {text}, expected a number of {bits} bits")
    return value


def topic(config: Config) -> str:
    """The topic to write to.

    Raises:
        ConfigError: there is none.
    """
    found = config.get("topic")
    if not found:
        raise ConfigError("topic is not set; name the topic that gets the records")
    return found
