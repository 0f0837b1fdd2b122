"""Java's grammar of patterns (``java.util.regex``, Java 17), read into a tree.

Recursive descent, one function per rule. What Java refuses is refused as invalid; what Java takes
and whose meaning is not certain here, as unsupported. Nothing is handed on as it stands: each part
of the tree is written anew, in the little of the library's dialect that has one meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from connectd.model import java_regex_brackets as brackets
from connectd.model import java_regex_characters as characters
from connectd.model import java_regex_tree as tree
from connectd.model.java_regex_scanner import InvalidPatternError, Scanner
from connectd.model.java_regex_sets import CharSet, of
from connectd.model.java_regex_tree import Kind, Mode, Node, Width

NEVER: Final = "(?!)"
_TIMES_MAX: Final = (1 << 31) - 1
_FLAGS: Final = "imsduxU"
_MODES: Final = {"?": Mode.LAZY, "+": Mode.POSSESSIVE}
_KINDS: Final = {
    ":": Kind.PLAIN, "=": Kind.AHEAD, "!": Kind.NOT_AHEAD, ">": Kind.ATOMIC,
}  # fmt: skip
_ONE: Final = Width(1, 1)

_START: Final = r"\A"
_END: Final = r"(?=(?:\r\n|(?<!\r)\n|[\r\x85\u2028\u2029])?\Z)"
_LINE_START: Final = r"(?:(?!\Z)(?:\A|(?<=[\n\x85\u2028\u2029])|(?<=\r)(?!\n)))"
_LINE_STOP: Final = r"(?=(?<!\r)\n|[\r\x85\u2028\u2029]|\Z)"
_UNIX_END: Final = r"(?=\n?\Z)"
_UNIX_LINE_START: Final = r"(?:(?!\Z)(?:\A|(?<=\n)))"
_UNIX_LINE_STOP: Final = r"(?=\n|\Z)"

_BASE: Final = r"[[\p{L}\p{Nd}]&&[\u0000-\uffff]]"
_MARK: Final = r"[[\p{Mn}]&&[\u0000-\uffff]]"
_WORD_BEFORE: Final = rf"(?:(?<=[_\p{{L}}\p{{Nd}}])|(?<={_BASE}{_MARK}+))"
_WORD_BEHIND: Final = rf"(?:(?=[_\p{{L}}\p{{Nd}}])|(?=\p{{Mn}})(?<={_BASE}{_MARK}*))"
_UNICODE_WORD: Final = characters.ESCAPES["w"][1].written()
_ANY_LINE_END: Final = rf"(?:\r\n|{characters.ESCAPES['v'][0].written()})"


@dataclass(frozen=True)
class Reading:
    """A pattern, read: how ``regex`` writes it, and its groups."""

    written: str
    numbers_by_name: Mapping[str, int]
    uncertain_groups: frozenset[int]


def read(pattern: str, flags: frozenset[str] = frozenset()) -> Reading:
    """The pattern of Java, for ``regex`` with its flags ``VERSION1`` and ``DOTALL``.

    ``flags``: letters of those that are set from the start, ``i``, ``m``, ``s`` or ``u``.

    Raises:
        InvalidPatternError: Java does not take it.
        UnsupportedPatternError: what it means in Java is not certain here.
    """
    return _Parser(Scanner(pattern), flags).pattern()


def _one(members: CharSet) -> Node:
    return tree.Piece(members.written(), _ONE)


def _boundary(*, is_unicode: bool) -> str:
    before, behind = _WORD_BEFORE, _WORD_BEHIND
    if is_unicode:
        before, behind = f"(?<={_UNICODE_WORD})", f"(?={_UNICODE_WORD})"
    return f"(?:{before}(?!{behind})|(?!{before}){behind})"


@dataclass
class _Parser:
    scanner: Scanner
    flags: frozenset[str] = frozenset()
    depth: int = 0
    behinds: int = 0
    group_count: int = 0
    open_groups: list[int] = field(default_factory=list)
    numbers_by_name: dict[str, int] = field(default_factory=dict)

    def pattern(self) -> Reading:
        """The whole of it."""
        root = self._choice()
        if self.scanner.peek():
            raise self.scanner.invalid("a ')' without its '('", "a group; write \\) for the sign")
        uncertain = tree.uncertain_groups(root)
        for node in tree.every(root):
            if isinstance(node, tree.BackReference):
                self._check_reference(node, uncertain | tree.repeated_groups(root))
        return Reading(root.written(), self.numbers_by_name, uncertain)

    def _check_reference(self, node: tree.BackReference, uncertain: frozenset[int]) -> None:
        if node.source == NEVER and node.number <= self.group_count:
            raise self.scanner.unsupported(
                f"a reference to group {node.number}, which comes later", "one behind the group"
            )
        if node.number in uncertain:
            raise self.scanner.unsupported(
                f"a reference to group {node.number}, of which Java may keep something else",
                "a reference to a group outside of repetitions, alternatives and look-arounds",
            )

    def _set_flags(self, flags: frozenset[str]) -> None:
        self.flags = flags
        self.scanner.is_commented = "x" in flags
        self.scanner.is_unix = "d" in flags

    def _choice(self) -> Node:
        branches = [self._sequence()]
        while self.scanner.takes("|"):
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else tree.Choice(tuple(branches))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while (char := self.scanner.peek()) and char not in "|)":
            atom = self._atom(char)
            if atom is not None:
                parts.append(self._repeated(atom))
        return parts[0] if len(parts) == 1 else tree.Sequence(tuple(parts))

    def _atom(self, char: str) -> Node | None:
        """None: flags alone."""
        match char:
            case "(":
                return self._group()
            case "[":
                return _one(brackets.bracketed(self.scanner, self.flags))
            case "{":
                return tree.Sequence(())  # Java repeats nothing
            case "?" | "*" | "+":
                self.scanner.take()
                raise self.scanner.invalid(
                    f"'{char}' with nothing to repeat",
                    f"a part before it, or \\{char} for the sign",
                )
        self.scanner.take()
        match char:
            case "\\":
                return self._escape(self.scanner.take_escaped())
            case "^":
                return self._place(_START, _LINE_START, _START, _UNIX_LINE_START)
            case "$":
                return self._place(_END, _LINE_STOP, _UNIX_END, _UNIX_LINE_STOP)
            case ".":
                ends = of("\n") if "d" in self.flags else characters.LINE_END
                return _one(characters.ANY if "s" in self.flags else ~ends)
            case _:
                return _one(brackets.single(self.scanner, char, self.flags))

    def _place(self, *sources: str) -> Node:
        """The first without flags, then those of ``m``, of ``d``, and of both."""
        return tree.Piece(sources[("m" in self.flags) + 2 * ("d" in self.flags)], Width())

    # -- repetitions -----------------------------------------------------------------------------

    def _repeated(self, atom: Node) -> Node:
        match self.scanner.peek():
            case "?":
                times: tuple[int, int | None] = (0, 1)
            case "*":
                times = (0, None)
            case "+":
                times = (1, None)
            case "{":
                times = self._times()
            case _:
                return atom
        self.scanner.take()
        mode = _MODES.get(self.scanner.peek(), Mode.GREEDY)
        if mode is not Mode.GREEDY:
            self.scanner.take()
        if mode is Mode.POSSESSIVE:
            self._refuse_behind("a possessive repetition")
        if times[0] > 1 and atom.width.shortest == 0 and tree.has_places(atom):
            raise self.scanner.unsupported(  # Java ends the repetition at the first empty one
                f"{times[0]} times what can be empty and looks around", "a part that is not empty"
            )
        return tree.Repeat(atom, *times, mode)

    def _times(self) -> tuple[int, int | None]:
        """Leaves the scanner before the closing brace."""
        scanner = self.scanner
        scanner.take()
        least = self._number()
        if least is None:
            raise scanner.invalid(
                f"'{{' before {scanner.shown(scanner.peek_inside())}",
                "a number of times; write \\{ for the sign",
            )
        most: int | None = least
        if scanner.peek_inside() == ",":
            scanner.take_inside()
            most = None if scanner.peek_inside() == "}" else self._number() or 0
        if scanner.peek_inside() != "}":
            raise scanner.invalid(f"'{{{least}' without its end", "'}'")
        if most is not None and most < least:
            raise scanner.invalid(f"{{{least},{most}}}", "the lower number first")
        return least, most

    def _number(self) -> int | None:
        digits = ""
        while (char := self.scanner.peek_inside()) and char in "0123456789":
            digits += self.scanner.take_inside()
        if digits and int(digits[-4300:]) > _TIMES_MAX:
            raise self.scanner.invalid(f"{digits[:20]} times", f"at most {_TIMES_MAX}")
        return int(digits) if digits else None

    # -- groups ----------------------------------------------------------------------------------

    def _group(self) -> Node | None:
        outer = self.flags
        self.depth += 1
        if self.depth > brackets.DEPTH_MAX:
            raise self.scanner.unsupported(
                f"more than {brackets.DEPTH_MAX} groups inside of each other", "fewer parentheses"
            )
        self.scanner.take()
        kind, name = self._opening()
        if kind is None:
            self.depth -= 1
            return None
        number = self._numbered(name) if kind is Kind.CAPTURING else None
        self.behinds += kind in tree.BEHIND
        body = self._choice()
        self.behinds -= kind in tree.BEHIND
        if not self.scanner.takes(")"):
            raise self.scanner.invalid("a '(' without its ')'", "the end of the group")
        if number is not None:
            self.open_groups.remove(number)
        self._set_flags(outer)
        self.depth -= 1
        if kind in tree.BEHIND and body.width.longest is None:
            raise self.scanner.unsupported(  # Java takes some of them, and then none of its length
                "a look-behind of any length", "one with a longest text, like (?<=a{1,9})"
            )
        return tree.Group(kind, body, number)

    def _numbered(self, name: str | None) -> int:
        self.group_count += 1
        self.open_groups.append(self.group_count)
        if name is not None:
            if name in self.numbers_by_name:
                raise self.scanner.invalid(f"a second group {name}", "another name")
            self.numbers_by_name[name] = self.group_count
        return self.group_count

    def _opening(self) -> tuple[Kind | None, str | None]:
        """Behind ``(``: which kind of group it is; None: flags alone."""
        scanner = self.scanner
        if not scanner.takes("?"):
            return Kind.CAPTURING, None
        char = scanner.peek_inside()
        if char == "<":
            scanner.take_inside()
            return self._angled()
        if char in _KINDS:
            scanner.take_inside()
            if char == ">":
                self._refuse_behind("an atomic group")
            return _KINDS[char], None
        return self._flagged(), None

    def _angled(self) -> tuple[Kind, str | None]:
        match self.scanner.peek_inside():
            case "=" | "!" as char:
                self.scanner.take_inside()
                return (Kind.BEHIND if char == "=" else Kind.NOT_BEHIND), None
            case _:
                return Kind.CAPTURING, self._name()

    def _name(self) -> str:
        name = ""
        while (char := self.scanner.take_inside()) != ">":
            is_letter = char.isascii() and char.isalpha()
            if not is_letter and not (name and char.isascii() and char.isdigit()):
                raise self.scanner.invalid(
                    f"{self.scanner.shown(char)} in the name of a group",
                    "(?<name>...), of ASCII letters and then digits",
                )
            name += char
        if not name:
            raise self.scanner.invalid("a group without a name", "(?<name>...)")
        return name

    def _flagged(self) -> Kind | None:
        flags, is_off = set(self.flags), False
        while (char := self.scanner.take_inside()) not in (":", ")"):
            if char == "-" and not is_off:
                is_off = True
            elif char == "c":
                raise self.scanner.unsupported("(?c)", "a pattern without canonical equivalence")
            elif not char or char not in _FLAGS:
                raise self._no_flag(char)
            else:
                changed = {"U", "u"} if char == "U" else {char}
                flags = flags - changed if is_off else flags | changed
        self._set_flags(frozenset(flags))
        return Kind.PLAIN if char == ":" else None

    def _no_flag(self, char: str) -> InvalidPatternError:
        hint = "; a named group is (?<name>...)" if char == "P" else ""
        return self.scanner.invalid(
            f"(? before {self.scanner.shown(char)}",
            f"a group of Java, like (?:...), or flags of {_FLAGS}{hint}",
        )

    def _refuse_behind(self, what: str) -> None:
        if self.behinds:
            raise self.scanner.unsupported(f"{what} in a look-behind", "a plain one")

    # -- escapes ---------------------------------------------------------------------------------

    def _escape(self, letter: str) -> Node:
        scanner = self.scanner
        inside = brackets.named_set(scanner, letter, self.flags)
        if inside is not None:
            return _one(inside)
        match letter:
            case "A" | "G":
                return tree.Piece(_START, Width())
            case "z":
                return tree.Piece(r"\Z", Width())
            case "Z":
                return tree.Piece(_UNIX_END if "d" in self.flags else _END, Width())
            case "b" | "B":
                return self._bound(letter)
            case "R":
                self._refuse_behind("\\R")
                return tree.Piece(_ANY_LINE_END, Width(1, 2))
            case "X":
                raise scanner.unsupported("\\X", "the characters themselves, or a dot")
            case "k":
                return self._named_reference()
            case _ if letter and letter in "123456789":
                return self._numbered_reference(int(letter))
        char = brackets.escaped(scanner, letter)
        return _one(brackets.single(scanner, char, self.flags))

    def _bound(self, letter: str) -> Node:
        if letter == "b" and self.scanner.follows("{"):
            raise self.scanner.unsupported("\\b{", "\\b alone")
        source = _boundary(is_unicode="U" in self.flags)
        return tree.Piece(source if letter == "b" else f"(?!{source})", Width())

    def _named_reference(self) -> Node:
        if self.scanner.take_inside() != "<":
            raise self.scanner.invalid("\\k without a name", "\\k<name>")
        name = self._name()
        if name not in self.numbers_by_name:
            raise self.scanner.invalid(f"\\k<{name}>", "the name of a group to the left")
        return self._reference(self.numbers_by_name[name])

    def _numbered_reference(self, number: int) -> Node:
        """Takes as many digits as there are groups for, as Java does."""
        while (digit := self.scanner.peek()) and digit in "0123456789":
            longer = number * 10 + int(digit)
            if longer > self.group_count:
                break
            self.scanner.take()
            number = longer
        if number > self.group_count:
            return tree.BackReference(number, NEVER)
        return self._reference(number)

    def _reference(self, number: int) -> Node:
        if number in self.open_groups:
            raise self.scanner.unsupported(
                f"a reference to group {number} inside of itself", "one behind the group"
            )
        if "i" in self.flags:
            raise self.scanner.unsupported("a reference with (?i)", "one behind (?-i)")
        return tree.BackReference(number, f"(?:\\{number})")
