"""What the tests of records share: they hold for every tier that is installed here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connectd.connectors.dynamodb import tiers
from connectd.connectors.dynamodb.tiers import Tier

INSTALLED = [tier for tier in Tier if tier is Tier.PORTABLE or tiers.scanner_class() is not None]


collect_ignore = (
    [] if Tier.COMPILED in INSTALLED else ["test_page_items.py", "test_page_scanner.py"]
)


@pytest.fixture(scope="module", params=INSTALLED, ids=lambda tier: tier.value)
def tier(request: pytest.FixtureRequest) -> Iterator[Tier]:
    """The tier of all plans that a test makes; of a module, so that properties may use it."""
    chosen: Tier = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(tiers.SWITCH_ENV, "off" if chosen is Tier.PORTABLE else "on")
        assert tiers.active() is chosen
        yield chosen
