"""The words of a Protobuf file: names, numbers, texts and marks, without comments. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from connectd.errors import ConvertError

_TOKEN: Final = re.compile(
    r"""
    (?P<space> \s+ | //[^\n]* | /\*.*?\*/ )
    | (?P<token>
        \.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*     # a name, with or without its package
        | \.?[0-9](?:[eE][+-][0-9] | [\w.])*   # a number
        | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
        | [{}()<>\[\]=;:,+/-]
    )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_NAME: Final = re.compile(r"\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_INTEGER: Final = re.compile(r"(0[xX][0-9a-fA-F]{1,16})|(0[0-7]{0,22})|[1-9][0-9]{0,19}", re.ASCII)
_ESCAPE: Final = re.compile(r"\\(?:[xX]([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class Tokens:
    """The tokens of a text, taken from front to back."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    def peek(self) -> str:
        """The next one, which stays; nothing at the end."""
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def next(self) -> str:
        """The next one."""
        found = self.peek()
        self._at += 1
        return found

    def take(self, token: str) -> bool:
        """Whether the next one is that; it is gone then."""
        is_that = self.peek() == token
        self._at += is_that
        return is_that

    def expect(self, token: str) -> None:
        """Take that one, and nothing else."""
        if not self.take(token):
            raise self.unexpected(repr(token))

    def name(self) -> str:
        """Take a name."""
        if not _NAME.fullmatch(self.peek()):
            raise self.unexpected("a name")
        return self.next()

    def integer(self) -> int:
        """Take a whole number."""
        sign = -1 if self.take("-") else 1
        found = _INTEGER.fullmatch(self.peek())
        if found is None:
            raise self.unexpected("a whole number")
        return sign * int(self.next(), 16 if found[1] else 8 if found[2] else 10)

    def is_at_text(self) -> bool:
        """Whether the next one is a text."""
        return self.peek().startswith(("'", '"'))

    def text(self) -> str:
        """Take a text, which may stand there in several pieces."""
        if not self.is_at_text():
            raise self.unexpected("a text")
        found = ""
        while self.is_at_text():
            found += _ESCAPE.sub(_unescaped, self.next()[1:-1])
        return found

    def word(self) -> str:
        """Take a name or a number, with its sign."""
        sign = self.next() if self.peek() in ("-", "+") else ""
        if not self.peek()[:1].isalnum() and self.peek()[:1] not in ("_", "."):
            raise self.unexpected("a value")
        return sign + self.next()

    def unexpected(self, expected: str) -> ConvertError:
        """The error for a token that is none of what may stand there."""
        where = self._tokens[min(self._at, len(self._tokens) - 1)][1] if self._tokens else 1
        found = repr(self.peek()) if self.peek() else "the end"
        return ConvertError(
            f"line {where} of the Protobuf schema: expected {expected}, found {found}"
        )

    def refused(self, what: str) -> ConvertError:
        """The error for something that Protobuf has, and this converter has not."""
        where = self._tokens[self._at - 1][1]
        return ConvertError(f"line {where} of the Protobuf schema: {what}")


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Each token with its line."""
    at, line = 0, 1
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ConvertError(f"line {line} of the Protobuf schema has {text[at]!r} in it")
        if found["token"]:
            yield found["token"], line
        line += found[0].count("\n")
        at = found.end()


def _unescaped(found: re.Match[str]) -> str:
    if found[1] or found[2]:
        return chr(int(found[1], 16) if found[1] else int(found[2], 8))
    return _ESCAPED.get(found[3], found[3])
