"""Patterns that Java takes and connectd refuses, by what the message says is found; and why."""

from __future__ import annotations

from typing import Final

UNSUPPORTED: Final[tuple[tuple[str, str], ...]] = (
    (
        "a look-behind of any length",
        "a look-behind without a longest text is refused; Java takes some, by a flaw",
    ),
    (
        "in a look-behind",
        "atomic groups, possessive repetitions and `\\R` in a look-behind are refused",
    ),
    (
        "a reference to group",
        "references are refused to a group that comes later, is open, or stands in a repetition or "
        "look-around: what the group holds there is not certain",
    ),
    ("a reference with (?i)", "references that ignore case are refused"),
    (
        "times what can be empty and looks around",
        "repetitions of what can be empty and has anchors or look-arounds in it are refused, as in "
        "`(^a*){2}`: Java ends them early",
    ),
    ("&& with nothing behind it", "`&&` at the end of a set is refused"),
    ("& behind a set behind &&", "a single `&` behind a set behind `&&` is refused"),
    ("\\v before -", "`\\v` at the start of a range is refused"),
    (
        "inside of a part",
        "blanks and comments of `(?x)` inside of a part of the pattern are refused",
    ),
    ("with (?iu)", "letters and ranges with odd cases are refused where `(?iu)` ignores case"),
    ("half of a surrogate pair", "halves of surrogate pairs are refused"),
    ("\\X", "`\\X` is refused"),
    ("\\b{", "`\\b{g}` is refused"),
    ("\\N{", "names that only Java knows a character by are refused"),
    ("(?c)", "the flag `c` (canonical equivalence) is refused"),
    ("the property ", "rare scripts, blocks and properties are refused"),
    ("inside of each other", "more than 40 groups or sets inside of each other are refused"),
)
