"""The fuzzer, for as long as a test may take; ``python -m tests.fuzz.pages`` takes longer."""

from __future__ import annotations

import pytest

from connectd.connectors.dynamodb import tiers
from connectd.connectors.dynamodb.payload import ScanPayload
from tests.fuzz import pages


def test_damaged_pages_are_alike_on_both_tiers() -> None:
    fuzzer = pages.Fuzzer(seed=3)
    fuzzer.run(2_000)
    assert min(fuzzer.counts["written"], fuzzer.counts["refused"]) > 500


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
