"""The counters in C count."""

from __future__ import annotations

from pathlib import Path

from tests.effort.counting import CompiledCounters


def test_allocations_are_counted_one_by_one(tmp_path: Path) -> None:
    counters = CompiledCounters(tmp_path)

    def allocations(objects: int) -> int:
        return counters.allocations(lambda: [object() for _ in bytes(objects)])

    assert 1_000 <= allocations(2_000) - allocations(1_000) <= 1_010
