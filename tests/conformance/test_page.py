"""Users find every difference that the comparisons know of."""

from __future__ import annotations

from tests.conformance import page


def test_the_page_of_differences_is_current() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.text(), (
        "python -m tests.conformance.page writes it anew"
    )


def test_the_page_speaks_to_users() -> None:
    text = page.text()
    for word in ("field case", "DESIGN", "Known(", "X05", "R17"):
        assert word not in text
