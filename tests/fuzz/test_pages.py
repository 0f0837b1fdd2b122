"""The fuzzer, for as long as a test may take; ``python -m tests.fuzz.pages`` takes longer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from connectd.connectors.dynamodb import decode, tiers
from connectd.connectors.dynamodb.payload import ScanPayload
from tests.fuzz import pages


def test_damaged_pages_are_alike_on_both_tiers() -> None:
    fuzzer = pages.Fuzzer(seed=3)
    fuzzer.run(2_000)
    assert min(fuzzer.counts["written"], fuzzer.counts["refused"]) > 500
    assert min(fuzzer.counts["split"], fuzzer.counts["sound and split"]) > 300
    assert fuzzer.counts["not split"] > 100
    assert fuzzer.counts["sound and handed back"] == 0


def test_a_page_that_is_split_elsewhere_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = decode._scan_page

    def wrong(body: Any, items: Sequence[decode.Raw]) -> decode.ScanPage:
        return real(body, items if isinstance(items, list) else items[1:])

    monkeypatch.setattr(decode, "_scan_page", wrong)
    with pytest.raises(pages.DifferenceError, match=r"(?s)splitting .*portable: .*compiled: "):
        pages.Fuzzer(seed=3).run(2_000)


def test_a_difference_is_found_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ScanPayload._encode

    def wrong(self: ScanPayload, layout: object) -> object:
        page = real(self, layout)  # type: ignore[arg-type]
        if self.plan.tier is tiers.Tier.COMPILED:
            page.records.reverse()
        return page

    monkeypatch.setattr(ScanPayload, "_encode", wrong)
    with pytest.raises(pages.DifferenceError, match=r"(?s)portable: .*compiled: "):
        pages.Fuzzer(seed=3).run(2_000)
