"""docs/metrics.md is what the catalogue says."""

from __future__ import annotations

from pathlib import Path

from connectd.observe import metrics_own, metrics_page

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_the_page_is_the_generated_one() -> None:
    """Write it with ``connectd reference --metrics > docs/metrics.md``."""
    assert PAGE.read_text(encoding="utf-8") == metrics_page.render()


def test_it_has_every_name() -> None:
    page = metrics_page.render()
    assert [name for name in metrics_own.all_names() if f"`{name}`" not in page] == []
