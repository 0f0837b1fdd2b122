"""The reference of all keys, ``config/REFERENCE.md``, generated from their declarations.

The entry point passes the definitions of connectors and converters, which this package may not
import; it also writes the file, and checks that it is up to date.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from connectd.configdef import parsing
from connectd.configdef.definition import ConfigDef, ConfigKey
from connectd.configdef.values import value_text

_INTRODUCTION: Final = """\
# Configuration reference

Generated from the declarations of the keys by `connectd reference`; do not edit.

* Keys of the worker stand in its properties file (`connectd run worker.properties`). The variable
  `CONNECT_OFFSET_FLUSH_INTERVAL_MS` overrides `offset.flush.interval.ms` of the file; two
  underscores stand for one, three for a hyphen.
* A standalone worker (`connectd standalone worker.properties connector.json`) has the same keys
  but for those of Cluster, except `bootstrap.servers`, and of Internal topics; and one of its own.
* Keys of connectors stand in the `config` that is sent to the REST API. Settings of a converter
  follow under `key.converter.` or `value.converter.`; a connector that sets one of them sets the
  converter too.
* Kafka's own client settings: `producer.`, `consumer.`, `admin.` in the worker's file;
  `producer.override.`, `consumer.override.`, `admin.override.` in a connector's config. Settings
  of internal topics: `config.storage.`, `offset.storage.`, `status.storage.`.
* Unknown keys are ignored with a warning.
"""
_TABLE_HEAD: Final = (
    "| Key | Type | Default | Accepted | Importance | Meaning |\n|---|---|---|---|---|---|\n"
)


def render_reference(worker: ConfigDef, sections: Sequence[tuple[str, ConfigDef]]) -> str:
    """The whole document; ``sections`` follow the worker's keys, each with its title."""
    parts = [_section("Worker", worker), *(_section(title, each) for title, each in sections)]
    return "\n".join([_INTRODUCTION, *parts])


def _section(title: str, definition: ConfigDef) -> str:
    tables = []
    groups = dict.fromkeys(key.group for key in definition)
    for group in groups:
        rows = "".join(_row(key) for key in definition if key.group == group)
        heading = f"### {group}\n\n" if group and len(groups) > 1 else ""
        tables.append(f"{heading}{_TABLE_HEAD}{rows}")
    return f"## {title}\n\n" + "\n".join(tables)


def _row(key: ConfigKey) -> str:
    names = f"`{key.name}`"
    if key.aliases:
        names += " (also " + ", ".join(f"`{alias}`" for alias in key.aliases) + ")"
    accepted = "" if key.validator is None else _described(key.validator)
    cells = (
        names,
        key.type.value.lower(),
        _default(key),
        accepted,
        key.importance.value.lower(),
        _cell(key.doc),
    )
    return f"| {' | '.join(cells)} |\n"


def _default(key: ConfigKey) -> str:
    if key.is_required:
        return "**required**"
    text = value_text(parsing.default_value(key), key.type)
    if text is None:
        return "not set"
    return f"`{_cell(text)}`" if text else "empty"


def _described(validator: object) -> str:
    """Validators describe themselves, unless they are plain functions."""
    return "" if hasattr(validator, "__name__") else _cell(str(validator))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
