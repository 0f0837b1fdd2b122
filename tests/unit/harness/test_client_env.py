"""The environment of the public clients: when it is built, and what is said when it cannot be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import client_env

ROOT = Path(__file__).parents[3]
TESTS = "tests/clients/test_kafka_connect_healthcheck.py"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and an index that is not there."""
    monkeypatch.setenv("CONNECTD_CACHE", str(tmp_path / "cache"))
    for name, value in NO_INDEX.items():
        monkeypatch.setenv(name, value)
    return tmp_path


NO_INDEX = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0"}


def lock_file(home: Path, text: str) -> Path:
    path = home / "requirements.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_it_is_built_once_and_anew_when_the_lock_changes(cache: Path) -> None:
    first = client_env.client_env(lock_file(cache, "# nothing\n"))
    assert first.has("python")
    assert not first.has("kc")
    (first.home / "seen").touch()

    again = client_env.client_env(lock_file(cache, "# nothing\n"))
    assert (again.home / "seen").exists()
    assert client_env.client_env(lock_file(cache, "# other\n")).home != first.home


def test_one_that_was_cut_short_is_built_again(cache: Path) -> None:
    lock = lock_file(cache, "# nothing\n")
    env = client_env.client_env(lock)
    (env.home / "seen").touch()
    (env.home / "finished").unlink()

    assert not (client_env.client_env(lock).home / "seen").exists()


def test_without_an_index_the_last_words_of_pip_are_the_reason(cache: Path) -> None:
    lock = lock_file(cache, f"kafka-connect-py==1.0.0 --hash=sha256:{'0' * 64}\n")

    with pytest.raises(client_env.ClientsUnavailableError, match="No matching distribution found"):
        client_env.client_env(lock)

    assert not (cache / "cache" / "finished").exists()


def run_pytest(cache: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run tests of a client in an interpreter of its own, where nothing can be installed."""
    inherited = {k: v for k, v in os.environ.items() if k != "CI"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", TESTS],
        cwd=ROOT,
        env={**inherited, **env},
        capture_output=True,
        text=True,
        timeout=50,
    )


def test_tests_of_clients_that_cannot_be_had_are_counted_in_one_line(cache: Path) -> None:
    answer = run_pytest(cache)
    lines = [line for line in answer.stdout.splitlines() if line.startswith("not run: ")]
    assert len(lines) == 1, answer.stdout + answer.stderr
    assert "4 tests of public clients, which could not be installed: pip ended with" in lines[0]
    assert "4 deselected" in answer.stdout


def test_on_ci_they_may_not_be_missing(cache: Path) -> None:
    answer = run_pytest(cache, CI="true")
    assert answer.returncode == 4, answer.stdout + answer.stderr
    assert "not run: 4 tests of public clients" in answer.stderr
