"""Configs as clients send them."""

from __future__ import annotations

import pytest

from connectd.configdef import submitted
from connectd.errors import ConfigError


def test_numbers_and_booleans_become_text_as_written() -> None:
    digits = "9" * 5000
    body = (
        '{"a": 1, "b": true, "c": false, "d": 1.50, "e": 1e400, "f": "x", "g": null, '
        f'"h": {digits}}}'
    )
    assert submitted.config_of(submitted.loads(body)) == {
        "a": "1",
        "b": "true",
        "c": "false",
        "d": "1.50",
        "e": "1e400",
        "f": "x",
        "g": None,
        "h": digits,
    }
    assert submitted.config_of({"a": 1, "b": 0.5}) == {"a": "1", "b": "0.5"}


@pytest.mark.parametrize("body", ['{"a": "\\ud800"}', '{"\\ud800": "a"}'])
def test_half_of_a_surrogate_pair_is_refused(body: str) -> None:
    with pytest.raises(ConfigError, match="Half of a surrogate pair"):
        submitted.config_of(submitted.loads(body))


@pytest.mark.parametrize("value", ['{"x": "hunter2"}', '["hunter2"]'])
def test_nested_values_are_refused_by_key_without_their_content(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        submitted.config_of(submitted.loads(f'{{"ok": "1", "deep": {value}}}'))
    assert "object or array for deep" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "kind"),
    [("[]", "an array"), ('"x"', "a string"), ("1", "a string"), ("true", "a boolean"),
     ("null", "null")],
)  # fmt: skip
def test_a_config_is_an_object(body: str, kind: str) -> None:
    with pytest.raises(ConfigError, match=f"JSON object of strings, found {kind}"):
        submitted.config_of(submitted.loads(body))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"aws.secret.key": "hunter2"', "is not valid JSON at line 1, column 29"),
        (b"\xff\xfe", "is not valid JSON"),
        (b"", "is not valid JSON at line 1, column 1"),
        (b'{"a": NaN}', "found NaN"),
        (b"[" * 200_000, "nested too deeply"),
    ],
)
def test_what_is_not_json_is_refused_without_repeating_it(body: bytes, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        submitted.loads(body)
    assert "hunter2" not in str(caught.value)


def test_the_number_of_keys_is_bounded() -> None:
    with pytest.raises(ConfigError, match="at most 2000 keys, found 2001"):
        submitted.config_of({str(number): "x" for number in range(2001)})
