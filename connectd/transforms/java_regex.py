"""Java's regular expressions as far as they differ from Python's in what routers use (spec H.2).

Named groups are spelled ``(?<name>...)`` and ``\\k<name>``. A replacement refers to groups with
``$1`` or ``${name}``; a backslash takes what follows as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from connectd.errors import TransformError

_NAMED: Final = re.compile(r"(\\.)|\(\?<(?=[a-zA-Z])|\\k<([a-zA-Z][a-zA-Z0-9]*)>", re.DOTALL)
_NAME: Final = re.compile(r"[a-zA-Z0-9]*")


def compiled(pattern: str) -> re.Pattern[str]:
    """The expression in Python's form.

    Raises:
        re.error: it is none.
    """
    return re.compile(_NAMED.sub(_spelled, pattern))


def _spelled(found: re.Match[str]) -> str:
    if found[2] is not None:
        return f"(?P={found[2]})"
    return found[1] or "(?P<"


def with_first_replaced(regex: re.Pattern[str], replacement: str, text: str) -> str:
    """``Matcher.replaceFirst``.

    Raises:
        TransformError: the replacement is malformed, or refers to a group that there is not; in
            Java's words.
    """
    found = regex.search(text)
    if found is None:
        return text
    return text[: found.start()] + _Expansion(replacement, found).text() + text[found.end() :]


@dataclass
class _Expansion:
    """One replacement for one match, read from left to right."""

    replacement: str
    match: re.Match[str]
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
