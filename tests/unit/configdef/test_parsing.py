"""Kafka's ConfigDef semantics: types, trimming, defaults, missing values, double errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.configdef import validators
from connectd.configdef.definition import (
    REQUIRED,
    ConfigDef,
    ConfigKey,
    ConfigType,
    Importance,
    Validator,
)
from connectd.configdef.parsing import evaluate, parse, parse_value
from connectd.configdef.values import Secret, Value
from connectd.errors import ConfigError


def key(
    name: str,
    value_type: ConfigType,
    default: object = REQUIRED,
    validator: Validator | None = None,
    aliases: tuple[str, ...] = (),
) -> ConfigKey:
    return ConfigKey(
        name,
        value_type,
        "A key.",
        Importance.LOW,
        default=default,
        validator=validator,
        aliases=aliases,
    )


@pytest.mark.parametrize(
    ("value_type", "text", "value"),
    [
        (ConfigType.STRING, "  a b\t", "a b"),
        (ConfigType.STRING, "", ""),
        (ConfigType.CLASS, " a.B ", "a.B"),
        (ConfigType.PASSWORD, " s3cret ", Secret("s3cret")),
        (ConfigType.BOOLEAN, " TrUe ", True),
        (ConfigType.BOOLEAN, "false", False),
        (ConfigType.INT, " 12 ", 12),
        (ConfigType.INT, "+5", 5),
        (ConfigType.INT, "-0007", -7),
        (ConfigType.INT, "2147483647", 2**31 - 1),
        (ConfigType.INT, "-2147483648", -(2**31)),
        (ConfigType.SHORT, "-32768", -32768),
        (ConfigType.LONG, "9223372036854775807", 2**63 - 1),
        (ConfigType.DOUBLE, "1", 1.0),
        (ConfigType.DOUBLE, ".5", 0.5),
        (ConfigType.DOUBLE, "-1.5e3", -1500.0),
        (ConfigType.DOUBLE, "0.25f", 0.25),
        (ConfigType.LIST, " a , b,c ", ("a", "b", "c")),
        (ConfigType.LIST, "a,,b,", ("a", "", "b", "")),
        (ConfigType.LIST, "  ", ()),
    ],
)
def test_text_becomes_a_typed_value(value_type: ConfigType, text: str, value: Value) -> None:
    parsed = parse_value("k", text, value_type)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("value_type", "text", "message"),
    [
        (ConfigType.BOOLEAN, "yes", "Expected value to be either true or false"),
        (ConfigType.BOOLEAN, "", "Expected value to be either true or false"),
        (ConfigType.INT, "abc", "Not a number of type INT"),
        (ConfigType.INT, "1_000", "Not a number of type INT"),
        (ConfigType.INT, "1.0", "Not a number of type INT"),
        (ConfigType.INT, "", "Not a number of type INT"),
        (ConfigType.INT, "2147483648", "Not a number of type INT"),
        (ConfigType.INT, "9" * 5000, "Not a number of type INT"),
        (ConfigType.INT, "${env:PORT}", "Not a number of type INT"),
        (ConfigType.SHORT, "32768", "Not a number of type SHORT"),
        (ConfigType.LONG, "9223372036854775808", "Not a number of type LONG"),
        (ConfigType.DOUBLE, "1e", "Not a number of type DOUBLE"),
        (ConfigType.DOUBLE, "nan", "Not a number of type DOUBLE"),
    ],
)
def test_text_of_another_type_is_refused_in_kafkas_words(
    value_type: ConfigType, text: str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_value("k", text, value_type)
    assert str(caught.value) == f"Invalid value {text} for configuration k: {message}"


def test_placeholders_pass_through_untouched() -> None:
    assert parse_value("k", "${file:/etc/p:key}", ConfigType.STRING) == "${file:/etc/p:key}"
    secret = parse_value("k", "${file:/etc/p:key}", ConfigType.PASSWORD)
    assert secret == Secret("${file:/etc/p:key}")


def test_a_missing_required_key_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        parse(ConfigDef([key("topic", ConfigType.STRING)]), {})
    message = 'Missing required configuration "topic" which has no default value.'
    assert str(caught.value) == message


def test_every_problem_is_listed() -> None:
    definition = ConfigDef(
        [key("a", ConfigType.INT), key("b", ConfigType.STRING), key("c", ConfigType.STRING, "x")]
    )
    with pytest.raises(ConfigError) as caught:
        parse(definition, {"a": "one"})
    assert str(caught.value).splitlines() == [
        "Invalid value one for configuration a: Not a number of type INT",
        'Missing required configuration "b" which has no default value.',
    ]


def test_a_validator_also_runs_on_a_value_that_failed_to_parse() -> None:
    definition = ConfigDef([key("tasks.max", ConfigType.INT, 1, validators.at_least(1))])
    assert evaluate(definition, {"tasks.max": "abc"})["tasks.max"].errors == (
        "Invalid value abc for configuration tasks.max: Not a number of type INT",
        "Invalid value null for configuration tasks.max: Value must be non-null",
    )


def test_a_null_is_set_and_left_to_the_validator() -> None:
    definition = ConfigDef(
        [
            key("mode", ConfigType.STRING, "a", validators.one_of("a", "b")),
            key("name", ConfigType.STRING, "n", validators.non_empty),
        ]
    )
    evaluations = evaluate(definition, {"mode": None, "name": None})
    assert evaluations["mode"].errors == (
        "Invalid value null for configuration mode: String must be one of: a, b",
    )
    assert evaluations["name"].errors == ()
    assert evaluations["name"].value is None
    assert evaluations["name"].is_set


def test_defaults_are_typed_and_distinguished_from_set_values() -> None:
    definition = ConfigDef(
        [
            key("l", ConfigType.LIST, "a, b"),
            key("e", ConfigType.LIST, ["x"]),
            key("i", ConfigType.INT, "7"),
            key("p", ConfigType.PASSWORD, None),
            key("s", ConfigType.STRING, "d"),
        ]
    )
    parsed = parse(definition, {"s": "d"})
    assert parsed.strings("l") == ("a", "b")
    assert parsed.strings("e") == ("x",)
    assert parsed.integer("i") == 7
    assert parsed.optional_secret("p") is None
    assert parsed.is_set("s")
    assert not parsed.is_set("l")
    assert dict(parsed)["i"] == 7


def test_the_keys_own_name_wins_over_its_aliases() -> None:
    definition = ConfigDef([key("new", ConfigType.STRING, "d", aliases=("old", "older"))])
    assert parse(definition, {"older": "1", "old": "2", "new": "3"}).string("new") == "3"
    assert parse(definition, {"older": "1", "old": "2"}).string("new") == "2"
    assert parse(definition, {"older": "1"}).string("new") == "1"
    assert parse(definition, {"older": "1"}).is_set("new")


def test_getters_refuse_another_type() -> None:
    definition = ConfigDef(
        [
            key("i", ConfigType.INT, 1),
            key("b", ConfigType.BOOLEAN, True),
            key("n", ConfigType.INT, None),
        ]
    )
    parsed = parse(definition, {})
    with pytest.raises(TypeError, match="i was asked for as string"):
        parsed.string("i")
    with pytest.raises(TypeError, match="b was asked for as integer"):
        parsed.integer("b")
    with pytest.raises(TypeError, match="n was asked for as integer"):
        parsed.integer("n")
    with pytest.raises(KeyError):
        parsed.string("undeclared")


def test_a_parsed_config_prints_without_its_secrets() -> None:
    parsed = parse(ConfigDef([key("p", ConfigType.PASSWORD)]), {"p": "hunter2"})
    assert "hunter2" not in f"{parsed!r} {parsed}"
    secret = parsed.optional_secret("p")
    assert secret is not None
    assert secret.reveal() == "hunter2"


@given(st.text(max_size=30), st.sampled_from(list(ConfigType)))
def test_any_text_gives_a_value_or_a_config_error(text: str, value_type: ConfigType) -> None:
    evaluation = evaluate(ConfigDef([key("k", value_type)]), {"k": text})["k"]
    assert (evaluation.value is None) == bool(evaluation.errors)
    for error in evaluation.errors:
        assert error.startswith(f"Invalid value {text} for configuration k: ")


@given(st.integers(min_value=-(2**31), max_value=2**31 - 1))
def test_every_int_survives_its_text(number: int) -> None:
    assert parse_value("k", f" {number} ", ConfigType.INT) == number


@pytest.mark.parametrize(
    "validator", [validators.distinct(), validators.all_of(validators.distinct())]
)
def test_an_entry_that_comes_twice_is_refused_where_a_config_is_validated_only(
    validator: Validator,
) -> None:
    definition = ConfigDef([key("k", ConfigType.LIST, validator=validator)])
    given_twice = {"k": "b, a,b"}
    evaluation = evaluate(definition, given_twice)["k"]
    assert evaluation.errors == ("Configuration 'k' values must not be duplicated.",)
    assert evaluation.value == ("b", "a", "b")
    assert parse(definition, given_twice).strings("k") == ("b", "a")


def test_entries_of_other_lists_may_come_twice() -> None:
    definition = ConfigDef([key("k", ConfigType.LIST)])
    assert parse(definition, {"k": "a,a"}).strings("k") == ("a", "a")
