"""What checking a config needs to know of the installed plugins.

``plugins.registry`` implements it; the tower forbids this package to look up there.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from connectd.configdef.definition import ConfigDef


class PluginKind(Enum):
    """Kinds of plugins, under the names that the REST API shows, in the order it lists them."""

    SINK = "sink"
    SOURCE = "source"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"


class PluginCatalogue(Protocol):
    """The installed plugins and their keys."""

    def config_def(self, kind: PluginKind, name: str) -> ConfigDef | None:
        """The keys of the plugin of that kind and class name or alias; None: there is none."""
        ...

    def class_names(self, kind: PluginKind) -> Sequence[str]:
        """The class names of all plugins of a kind, sorted."""
        ...
