"""Settings of transforms and predicates, as the validate endpoint judges them, key by key."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.conformance.vectors.cases import BAD_SETTINGS, PREDICATES, SETTINGS, TRANSFORMS, case

Json = Any

LIST_KEYS = (
    *(("ValueToKey", "fields"), ("MaskField$Value", "fields"), ("DropHeaders", "headers")),
    *(("ReplaceField$Value", key) for key in ("exclude", "include", "renames")),
    *(("HeaderFrom$Value", key) for key in ("fields", "headers")),
    ("Cast$Value", "spec"),
)
LISTS = (
    *("", " ", "a", "a,a", " a , a ", "a,b,a", "a,A", "a,", ",a", "a,,b", ",", ",,", "a,a,"),
    *("a:b", "a:b,a:b", "a:b,c:b", "a:int8,a:int8", "a:int8,a:int16", "int8,int8"),
)
WORDS = ("", "x", "true", "TRUE", "1", "2147483648", "V1", "V2", "move", "COPY", "seconds", "Date")
NAMES = (
    *("Cast$Value", "DropHeaders", "ExtractField$Key", "Filter", "Flatten$Value"),
    *("HeaderFrom$Value", "HoistField$Key", "InsertField$Value", "InsertHeader", "MaskField$Value"),
    *("RegexRouter", "ReplaceField$Value", "SetSchemaMetadata$Value", "TimestampConverter$Value"),
    *("TimestampRouter", "ValueToKey"),
)
KEYS = (
    *("delimiter", "field", "field.syntax.version", "format", "header", "name", "operation"),
    *("offset.field", "regex", "replace.null.with.default", "replacement", "schema.name"),
    *("schema.version", "static.field", "static.value", "target.type", "timestamp.format"),
    *("topic.format", "unix.precision", "value.literal"),
)


def settings_cases() -> Iterator[Json]:
    """Every list with every form of it, every other key with a word, and what is there already."""
    for (name, key), text in product(LIST_KEYS, LISTS):
        yield case("validate", f"{TRANSFORMS}{name}", {key: text})
    for name, word in product(NAMES, WORDS):
        yield case("validate", f"{TRANSFORMS}{name}", dict.fromkeys(KEYS, word))
    for name in NAMES:
        yield case("validate", f"{TRANSFORMS}{name}", {})
    for name, settings in BAD_SETTINGS:
        yield case("validate", f"{TRANSFORMS}{name}", settings)
    for name, many in SETTINGS.items():
        for settings in many:
            yield case("validate", f"{TRANSFORMS}{name}$Value", settings)
    for name in PREDICATES:
        for settings in ({}, *(dict.fromkeys(("name", "pattern"), word) for word in WORDS)):
            yield case("validate", f"{TRANSFORMS}predicates.{name}", settings)
