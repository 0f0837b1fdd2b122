"""Places are lent first come, first served, and none is lost with a process."""

from __future__ import annotations

from connectd.runtime.cores.lending import Lending


def test_who_comes_first_is_served_first() -> None:
    lending, granted = Lending(1), []
    for borrower in (0, 1, 0):
        lending.take(borrower, lambda borrower=borrower: granted.append(borrower))  # type: ignore[misc]
    assert granted == [0]
    lending.give(0)
    lending.give(1)
    assert granted == [0, 1, 0]
    assert lending.free == 0


def test_a_lost_process_loses_its_wishes_and_gives_back_its_places() -> None:
    lending, granted = Lending(2), []
    for borrower in (0, 0, 0, 1):
        lending.take(borrower, lambda borrower=borrower: granted.append(borrower))  # type: ignore[misc]
    assert granted == [0, 0]
    lending.forget(0)
    assert granted == [0, 0, 1]
    assert lending.free == 1


def test_what_was_not_borrowed_cannot_come_back() -> None:
    lending = Lending(1)
    lending.give(3)
    assert lending.free == 1
