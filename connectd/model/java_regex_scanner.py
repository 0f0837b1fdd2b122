"""Reads a pattern of Java character by character: ``\\Q...\\E``, ``(?x)``, and what is wrong where.

``\\Q`` and ``\\E`` come before everything else, as in Java: what they quote is turned into escapes
first, so that a quantifier behind them takes the last character alone. In the mode of comments
(``(?x)``) blanks and comments are passed over between the parts of a pattern, also in brackets;
where they stand inside of one part, the pattern is refused.
"""

from __future__ import annotations

from typing import Final

BLANKS: Final = "\t\n\v\f\r "
"""What ``(?x)`` passes over."""

_LINE_ENDS: Final = "\n\r\x85\u2028\u2029"


class InvalidPatternError(ValueError):
    """Java does not take the pattern either. The message says what is wrong, and where."""


class UnsupportedPatternError(InvalidPatternError):
    """Java takes the pattern, or may; what it means there is not certain here, so it is refused."""


class Scanner:
    """A place in a pattern, which moves to the right.

    ``is_commented`` and ``is_unix`` are the flags ``x`` and ``d`` as they are at this place.
    """

    def __init__(self, pattern: str) -> None:
        self._text, self._origins = _unquoted(pattern)
        self._at = 0
        self.is_commented = False
        self.is_unix = False

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return not self.peek()

    @property
    def previous(self) -> str:
        """The character to the left, whatever it is."""
        return self._text[self._at - 1 : self._at]

    def peek(self) -> str:
        """The next character, behind blanks and comments; empty at the end."""
        while self.is_commented and (char := self._char()):
            if char == "#":
                self._pass_line()
            elif char in BLANKS:
                self._at += 1
            else:
                break
        return self._char()

    def take(self) -> str:
        """The next character, behind blanks and comments, which it passes."""
        char = self.peek()
        self._at += 1
        return char

    def takes(self, char: str) -> bool:
        """Whether this is the next one; then it is passed."""
        found = self.peek() == char
        self._at += found
        return found

    def peek_inside(self) -> str:
        """The next character inside of one part.

        Raises:
            UnsupportedPatternError: blanks or a comment are there, and would be passed over.
        """
        char = self._char()
        if self.is_commented and char and char in BLANKS + "#":
            raise self.unsupported(
                f"{self.shown(char)} inside of a part",
                "blanks and comments between the parts only, with (?x)",
            )
        return char

    def take_inside(self) -> str:
        """The next character inside of one part, which it passes; raises as ``peek_inside``."""
        char = self.peek_inside()
        self._at += 1
        return char

    def take_escaped(self) -> str:
        """The character behind a backslash, a blank as well."""
        char = self._char()
        self._at += 1
        return char

    def take_until(self, end: str, what: str) -> str:
        """What stands before this character, which is passed too.

        Raises:
            InvalidPatternError: it does not come.
        """
        taken = []
        while (char := self.take_inside()) != end:
            if not char:
                raise self.invalid(f"the end in {what}", f"'{end}'")
            taken.append(char)
        return "".join(taken)

    def follows(self, text: str) -> bool:
        """Whether exactly this comes next."""
        return self._text.startswith(text, self._at)

    def invalid(self, found: str, expected: str) -> InvalidPatternError:
        """Java refuses it as well."""
        return InvalidPatternError(self._told(found, expected))

    def unsupported(self, found: str, expected: str) -> UnsupportedPatternError:
        """Java takes it, or may."""
        return UnsupportedPatternError(self._told(found, expected))

    def shown(self, char: str) -> str:
        """A character in a message."""
        return f"'{char}'" if char.isprintable() and char else "the end" if not char else repr(char)

    def _told(self, found: str, expected: str) -> str:
        last = min(max(self._at - 1, 0), len(self._origins) - 1)
        return f"found {found} (character {self._origins[last]}), expected {expected}"

    def _char(self) -> str:
        return self._text[self._at : self._at + 1]

    def _pass_line(self) -> None:
        ends = "\n" if self.is_unix else _LINE_ENDS
        while (char := self._char()) and char not in ends:
            self._at += 1


def _unquoted(pattern: str) -> tuple[str, list[int]]:
    """The pattern without quotes, and for each of its characters the place (from 1) it is from."""
    pieces: list[tuple[str, int]] = []
    at, is_quoted, is_first = 0, False, False
    while at < len(pattern):
        pair = pattern[at : at + 2]
        if pair == (r"\E" if is_quoted else r"\Q"):
            is_quoted = is_first = not is_quoted
            at += 2
        elif is_quoted:
            pieces.append((_escaped(pair[0], is_first=is_first), at + 1))
            is_first = False
            at += 1
        else:
            taken = pair if pair[0] == "\\" else pair[0]
            pieces.append((taken, at + 1))
            at += len(taken)
    origins = [place for piece, place in pieces for _ in piece]
    return "".join(piece for piece, _ in pieces), origins or [1]


def _escaped(char: str, *, is_first: bool) -> str:
    """A quoted character; the first, being a digit, must not belong to an escape before it."""
    if char.isdigit() and char.isascii():
        return f"\\x3{char}" if is_first else char
    return char if char.isalpha() or not char.isascii() else f"\\{char}"
