"""Plugins of other packages: found by entry point, loaded once, when a worker starts.

A package that is installed in the worker's Python environment offers its classes under the groups
of ``GROUPS`` (docs/plugins.md shows how). The name of an entry point is the class name that configs
use when it has dots (``com.acme.Mask$Value``); a plain word is a short name of
``package.module.Class``. The version is that of the package.

One broken package must not take the others down, and must not vanish: a plugin that cannot be
imported, lacks a method, or has a name that is taken becomes an ``UnusablePlugin`` and one line in
the log. Connectors that need it fail with that reason; everything else runs. A config provider that
cannot be loaded ends the start, if the worker's file declares it. Among plugins of the same name,
those of connectd win, then the package whose name comes first; never the order of a directory.

What a package does when it is imported is trusted as connectd itself is: it runs in the worker's
process, on its event loop.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Final

import structlog

from connectd.configdef.catalogue import PluginKind
from connectd.configdef.definition import ConfigDef
from connectd.errors import ConfigError
from connectd.plugins.registry import (
    UNDEFINED_VERSION,
    PluginDesc,
    PluginRegistry,
    UnusablePlugin,
)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Group:
    """What the classes of a group of entry points must have, can be, and are called with."""

    methods: tuple[str, ...]
    kind: PluginKind | None = None
    made_from: tuple[str, ...] = ()


PROVIDERS: Final = "connectd.config_providers"

GROUPS: Final[Mapping[str, Group]] = {
    "connectd.connectors": Group(
        ("config_def", "task_class", "validate", "start", "task_configs", "stop", "alter_offsets",
         "tables"),
        PluginKind.SOURCE,
    ),
    "connectd.converters": Group(
        ("config_def", "from_connect_data"), PluginKind.CONVERTER, ("spec",)
    ),
    "connectd.header_converters": Group(
        ("config_def", "from_connect_header"), PluginKind.HEADER_CONVERTER, ("spec",)
    ),
    "connectd.predicates": Group(("config_def", "test"), PluginKind.PREDICATE, ("settings",)),
    "connectd.transforms": Group(
        ("config_def", "apply"), PluginKind.TRANSFORMATION, ("settings",)
    ),
    PROVIDERS: Group(("from_params", "get")),
}  # fmt: skip
"""Of each group. A converter that has ``from_connect_header`` too is a header converter as well."""


_ASYNC: Final = frozenset({"start", "stop", "task_configs"})
"""The methods of these classes that are awaited; every other one gives its answer at once."""


def load(registry: PluginRegistry, installed: Iterable[metadata.EntryPoint] | None = None) -> None:
    """Register every plugin that installed packages offer; see the module.

    Never raises for what a package does wrong.
    """
    found = _installed() if installed is None else installed
    offers = [_Offer.of(entry) for entry in found if entry.group in GROUPS]
    for offer in sorted(offers, key=lambda each: each.order):
        try:
            _register(registry, offer)
        except KeyboardInterrupt:
            raise  # SIGTERM, while the worker is still being loaded
        except BaseException as error:
            problem = offer.problem(error)
            registry.unusable.append(
                UnusablePlugin(offer.class_name, offer.package, problem, offer.kinds, offer.aliases)
            )
            _log.error("a plugin cannot be used", plugin=offer.class_name, problem=problem)
        else:
            _log.info("plugin loaded", plugin=offer.class_name, package=offer.package)


def _installed() -> Iterator[metadata.EntryPoint]:
    for group in GROUPS:
        yield from metadata.entry_points(group=group)


@dataclass(frozen=True)
class _Offer:
    """An entry point, and what it means."""

    entry: metadata.EntryPoint
    group: Group
    class_name: str
    aliases: tuple[str, ...]
    package: str
    version: str

    @classmethod
    def of(cls, entry: metadata.EntryPoint) -> _Offer:
        is_class_name = "." in entry.name
        version = UNDEFINED_VERSION if entry.dist is None else entry.dist.version
        return cls(
            entry=entry,
            group=GROUPS[entry.group],
            class_name=entry.name if is_class_name else entry.value.replace(":", "."),
            aliases=() if is_class_name else (entry.name,),
            package="an unknown package" if entry.dist is None else f"{entry.dist.name} {version}",
            version=version,
        )

    @property
    def order(self) -> tuple[str, str, str]:
        """The same on every machine, whatever the order of directories."""
        return self.package.lower(), self.entry.group, self.entry.name

    @property
    def kinds(self) -> tuple[PluginKind, ...]:
        """What it would be, as far as its group tells."""
        return () if self.group.kind is None else (self.group.kind,)

    def problem(self, error: BaseException) -> str:
        """One line about why it cannot be used, and what to do."""
        reason = (
            str(error) if isinstance(error, _UnfitError) else f"{type(error).__name__}: {error}"
        )
        return (
            f"{self.class_name} of {self.package} cannot be used ({self.entry.value}, group "
            f"{self.entry.group}): {' '.join(reason.split())}; mend the package or uninstall it, "
            "then restart the worker"
        )


class _UnfitError(ConfigError):
    """The class was imported and is no plugin of its group."""


def _register(registry: PluginRegistry, offer: _Offer) -> None:
    cls: Any = offer.entry.load()
    missing = [name for name in offer.group.methods if not callable(getattr(cls, name, None))]
    if missing:
        lacking = ", ".join(missing)
        raise _UnfitError(f"found {cls!r}, which lacks {lacking}; docs/plugins.md shows one")
    _check_calls(cls, offer.group)
    if offer.group.kind is None:
        _register_provider(registry, offer, cls)
        return
    definition = cls.config_def()
    if not isinstance(definition, ConfigDef):
        raise _UnfitError(f"config_def gave a {type(definition).__name__}, expected a ConfigDef")
    kinds = [offer.group.kind]
    if offer.group.kind is PluginKind.CONVERTER and hasattr(cls, "from_connect_header"):
        kinds.append(PluginKind.HEADER_CONVERTER)
    for kind in kinds:
        plugin = PluginDesc(offer.class_name, kind, offer.version, cls, offer.aliases)
        try:
            registry.register(plugin)
        except ValueError as error:
            raise _UnfitError(f"{error}; give its entry point another name") from error


def _check_calls(cls: Any, group: Group) -> None:
    """How its methods and the class itself are called, as far as one can see from outside."""
    for name in group.methods:
        method = getattr(cls, name)
        is_async = inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)
        if is_async and name not in _ASYNC:
            raise _UnfitError(f"{name} is async, expected a plain method")
    if group.kind is None:
        return  # a provider is made by its from_params
    try:
        inspect.signature(cls).bind(*group.made_from)
    except TypeError as error:
        given = ", ".join(("self", *group.made_from))
        raise _UnfitError(f"__init__ does not take ({given}): {error}") from error
    except ValueError:  # written in C, it does not tell
        return


def _register_provider(registry: PluginRegistry, offer: _Offer, cls: type[Any]) -> None:
    for name in (offer.class_name, *offer.aliases):
        if name in registry.provider_classes:
            raise _UnfitError(f"{name} is already the name of another provider")
    for name in (offer.class_name, *offer.aliases):
        registry.provider_classes[name] = cls
