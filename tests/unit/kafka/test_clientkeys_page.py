"""docs/kafka-clients.md is what the tables say."""

from __future__ import annotations

from pathlib import Path

from connectd.kafka import clientkeys, clientkeys_page

PAGE = Path(__file__).parents[3] / "docs" / "kafka-clients.md"


def test_the_page_is_the_generated_one() -> None:
    """Write it with ``connectd reference --kafka-clients > docs/kafka-clients.md``."""
    assert PAGE.read_text(encoding="utf-8") == clientkeys_page.render()


def test_it_has_every_key() -> None:
    keys = {
        *clientkeys.COMMON,
        *clientkeys.PRODUCER,
        *clientkeys.CONSUMER,
        *clientkeys.RENAMED,
        *clientkeys.DROPPED,
        *clientkeys.REFUSED,
        *clientkeys.FORBIDDEN,
    }
    page = clientkeys_page.render()
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []
