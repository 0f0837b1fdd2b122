"""Replacements of Java's ``Matcher``: ``$1`` and ``${name}`` are groups, a backslash quotes.

Of digits behind ``$`` it takes as many as there are groups for. What is malformed, or refers to a
group that there is not, fails the first record that matches, in Java's words, as there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_DIGITS: Final = "0123456789"
_NAME: Final = re.compile(r"[a-zA-Z0-9]*")


@dataclass(frozen=True)
class Replacement:
    """Texts and numbers of groups in their order; ``error``: what is wrong, None if nothing."""

    parts: tuple[str | int, ...]
    error: str | None

    @property
    def groups(self) -> frozenset[int]:
        """Numbers of the groups that it refers to."""
        return frozenset(part for part in self.parts if isinstance(part, int))


def read(text: str, group_count: int, numbers_by_name: Mapping[str, int]) -> Replacement:
    """A replacement for a pattern with these groups."""
    reader = _Reader(text, group_count, numbers_by_name)
    try:
        reader.read()
    except _MalformedError as error:
        return Replacement(tuple(reader.parts), str(error))
    return Replacement(tuple(reader.parts), None)


class _MalformedError(ValueError):
    """In Java's words."""


@dataclass
class _Reader:
    text: str
    group_count: int
    numbers_by_name: Mapping[str, int]
    at: int = 0
    parts: list[str | int] = field(default_factory=list)

    def read(self) -> None:
        """From left to right."""
        while self.at < len(self.text):
            char = self._next("")
            if char == "\\":
                self.parts.append(self._next("character to be escaped is missing"))
            elif char == "$":
                self.parts.append(self._group())
            else:
                self.parts.append(char)

    def _next(self, error: str) -> str:
        if self.at == len(self.text):
            raise _MalformedError(error)
        self.at += 1
        return self.text[self.at - 1]

    def _group(self) -> int:
        first = self._next("Illegal group reference: group index is missing")
        if first == "{":
            return self._named()
        if first not in _DIGITS:
            raise _MalformedError("Illegal group reference")
        number = int(first)
        while (more := self.text[self.at : self.at + 1]) and more in _DIGITS:
            if number * 10 + int(more) > self.group_count:
                break
            number = number * 10 + int(more)
            self.at += 1
        if number > self.group_count:
            raise _MalformedError(f"No group {number}")
        return number

    def _named(self) -> int:
        found = _NAME.match(self.text, self.at)
        name = found[0] if found else ""
        self.at += len(name)
        if not name:
            raise _MalformedError("named capturing group has 0 length name")
        if not self.text.startswith("}", self.at):
            raise _MalformedError("named capturing group is missing trailing '}'")
        if name[0].isdigit():
            raise _MalformedError(f"capturing group name {{{name}}} starts with digit character")
        if name not in self.numbers_by_name:
            raise _MalformedError(f"No group with name {{{name}}}")
        self.at += 1
        return self.numbers_by_name[name]
