"""What time it is for AWS.

Rules about the age of positions compare times that DynamoDB stamped with "now". A worker whose
clock is hours off would see gaps where there are none, or none where there are. So "now" follows
the ``Date`` header of answers when it differs clearly from the local clock (spec streams-and-leases
5, row 18), and the local clock otherwise. ``ask_time`` asks for it before the first decision.
"""

from __future__ import annotations

import asyncio
from typing import Final

from connectd.aio.clock import Clock
from connectd.connectors.dynamodb.source_api import StreamsApi
from connectd.errors import IteratorExpiredError, StreamGoneError, TrimmedDataError

_TOLERANCE_S = 5.0
"""A difference up to this is latency and the header's resolution of one second."""

_AGREEMENT_S = 2.0
"""Two answers in a row must agree this well before they are believed: a cache may answer, too."""

_SHARDS_ASKED_MAX: Final = 3


class ServiceTime:
    """The service's wall clock, as far as it can be told. Owned by one task or connector."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset_s = 0.0
        self._candidate_s: float | None = None
        self.is_known = False
        self.asking = asyncio.Lock()

    def observe(self, date_s: float | None) -> None:
        """Take note of an answer's ``Date``, seconds since the epoch."""
        if date_s is None:
            return
        found_s = date_s + 0.5 - self._clock.wall_s()
        previous_s, self._candidate_s = self._candidate_s, found_s
        if previous_s is not None and abs(found_s - previous_s) <= _AGREEMENT_S:
            self.is_known = True
            self._offset_s = found_s if abs(found_s) > _TOLERANCE_S else 0.0

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return int((self._clock.wall_s() + self._offset_s) * 1000)


async def ask_time(time: ServiceTime, streams: StreamsApi, arn: str) -> None:
    """Learn the service's time from two small reads of a stream, unless it is known.

    Answers of the control plane do not carry it. A stream without a readable shard leaves the time
    unknown, that is, local.

    Raises:
        RetriableError: the service does not answer just now.
        AccessDeniedError: the stream may not be read.
    """
    # Hundreds of tables begin at once; one of them asks for all.
    async with time.asking:
        if not time.is_known:
            await _ask(time, streams, arn)


async def _ask(time: ServiceTime, streams: StreamsApi, arn: str) -> None:
    try:
        shards = (await streams.describe_stream(arn)).shards
    except StreamGoneError:
        return
    # Newest first: old ones may be trimmed at any moment.
    for shard in shards[: -_SHARDS_ASKED_MAX - 1 : -1]:
        try:
            iterator = await streams.shard_iterator(arn, shard.shard_id, "TRIM_HORIZON", None)
            for _ in range(2):
                time.observe((await streams.get_records(iterator, 1)).date_s)
        except (IteratorExpiredError, StreamGoneError, TrimmedDataError):
            continue
        return
