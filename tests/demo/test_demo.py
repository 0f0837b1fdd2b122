"""The demo as ``make demo ARGS=--exit`` runs it: the main job on real parts, end to end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo import tables
from tests.harness.kafka import KafkaBroker

LINES = re.MULTILINE | re.DOTALL
ROOT = Path(__file__).parents[2]


@pytest.mark.kafka
@pytest.mark.emulator
@pytest.mark.timeout(240)
def test_all_topics_equal_their_tables_and_the_exit_code_says_so(
    kafka_broker: KafkaBroker,
) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "tests.demo", "--exit"],
        cwd=ROOT,
        env={**os.environ, "KAFKA_BOOTSTRAP": kafka_broker.bootstrap},
        capture_output=True,
        text=True,
        timeout=220,
    )
    story = answer.stdout
    assert answer.returncode == 0, story + answer.stderr
    count = len(tables.ALL_TABLES)
    assert f"VERDICT: all {count} topics equal their tables" in story
    assert "the worker stopped with exit code 0" in story
    assert len(re.findall(r"tombstone \(null value\)", story)) >= 3
    for table in tables.ALL_TABLES:
        assert re.search(rf"^{table.name}: DISCOVERY$.*^{table.name}: \w+ → SYNC$", story, LINES)
