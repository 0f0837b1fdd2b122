"""``${provider:[path:]key}`` in configs: found, resolved at the last moment, and hidden again.

A value may have several references. Each is replaced by what its provider knows, in one pass: what
came out is not looked at again. Where the provider is unknown, or has no such value, the text stays
as it is (spec kafka-connect B.7, KIP-297).

Resolved configs exist in memory only. What other people see, the topics and the REST API, has the
references; ``Resolution.conceal`` puts them back into texts that were made from resolved values.
Every value that a provider gives is registered with ``observe.redaction``: it appears in no log
line and in no trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from connectd.configdef.values import trim
from connectd.model.cluster import Config
from connectd.observe import redaction
from connectd.plugins.lookups import Lookups

_REFERENCE: Final = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")

_INVALID: Final = "Invalid value {} for configuration"

_NO_SECRETS: Final = frozenset({"true", "false", "null", "none"})
"""Values that say nothing to a thief, and whose hiding would make every log line unreadable."""


@dataclass(frozen=True)
class Reference:
    """One reference in a value; without a path, ``path`` is empty."""

    text: str
    provider: str
    path: str
    key: str


@dataclass(frozen=True)
class Resolution:
    """A config with its references resolved.

    ``values`` has what was put in, by the text of the reference; ``ttls_ms`` how long that is good
    for, by provider and path, where the provider says it.
    """

    raw: Config
    config: Config
    values: Mapping[str, str] = field(default_factory=dict)
    ttls_ms: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def is_replaced(self, name: str) -> bool:
        """Whether the value of a key has something that came from a provider."""
        return any(text in self.values for text in map(_text, references(self.raw.get(name, ""))))

    def conceal(self, text: str) -> str:
        """The text with references where it has values of providers, as far as they are known.

        Values too short to be told from ordinary words are replaced in Kafka's message about an
        invalid value only.
        """
        reference_by_text: dict[str, str] = {}
        for reference, value in self.values.items():
            for spelling in _spellings(value):
                if len(spelling) >= redaction.SECRET_LENGTH_MIN:
                    reference_by_text[spelling] = reference
                elif spelling:
                    reference_by_text[_INVALID.format(spelling)] = _INVALID.format(reference)
        if not reference_by_text:
            return text
        longest_first = sorted(reference_by_text, key=len, reverse=True)
        pattern = re.compile("|".join(map(re.escape, longest_first)))
        return pattern.sub(lambda match: reference_by_text[match[0]], text)


class Resolver(Protocol):
    """Resolves what a config refers to."""

    async def __call__(self, config: Config) -> Resolution:
        """Bounded in time, and without any wait when nothing is to be resolved.

        Raises:
            ConfigError: a provider failed or did not answer in time.
        """
        ...


class ConfigResolver:
    """The resolver of one worker (``Resolver``)."""

    def __init__(self, lookups: Lookups) -> None:
        self._lookups = lookups

    async def __call__(self, config: Config) -> Resolution:
        """See ``Resolver``."""
        found = {
            reference
            for value in config.values()
            for reference in references(value)
            if self._lookups.knows(reference.provider)
        }
        if not found:
            return Resolution(config, config)
        wanted: dict[tuple[str, str], set[str]] = {}
        for reference in sorted(found, key=_text):
            wanted.setdefault((reference.provider, reference.path), set()).add(reference.key)
        provided = await self._lookups.get(wanted)
        values = {}
        for reference in found:
            known = provided[reference.provider, reference.path].values
            if reference.key in known:
                values[reference.text] = known[reference.key]
        for value in values.values():
            _register(value)
        ttls = {where: answer.ttl_ms for where, answer in provided.items()}
        return Resolution(
            raw=config,
            config={name: _replaced(value, values) for name, value in config.items()},
            values=values,
            ttls_ms={where: ttl for where, ttl in ttls.items() if ttl is not None and ttl >= 0},
        )


async def resolve_nothing(config: Config) -> Resolution:
    """The resolver of a worker without providers."""
    return Resolution(config, config)


def references(value: str) -> Iterator[Reference]:
    """The references in a value, in their order, those to unknown providers too."""
    for match in _REFERENCE.finditer(value):
        yield Reference(match[0], provider=match[1], path=match[3] or "", key=match[4])


def has_reference(value: str | None) -> bool:
    """Whether a value refers to a config provider, known or not."""
    return value is not None and _REFERENCE.search(value) is not None


def _replaced(value: str, values: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda match: values.get(match[0], match[0]), value)


def _text(reference: Reference) -> str:
    return reference.text


def _register(value: str) -> None:
    for spelling in {value, trim(value)}:
        if spelling.lower() not in _NO_SECRETS:
            redaction.register_secret(spelling)


def _spellings(value: str) -> Iterator[str]:
    """How a value may look in a message: as it is, trimmed, as a list, as a list's element."""
    elements = [trim(element) for element in value.split(",")]
    yield from dict.fromkeys([value, trim(value), ", ".join(elements), *elements])
