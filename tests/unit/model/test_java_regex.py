"""Patterns mean what Java makes of them; what is not certain to is refused, with its place.

What Java says of many more of them is kept in ``tests/conformance/vectors``.
"""

from __future__ import annotations

import pytest

from connectd.errors import TransformError
from connectd.model import java_regex


def _matches(pattern: str, text: str) -> bool:
    return java_regex.fullmatch(java_regex.compiled(pattern), text) is not None


@pytest.mark.parametrize(
    ("pattern", "takes", "not_takes"),
    [
        (r"[or]\.[a-z&&[^q]]\d+", "o.a7", "o.q7"),
        ("[a-d[m-p]]+", "an", "ax"),
        ("[a-c&&^b]+", "b", "a"),
        ("[[^a][^b]]", "a", ""),
        (r"[^\W&&[^x]]", "a", "-"),
        ("[[a]b]+", "ab", "[a]b]"),
        (r"\0142", "b", "142"),
        (r"\Qa.b\E+", "a.bb", "acb"),
        (r"\x{62}\cA\e", "b\x01\x1b", "b"),
        (r"\H\V", "ab", " \n"),
        (r"\w\d\s", "a0 ", "é0 "),
        (r"(?U)\w\d", "é٣", "- "),
        (r"\p{Alpha}\p{Punct}", "a-", "é-"),
        (r"\p{javaLowerCase}", "é", "É"),
        (r"a\b.*", "a-", "aé"),
        (r"(?i)k", "K", "\u212a"),
        (r"(?iu)k", "\u212a", "x"),
        ("a.b", "a b", "a\u2028b"),
        ("(?d)a.b", "a\rb", "a\nb"),
        ("(?x) a b # c", "ab", "a b # c"),
        (r"(a)|\2", "a", ""),
        ("a{2}{3}", "aa", "aaaaaa"),
        ("{2}a", "a", "{2}a"),
        (r"\R{2}", "\r\n\n", "\r\n"),
        ("(?:a|ab){2}+c", "aac", "abac"),
    ],
)
def test_a_pattern_means_what_it_means_in_java(pattern: str, takes: str, not_takes: str) -> None:
    assert _matches(pattern, takes)
    assert not _matches(pattern, not_takes)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(?P<n>a)", "(?<na_me>a)", "(?#a)", "(?e)a", "(abc){e<=1}", r"\m", r"\K", "a{", "(?R)"),
        *("(?<n>a)(?<n>b)", "[]", "[b-a]", "a**", r"\p{Foo}", "(", ")", "\\", r"\08", "(?>"),
        *(
            "a{2,1}",
            "a{99999999999}",
            "[a",
            "[a&&b",
            r"\x{110000}",
            r"\k<n>",
            r"[\1]",
            "(?<n",
            "(?i",
        ),
    ],
)
def test_what_java_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(
        java_regex.InvalidPatternError, match=r"found .* \(character \d+\), expe"
    ) as it:
        java_regex.compiled(pattern)
    assert not isinstance(it.value, java_regex.UnsupportedPatternError)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"\X", r"\X (character 1)"),
        (r"a\b{g}", r"\b{ (character 2)"),
        ("(?c)a", "(?c) (character 3)"),
        ("(?iu)ß", "'ß' with (?iu) (character 6)"),
        ("(?iu)[a-é]", "a range with (?iu) (character 9)"),
        (r"(a\1)", "a reference to group 1 inside of itself"),
        (r"\2(a)(b)", "a reference to group 2, which comes later"),
        (r"(?:(a)|b)*\1", "a reference to group 1, of which Java may keep something else"),
        (r"(?i)(a)\1", "a reference with (?i)"),
        ("(?<=a*)b", "a look-behind of any length"),
        ("(?<=a++)b", "a possessive repetition in a look-behind"),
        ("[a&&]", "&& with nothing behind it (character 4)"),
        ("[a&&[b]&c]", "& behind a set behind &&"),
        ("(?x)a{1, 2}", "' ' inside of a part"),
        ("(^a*){2}", "2 times what can be empty"),
        (r"\p{IsLimbu}", "the property IsLimbu"),
        (r"\uD83D", "half of a surrogate pair"),
        ("(" * 41 + ")" * 41, "more than 40 groups"),
        ("[" * 42 + "a" + "]" * 42, "more than 40 sets"),
    ],
)
def test_what_java_takes_and_may_read_otherwise_is_refused(pattern: str, found: str) -> None:
    with pytest.raises(java_regex.UnsupportedPatternError) as refused:
        java_regex.compiled(pattern)
    assert str(refused.value).startswith(f"found {found}")
    assert ", expected " in str(refused.value)


def test_case_is_ignored_where_the_user_says_so() -> None:
    pattern = java_regex.compiled("https://[a-c]+", is_case_ignored=True)
    assert java_regex.fullmatch(pattern, "HTTPS://aBc")
    assert java_regex.fullmatch(pattern, "https://d") is None


def test_groups_and_sets_may_be_nested_as_deep_as_told() -> None:
    assert _matches("(" * 40 + "a" + ")" * 40, "a")
    assert _matches("[" * 40 + "a" + "]" * 40, "a")


def test_a_place_is_one_of_the_pattern_as_it_was_written() -> None:
    with pytest.raises(java_regex.InvalidPatternError, match=r"'\*' with .* \(character 10\)"):
        java_regex.compiled(r"\Qa.b.\E+**")


@pytest.mark.parametrize(
    ("pattern", "uncertain"),
    [
        ("(a)(b)?(c|d)", set()),
        ("(a|b)*", set()),
        ("([a-z]+)-(.*)", set()),
        ("(a?)*", {1}),
        ("(?:(.)c)*", {1}),
        ("(?!(a))b", {1}),
        ("(?=(a))a", set()),
        ("(?:(?=(a))a|b)", {1}),
        ("(?>(a)|(b))", {1, 2}),
        ("(a)++", set()),
        ("(a)*+", {1}),
        ("(?:(.){2}|a)+", {1}),
    ],
)
def test_groups_that_java_may_fill_otherwise_are_known(pattern: str, uncertain: set[int]) -> None:
    compiled = java_regex.compiled(pattern)
    assert compiled.uncertain_groups == uncertain
    for group in range(1, compiled.program.groups + 1):
        if group in uncertain:
            with pytest.raises(java_regex.UnsupportedPatternError, match=f"to group {group}, of"):
                java_regex.check_replacement(compiled, f"x-${group}")
        else:
            java_regex.check_replacement(compiled, f"x-${group}")


@pytest.mark.parametrize(
    ("pattern", "replacement", "made"),
    [
        ("(?<n>a+)", "${n}-$1$10", "<aa-aaaa0>"),
        ("a(b)?", "$1x", "<xa>"),
        ("a", r"\$1\\", r"<$1\a>"),
        ("z", "$9", "<aa>"),
    ],
)
def test_the_first_place_is_replaced(pattern: str, replacement: str, made: str) -> None:
    compiled = java_regex.compiled(pattern)
    assert java_regex.with_first_replaced(compiled, replacement, "<aa>") == made


@pytest.mark.parametrize(
    ("replacement", "words"),
    [
        ("$", "Illegal group reference: group index is missing"),
        ("$x", "Illegal group reference"),
        ("$9", "No group 9"),
        ("${", "named capturing group has 0 length name"),
        ("${n", "named capturing group is missing trailing '}'"),
        ("${1}", "capturing group name {1} starts with digit character"),
        ("${m}", "No group with name {m}"),
        ("\\", "character to be escaped is missing"),
    ],
)
def test_a_malformed_replacement_fails_what_matches(replacement: str, words: str) -> None:
    compiled = java_regex.compiled("(?<n>a)")
    assert java_regex.with_first_replaced(compiled, replacement, "b") == "b"
    with pytest.raises(TransformError) as failed:
        java_regex.with_first_replaced(compiled, replacement, "a")
    assert str(failed.value) == words
