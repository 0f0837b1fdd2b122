"""The lock file of the broker's jars, and what happens when the bytes are not those of the lock."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import jars
from tests.harness.jars import Jar, JarsUnavailableError

GOOD = Jar("g", "a", "1", hashlib.sha256(b"good").hexdigest())


@pytest.fixture(autouse=True)
def one_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("CONNECTD_CACHE", str(tmp_path))
    monkeypatch.setattr(jars, "read_lock_file", lambda: [GOOD])
    monkeypatch.setattr(jars, "kafka_version", lambda: "1")
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    return tmp_path


def delivers(content: bytes | None) -> Callable[[list[Jar], Path], None]:
    def route(wanted: list[Jar], directory: Path) -> None:
        if content is None:
            raise OSError("no network")
        (directory / GOOD.file_name).write_bytes(content)

    return route


def test_the_lock_file_names_each_jar_once_with_its_checksum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    locked = jars.read_lock_file()
    assert len({jar.file_name for jar in locked}) == len(locked)
    assert all(len(jar.sha256) == 64 for jar in locked)
    assert jars.kafka_version().startswith("4.")


def test_the_second_route_is_taken_when_the_first_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jars, "_fetch_with_mvn", delivers(None))
    monkeypatch.setattr(jars, "_fetch_with_jgo", delivers(b"good"))
    libs = jars.kafka_libs()
    assert (libs / "a-1.jar").read_bytes() == b"good"
    assert [each.name for each in libs.parent.iterdir() if each.is_dir()] == ["libs"]
    assert "with jgo" in capsys.readouterr().err


def test_other_bytes_than_the_locked_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_fetch_with_mvn", delivers(b"evil"))
    monkeypatch.setattr(jars, "_fetch_with_jgo", delivers(None))
    with pytest.raises(JarsUnavailableError, match=r"a-1.jar has sha256 .*jgo: no network"):
        jars.kafka_libs()


def test_a_finished_cache_is_used_without_any_route(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_fetch_with_mvn", delivers(b"good"))
    libs = jars.kafka_libs()
    monkeypatch.setattr(jars, "_fetch", None)
    assert jars.kafka_libs() == libs


def test_a_cache_that_cannot_be_written_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CONNECTD_CACHE", str(tmp_path / "file"))
    with pytest.raises(JarsUnavailableError, match="cannot be written"):
        jars.kafka_libs()
