"""Wanted versions: Maven's notation, and its texts for what is not in it."""

from __future__ import annotations

import pytest

from connectd.configdef import versions
from connectd.errors import ConfigError


@pytest.mark.parametrize("text", [None, "latest", " latest "])
def test_any_version_will_do(text: str | None) -> None:
    assert versions.requirement(text) is None


@pytest.mark.parametrize(
    ("text", "shown", "inside", "outside"),
    [
        ("1.0", "[1.0,1.0]", ["1.0", "1", "1.0.0"], ["1.0.1", "0.9", "1.0-rc1"]),
        (" 4.3.1 ", "[4.3.1,4.3.1]", ["4.3.1"], ["4.3"]),
        ("", "[,]", [], ["1.0"]),
        ("foo", "[foo,foo]", ["foo"], ["1"]),
        ("[1.0]", "[1.0,1.0]", ["1.0"], ["1.1"]),
        ("[4.0,5)", "[4.0,5)", ["4", "4.0", "4.10", "4.9.9"], ["5", "3.9", "5.0.0"]),
        ("(4.0,5]", "(4.0,5]", ["4.0.1", "5", "5.0"], ["4.0", "5.0.1"]),
        ("[2,)", "[2,)", ["2", "10"], ["1.9", "2-alpha1"]),
        ("(,2]", "(,2]", ["0.1", "2", "2-rc1"], ["2.1"]),
        ("(,1],[3,4)", "(,1],[3,4)", ["1", "3.5"], ["2", "4"]),
        ("[1,2), [2,3]", "[1,2),[2,3]", ["2", "3"], ["3.1"]),
    ],
)
def test_a_range_is_shown_and_has_its_versions(
    text: str, shown: str, inside: list[str], outside: list[str]
) -> None:
    wanted = versions.requirement(text)
    assert wanted is not None
    assert str(wanted) == shown
    if text:
        assert [each for each in inside if each not in wanted] == []
    assert [each for each in outside if each in wanted] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[", "Unbounded range: [["),
        ("[1,2", "Unbounded range: [1,2"),
        ("(1.0)", "Single version must be surrounded by []: (1.0)"),
        ("[2,1]", "Range defies version ordering: [2,1]"),
        ("(1,1)", "Range defies version ordering: (1,1)"),
        ("[1,3],[2,4]", "Ranges overlap: [1,3],[2,4]"),
        ("[1,2],3", "Only fully-qualified sets allowed in multiple set scenario: [1,2],3"),
    ],
)
def test_what_is_no_range_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        versions.requirement(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("1.0-alpha1", "1.0-beta1"),
        ("1.0-b2", "1.0-m1"),
        ("1.0-rc1", "1.0-SNAPSHOT"),
        ("1.0-SNAPSHOT", "1.0"),
        ("1.0", "1.0-sp1"),
        ("1.0-aa", "1.0-zz"),
        ("1.9", "1.10"),
        ("1", "1.0.1"),
    ],
)
def test_versions_are_ordered_by_their_numbers_and_then_by_their_words(
    earlier: str, later: str
) -> None:
    wanted = versions.requirement(f"({earlier},)")
    assert wanted is not None
    assert later in wanted
    assert earlier not in wanted


def test_the_text_of_a_version_that_there_is_not() -> None:
    wanted = versions.requirement("2")
    assert wanted is not None
    assert versions.mismatch("a.B", wanted, ["1.0", "1.1"]) == (
        "Plugin a.B not found that matches the version range [2,2], available versions: [1.0, 1.1]"
    )
