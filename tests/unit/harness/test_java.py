"""Which Java is taken, and when its archive of classes is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import java
from tests.harness.java import ClassArchive, Java, JavaUnavailableError


def fake_java(home: Path, version: str) -> Path:
    """A program that answers ``-version`` as Java of that version does."""
    path = home / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def only_fake_javas(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)


def test_java_home_goes_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "path", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    path = fake_java(tmp_path / "home", "17.0.15")
    assert java.find_java() == Java(path, 17, "JAVA_HOME")


@pytest.mark.parametrize("old", ["1.8.0_402", "11.0.2"])
def test_a_java_that_is_too_old_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, old: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    fake_java(tmp_path / "home", old)
    path = fake_java(tmp_path / "path", "25.0.2")
    assert java.find_java() == Java(path, 25, "PATH")


def test_a_program_may_ask_for_a_newer_java(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    fake_java(tmp_path / "home", "17.0.15")
    with pytest.raises(JavaUnavailableError, match=r"no Java >= 21 .*JAVA_HOME: .*Java 17"):
        java.find_java(21)
    path = fake_java(tmp_path / "path", "21.0.1")
    assert java.find_java(21) == Java(path, 21, "PATH")


def test_without_any_java_the_error_lists_what_was_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    fake_java(tmp_path / "path", "11.0.2")
    with pytest.raises(JavaUnavailableError, match=r"JAVA_HOME: .*does not run.*PATH: .*Java 11"):
        java.find_java()


def test_a_class_archive_is_written_once_and_then_read(tmp_path: Path) -> None:
    runtime = Java(fake_java(tmp_path / "home", "17.0.15"), 17, "PATH")
    archive = ClassArchive(runtime, tmp_path)
    assert archive.flags_for_writing(tmp_path) == [], "this Java has no base archive"

    base = tmp_path / "home" / "lib" / "server" / "classes.jsa"
    base.parent.mkdir(parents=True)
    base.touch()
    run = tmp_path / "run"
    run.mkdir()
    writing = archive.flags_for_writing(run)[0]
    assert writing.startswith("-XX:ArchiveClassesAtExit=")
    Path(writing.partition("=")[2]).write_bytes(b"classes")
    assert archive.flags_for_reading() == []
    archive.keep(run)
    assert archive.flags_for_reading() == [f"-XX:SharedArchiveFile={archive.path}"]
    assert archive.flags_for_writing(run) == []
    assert archive.path.read_bytes() == b"classes"
