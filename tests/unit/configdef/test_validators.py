"""What each validator accepts, and the words in which it refuses."""

from __future__ import annotations

import pytest

from connectd.configdef import validators as v
from connectd.configdef.definition import Validator
from connectd.configdef.values import Secret
from connectd.errors import ConfigError


@pytest.mark.parametrize(
    ("validator", "value"),
    [
        (v.at_least(1), 1),
        (v.at_most(5), 5),
        (v.between(0, 1), 0.5),
        (v.one_of("none", "all"), "all"),
        (v.one_of("poll", "interval", ignore_case=True), "PoLL"),
        (v.non_empty, "a"),
        (v.non_empty, None),
        (v.non_empty, Secret("a")),
        (v.non_empty_no_control, "a b"),
        (v.non_empty_no_control, None),
        (v.non_null, ""),
        (v.unique_aliases("transformation"), ("a", "b")),
        (v.unique_aliases("transformation"), ()),
        (v.distinct(), ("a", "b")),
        (v.distinct(), ()),
        (v.distinct(is_null_allowed=True), None),
        (v.distinct(is_empty_allowed=False), ("a",)),
        (v.positive_or_default(v.PARTITIONS_TEXT), -1),
        (v.positive_or_default(v.PARTITIONS_TEXT), 1),
        (v.regex, "a.*"),
        (v.regex, ("a", "b+")),
        (v.regex, None),
        (v.json_object(), '{"a": 1}'),
        (v.json_object(string_values=True), '{"a": "b"}'),
        (v.json_object(), ""),
        (v.json_object(), None),
        (v.url(), "http://127.0.0.1:8000"),
        (v.url(), "https://[::1]:8000/path"),
        (v.url(), ""),
        (v.url(), None),
        (v.all_of(v.non_null, v.non_empty), "a"),
        (v.optional(v.at_least(0)), None),
        (v.optional(v.at_least(0)), 0),
    ],
)
def test_good_values_pass(validator: Validator, value: object) -> None:
    validator("k", value)


@pytest.mark.parametrize(
    ("validator", "value", "message"),
    [
        (v.at_least(1), 0, "Invalid value 0 for configuration k: Value must be at least 1"),
        (v.at_least(1), None, "Invalid value null for configuration k: Value must be non-null"),
        (v.at_most(5), 6, "Invalid value 6 for configuration k: Value must be no more than 5"),
        (
            v.between(0, 1),
            float("nan"),
            "Invalid value NaN for configuration k: Value must be at least 0",
        ),
        (
            v.one_of("none", "all"),
            "ALL",
            "Invalid value ALL for configuration k: String must be one of: none, all",
        ),
        (
            v.one_of("poll", "interval", ignore_case=True),
            "x",
            "Invalid value x for configuration k: String must be one of (case insensitive): "
            "POLL, INTERVAL",
        ),
        (
            v.one_of("a", ignore_case=True),
            None,
            "Invalid value null for configuration k: String must be one of (case insensitive): A",
        ),
        (v.non_empty, "", "Invalid value  for configuration k: String must be non-empty"),
        (v.non_empty, Secret(""), "Invalid value  for configuration k: String must be non-empty"),
        (v.non_empty_no_control, "", "Invalid value  for configuration k: String may not be empty"),
        (
            v.non_empty_no_control,
            "a\x07b\nc\x85",
            "Invalid value a\x07b\nc\x85 for configuration k: String may not contain control "
            "sequences but had the following ASCII chars: 7, 10, 133",
        ),
        (v.non_null, None, "Invalid value null for configuration k: entry must be non null"),
        (
            v.unique_aliases("transformation"),
            ("a", "a"),
            "Invalid value [a, a] for configuration k: Duplicate alias provided.",
        ),
        (
            v.unique_aliases("transformation"),
            None,
            "Invalid value null for configuration k: entry must be non null",
        ),
        (v.distinct(), None, "Configuration 'k' values must not be null."),
        (v.distinct(), ("a", "b", "a"), "Configuration 'k' values must not be duplicated."),
        (v.distinct(), ("a", ""), "Configuration 'k' values must not be empty."),
        (v.distinct(), ("", ""), "Configuration 'k' values must not be duplicated."),
        (
            v.distinct(is_empty_allowed=False, is_null_allowed=True),
            (),
            "Configuration 'k' must not be empty. Valid values include: any non-empty value",
        ),
        (
            v.positive_or_default(v.PARTITIONS_TEXT),
            0,
            "Invalid value 0 for configuration k: Number of partitions must be positive, or -1 to "
            "use the broker's default",
        ),
        (
            v.positive_or_default(v.PARTITIONS_TEXT),
            None,
            "Invalid value null for configuration k: Number of partitions must be positive, or -1 "
            "to use the broker's default",
        ),
        (
            v.json_object(),
            "[1]",
            'Invalid value [1] for configuration k: Expected a JSON object, like {"a": "b"}',
        ),
        (
            v.json_object(string_values=True),
            '{"a": 1, "b": "x"}',
            'Invalid value {"a": 1, "b": "x"} for configuration k: The values of these members '
            "must be strings: a",
        ),
        (
            v.url(),
            "localhost:8000",
            "Invalid value localhost:8000 for configuration k: Expected a URL of the form "
            "http://host[:port] or https://host[:port]",
        ),
        (
            v.url("https"),
            "http://h",
            "Invalid value http://h for configuration k: Expected a URL of the form "
            "https://host[:port]",
        ),
    ],
)
def test_bad_values_are_refused_in_these_words(
    validator: Validator, value: object, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        validator("k", value)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["http://h:99999", "http://h:x", "http://", "http://[::1"])
def test_broken_urls_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="Expected a URL"):
        v.url()("k", text)


def test_a_password_in_a_url_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        v.url()("k", "ftp://user:hunter2@host")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("text", ["(", ("ok", "[a")])
def test_a_broken_pattern_is_refused(text: object) -> None:
    with pytest.raises(ConfigError, match="for configuration k: Invalid regex: "):
        v.regex("k", text)


def test_broken_json_is_refused() -> None:
    with pytest.raises(ConfigError, match="for configuration k: Not valid JSON: "):
        v.json_object()("k", "{")


def test_a_validator_of_another_type_is_a_bug_not_a_config_error() -> None:
    with pytest.raises(TypeError, match="a range is for numbers"):
        v.at_least(1)("k", "text")
    with pytest.raises(TypeError, match="this check is for lists"):
        v.distinct()("k", "text")


@pytest.mark.parametrize(
    ("validator", "text"),
    [
        (v.at_least(1), "[1,...]"),
        (v.at_most(1), "[...,1]"),
        (v.between(0, 1), "[0,...,1]"),
        (v.one_of("a", "b"), "[a, b]"),
        (v.one_of("a", "b", ignore_case=True), "(case insensitive) [a, b]"),
        (v.optional(v.at_least(0)), "[0,...] or not set"),
        (v.distinct(), "distinct values"),
        (v.distinct(is_empty_allowed=False), "distinct values, at least one"),
        (v.unique_aliases("predicate"), "non-null, unique predicate aliases"),
    ],
)
def test_validators_describe_themselves(validator: Validator, text: str) -> None:
    assert str(validator) == text
