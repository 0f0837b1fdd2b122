"""Which incremental exports close a gap, or why none can.

An incremental export is of "an export period [...] from 15 minutes up to 24 hours" (AWS Database
Blog, "Introducing incremental export from Amazon DynamoDB to Amazon S3") within the 35 days that
point-in-time recovery reaches back; its beginning is inclusive and its end exclusive (API reference
of IncrementalExportSpecification; spec streams-and-leases 4.7). So a longer gap takes a chain of
them, each beginning where the one before has ended. What a chain must respect:

* **Where it begins.** Before the oldest position of any lineage: what is exported twice is only
  sent twice. Of a shard that was read to its tip that is the time of the last look, and what is
  older than the picture that INIT_SYNC has shown was in it.
* **Where the first one ends.** An export says nothing of an item that was inserted and deleted
  within it. Had such an item been sent before the gap, it would stay in the topic. So, where that
  is possible, one export ends at the newest position, and the next one finds it deleted.
* **Where it ends.** Half a safe zone ago: from there on the stream has every single change, and the
  exports have the other half to be made and read in. If they take longer another one follows, which
  ends later.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connectd.connectors.dynamodb import lineage
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.gaps import Gap, GapKind
from connectd.connectors.dynamodb.offsets import ExportChain, ShardPosition, TableState

WINDOW_MIN_MS: Final = 15 * 60_000
WINDOW_MAX_MS: Final = 24 * 3_600_000
RECOVERY_MAX_MS: Final = 35 * 24 * 3_600_000
"""How far point-in-time recovery reaches back at most; it may be set to less."""

SAFE_ZONE_MIN_MS: Final = 2 * 3_600_000
"""With less, the ends of exports would lie in the future, or nearly."""

MARGIN_MS: Final = 10_000
"""For times that are rounded down to the second, and two clocks of the service."""

_AVAILABLE_MS: Final = 15 * 60_000
"""So much is point-in-time recovery behind at most: typically five minutes (developer guide)."""

_SECOND_MS: Final = 1_000


def obstacle(
    gap: Gap,
    state: TableState,
    positions: Mapping[str, ShardPosition],
    config: DynamoDbConfig,
    now_ms: int,
) -> str:
    """Why incremental exports cannot close a gap; "": they can, as far as is known here."""
    if gap.kind is GapKind.STREAM_REPLACED:
        return "the stream was replaced, which may mean another table"
    if state.init_sync is not InitSyncState.FINISHED or state.stream_arn is None:
        return "INIT_SYNC has not finished"
    if config.messages.drop_ttl_deletes:
        return "ttl.deletes is drop, and an export does not tell who has deleted an item"
    if config.stream.safe_zone_ms < SAFE_ZONE_MIN_MS:
        return f"stream.safe.zone.ms is below {SAFE_ZONE_MIN_MS}"
    known_ms = _known_ms(state, positions)
    if not known_ms:
        return "no position of the stream is known"
    age_ms = now_ms - min(known_ms)
    if age_ms > RECOVERY_MAX_MS - WINDOW_MIN_MS:
        days = age_ms / 86_400_000
        return f"it is {days:.1f} days old, and point-in-time recovery reaches back 35 at most"
    if age_ms <= config.stream.safe_zone_ms:
        return "it is younger than the stream, and not one of time"
    return ""


def begin_chain(
    state: TableState, positions: Mapping[str, ShardPosition], bucket: str, now_ms: int
) -> ExportChain:
    """The chain that closes a gap behind these positions; see ``obstacle`` first."""
    times = _known_ms(state, positions)
    newest_ms = _second_after(max(times))
    from_ms = min(min(times) - MARGIN_MS, newest_ms - WINDOW_MIN_MS)
    return ExportChain(
        bucket=bucket,
        from_ms=from_ms // _SECOND_MS * _SECOND_MS,
        newest_ms=newest_ms,
        start_ms=now_ms,
    )


def next_end(chain: ExportChain, now_ms: int, safe_zone_ms: int, *, took_ms: int = 0) -> int | None:
    """Where the next export of a chain ends; None: the stream can be followed from there.

    ``took_ms``: how long the export before it took, from its request until it was read.
    """
    fresh_ms = safe_zone_ms * 9 // 10
    if now_ms - chain.from_ms <= fresh_ms:
        return None
    behind_ms = max(_AVAILABLE_MS, min(safe_zone_ms // 2, fresh_ms - 2 * took_ms))
    to_ms = min(chain.from_ms + WINDOW_MAX_MS, (now_ms - behind_ms) // _SECOND_MS * _SECOND_MS)
    if chain.from_ms + WINDOW_MIN_MS <= chain.newest_ms < to_ms:
        to_ms = chain.newest_ms
    return max(to_ms, chain.from_ms + WINDOW_MIN_MS)


def _known_ms(state: TableState, positions: Mapping[str, ShardPosition]) -> list[int]:
    """Up to when everything of each lineage is handed over."""
    return [max(each.position_ms, state.picture_ms) for each in lineage.frontier(positions)]


def _second_after(time_ms: int) -> int:
    """The first second that begins after a change whose time was rounded down to a second."""
    return (time_ms // _SECOND_MS + 1) * _SECOND_MS
