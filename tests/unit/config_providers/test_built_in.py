"""The three built-in config providers: what they show, and what they keep back."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from connectd.config_providers.directory import FILE_BYTES_MAX, DirectoryConfigProvider
from connectd.config_providers.environment import EnvVarConfigProvider
from connectd.config_providers.properties_file import FileConfigProvider
from connectd.errors import ConfigError

PASSWORD = "correct horse battery staple"


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    path = tmp_path / "secrets.properties"
    path.write_text(
        f"# a comment\npw={PASSWORD}\nlong = one\\\n    two\nunicode=\\u00e9\nempty=\n"
        "twice=first\ntwice=last\n"
    )
    return path


# --- files --------------------------------------------------------------------------------------


def test_a_file_is_read_by_the_rules_of_java(secrets: Path) -> None:
    provider = FileConfigProvider.from_params({})
    found = provider.get(str(secrets), {"pw", "long", "unicode", "empty", "twice", "missing"})
    assert found.values == {
        "pw": PASSWORD,
        "long": "onetwo",
        "unicode": "é",
        "empty": "",
        "twice": "last",
    }
    assert found.ttl_ms is None


def test_only_the_keys_that_were_asked_for_leave_a_file(secrets: Path) -> None:
    assert FileConfigProvider.from_params({}).get(str(secrets), {"long"}).values.keys() == {"long"}


def test_a_file_is_read_anew_each_time(secrets: Path) -> None:
    provider = FileConfigProvider.from_params({})
    assert provider.get(str(secrets), {"pw"}).values["pw"] == PASSWORD
    secrets.write_text("pw=rotated\n")
    assert provider.get(str(secrets), {"pw"}).values["pw"] == "rotated"


def test_a_missing_file_is_an_error_in_the_words_of_kafka(tmp_path: Path) -> None:
    path = str(tmp_path / "absent.properties")
    with pytest.raises(ConfigError) as caught:
        FileConfigProvider.from_params({}).get(path, {"pw"})
    assert str(caught.value) == f"Could not read properties from file {path}"


def test_a_malformed_file_does_not_show_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "broken.properties"
    path.write_text("pw=\\u12zz-secret\n")
    with pytest.raises(ConfigError, match="malformed") as caught:
        FileConfigProvider.from_params({}).get(str(path), {"pw"})
    assert "12zz" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_no_path_has_no_values() -> None:
    assert FileConfigProvider.from_params({}).get("", {"pw"}).values == {}
    assert DirectoryConfigProvider.from_params({}).get("", {"pw"}).values == {}


# --- allowed.paths ------------------------------------------------------------------------------


def test_a_path_outside_of_the_allowed_ones_shows_nothing(secrets: Path, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "a.properties").write_text("pw=inside\n")
    provider = FileConfigProvider.from_params({"allowed.paths": f"{allowed},/etc"})
    assert provider.get(f"{allowed}/a.properties", {"pw"}).values == {"pw": "inside"}
    for path in (str(secrets), f"{allowed}/../secrets.properties", f"{allowed}-too/x", "x"):
        with capture_logs() as lines:
            assert provider.get(path, {"pw"}).values == {}
        assert [line["path"] for line in lines] == [path]


def test_an_allowed_path_may_be_a_file(secrets: Path) -> None:
    provider = FileConfigProvider.from_params({"allowed.paths": str(secrets)})
    assert provider.get(str(secrets), {"pw"}).values == {"pw": PASSWORD}
    assert provider.get(f"/{secrets}", {"pw"}).values == {"pw": PASSWORD}


@pytest.mark.parametrize("text", ["relative/path", "/no/such/directory", "/etc, /usr", ",/etc"])
def test_a_path_that_cannot_be_allowed_is_refused_at_the_start(text: str) -> None:
    for kind in (FileConfigProvider, DirectoryConfigProvider):
        with pytest.raises(ConfigError, match="The path should be absolute and exist"):
            kind.from_params({"allowed.paths": text})


# --- directories --------------------------------------------------------------------------------


def test_a_value_is_the_whole_file_with_its_newline(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes("gehéim\n".encode())
    (tmp_path / "binary").write_bytes(b"\xff!")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "token")
    provider = DirectoryConfigProvider.from_params({})
    found = provider.get(str(tmp_path), {"token", "binary", "folder", "link", "missing"})
    assert found.values == {"token": "gehéim\n", "binary": "\ufffd!", "link": "gehéim\n"}


def test_a_key_cannot_climb_out_of_its_directory(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside").write_text("x")
    keys = {"../outside", str(tmp_path / "outside"), "..", ".", "", "nul\0"}
    assert DirectoryConfigProvider.from_params({}).get(str(inside), keys).values == {}


def test_what_is_no_directory_shows_nothing_and_says_so(secrets: Path) -> None:
    with capture_logs() as lines:
        assert DirectoryConfigProvider.from_params({}).get(str(secrets), {"pw"}).values == {}
    assert "not a directory" in lines[0]["event"]


def test_a_file_that_is_too_large_is_not_taken_in(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * (FILE_BYTES_MAX + 1))
    with pytest.raises(ConfigError, match=r"Could not read file .*/big for property big: it is"):
        DirectoryConfigProvider.from_params({}).get(str(tmp_path), {"big"})


# --- the environment ----------------------------------------------------------------------------


def test_variables_are_those_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBE_ONE", PASSWORD)
    provider = EnvVarConfigProvider.from_params({})
    monkeypatch.setenv("PROBE_ONE", "later")
    assert provider.get("", {"PROBE_ONE", "PROBE_MISSING"}).values == {"PROBE_ONE": PASSWORD}


def test_the_allowlist_must_match_a_whole_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROBE_A", "XPROBE_A", "PROBE_AB", "SECRET"):
        monkeypatch.setenv(name, "x")
    provider = EnvVarConfigProvider.from_params({"allowlist.pattern": "PROBE_."})
    found = provider.get("", {"PROBE_A", "XPROBE_A", "PROBE_AB", "SECRET"})
    assert found.values == {"PROBE_A": "x"}


def test_the_allowlist_is_a_pattern_of_java(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROBE_a", "PROBE_q"):
        monkeypatch.setenv(name, "x")
    provider = EnvVarConfigProvider.from_params({"allowlist.pattern": "PROBE_[a-z&&[^q]]"})
    assert provider.get("", {"PROBE_a", "PROBE_q"}).values == {"PROBE_a": "x"}


def test_a_path_makes_no_sense_for_variables() -> None:
    with pytest.raises(ConfigError) as caught:
        EnvVarConfigProvider.from_params({}).get("/x", {"HOME"})
    assert str(caught.value) == (
        "Path is not supported for EnvVarConfigProvider, invalid value '/x'"
    )


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"allowlist\.pattern is '\(', which is no regular"):
        EnvVarConfigProvider.from_params({"allowlist.pattern": "("})
