"""Users' regular expressions: in Java's dialect, and bounded in time (spec H.2).

Named groups are spelled ``(?<name>...)`` and ``\\k<name>``. A replacement refers to groups with
``$1`` or ``${name}``; a backslash takes what follows as it is.

A pattern like ``(a+)+`` can take longer than the universe on a text that nearly matches. Every
match therefore has a deadline, and lets other threads run meanwhile (both are why the library
``regex`` is used, and not ``re``): such a pattern fails its record, not the worker.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import regex

from connectd.errors import TransformError

Pattern = regex.Pattern[str]
Match = regex.Match[str]
InvalidPatternError = regex.error

MATCH_DEADLINE_S: Final = 0.5
"""A thousand times what a sane pattern takes on a long text."""

_NAMED: Final = re.compile(r"\\k<([a-zA-Z][a-zA-Z0-9]*)>|(\\.)|\(\?<(?=[a-zA-Z])", re.DOTALL)
_NAME: Final = re.compile(r"[a-zA-Z0-9]*")


def compiled(pattern: str) -> Pattern:
    """The expression, ready for ``fullmatch`` and ``search``.

    Raises:
        InvalidPatternError: it is none.
    """
    return regex.compile(_NAMED.sub(_spelled, pattern))


def fullmatch(pattern: Pattern, text: str) -> Match | None:
    """``Matcher.matches``: the whole text.

    Raises:
        TransformError: it takes too long.
    """
    try:
        return pattern.fullmatch(text, concurrent=True, timeout=MATCH_DEADLINE_S)
    except TimeoutError:
        raise _too_slow(pattern, text) from None


def search(pattern: Pattern, text: str) -> Match | None:
    """``Matcher.find``: the first place.

    Raises:
        TransformError: it takes too long.
    """
    try:
        return pattern.search(text, concurrent=True, timeout=MATCH_DEADLINE_S)
    except TimeoutError:
        raise _too_slow(pattern, text) from None


def _too_slow(pattern: Pattern, text: str) -> TransformError:
    return TransformError(
        f"the regular expression {pattern.pattern} takes more than {MATCH_DEADLINE_S:g} s on a "
        f"text of {len(text)} characters; write it without repetitions inside of repetitions"
    )


def _spelled(found: re.Match[str]) -> str:
    if found[1] is not None:
        return f"(?P={found[1]})"
    return found[2] or "(?P<"


def with_first_replaced(pattern: Pattern, replacement: str, text: str) -> str:
    """``Matcher.replaceFirst``.

    Raises:
        TransformError: the replacement is malformed, or refers to a group that there is not (in
            Java's words); or matching takes too long.
    """
    found = search(pattern, text)
    if found is None:
        return text
    return text[: found.start()] + _Expansion(replacement, found).text() + text[found.end() :]


@dataclass
class _Expansion:
    """One replacement for one match, read from left to right."""

    replacement: str
    match: Match
    at: int = 0

    def text(self) -> str:
        pieces = []
        while self.at < len(self.replacement):
            char = self.replacement[self.at]
            self.at += 1
            if char == "\\":
                pieces.append(self._next("character to be escaped is missing"))
            elif char == "$":
                pieces.append(self._group())
            else:
                pieces.append(char)
        return "".join(pieces)

    def _next(self, error: str) -> str:
        if self.at == len(self.replacement):
            raise TransformError(error)
        self.at += 1
        return self.replacement[self.at - 1]

    def _group(self) -> str:
        first = self._next("Illegal group reference: group index is missing")
        if first == "{":
            return self.match[self._name()] or ""
        if first not in "0123456789":
            raise TransformError("Illegal group reference")
        number, groups = int(first), self.match.re.groups
        while (more := self.replacement[self.at : self.at + 1]) and more in "0123456789":
            if number * 10 + int(more) > groups:
                break
            number = number * 10 + int(more)
            self.at += 1
        if number > groups:
            raise TransformError(f"No group {number}")
        return self.match[number] or ""

    def _name(self) -> str:
        found = _NAME.match(self.replacement, self.at)
        name = found[0] if found else ""
        self.at += len(name)
        if not name:
            raise TransformError("named capturing group has 0 length name")
        if not self.replacement.startswith("}", self.at):
            raise TransformError("named capturing group is missing trailing '}'")
        if name[0].isdigit():
            raise TransformError(f"capturing group name {{{name}}} starts with digit character")
        if name not in self.match.re.groupindex:
            raise TransformError(f"No group with name {{{name}}}")
        self.at += 1
        return name
