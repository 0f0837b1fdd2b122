"""Reads a worker's properties file, with what it refers to.

A worker's own values may come from the config providers that the same properties declare; the keys
of the providers themselves are taken as they are, since nobody could resolve them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from connectd.config_providers import declared
from connectd.configdef import properties
from connectd.configdef.worker import environment_properties
from connectd.errors import ConfigError
from connectd.plugins.lookups import Lookups
from connectd.plugins.resolving import ConfigResolver


def read(path: str | Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The properties of a file, overridden by ``environ``, and resolved. Blocks; no loop runs yet.

    Raises:
        ConfigError: the file cannot be read, or a provider is declared wrongly, fails, or does not
            answer within ``lookups.DEADLINE_S``.
    """
    merged = {**properties.load(path), **environment_properties(environ)}
    own = {name: text for name, text in merged.items() if _is_of_providers(name)}
    others = {name: text for name, text in merged.items() if name not in own}
    providers = declared.make_providers(own)
    if not providers:
        return merged

    async def resolve() -> Mapping[str, str]:
        return (await ConfigResolver(Lookups(providers))(others)).config

    try:
        resolved = asyncio.run(resolve())
    except ConfigError as error:
        raise ConfigError(f"resolving what {path} refers to: {error}") from error
    return {**resolved, **own}


def _is_of_providers(name: str) -> bool:
    return name == declared.LIST_KEY or name.startswith(declared.PREFIX)
