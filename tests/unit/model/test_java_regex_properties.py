"""Patterns made from Java's grammar: sets are sets, quotes quote, and nothing else gets through."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from connectd.model import java_regex
from tests.conformance.vectors import pattern_grammar

Members = frozenset[str]
Set = tuple[str, Members]
"""The inside of brackets, and which characters of ``ALPHABET`` it has."""

ALPHABET = "abcABC019_-&^ é\n"
EVERY = frozenset(ALPHABET)
SHORTHANDS = {r"\w": "abcABC019_", r"\d": "019", r"\h": " ", r"\s": " \n", r"\v": "\n"}
OPERATORS: tuple[Callable[[Set, Set], Set], ...] = (
    lambda left, right: (f"[{left[0]}][{right[0]}]", left[1] | right[1]),
    lambda left, right: (f"[{left[0]}]&&[{right[0]}]", left[1] & right[1]),
    lambda left, right: (f"[{left[0]}&&[^{right[0]}]]", left[1] - right[1]),
    lambda left, right: (f"[^{left[0]}][{right[0]}]", (EVERY - left[1]) | right[1]),
    lambda left, right: (f"[{left[0]}]&&{right[0]}", left[1] & right[1]),
)


def _chosen(holds: Callable[[str], bool]) -> Members:
    return frozenset(filter(holds, ALPHABET))


def _char(char: str) -> Set:
    return (f"\\{char}" if char in "-&^" else char), frozenset(char)


def _range(pair: tuple[str, str]) -> Set:
    first, last = sorted(pair)
    return f"{first}-{last}", _chosen(lambda char: first <= char <= last)


def _shorthand(escape: str) -> Set:
    members = frozenset(SHORTHANDS[escape.lower()])
    return escape, members if escape.islower() else EVERY - members


def _together(sets: list[Set]) -> Set:
    members: Members = frozenset().union(*(members for _, members in sets))
    return "".join(inside for inside, _ in sets), members


def _combined(operator: Callable[[Set, Set], Set], left: Set, right: Set) -> Set:
    return operator(left, right)


SIMPLE = st.one_of(
    st.sampled_from(ALPHABET).map(_char),
    st.sampled_from([*SHORTHANDS, *(escape.upper() for escape in SHORTHANDS)]).map(_shorthand),
    st.tuples(st.sampled_from("abcABC"), st.sampled_from("abcABC")).map(_range),
)
SETS = st.recursive(
    st.lists(SIMPLE, min_size=1, max_size=3).map(_together),
    lambda inner: st.builds(_combined, st.sampled_from(OPERATORS), inner, inner),
    max_leaves=6,
)


@settings(deadline=None, max_examples=100)
@given(SETS)
def test_a_set_has_the_characters_that_its_operations_leave(made: Set) -> None:
    inside, members = made
    pattern, others = java_regex.compiled(f"[{inside}]"), java_regex.compiled(f"[^{inside}]")
    for char in ALPHABET:
        assert (java_regex.fullmatch(pattern, char) is not None) == (char in members)
        assert (java_regex.fullmatch(others, char) is None) == (char in members)


@settings(deadline=None, max_examples=150)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12))
def test_a_quoted_text_matches_itself_alone(text: str) -> None:
    quoted = java_regex.compiled(r"\Q" + text.replace(r"\E", "") + r"\E")
    assert java_regex.fullmatch(quoted, text.replace(r"\E", ""))
    assert java_regex.fullmatch(quoted, text + "x") is None


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="ab01(){}[]<>?*+|\\^$.&,-:=!#ximnpPQEkuU ", max_size=16))
def test_any_text_is_a_pattern_or_none(text: str) -> None:
    with contextlib.suppress(java_regex.InvalidPatternError):
        assert java_regex.compiled(text).text == text


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 1_000_000))
def test_a_pattern_of_the_grammar_means_the_same_in_a_group_and_as_a_branch(seed: int) -> None:
    for pattern, texts in pattern_grammar.patterns(seed, 3):
        try:
            alone = java_regex.compiled(pattern)
        except java_regex.InvalidPatternError:
            continue
        grouped = java_regex.compiled(f"(?:{pattern})")
        branched = java_regex.compiled(rf"(?:{pattern}|\b\B)")
        for text in texts:
            whole = java_regex.fullmatch(alone, text) is not None
            assert (java_regex.fullmatch(grouped, text) is not None) == whole
            assert (java_regex.fullmatch(branched, text) is not None) == whole
