"""Converters for tests, with a registry in memory."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from connectd.kafka.schema_registry import RegistryClient
from connectd.model.record import ConverterSpec

_Converter = TypeVar("_Converter")


def converter(cls: type[_Converter], *settings: tuple[str, str]) -> _Converter:
    """A converter, with the registry that all of its class have: formats share no subjects."""
    return cls(spec(*settings), registry(cls.__name__))  # type: ignore[call-arg]


@cache
def registry(name: str = "") -> RegistryClient:
    """A registry in memory; making one costs a tenth of a second, for TLS alone."""
    return RegistryClient({"url": "mock://"})


def spec(*settings: tuple[str, str]) -> ConverterSpec:
    """Settings of a converter of values."""
    merged = {"schema.registry.url": "mock://", "converter.type": "value", **dict(settings)}
    return ConverterSpec("of.tests", tuple(sorted(merged.items())))
