"""No record of the hot path costs a tenth more than it did, counted and not timed."""

from __future__ import annotations

import colorsys
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from connectd.connectors.dynamodb import item_texts
from connectd.connectors.dynamodb.tiers import Tier
from tests.effort import counting, figures
from tests.effort.figures import Count
from tests.effort.paths import Case

_NAME = "connectd/connectors/dynamodb/item_texts.py _is_utf8"


def test_what_a_record_costs_is_what_is_stored() -> None:
    """In a process of its own: it loads an extension, and replaces Python's allocators."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.effort"],
        cwd=counting.ROOT, capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr


def _counts(total: float, **parts: float) -> dict[str, dict[str, Count]]:
    return {"scan, portable": {"bytecodes": Count(total, parts)}}


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(figures, "FILE", tmp_path / "figures.json")
    figures.store(_counts(100.0, parse=40.0, write=30.0))


@pytest.mark.usefixtures("stored")
def test_growth_beyond_a_tenth_is_told_with_what_grew() -> None:
    assert figures.problems(_counts(109.0, parse=49.0, write=30.0)) == []
    (problem,) = figures.problems(_counts(112.0, parse=40.0, write=35.0, check=7.0))
    assert problem == (
        "scan, portable: bytecodes 112.0 per record, 12% more than the stored 100.0 "
        "(check 0.0 -> 7.0; write 30.0 -> 35.0); if that is what it has to cost: "
        "python -m tests.effort --accept"
    )


@pytest.mark.usefixtures("stored")
def test_a_gain_beyond_a_tenth_is_to_be_stored_too() -> None:
    assert figures.problems(_counts(91.0)) == []
    (problem,) = figures.problems(_counts(80.0))
    assert "20% less than the stored 100.0; store it, so that it stays" in problem


@pytest.mark.usefixtures("stored")
def test_what_is_not_stored_is_to_be() -> None:
    (problem,) = figures.problems({"stream, portable": {"bytecodes": Count(1.0, {})}})
    assert problem.startswith("stream, portable: bytecodes 1.0 per record, with nothing stored")


@pytest.mark.usefixtures("stored")
def test_another_python_is_held_against_the_nearest_and_may_be_cheaper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(figures, "version", lambda: "3.99")
    assert figures.problems(_counts(50.0)) == []
    assert len(figures.problems(_counts(120.0))) == 1
    figures.store(_counts(50.0))
    assert len(figures.problems(_counts(60.0))) == 1
    assert set(figures.load()) == {"3.99", *figures.load()}


def test_bytecodes_are_those_of_the_work_each_time_alike() -> None:
    def work(times: int) -> Mapping[str, int]:
        return counting.bytecodes(lambda: [colorsys.rgb_to_hsv(1, 0, 0) for _ in range(times)])

    once, thrice = work(1), work(3)
    (name,) = once
    assert name.endswith("colorsys.py rgb_to_hsv")
    assert thrice == {name: 3 * once[name]}


def test_a_second_look_at_each_item_is_seen_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Case("scan", Tier.PORTABLE).sending_of(10)
    send()
    before = counting.bytecodes(send)
    is_utf8 = item_texts._is_utf8

    def twice(text: bytes) -> bool:
        is_utf8(text)
        return is_utf8(text)

    monkeypatch.setattr(item_texts, "_is_utf8", twice)
    after = counting.bytecodes(send)
    assert after - before == {_NAME: before[_NAME]}


def test_a_page_that_is_kept_whole_is_seen_in_its_peak() -> None:
    send = Case("scan", Tier.PORTABLE).sending_of(50)
    send()
    usual = counting.peak_bytes(send)
    kept: list[object] = []

    def keeping() -> None:
        kept.append([bytes(1_000) for _ in range(50)])
        send()

    assert counting.peak_bytes(keeping) > usual + 50_000
