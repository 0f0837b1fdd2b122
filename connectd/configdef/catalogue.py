"""What checking a config needs to know of the installed plugins.

``plugins.registry`` implements it; the tower forbids this package to look up there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class PluginMatch:
    """What a name stands for.

    ``versions`` are those of the class as a plugin of the kind that was asked for, ``definition``
    its keys. ``problem`` says why the class cannot be used as one; then it has neither.
    """

    class_name: str
    versions: tuple[str, ...] = ()
    definition: ConfigDef | None = None
    problem: str | None = None


class PluginCatalogue(Protocol):
    """The installed plugins and their keys."""

    def match(self, kind: PluginKind, name: str) -> PluginMatch | None:
        """What a class name or alias stands for where a plugin of that kind is wanted.

        None: no plugin and no class of that name is known.
        """
        ...

    def class_names(self, kind: PluginKind) -> Sequence[str]:
        """The class names of all plugins of a kind, sorted."""
        ...

    def versions(self, class_name: str) -> Sequence[str]:
        """The versions of a class, once for each kind of plugin that it is."""
        ...
