"""What a pattern of Java consists of, and how it is written for the library ``regex``.

Every part says how long its text can be: Java allows in a look-behind only what has a longest text.
And it is told which groups may hold something else in Java than here: Java's matcher does not
always forget what a group took on a way that it gave up. Whether a text matches does not depend on
that; what a group holds does, so such a group cannot be referred to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final


class Kind(Enum):
    """Groups, by how ``regex`` writes them."""

    CAPTURING = "("
    PLAIN = "(?:"
    ATOMIC = "(?>"
    AHEAD = "(?="
    NOT_AHEAD = "(?!"
    BEHIND = "(?<="
    NOT_BEHIND = "(?<!"


class Mode(Enum):
    """How eager a repetition is."""

    GREEDY = ""
    LAZY = "?"
    POSSESSIVE = "+"


AROUND: Final = (Kind.AHEAD, Kind.NOT_AHEAD, Kind.BEHIND, Kind.NOT_BEHIND)
BEHIND: Final = (Kind.BEHIND, Kind.NOT_BEHIND)
NEGATIVE: Final = (Kind.NOT_AHEAD, Kind.NOT_BEHIND)


@dataclass(frozen=True)
class Width:
    """How many characters a part takes; ``longest`` is None when Java knows no end.

    ``is_plain``: it matches in one way only, so that Java repeats it without remembering ways.
    """

    shortest: int = 0
    longest: int | None = 0
    is_plain: bool = True

    def __add__(self, other: Width) -> Width:
        return Width(
            self.shortest + other.shortest,
            None if self.longest is None or other.longest is None else self.longest + other.longest,
            self.is_plain and other.is_plain,
        )


@dataclass(frozen=True)
class Piece:
    """A character, a set of them, or a place: ``source`` stands as one for ``regex``."""

    source: str
    width: Width

    def written(self) -> str:
        """For ``regex``."""
        return self.source


@dataclass(frozen=True)
class BackReference:
    """The text of a group again; ``source`` fits the flags."""

    number: int
    source: str

    width = Width(0, None)

    def written(self) -> str:
        """For ``regex``."""
        return self.source


@dataclass(frozen=True)
class Sequence:
    """One part after the other."""

    parts: tuple[Node, ...]

    @property
    def width(self) -> Width:
        """All of them."""
        return sum((part.width for part in self.parts), Width())

    def written(self) -> str:
        """For ``regex``."""
        return "".join(part.written() for part in self.parts)


@dataclass(frozen=True)
class Choice:
    """The first branch that leads to a match; at least two."""

    branches: tuple[Node, ...]

    @property
    def width(self) -> Width:
        """Any of them."""
        widths = [branch.width for branch in self.branches]
        longest = [width.longest for width in widths if width.longest is not None]
        return Width(
            min(width.shortest for width in widths),
            max(longest) if len(longest) == len(widths) else None,
            is_plain=False,
        )

    def written(self) -> str:
        """For ``regex``."""
        return "|".join(branch.written() for branch in self.branches)


@dataclass(frozen=True)
class Group:
    """What stands in parentheses; ``number`` counts those that capture, from 1."""

    kind: Kind
    body: Node
    number: int | None = None

    @property
    def width(self) -> Width:
        """None of a look around."""
        return Width() if self.kind in AROUND else self.body.width

    def written(self) -> str:
        """For ``regex``."""
        return f"{self.kind.value}{self.body.written()})"


@dataclass(frozen=True)
class Repeat:
    """``body`` so many times; ``at_most`` None: no limit."""

    body: Node
    at_least: int
    at_most: int | None
    mode: Mode

    @property
    def is_once(self) -> bool:
        """Whether it is an option, and no repetition."""
        return (self.at_least, self.at_most) == (0, 1)

    @property
    def width(self) -> Width:
        """Java gives up looking for the longest where a repeated group has more than one way."""
        width = self.body.width
        shortest = width.shortest * self.at_least
        if self.is_once:
            return replace(width, shortest=0, is_plain=False)
        is_loop = (
            isinstance(self.body, Group)
            and self.body.kind not in AROUND
            and not width.is_plain
            and self.mode is not Mode.POSSESSIVE
        )
        if is_loop or self.at_most is None or width.longest is None:
            return Width(shortest, None, is_plain=False)
        is_plain = width.is_plain and self.at_least == self.at_most
        return Width(shortest, width.longest * self.at_most, is_plain)

    def written(self) -> str:
        """For ``regex``."""
        match self._bounds():
            case (0, 1):
                times = "?"
            case (0 | 1 as least, None):
                times = "+" if least else "*"
            case (least, None):
                times = f"{{{least},}}"
            case (least, most):
                times = f"{{{least}}}" if least == most else f"{{{least},{most}}}"
        opening = Kind.ATOMIC if self._is_each_atomic() else Kind.PLAIN
        return f"{opening.value}{self.body.written()}){times}{self.mode.value}"

    def _bounds(self) -> tuple[int, int | None]:
        """Once is enough of what takes no text; ``regex`` goes wrong in endless ones of it."""
        if self.body.width.longest != 0:
            return self.at_least, self.at_most
        return min(self.at_least, 1), 1 if self.at_most is None else min(self.at_most, 1)

    def _is_each_atomic(self) -> bool:
        """Whether Java tries no second way through what is repeated.

        So with all that it takes for plain, though ``\\R`` can be one character or two; but an
        optional group is a choice.
        """
        if self.mode is Mode.POSSESSIVE:
            return True
        is_choice = isinstance(self.body, Group) and self.is_once
        width = self.body.width
        return width.is_plain and width.shortest != width.longest and not is_choice


Node = Piece | BackReference | Sequence | Choice | Group | Repeat


def children(node: Node) -> tuple[Node, ...]:
    """The parts of a part."""
    match node:
        case Sequence(parts):
            return parts
        case Choice(branches):
            return branches
        case Group() | Repeat():
            return (node.body,)
        case _:
            return ()


def every(node: Node) -> Iterator[Node]:
    """The part and all parts in it."""
    yield node
    for child in children(node):
        yield from every(child)


def has_places(node: Node) -> bool:
    """Whether it, or a part of it, minds what is around."""
    return any(
        isinstance(part, BackReference)
        or (isinstance(part, Group) and part.kind in AROUND)
        or (isinstance(part, Piece) and part.width.longest == 0)
        for part in every(node)
    )


def repeated_groups(node: Node) -> frozenset[int]:
    """Numbers of groups inside of a repetition."""
    repeats = (part for part in every(node) if isinstance(part, Repeat) and not part.is_once)
    inside = (part for repeat in repeats for part in every(repeat))
    return frozenset(
        part.number for part in inside if isinstance(part, Group) and part.number is not None
    )


@dataclass(frozen=True)
class _Way:
    """What lies above a part, as far as it matters to what a group holds there.

    Java does not take back what a group holds when a look-around, an atomic group or a possessive
    repetition (``is_cut``) was passed and the way beyond it fails. That shows unless each way to a
    match passes the group again (not ``is_optional``). Nor does it take back what groups inside
    of a repeated plain group hold (``is_repeated_plainly``), nor what such a group itself holds
    when it is repeated from outside as well (``is_looped``).
    """

    is_cut: bool = False
    is_optional: bool = False
    is_repeated_plainly: bool = False
    is_looped: bool = False
    is_certain: bool = True


def uncertain_groups(node: Node) -> frozenset[int]:
    """Numbers of groups that may hold something else in Java."""
    return frozenset(_uncertain(node, _Way()))


def _uncertain(node: Node, way: _Way) -> Iterator[int]:
    match node:
        case Group():
            if node.number is not None and not way.is_certain:
                yield node.number
            way = _in_group(node, way)
        case Choice():
            way = replace(way, is_optional=True, is_certain=way.is_certain and not way.is_cut)
        case Repeat():
            way = _in_repeat(node, way)
        case _:
            pass
    for child in children(node):
        yield from _uncertain(child, way)


def _in_group(group: Group, way: _Way) -> _Way:
    is_certain = way.is_certain and not way.is_repeated_plainly
    if group.kind in (Kind.AHEAD, Kind.ATOMIC):
        return replace(way, is_cut=True, is_certain=is_certain and not way.is_optional)
    is_certain = is_certain and group.kind not in AROUND
    return replace(way, is_certain=is_certain, is_repeated_plainly=False)


def _in_repeat(repeat: Repeat, way: _Way) -> _Way:
    is_once = repeat.is_once
    width = repeat.body.width
    is_certain = way.is_certain and not way.is_cut and (is_once or width.shortest > 0)
    if repeat.mode is Mode.POSSESSIVE:
        is_certain = is_certain and repeat.at_least > 0 and not way.is_optional
        way = replace(way, is_cut=True)
    is_repeated_plainly = not is_once and width.is_plain
    is_certain = is_certain and not (is_repeated_plainly and way.is_looped)
    return replace(
        way,
        is_optional=True,
        is_looped=way.is_looped or not is_once,
        is_repeated_plainly=is_repeated_plainly,
        is_certain=is_certain,
    )
