"""How an answer on a page is compared with the answer that came. Pure.

An answer that begins with ``{`` or ``[`` is JSON: layout and the order of members do not matter,
everything else does. Text may follow it. All other answers are text, line by line. Where an answer
varies, the page says ``…``:

* in the middle of a text: one character or more (in a line of text: of that line)
* as a value of JSON: a number, a text, true or false; not null, an object or a list
* as the last member of an object: further members, or none
* as the last element of a list: the elements before it are there, in any order, and maybe others

An answer of nothing but ``…`` says nothing, and is refused.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

VARIES: Final = "…"

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|…|[{}\[\]]|[^"…{}\[\]]+', re.DOTALL)
_ANY: Final = "\x00any"
_MORE: Final = "\x00more"


class NotationError(Exception):
    """An answer on a page is written wrongly."""


@dataclass(frozen=True)
class Expected:
    """An answer on a page: JSON (None: there is none) and the lines of text behind it."""

    document: Any | None
    lines: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Expected:
        """Read an answer; raises ``NotationError``."""
        text = text.strip("\n")
        if not text.startswith(("{", "[")):
            lines = tuple(text.splitlines())
            if any(not line.strip(f"{VARIES} ") for line in lines if line):
                raise NotationError(
                    f"the line {VARIES!r} would fit everything; say what is certain"
                )
            return cls(None, lines)
        marked = _with_marks(text)
        document, end = _decode(marked)
        if document in ([_MORE], {_MORE: True}):
            raise NotationError(f"{text!r} would fit everything; say what is certain")
        _check_lists(document)
        return cls(document, tuple(marked[end:].strip("\n").splitlines()))

    def difference(self, found: str) -> str:
        """What is wrong with an answer that came; "" when it fits."""
        found = found.strip("\n")
        if self.document is None:
            return _difference_of_lines(self.lines, found.splitlines())
        try:
            document, end = json.JSONDecoder().raw_decode(found)
        except ValueError as error:
            return f"expected JSON: {error}"
        behind = found[end:].strip("\n").splitlines()
        return _difference(self.document, document, "answer") or _difference_of_lines(
            self.lines, behind
        )


# -- reading ------------------------------------------------------------------------------------


def _with_marks(text: str) -> str:
    """The JSON with a mark for every ``…`` outside of texts: what it stands for there."""
    done: list[str] = []
    inside: list[str] = []
    before = ""
    for token in _TOKEN.findall(text):
        if token == VARIES:
            if before.endswith(":"):
                token = json.dumps(_ANY)
            else:
                is_object = inside[-1:] == ["{"]
                token = f'"{_MORE}": true' if is_object else f'"{_MORE}"'
        elif token in "{[":
            inside.append(token)
        elif token in "}]" and inside:
            inside.pop()
        done.append(token)
        before = token.rstrip() or before
    return "".join(done).replace("\x00", "\\u0000")


def _decode(text: str) -> tuple[Any, int]:
    try:
        return json.JSONDecoder(object_pairs_hook=_object_once).raw_decode(text)
    except ValueError as error:
        raise NotationError(f"{text!r} is not JSON: {error}") from error


def _object_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise NotationError(f"a member stands twice in {names}")
    if _MORE in names[:-1]:
        raise NotationError(f"{VARIES} must be the last member")
    return dict(pairs)


def _check_lists(expected: Any) -> None:
    if isinstance(expected, list):
        if _MORE in expected[:-1]:
            raise NotationError(f"{VARIES} must be the last element")
        for each in expected:
            _check_lists(each)
    elif isinstance(expected, dict):
        _check_lists(list(expected.values()))


# -- comparing ----------------------------------------------------------------------------------


def _difference(expected: Any, found: Any, place: str) -> str:
    if isinstance(expected, dict) and isinstance(found, dict):
        return _difference_of_objects(expected, found, place)
    if isinstance(expected, list) and isinstance(found, list):
        return _difference_of_lists(expected, found, place)
    if expected == _ANY:
        return "" if isinstance(found, str | int | float) else _told(place, "a value", found)
    if isinstance(expected, str) and isinstance(found, str):
        return "" if _fits(expected, found) else _told(place, json.dumps(expected), found)
    is_same = type(expected) is type(found) and expected == found
    return "" if is_same else _told(place, json.dumps(expected, ensure_ascii=False), found)


def _difference_of_objects(expected: dict[str, Any], found: dict[str, Any], place: str) -> str:
    wanted = {name: value for name, value in expected.items() if name != _MORE}
    if missing := sorted(wanted.keys() - found.keys()):
        return f"{place}: expected {', '.join(missing)}, found only {', '.join(sorted(found))}"
    if _MORE not in expected and (further := sorted(found.keys() - wanted.keys())):
        return f"{place}: found {', '.join(further)}, which the page does not name"
    differences = (_difference(wanted[name], found[name], f"{place}.{name}") for name in wanted)
    return next(filter(None, differences), "")


def _difference_of_lists(expected: list[Any], found: list[Any], place: str) -> str:
    if expected[-1:] == [_MORE]:
        if _are_among(expected[:-1], found):
            return ""
        return _told(place, f"{len(expected) - 1} elements as on the page, among others", found)
    if len(expected) != len(found):
        return _told(place, f"{len(expected)} elements", found)
    pairs = zip(expected, found, strict=True)
    differences = (_difference(*pair, f"{place}[{at}]") for at, pair in enumerate(pairs))
    return next(filter(None, differences), "")


def _are_among(wanted: list[Any], found: list[Any]) -> bool:
    """Whether each of them fits another element."""
    if not wanted:
        return True
    return any(
        not _difference(wanted[0], each, "")
        and _are_among(wanted[1:], found[:at] + found[at + 1 :])
        for at, each in enumerate(found)
    )


def _difference_of_lines(expected: Sequence[str], found: Sequence[str]) -> str:
    for number, (wanted, line) in enumerate(itertools.zip_longest(expected, found), 1):
        if wanted is None:
            return f"line {number}: found {line!r}, which the page does not have"
        if line is None:
            return f"line {number}: expected {wanted!r}, found no more"
        if not _fits(wanted, line.rstrip()):
            return f"line {number}: expected {wanted!r}, found {line!r}"
    return ""


def _fits(expected: str, found: str) -> bool:
    pattern = ".+".join(re.escape(part) for part in expected.split(VARIES))
    return re.fullmatch(pattern, found, re.DOTALL) is not None


def _told(place: str, expected: str, found: Any) -> str:
    return f"{place}: expected {expected}, found {json.dumps(found, ensure_ascii=False)}"
