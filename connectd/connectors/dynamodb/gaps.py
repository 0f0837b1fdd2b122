"""Gaps: changes that were lost between a position and its stream, as values.

They are found from state (``lineage``), by a reader whose data was trimmed (``shard_reader``), or
when the stream itself was replaced (``stream_sync``); what becomes of them is ``gap.policy``,
applied in ``table_job``. A gap is never silent: its text says what was lost as closely as it is
known. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class GapKind(Enum):
    """How changes were lost."""

    STREAM_REPLACED = "stream replaced"  # disabled and enabled again, or the table made anew
    SHARD_UNLISTED = "shard no longer listed"  # trimmed away whole, unread to its end
    POSITION_TOO_OLD = "position too old"  # older than the stream keeps, or nearly
    LINEAGE_UNKNOWN = "lineage unknown"  # shards begin with a parent that nobody has read
    TRIMMED = "trimmed"  # the service refused the position


@dataclass(frozen=True)
class Gap:
    """One gap. ``since_ms``: changes from then on (service time) may be lost; None: unknown."""

    kind: GapKind
    detail: str
    shard_id: str | None = None
    since_ms: int | None = None

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.detail}"
