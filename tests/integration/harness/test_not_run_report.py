"""What a run says about tests that the broker of the machine cannot prove."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
TESTS = "tests/integration/harness/test_kafka_broker.py"


def run_pytest(**env: str) -> subprocess.CompletedProcess[str]:
    """Run the broker's tests on the stand-in, in an interpreter of its own."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("KAFKA_BOOTSTRAP", "CI")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", TESTS],
        cwd=ROOT,
        env={**inherited, "CONNECTD_BROKER": "stand-in", **env},
        capture_output=True,
        text=True,
        timeout=50,
    )


def test_tests_beyond_the_stand_in_are_named_and_the_others_run() -> None:
    answer = run_pytest()
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "2 passed, 1 deselected" in answer.stdout
    assert f"{TESTS}::test_acknowledged_records_survive_a_kill_and_a_restart (needs durable)" in (
        answer.stdout
    )


def test_on_ci_nothing_may_be_missing() -> None:
    answer = run_pytest(CI="true")
    assert answer.returncode == 4, answer.stdout + answer.stderr
    assert "CI needs Apache Kafka itself" in answer.stderr
