"""The lock files of the Java programs, and what happens when the bytes are other ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import jars
from tests.harness.jars import (
    CONNECT,
    KAFKA,
    SCHEMA_REGISTRY,
    Jar,
    JarSet,
    JarsUnavailableError,
)

GOOD = Jar("g", "a", "1", hashlib.sha256(b"good").hexdigest())


@pytest.fixture
def one_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> JarSet:
    """A program of one jar, with a cache of its own; both routes seem to be there."""
    monkeypatch.setenv("CONNECTD_CACHE", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    lock_file = tmp_path / "jars.txt"
    lock_file.write_text(f"# a comment\n{GOOD.sha256}  g:a:1\n")
    return JarSet("A Program", "program", lock_file, "a")


def delivers(content: bytes | None) -> Callable[[list[Jar], Path], None]:
    def route(wanted: list[Jar], directory: Path) -> None:
        if content is None:
            raise OSError("no network")
        (directory / GOOD.file_name).write_bytes(content)

    return route


@pytest.mark.parametrize(
    ("program", "version"), [(KAFKA, "4."), (CONNECT, "4."), (SCHEMA_REGISTRY, "3.")]
)
def test_a_lock_file_names_each_jar_once_with_its_checksum(program: JarSet, version: str) -> None:
    locked = program.jars()
    assert len({jar.file_name for jar in locked}) == len(locked)
    assert all(len(jar.sha256) == 64 for jar in locked)
    assert program.version().startswith(version)


def test_an_archive_is_asked_for_by_its_packaging_and_classifier() -> None:
    archive = Jar("g", "a", "1", GOOD.sha256, "tar.gz", "all")
    assert archive.file_name == "a-1-all.tar.gz"
    assert "<type>tar.gz</type>\n      <classifier>all</classifier>" in jars.pom_of([archive])


def test_the_second_route_is_taken_when_the_first_fails(
    one_jar: JarSet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jars, "_fetch_with_mvn", delivers(None))
    monkeypatch.setattr(jars, "_fetch_with_jgo", delivers(b"good"))
    libs = one_jar.libs()
    assert (libs / "a-1.jar").read_bytes() == b"good"
    assert [each.name for each in libs.parent.iterdir() if each.is_dir()] == ["libs"]
    assert "fetching A Program 1 (1 jars) with jgo" in capsys.readouterr().err


def test_other_bytes_than_the_locked_ones_are_refused(
    one_jar: JarSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "_fetch_with_mvn", delivers(b"evil"))
    monkeypatch.setattr(jars, "_fetch_with_jgo", delivers(None))
    with pytest.raises(JarsUnavailableError, match=r"a-1.jar has sha256 .*jgo: no network"):
        one_jar.libs()


def test_a_finished_cache_is_used_without_any_route(
    one_jar: JarSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "_fetch_with_mvn", delivers(b"good"))
    libs = one_jar.libs()
    monkeypatch.setattr(jars, "_fetch", None)
    assert one_jar.libs() == libs


def test_a_cache_that_cannot_be_written_is_named(
    one_jar: JarSet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CONNECTD_CACHE", str(tmp_path / "file"))
    with pytest.raises(JarsUnavailableError, match="cannot be written"):
        one_jar.libs()
