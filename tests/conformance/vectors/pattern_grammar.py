"""Patterns made from Java's grammar, each with texts that match it or nearly do; by seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

Made = tuple[str, str]
"""A part of a pattern, and a text that it takes (as long as nothing around it forbids)."""

LENGTH_MAX: Final = 60
TEXT_LENGTH_MAX: Final = 24
DEPTH_MAX: Final = 3
TEXTS_EACH: Final = 4

_CHARACTERS: Final = "aaabbbcAB0-_. "
_ESCAPES: Final[tuple[Made, ...]] = (
    (r"\d", "0"), (r"\w", "b"), (r"\W", "-"), (r"\s", " "), (r"\D", "a"), (r"\S", "A"),
    (r"\h", " "), (r"\H", "a"), (r"\v", "\n"), (r"\V", "b"), (r"\R", "\n"), (r"\R", "\r\n"),
    (r"\b", ""), (r"\B", ""), ("^", ""), ("$", ""), (r"\A", ""), (r"\Z", ""), (r"\z", ""),
    (r"\p{L}", "a"), (r"\P{L}", "-"), (r"\p{Upper}", "A"), (r"\p{Alnum}", "a"), (r"\pN", "0"),
    (r"\Qa-\E", "a-"), (r"\x61", "a"), (r"\x{62}", "b"), (r"\0142", "b"), (r"\u0063", "c"),
)  # fmt: skip
_SPANS: Final[tuple[Made, ...]] = (
    ("a-c", "b"), ("0-9", "0"), ("A-C", "B"), ("!-b", "a"), (r"\w", "a"), (r"\d", "0"),
    (r"\p{L}", "b"), (r"\W", "-"), (r"\-", "-"), ("]", "]"), ("&", "&"), (r"\P{Lu}", "a"),
)  # fmt: skip
_ANDS: Final[tuple[Made, ...]] = (
    ("&&[^b]", "a"), ("&&[ab]", "a"), (r"&&\w", "a"), ("&&a-c", "c"), ("&&[a-c]&&[^c]", "b"),
)  # fmt: skip
_OPENINGS: Final = (
    *("(", "(", "(", "(", "(?:", "(?:", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?<"),
    *("(?i:", "(?s:", "(?m:", "(?x:", "(?d:", "(?U:", "(?-i:"),
)
_AROUND: Final = ("(?=", "(?!", "(?<=", "(?<!")
_TIMES: Final = (
    *(("*", 0, 3), ("+", 1, 3), ("?", 0, 1), ("{2}", 2, 2)),
    *(("{1,2}", 1, 2), ("{0,2}", 0, 2), ("{1,}", 1, 3)),
)


def patterns(seed: int, count: int) -> Iterator[tuple[str, list[str]]]:
    """So many patterns, each with its texts."""
    writer = _Writer(random.Random(seed))
    while count:
        pattern, text = writer.pattern()
        if pattern and len(pattern) <= LENGTH_MAX and len(text) <= TEXT_LENGTH_MAX:
            count -= 1
            yield pattern, [text, *(writer.changed(text) for _ in range(TEXTS_EACH - 1))]


class _Writer:
    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._names: list[str] = []
        self._groups = 0

    def pattern(self) -> Made:
        """One more."""
        self._names = ["m", "n"]
        self._groups = 0
        return self._choice(0)

    def changed(self, text: str) -> str:
        """The text, or one that is nearly it."""
        at = self._draw.randint(0, len(text))
        other = self._draw.choice("abcAB0- \n\ré_")
        return self._draw.choice(
            (
                text,
                text[:at] + other + text[at:],
                text[:at] + text[at + 1 :],
                text[:at] + other + text[at + 1 :],
                text + text,
            )
        )

    def _choice(self, depth: int) -> Made:
        count = self._draw.choice((1, 1, 1, 2, 3)) if depth < DEPTH_MAX else 1
        branches = [self._sequence(depth) for _ in range(count)]
        return "|".join(pattern for pattern, _ in branches), self._draw.choice(branches)[1]

    def _sequence(self, depth: int) -> Made:
        parts = [self._repeated(depth) for _ in range(self._draw.choice((0, 1, 1, 2, 2, 2, 3)))]
        return "".join(pattern for pattern, _ in parts), "".join(text for _, text in parts)

    def _repeated(self, depth: int) -> Made:
        pattern, text = self._atom(depth)
        if self._draw.random() < 0.55:
            return pattern, text
        times, least, most = self._draw.choice(_TIMES)
        mode = self._draw.choice(("", "", "", "?", "+"))
        return pattern + times + mode, text * self._draw.randint(least, most)

    def _atom(self, depth: int) -> Made:
        kind = self._draw.random()
        if kind < 0.35 or depth > DEPTH_MAX:
            return self._character()
        if kind < 0.45:
            return self._set(0)
        if kind < 0.52:
            return ".", self._draw.choice("ab-")
        if kind < 0.61:
            return self._draw.choice(_ESCAPES)
        if kind < 0.64 and self._groups:
            return f"\\{self._draw.randint(1, self._groups + 1)}", self._draw.choice(("a", "b", ""))
        return self._group(depth)

    def _character(self) -> Made:
        char = self._draw.choice(_CHARACTERS)
        return (f"\\{char}" if char == "." else char), char

    def _group(self, depth: int) -> Made:
        opening = self._draw.choice(_OPENINGS)
        if opening == "(?<":
            opening = f"(?<{self._names.pop()}>" if self._names else "("
        self._groups += opening == "(" or (opening[-1] == ">" and opening != "(?>")
        pattern, text = self._choice(depth + 1)
        if opening in _AROUND:
            text = self._draw.choice(("", text))
        if opening == "(?i:":
            text = self._draw.choice((text, text.swapcase()))
        return f"{opening}{pattern})", text

    def _set(self, depth: int) -> Made:
        members: list[Made] = []
        for _ in range(self._draw.randint(1, 3)):
            kind = self._draw.random()
            if kind < 0.4:
                char = self._draw.choice("aaabbbcAB0_. ")
                members.append((char, char))
            elif kind < 0.65:
                members.append(self._draw.choice(_SPANS))
            elif kind < 0.8 and depth < DEPTH_MAX - 1:
                members.append(self._set(depth + 1))
            else:
                members.append(self._draw.choice(_ANDS) if members else ("a", "a"))
        negation = "^" if self._draw.random() < 0.2 else ""
        text = self._draw.choice("cA-") if negation else members[-1][1]
        return f"[{negation}{''.join(pattern for pattern, _ in members)}]", text
