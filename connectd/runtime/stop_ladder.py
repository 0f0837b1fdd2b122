"""The stop ladder: signal, wait, cancel, wait, abandon (DESIGN section 6, rule 6).

All lives that are stopped together are signalled first and then share the time, so that stopping
many takes no longer than stopping the slowest. What has to be abandoned may still run, but without
a pen: it writes neither records nor offsets nor statuses.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Protocol

import structlog

_log = structlog.get_logger(__name__)

HARD_LIMIT_S = 5.0
"""What a cancelled life gets to clean up: a last commit takes no longer when the broker is well."""


class Stoppable(Protocol):
    """One life of a connector or task, as the ladder sees it."""

    name: str
    grace_s: float

    def signal_stop(self) -> None:
        """Ask it to end."""
        ...

    async def cancel(self) -> None:
        """Interrupt whatever it waits for; does not wait for the end."""
        ...

    def abandon(self) -> None:
        """Take its pens away."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it runs any more."""
        ...

    async def wait_ended(self) -> None:
        """Wait for its end."""
        ...


async def climb(lives: Sequence[Stoppable], *, hard_limit_s: float = HARD_LIMIT_S) -> None:
    """Stop all; returns when each has ended or was abandoned. Bounded by the longest grace."""
    began_s = asyncio.get_running_loop().time()
    for life in lives:
        life.signal_stop()
    for life in sorted(lives, key=lambda life: life.grace_s):
        await _wait_until(began_s + life.grace_s, life)
        if not life.has_ended:
            _log.warning("stopping: cancelling", subject=life.name, grace_s=life.grace_s)
            await life.cancel()
    limit_s = asyncio.get_running_loop().time() + hard_limit_s
    for life in lives:
        await _wait_until(limit_s, life)
        if not life.has_ended:
            _log.error("stopping: abandoned", subject=life.name, hard_limit_s=hard_limit_s)
            life.abandon()


async def _wait_until(when_s: float, life: Stoppable) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(when_s):
            await life.wait_ended()
