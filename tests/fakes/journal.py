"""What the fake was asked: the last calls in full, and counts of all of them."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass

ENTRIES_MAX = 100_000
"""Older entries are forgotten; the counters are not."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One call. ``number`` counts all calls from 1; times are the fake's."""

    number: int
    at_s: float
    service: str
    operation: str
    table: str | None
    shard_id: str | None
    principal: str
    error: str | None  # the code of the answer; None for success
    count: int  # items or records in the answer
    units: float  # capacity that the call consumed


class Journal:
    """The calls that reached the fake, in order."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=ENTRIES_MAX)
        self._calls: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._number = 0

    def next_number(self) -> int:
        """The number of the call that begins now."""
        self._number += 1
        return self._number

    def add(self, entry: Entry) -> None:
        """Note a call that has ended."""
        self._entries.append(entry)
        self._calls[entry.operation] += 1
        if entry.error is not None:
            self._errors[f"{entry.operation}:{entry.error}"] += 1

    def entries(
        self, operation: str | None = None, table: str | None = None, since: int = 0
    ) -> list[Entry]:
        """The calls with ``number > since``, of one operation and one table if named."""
        return [
            entry
            for entry in self._entries
            if entry.number > since
            and operation in (None, entry.operation)
            and table in (None, entry.table)
        ]

    def counts(self) -> dict[str, int]:
        """Calls by operation, and calls by ``operation:error code``."""
        return {**self._calls, **self._errors}

    def clear(self) -> None:
        """Forget calls and counts; the numbering goes on."""
        self._entries.clear()
        self._calls.clear()
        self._errors.clear()
