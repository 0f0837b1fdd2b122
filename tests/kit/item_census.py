"""Which hard cases are in generated items: a property proves little about what never occurred.

``kinds`` names what is in one item; ``ALL_KINDS`` is what tests of many items ask for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.kit.items import TYPE_LETTERS, Item, Value
from tests.kit.random_items import DEPTH_MAX

LARGE_BYTES: Final = 380_000
"""Of the texts in an item: near the 400 KB that DynamoDB takes."""

_PRECISION_MAX: Final = 38

_CHARACTERS: Final = {
    "quote": '"',
    "brace": "{}",
    "backslash": "\\",
    "control character": "".join(map(chr, range(0x20))),
}
_BEYOND_THE_BMP: Final = "character beyond the BMP"

EXTREMES: Final = frozenset(("400 KB", f"depth {DEPTH_MAX}"))
"""Kinds that makers of items give when they are asked to, and then once."""

_LETTER_NAMES: Final = frozenset((*TYPE_LETTERS, *(letter.lower() for letter in TYPE_LETTERS)))

ALL_KINDS: Final = frozenset(
    (
        *(f"type {letter}" for letter in TYPE_LETTERS),
        *(f"empty {letter}" for letter in ("S", "B", "SS", "NS", "BS", "M", "L")),
        *(f"name {letter}" for letter in _LETTER_NAMES),
        *(f"{where} with a {what}" for what in _CHARACTERS for where in ("name", "text")),
        *(f"{where} with a {_BEYOND_THE_BMP}" for where in ("name", "text")),
        *("number of 38 digits", "number of 38 digits with an exponent"),
        *EXTREMES,
    )
)


def kinds(item: Item) -> set[str]:
    """The kinds that an item has."""
    found: set[str] = set()
    text_bytes, depth_max = 0, 0
    for name, value, depth in _members(item):
        found.update(_kinds_of_name(name))
        ((letter, content),) = value.items()
        found.add(f"type {letter}")
        if not content and content is not False:
            found.add(f"empty {letter}")
        if letter == "S":
            found.update(_kinds_of_characters("text", content))
            text_bytes += len(content.encode())
        elif letter == "N":
            found.update(_kinds_of_number(content))
        depth_max = max(depth_max, depth + (letter in "ML"))
    if text_bytes >= LARGE_BYTES:
        found.add("400 KB")
    if depth_max == DEPTH_MAX:
        found.add(f"depth {DEPTH_MAX}")
    return found


def _members(item: Item) -> Iterator[tuple[str | None, Value, int]]:
    """All values of an item: the name, if it has one, and the maps and lists around it."""
    left: list[tuple[str | None, Value, int]] = [(name, value, 0) for name, value in item.items()]
    while left:
        name, value, depth = left.pop()
        yield name, value, depth
        ((letter, content),) = value.items()
        if letter == "M":
            left.extend((inner, member, depth + 1) for inner, member in content.items())
        elif letter == "L":
            left.extend((None, element, depth + 1) for element in content)


def _kinds_of_name(name: str | None) -> Iterator[str]:
    if name is None:
        return
    if name in _LETTER_NAMES:
        yield f"name {name}"
    yield from _kinds_of_characters("name", name)


def _kinds_of_characters(where: str, text: str) -> Iterator[str]:
    for what, characters in _CHARACTERS.items():
        if not set(characters).isdisjoint(text):
            yield f"{where} with a {what}"
    if text and max(text) > "\uffff":
        yield f"{where} with a {_BEYOND_THE_BMP}"


def _kinds_of_number(text: str) -> Iterator[str]:
    digits, e, _ = text.lower().partition("e")
    if sum(map(str.isdigit, digits)) == _PRECISION_MAX:
        yield "number of 38 digits with an exponent" if e else "number of 38 digits"
