"""docs/tracing.md is what the list of spans says."""

from __future__ import annotations

from pathlib import Path

from connectd.observe import spans, spans_page

PAGE = Path(__file__).parents[3] / "docs" / "tracing.md"


def test_the_page_is_the_generated_one() -> None:
    """Write it with ``connectd reference --spans > docs/tracing.md``."""
    assert PAGE.read_text(encoding="utf-8") == spans_page.render()


def test_it_has_every_attribute_of_every_span() -> None:
    page = spans_page.render()
    for spec in spans.SPANS:
        section = page.partition(f"### `{spec.name} ")[2].partition("###")[0]
        assert [each.name for each in spec.attributes if f"`{each.name}`" not in section] == []
