"""Files with one connector's config: three forms, and the words for what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from connectd.configdef import connector_file
from connectd.errors import ConfigError
from connectd.model.states import TargetState

CONFIG = {"connector.class": "FileStreamSource", "topic": "lines", "tasks.max": "2"}
WHOLE = {"name": "lines", **CONFIG}


def written(tmp_path: Path, text: object, name: str = "c.json") -> Path:
    path = tmp_path / name
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return path


def test_a_properties_file(tmp_path: Path) -> None:
    text = "".join(f"{key}={value}\n" for key, value in WHOLE.items())
    file = connector_file.load(written(tmp_path, f"# ours\n{text}", "c.properties"))
    assert (file.name, file.config, file.target) == ("lines", WHOLE, None)


def test_a_flat_object(tmp_path: Path) -> None:
    file = connector_file.load(written(tmp_path, {**WHOLE, "tasks.max": 2, "file": None}))
    assert file.config == {**WHOLE, "file": None}


@pytest.mark.parametrize("name", ["c.json", "c.properties", "c"])
def test_content_decides_and_not_the_name(tmp_path: Path, name: str) -> None:
    file = connector_file.load(written(tmp_path, {"name": "lines", "config": CONFIG}, name))
    assert (file.name, file.config) == ("lines", WHOLE)


@pytest.mark.parametrize(
    ("state", "target"),
    [
        ("RUNNING", TargetState.STARTED),
        ("paused", TargetState.PAUSED),
        ("STOPPED", TargetState.STOPPED),
        (None, None),
    ],
)
def test_the_body_of_a_request(
    tmp_path: Path, state: str | None, target: TargetState | None
) -> None:
    body = {"name": "lines", "config": WHOLE, "initial_state": state, "unknown": [1]}
    file = connector_file.load(written(tmp_path, body))
    assert (file.name, file.config, file.target) == ("lines", WHOLE, target)


@pytest.mark.parametrize(
    ("content", "file_name"),
    [
        (CONFIG, "c.json"),
        ({**CONFIG, "name": " "}, "c.json"),
        ({"config": WHOLE}, "c.json"),
        ("topic=lines\n", "c.properties"),
        ("", "c.properties"),
    ],
)
def test_one_without_a_name(tmp_path: Path, content: object, file_name: str) -> None:
    path = written(tmp_path, content, file_name)
    with pytest.raises(ConfigError) as caught:
        connector_file.load(path)
    assert str(caught.value) == (
        f"Connector configuration at '{path}' is missing the mandatory 'name' configuration"
    )


def test_two_names(tmp_path: Path) -> None:
    path = written(tmp_path, {"name": "other", "config": WHOLE})
    with pytest.raises(ConfigError) as caught:
        connector_file.load(path)
    assert str(caught.value) == (
        "Connector name configuration in 'config' doesn't match the one specified in 'name' at "
        f"'{path}'"
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"name":', "is not JSON: "),
        ("[" * 100_000, "is not JSON: "),
        ("[]", "is not a JSON object, found a list"),
        ({**WHOLE, "topics": ["a"]}, "'topics' is a list, expected text"),
        ({**WHOLE, "nested": {}}, "'nested' is a JSON object, expected text"),
        (
            {"name": "lines", "config": CONFIG, "initial_state": "HALTED"},
            "RUNNING, PAUSED, STOPPED",
        ),
    ],
)
def test_anything_else_is_told_with_its_file(tmp_path: Path, content: object, told: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ConfigError) as caught:
        connector_file.load(path)
    assert str(path) in str(caught.value)
    assert told in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the file .*nope: No such file"):
        connector_file.load(tmp_path / "nope")
