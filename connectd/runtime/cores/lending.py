"""The worker's places that its processes take turns at: those of scans on Spark.

First come, first served. What a process has borrowed comes back when it gives it back, or is lost.
Owned by the parent, on its event loop.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class _Wish:
    borrower: int
    grant: Callable[[], None]


class Lending:
    """See the module's docstring. Borrowers are known by a number; ``free`` are the places left."""

    def __init__(self, places: int) -> None:
        self.free = places
        self._lent: Counter[int] = Counter()
        self._wishes: deque[_Wish] = deque()

    def take(self, borrower: int, grant: Callable[[], None]) -> None:
        """``grant`` is called as soon as there is a place for it, which may be at once."""
        self._wishes.append(_Wish(borrower, grant))
        self._serve()

    def give(self, borrower: int) -> None:
        """One of its places comes back; without effect if it has none."""
        if self._lent[borrower]:
            self._lent[borrower] -= 1
            self.free += 1
            self._serve()

    def forget(self, borrower: int) -> None:
        """It is lost: with its wishes, but not with its places."""
        self._wishes = deque(each for each in self._wishes if each.borrower != borrower)
        self.free += self._lent.pop(borrower, 0)
        self._serve()

    def _serve(self) -> None:
        while self.free and self._wishes:
            wish = self._wishes.popleft()
            self.free -= 1
            self._lent[wish.borrower] += 1
            wish.grant()
