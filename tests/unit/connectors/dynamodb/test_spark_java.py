"""A Java is asked what it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from connectd.connectors.dynamodb.spark_java import JavaCheck

ENVIRON = {"PATH": "/usr/bin:/bin"}


def java_that(directory: Path, script: str) -> str:
    """A program of that name."""
    path = directory / "java"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def problem_of(java: str, *, ask_s: float = 30.0) -> str:
    return asyncio.run(JavaCheck(ask_s=ask_s).problem(java, ENVIRON))


@pytest.mark.parametrize("version", ["17", "17.0.9", "21-ea", "25.0.1"])
def test_a_java_that_is_new_enough_is_taken(tmp_path: Path, version: str) -> None:
    said = f"echo 'Picked up JAVA_TOOL_OPTIONS: -Dx' >&2; echo 'openjdk version \"{version}\"' >&2"
    assert problem_of(java_that(tmp_path, said)) == ""


@pytest.mark.parametrize(("version", "major"), [("1.8.0_402", "8"), ("11.0.22", "11")])
def test_an_old_java_is_called_old(tmp_path: Path, version: str, major: str) -> None:
    java = java_that(tmp_path, f"echo 'openjdk version \"{version}\"' >&2")
    assert problem_of(java) == (
        f"{java} is too old, it is Java {major}; install Java 17 or newer or set the worker's "
        "spark.java.home"
    )


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("exit 1", "ends with exit code 1 and says nothing"),
        ("echo hello; exit 7", "ends with exit code 7 and says 'hello'"),
        ("true", "ends with exit code 0 and says nothing"),
    ],
)
def test_what_is_no_java_is_quoted(tmp_path: Path, script: str, says: str) -> None:
    assert problem_of(java_that(tmp_path, script)).endswith(says)


def test_a_java_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    java = java_that(tmp_path, "sleep 600")
    assert "has not answered within" in problem_of(java, ask_s=0.2)


def test_a_file_that_is_no_program_is_a_problem_and_no_error(tmp_path: Path) -> None:
    assert "cannot be run" in problem_of(str(tmp_path))
    assert "cannot be run" in problem_of("/nowhere/java")


def test_many_that_ask_have_one_answer(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    java = java_that(tmp_path, f"echo x >> {asked}; echo 'version \"17\"' >&2")

    async def scenario() -> None:
        check = JavaCheck()
        assert await asyncio.gather(*(check.problem(java, ENVIRON) for _ in range(5))) == [""] * 5

    asyncio.run(scenario())
    assert asked.read_text() == "x\n"
