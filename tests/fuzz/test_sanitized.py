"""A short run of the fuzzer on a build that the sanitizers watch, and that they do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.fuzz import pages

_STEP_OUTSIDE = """
import ctypes
from tests.fuzz.exact_memory import ExactMemory
with ExactMemory() as memory:
    view = memory.copy(b"123456789")
    print(bytes(view).decode(), flush=True)
    ctypes.string_at(memory.last_block, 10)
"""


@pytest.mark.parametrize("options", ["--pages 2000", "--pages 500 --portable"])
def test_damaged_pages_are_alike_on_both_tiers_and_no_step_leads_out_of_memory(
    options: str,
) -> None:
    assert pages.main(["--sanitize", "--seed", "11", *options.split()]) == 0


def test_a_step_outside_of_exact_memory_is_seen() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _STEP_OUTSIDE],
        cwd=pages.ROOT,
        env=pages.watched_environ(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.stdout == "123456789\n"
    assert "heap-buffer-overflow" in ended.stderr
