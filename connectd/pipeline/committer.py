"""Makes the frontier durable: on a timer, at once for seals, and a last time at the end.

One committer per task. A flush takes what is committable, writes it in the order in which it
became so, and tells the seals. A flush that fails or comes too late gives its offsets back to the
frontier; the next one tries again, and the task goes on: only what is durable is ever believed
(spec kafka-connect D.4.2).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import structlog

from connectd.errors import RetriableError
from connectd.model.record import SourceOffset, SourcePartition
from connectd.pipeline.frontier import AckFrontier
from connectd.plugins import containment

_log = structlog.get_logger(__name__)

_RETRY_AFTER_FAILURE_S = 1.0
"""A failed urgent flush is tried again after this; the broker is away, so no sooner."""


class OffsetWriter(Protocol):
    """Writes a task's offsets; returns when they are durable."""

    async def put(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
        """Write in the order of the mapping.

        Raises:
            RetriableError: nothing is known about the outcome; the same may be written again.
        """
        ...


class OnFlushed(Protocol):
    """Hears of every flush that had something to write."""

    def __call__(self, took_s: float, *, is_durable: bool) -> None: ...


@dataclass(frozen=True)
class CommitterStatistics:
    """Flushes by outcome, and the number of offsets written."""

    flushes: int
    failures: int
    offsets: int


class Committer:
    """Flushes one frontier; ``run`` is a service job of the task's group.

    ``trouble`` says why the last flush failed, and is empty once one has succeeded: a task that
    sends and cannot commit runs, but a crash would repeat more and more.
    """

    def __init__(
        self,
        frontier: AckFrontier,
        writer: OffsetWriter,
        *,
        interval_s: float,
        on_flushed: OnFlushed | None = None,
    ) -> None:
        self._frontier = frontier
        self._writer = writer
        self._interval_s = interval_s
        self._on_flushed = on_flushed
        self.trouble = ""
        self._wake = asyncio.Event()
        self._flushing = asyncio.Lock()
        self._is_abandoned = False
        self._flushes = self._failures = self._offsets = 0

    def on_committable(self, is_urgent: bool) -> None:
        """Hook for the frontier: seals do not wait for the timer."""
        if is_urgent:
            self._wake.set()

    async def run(self) -> None:
        """Flush for ever."""
        while True:
            with contextlib.suppress(TimeoutError):  # the timer is as good a reason
                await asyncio.wait_for(self._wake.wait(), self._interval_s)
            self._wake.clear()
            if not await self.flush():
                await asyncio.sleep(min(_RETRY_AFTER_FAILURE_S, self._interval_s))
                self._wake.set()

    async def flush(self) -> bool:
        """Write what is committable; True when nothing is left to write.

        Cancellation while writing gives the offsets back.
        """
        async with self._flushing:
            if self._is_abandoned or not self._frontier.has_committable:
                return True
            taken = self._frontier.take()
            began_s = asyncio.get_running_loop().time()
            try:
                if taken.offsets:
                    await self._writer.put(taken.offsets)
            except RetriableError as error:
                self._frontier.give_back(taken)
                self._failures += 1
                self._tell_flushed(began_s, is_durable=False)
                self.trouble = f"offsets are not committed: {error}"
                _log.warning(
                    "committing offsets: not durable, kept for the next flush",
                    error=str(error),
                    partitions=len(taken.offsets),
                )
                return False
            except BaseException:
                self._frontier.give_back(taken)
                raise
            self.trouble = ""
            self._flushes += 1
            self._offsets += len(taken.offsets)
            self._tell_flushed(began_s, is_durable=True)
            if not self._is_abandoned:
                for on_committed in taken.on_committed:
                    with containment.contained("hearing that positions are committed"):
                        on_committed()
            return True

    def _tell_flushed(self, began_s: float, *, is_durable: bool) -> None:
        if self._on_flushed is not None:
            self._on_flushed(asyncio.get_running_loop().time() - began_s, is_durable=is_durable)

    def abandon(self) -> None:
        """Never write again."""
        self._is_abandoned = True

    def statistics(self) -> CommitterStatistics:
        """Counters since the start."""
        return CommitterStatistics(self._flushes, self._failures, self._offsets)
