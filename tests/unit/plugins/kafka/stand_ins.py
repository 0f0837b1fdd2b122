"""Plugins that declare what Kafka's declare, made from the recordings; they do nothing.

Their validators are written here, since a recording has none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from connectd.configdef import validators
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.definition import (
    REQUIRED,
    ConfigDef,
    ConfigKey,
    ConfigType,
    Importance,
    Validator,
    Width,
)
from connectd.configdef.worker import WorkerConfig
from connectd.plugins.directory import PluginDirectory
from connectd.plugins.registry import PluginDesc, PluginRegistry
from tests.unit.plugins import probes

HERE: Final = Path(__file__).parent

_VALIDATORS: Final[Mapping[str, Validator]] = {
    "topic": validators.non_empty,
    "converter.type": validators.one_of("key", "value", "header"),
    "target.type": validators.one_of("string", "unix", "Date", "Time", "Timestamp"),
    "name": validators.non_empty,
}


class _StandIn:
    """Has keys; the framework asks a connector for its own check too."""

    definition: ConfigDef

    @classmethod
    def config_def(cls) -> ConfigDef:
        return cls.definition

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        return {}


@cache
def recorded(name: str) -> Any:
    """A recording: ``plugins`` or ``validation``."""
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


@cache
def registry() -> PluginRegistry:
    """Every plugin that the recorded worker had."""
    made = PluginRegistry()
    for info in recorded("plugins")["installed"]:
        keys = recorded("plugins")["keys"].get(info["class"], [])
        kind = PluginKind(info["type"])
        is_connector = kind in (PluginKind.SOURCE, PluginKind.SINK)
        own = [_key(key) for key in keys if not (is_connector and key["group"] == "Common")]
        if is_connector:
            own = [key for key in own if key.group is None]
        cls = type("StandIn", (_StandIn,), {"definition": ConfigDef(own)})
        made.register(PluginDesc(info["class"], kind, info["version"], cls))
    return made


def worker() -> WorkerConfig:
    """A worker with the converters of the recorded one."""
    return probes.worker()


def directory() -> PluginDirectory:
    """What answers for such a worker."""
    return PluginDirectory(registry(), worker())


def _key(info: Mapping[str, Any]) -> ConfigKey:
    return ConfigKey(
        name=info["name"],
        type=ConfigType(info["type"]),
        doc="",
        importance=Importance(info["importance"]),
        default=REQUIRED if info["required"] else info["default_value"],
        group=info["group"],
        order=info["order_in_group"],
        width=Width(info["width"]),
        display_name=info["display_name"],
        validator=_VALIDATORS.get(info["name"]),
        dependents=tuple(info["dependents"]),
    )
