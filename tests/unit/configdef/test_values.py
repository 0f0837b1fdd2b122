"""How typed values look in text, and that secrets never do."""

from __future__ import annotations

import copy
import json
import math
import pickle

import pytest

from connectd.configdef.definition import ConfigType
from connectd.configdef.values import Secret, java_text, trim, value_text


@pytest.mark.parametrize(
    "render",
    [str, repr, "{}".format, "{:>40}".format, lambda s: f"{s!s}", lambda s: repr([s, {"k": s}])],
)
def test_a_secret_never_shows_its_text(render: object) -> None:
    assert callable(render)
    assert "hunter2" not in render(Secret("hunter2"))


def test_a_secret_is_revealed_on_request_only() -> None:
    assert Secret("hunter2").reveal() == "hunter2"
    with pytest.raises(TypeError, match="not JSON serializable"):
        json.dumps(Secret("hunter2"))
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(Secret("hunter2"))
    with pytest.raises(TypeError, match="not pickled"):
        copy.deepcopy(Secret("hunter2"))


def test_secrets_compare_by_their_text() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1
    assert not Secret("")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        ("", ""),
        (("a", "b"), "[a, b]"),
        ((), "[]"),
        (Secret("x"), "[hidden]"),
    ],
)
def test_messages_render_values_as_java_does(value: object, text: str) -> None:
    assert java_text(value) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (1.0, "1.0"),
        (0.5, "0.5"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (-0.00012, "-1.2E-4"),
        (1e-7, "1.0E-7"),
        (1.5e-10, "1.5E-10"),
        (9999999.0, "9999999.0"),
        (10000000.0, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (-1e22, "-1.0E22"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_doubles_render_as_java_does(number: float, text: str) -> None:
    assert java_text(number) == text


@pytest.mark.parametrize(
    ("value", "value_type", "text"),
    [
        (None, ConfigType.STRING, None),
        (None, ConfigType.PASSWORD, None),
        (("a", "b"), ConfigType.LIST, "a,b"),
        ((), ConfigType.LIST, ""),
        (True, ConfigType.BOOLEAN, "true"),
        (1.5, ConfigType.DOUBLE, "1.5"),
        ("plain", ConfigType.PASSWORD, "[hidden]"),
        (Secret("x"), ConfigType.PASSWORD, "[hidden]"),
        ("x", None, "x"),
    ],
)
def test_rest_values_are_text(value: object, value_type: ConfigType | None, text: str) -> None:
    assert value_text(value, value_type) == text


def test_trim_removes_control_characters_but_not_unicode_spaces() -> None:
    assert trim("\t\x00 a b \x1f\n") == "a b"
    assert trim("\u00a0a\u00a0") == "\u00a0a\u00a0"
