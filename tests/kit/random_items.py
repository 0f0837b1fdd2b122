"""DynamoDB items by the thousand, from a seed: every type, awkward names, awkward spellings.

Hypothesis (``items``) finds the smallest counterexample of a property, at a millisecond or more for
each example. This makes an item in some ten microseconds, for properties that are to be tried tens
of thousands of times, and pages for programs that try millions.
"""

from __future__ import annotations

import base64
import json
from random import Random
from typing import Any, Final

from tests.kit.items import AWKWARD_NAMES, Item, Value

DEPTH_MAX: Final = 32
"""Levels of maps and lists that DynamoDB takes."""

_PIECES: Final = (
    *("", "a", "7", "word", "two words", "a longer text, of more than eight bytes"),
    *('"', "\\", "\\\\", '\\"', "\\u0041", "/", "</script>", "{", "}", "[", "]", ":", ","),
    *('{"S":"', '"},{"M":{', '{"NULL":true}', "\x00", "\x01", "\b", "\t", "\n", "\f", "\r"),
    *("\x1f", "\x7f", "\x80", "é", "ÿ", "Ж", "\u07ff", "\u0800", "名前", "\u2028", "\ud7ff"),
    *("\ue000", "\ufffd", "\uffff", "😀", "\U00010000", "\U0010ffff", "👩\u200d👩\u200d👧"),
)

_NUMBERS: Final = (
    *("0", "-0", "1", "-1", "7.0", "1E-130", "9.99E+125", "-1.5e10", "1234567890" * 4),
    *("12345678901234567890123456789012345678", "-0.00000000000000000001", "1e5", "0.1"),
    "-9.9999999999999999999999999999999999999E+125",
    "1.2345678901234567890123456789012345678e-93",
)

_SHORT: Final = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


class ItemMaker:
    """Makes items; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def text(self) -> str:
        """A text of a few pieces; rarely a long one."""
        random = self.random
        pieces = random.choices(_PIECES, k=random.randrange(5))
        return "".join(pieces) * (1 if random.random() < 0.99 else 40)

    def name(self) -> str:
        """A name of an attribute, not empty."""
        random = self.random
        if random.random() < 0.5:
            return random.choice(AWKWARD_NAMES)
        return self.text() or f"attribute_{random.randrange(20)}"

    def number(self) -> str:
        """Decimal text."""
        random = self.random
        return random.choice(_NUMBERS) if random.random() < 0.5 else str(random.randrange(10**38))

    def blob(self) -> str:
        """Base64."""
        return base64.b64encode(self.random.randbytes(self.random.randrange(12))).decode()

    def value(self, depth: int = 0) -> Value:
        """A value of any type, with ``depth`` levels around it."""
        random = self.random
        kind = random.randrange(10 if depth < DEPTH_MAX and random.random() < 0.9 else 8)
        if kind == 8:
            return {"M": {self.name(): self.value(depth + 1) for _ in range(random.randrange(4))}}
        if kind == 9:
            return {"L": [self.value(depth + 1) for _ in range(random.randrange(4))]}
        make = (self.text, self.number, self.blob)
        if kind < 3:
            return {"SNB"[kind]: make[kind]()}
        if kind < 6:
            content = [make[kind - 3]() for _ in range(random.randrange(4))]
            return {("SS", "NS", "BS")[kind - 3]: content}
        return {"BOOL": random.random() < 0.5} if kind == 6 else {"NULL": random.random() < 0.9}

    def deep_value(self) -> Value:
        """A value at the bottom of as many levels as DynamoDB takes."""
        value = self.value(DEPTH_MAX)
        for _ in range(DEPTH_MAX):
            value = {"M": {self.name(): value}} if self.random.random() < 0.5 else {"L": [value]}
        return value

    def large_value(self, size: int = 400_000) -> Value:
        """A value of about 400 KB, the most that an item may have."""
        text = "".join(self.random.choices(_PIECES, k=200)) or "x"
        return {"S": text * (size // len(text.encode()))}

    def wide_value(self, members: int = 2_000) -> Value:
        """A map of many members."""
        return {"M": {f"member {number}": self.value(DEPTH_MAX) for number in range(members)}}

    def item(self, key: tuple[tuple[str, str], ...]) -> Item:
        """An item with such a key (names and type letters), its attributes in any order."""
        random = self.random
        make = {"S": self.text, "N": self.number, "B": self.blob}
        item: Item = {self.name(): self.value() for _ in range(random.randrange(8))}
        item |= {name: {letter: make[letter]()} for name, letter in key}
        names = list(item)
        random.shuffle(names)
        return {name: item[name] for name in names}

    def spelled(self, value: Any) -> bytes:
        """Compact JSON, some characters of which are spelled as escapes that need not be."""
        style = self.random.randrange(3)
        if style < 2:
            text = json.dumps(value, ensure_ascii=style == 1, separators=(",", ":"))
        else:
            text = self._spelled(value)
        return text.encode()

    def _spelled(self, value: Any) -> str:
        if isinstance(value, str):
            return f'"{"".join(map(self._character, value))}"'
        if isinstance(value, dict):
            members = (f"{self._spelled(k)}:{self._spelled(v)}" for k, v in value.items())
            return f"{{{','.join(members)}}}"
        if isinstance(value, list):
            return f"[{','.join(map(self._spelled, value))}]"
        return json.dumps(value)

    def _character(self, character: str) -> str:
        code = ord(character)
        if self.random.random() < 0.1:
            units = character.encode("utf-16-be")
            form = "\\u%04x" if self.random.random() < 0.5 else "\\u%04X"
            return "".join(
                form % int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)
            )
        if code in _SHORT:
            return _SHORT[code]
        return f"\\u{code:04x}" if code < 0x20 else character
