"""Config providers for tests: what they know, when it expires, and how they fail."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from connectd.plugins import spi
from connectd.plugins.lookups import Lookups
from connectd.plugins.resolving import ConfigResolver


@dataclass
class ProbeProvider:
    """A provider under the test's control (``spi.ConfigProvider``).

    ``values`` are by path and key; ``calls`` are the paths that it was asked for. A path in
    ``errors`` gets that error.
    """

    values: dict[tuple[str, str], str] = field(default_factory=dict)
    ttl_ms: int | None = None
    errors: dict[str, Exception] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> ProbeProvider:
        """One that knows its parameters, without a path."""
        return cls({("", key): value for key, value in params.items()})

    def get(self, path: str, keys: Collection[str]) -> spi.ProvidedValues:
        """What the test has put in."""
        self.calls.append(path)
        if path in self.errors:
            raise self.errors[path]
        known = {key: self.values[path, key] for key in keys if (path, key) in self.values}
        return spi.ProvidedValues(known, self.ttl_ms)


def resolver(**providers: ProbeProvider) -> ConfigResolver:
    """A resolver of these providers, without threads."""
    return ConfigResolver(Lookups(providers, start_thread=lambda work: work()))
