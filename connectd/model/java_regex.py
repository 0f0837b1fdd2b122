"""Users' regular expressions: in Java's dialect, and bounded in time (spec H.2).

A pattern means what ``java.util.regex`` of Java 17 makes of it, or is refused.
``java_regex_grammar`` reads it and writes it anew for the library ``regex``; nothing that it does
not know reaches the library, which would take much of it in another sense.

A pattern like ``(a+)+`` can take longer than the universe on a text that nearly matches. Every
match therefore has a deadline, and lets other threads run meanwhile (both are why the library
``regex`` is used, and not ``re``): such a pattern fails its record, not the worker.

Known limits: characters that Unicode has got since Java 17 have their properties here, and none
there; and what ``java_regex_grammar`` calls unsupported is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import regex

from connectd.errors import TransformError
from connectd.model import java_regex_grammar, java_regex_replacement
from connectd.model.java_regex_scanner import InvalidPatternError, UnsupportedPatternError

__all__ = (
    "MATCH_DEADLINE_S",
    "InvalidPatternError",
    "Match",
    "Pattern",
    "UnsupportedPatternError",
    "check_replacement",
    "compiled",
    "fullmatch",
    "search",
    "with_first_replaced",
)

Match = regex.Match[str]

MATCH_DEADLINE_S: Final = 0.5
"""A thousand times what a sane pattern takes on a long text."""

_FLAGS: Final = regex.VERSION1 | regex.DOTALL


@dataclass(frozen=True)
class Pattern:
    """A pattern as its user wrote it, and ready to be used.

    Java may keep something else in one of ``uncertain_groups`` than a match here does.
    """

    text: str
    program: regex.Pattern[str]
    numbers_by_name: Mapping[str, int]
    uncertain_groups: frozenset[int]


def compiled(pattern: str, *, is_case_ignored: bool = False) -> Pattern:
    """The expression, ready for ``fullmatch`` and ``search``.

    ``is_case_ignored``: with Java's flag ``CASE_INSENSITIVE``, as if ``(?i)`` stood before it.

    Raises:
        InvalidPatternError: it is none in Java.
        UnsupportedPatternError: it is one, but what it means is not certain here.
    """
    reading = java_regex_grammar.read(pattern, frozenset("i" if is_case_ignored else ""))
    try:
        program = regex.compile(reading.written, _FLAGS)
    except (regex.error, OverflowError) as error:
        raise UnsupportedPatternError(
            f"found a pattern that cannot be made ready ({error}), expected a simpler one"
        ) from error
    return Pattern(pattern, program, reading.numbers_by_name, reading.uncertain_groups)


def fullmatch(pattern: Pattern, text: str) -> Match | None:
    """``Matcher.matches``: the whole text.

    Raises:
        TransformError: it takes too long.
    """
    try:
        return pattern.program.fullmatch(text, concurrent=True, timeout=MATCH_DEADLINE_S)
    except TimeoutError:
        raise _too_slow(pattern, text) from None


def search(pattern: Pattern, text: str) -> Match | None:
    """``Matcher.find``: the first place.

    Raises:
        TransformError: it takes too long.
    """
    try:
        return pattern.program.search(text, concurrent=True, timeout=MATCH_DEADLINE_S)
    except TimeoutError:
        raise _too_slow(pattern, text) from None


def _too_slow(pattern: Pattern, text: str) -> TransformError:
    return TransformError(
        f"the regular expression {pattern.text} takes more than {MATCH_DEADLINE_S:g} s on a "
        f"text of {len(text)} characters; write it without repetitions inside of repetitions"
    )


def check_replacement(pattern: Pattern, replacement: str) -> None:
    """Ask before the first record.

    Raises:
        UnsupportedPatternError: it refers to a group of which Java may keep something else.
    """
    uncertain = _replacement(pattern, replacement).groups & pattern.uncertain_groups
    if uncertain:
        raise UnsupportedPatternError(
            f"found a reference to group {min(uncertain)}, of which Java may keep something else; "
            "expected one to a group outside of repetitions, alternatives and look-arounds; write "
            "the regex with such a group around what is needed"
        )


def with_first_replaced(pattern: Pattern, replacement: str, text: str) -> str:
    """``Matcher.replaceFirst``.

    Raises:
        TransformError: the replacement is malformed, or refers to a group that there is not (in
            Java's words); or matching takes too long.
    """
    found = search(pattern, text)
    if found is None:
        return text
    made = _replacement(pattern, replacement)
    if made.error is not None:
        raise TransformError(made.error)
    middle = (part if isinstance(part, str) else found[part] or "" for part in made.parts)
    return text[: found.start()] + "".join(middle) + text[found.end() :]


def _replacement(pattern: Pattern, text: str) -> java_regex_replacement.Replacement:
    return java_regex_replacement.read(text, pattern.program.groups, pattern.numbers_by_name)
