"""Identities: short immutable values that name things.

``SequenceNumber`` orders as the integer that it is: stream sequence numbers have 21 to 40 digits
and must never be compared as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import total_ordering


@dataclass(frozen=True, order=True)
class ConnectorTaskId:
    """One task of a connector; prints as Kafka Connect does: ``orders-0``."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


@total_ordering
@dataclass(frozen=True)
class SequenceNumber:
    """A position in a shard, kept as the decimal text that the service gave."""

    text: str

    def __post_init__(self) -> None:
        if not (self.text.isascii() and self.text.isdigit()):
            raise ValueError(f"sequence number is {self.text!r}, expected decimal digits")

    def __lt__(self, other: SequenceNumber) -> bool:
        return int(self.text) < int(other.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SequenceNumber) and int(self.text) == int(other.text)

    def __hash__(self) -> int:
        return hash(int(self.text))

    def __str__(self) -> str:
        return self.text
