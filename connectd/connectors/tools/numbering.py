"""Consecutive numbers at a given rate: what the tasks of this package emit, and their positions.

The source partition is ``{"id": task}``, the offset ``{"seqno": last number}``, as Kafka's tools
have them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from connectd.aio.backoff import Backoff, retry
from connectd.aio.clock import Clock
from connectd.errors import FatalTaskError
from connectd.model.cluster import Config
from connectd.model.record import SourceOffset, SourcePartition
from connectd.plugins.spi import TaskContext

BATCH_MAX: Final = 500
"""Numbers handed out together when more are due: a page of records, not each a page of its own."""

_WAIT_MIN_S: Final = 0.001
_REFRESH: Final = Backoff(initial_s=0.5, max_s=5.0, attempts_max=5)


def task_configs(config: Config, tasks_max: int) -> Sequence[Config]:
    """As many as are allowed, numbered by ``id``."""
    return [{**config, "id": str(number)} for number in range(tasks_max)]


def partition_of(task: int) -> SourcePartition:
    """The source partition of a task."""
    return SourcePartition.of({"id": task})


def offset_after(number: int) -> SourceOffset:
    """The offset when that number was the last one."""
    return {"seqno": number}


async def next_number(context: TaskContext, task: int) -> int:
    """Where to go on.

    Raises:
        FatalTaskError: the stored offset is none of this connector's.
        RetriableError: the offsets cannot be read.
    """
    await retry(context.offsets.refresh, clock=context.services.clock, policy=_REFRESH)
    offset: Mapping[str, object] | None = context.offsets.get(partition_of(task))
    if offset is None:
        return 0
    number = offset.get("seqno")
    if not isinstance(number, int) or isinstance(number, bool):
        raise FatalTaskError(
            f"the stored offset of task {task} is {dict(offset)}, expected a whole number as "
            "seqno; alter or delete the connector's offsets"
        )
    return number + 1


class PacedNumbers:
    """Hands out numbers from ``first`` on, ``per_second`` of them on average from now on.

    A negative rate is none at all: no pause. At the rate 0, and after ``count_max`` numbers, no
    more come. Cancelling ``take`` loses nothing.
    """

    def __init__(
        self, clock: Clock, *, first: int, per_second: int, count_max: int | None = None
    ) -> None:
        self._clock = clock
        self._first = first
        self._per_second = per_second
        self._count_max = count_max
        self._taken = 0
        self._began_s = clock.monotonic()

    async def take(self) -> range:
        """The numbers that are due, at least one."""
        while True:
            count = min(self._due(), BATCH_MAX)
            if count > 0:
                begin = self._first + self._taken
                self._taken += count
                return range(begin, begin + count)
            if self._per_second == 0 or self._taken == self._count_max:
                await asyncio.Event().wait()  # until cancelled
            due_s = self._began_s + self._taken / self._per_second
            await self._clock.sleep(max(_WAIT_MIN_S, due_s - self._clock.monotonic()))

    def _due(self) -> int:
        left = BATCH_MAX if self._count_max is None else max(0, self._count_max - self._taken)
        if self._per_second < 0:
            return left
        if self._per_second == 0:
            return 0
        elapsed_s = self._clock.monotonic() - self._began_s
        return min(left, int(elapsed_s * self._per_second) + 1 - self._taken)
