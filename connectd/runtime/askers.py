"""Who waits for the answer to the request under way: how long yet, and whether still.

A request can lie about: in the socket of a worker that is frozen, behind a rebalance, behind
another change. Whoever passed it on has given up by then, and has told its client that nothing came
of it; so nothing must. ``require_wanted`` stands right before whatever cannot be taken back.

Two things tell. The time: a frozen process does not notice that a deadline passes, so it is
compared once more. And the line: whoever gives up hangs up *before* it answers its client, and the
kernel keeps that for a worker that is frozen, behind the request itself.

``rest`` says who asks, for as long as a handler runs. Jobs that a request begins outlive it and
inherit its context, so they must not ask here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from connectd.errors import RetriableError


class NobodyWaitsError(RetriableError):
    """Whoever asked has given up: it is too late to begin."""


async def _never_goes() -> bool:
    return False


@dataclass(frozen=True)
class Asker:
    """``until_s`` is a moment of the running loop's clock; ``has_gone`` tells who has hung up."""

    until_s: float
    has_gone: Callable[[], Awaitable[bool]] = _never_goes

    @property
    def left_s(self) -> float:
        """How long the asker waits yet; less than 0: no more."""
        return self.until_s - asyncio.get_running_loop().time()


_current: ContextVar[Asker | None] = ContextVar("asker", default=None)


@contextlib.contextmanager
def asked_by(asker: Asker) -> Iterator[Asker]:
    """What is done here is done for this one."""
    token = _current.set(asker)
    try:
        yield asker
    finally:
        _current.reset(token)


def left_s(longest_s: float) -> float:
    """How long the request under way may take yet, and never longer than ``longest_s``."""
    asker = _current.get()
    return longest_s if asker is None else min(longest_s, asker.left_s)


async def require_wanted() -> None:
    """Go on only if somebody waits for it. It takes a few turns of the loop.

    Raises:
        NobodyWaitsError: nobody does.
    """
    asker = _current.get()
    if asker is None:
        return
    if await asker.has_gone():
        raise NobodyWaitsError("Not done: the worker that passed this request on has given it up")
    if asker.left_s <= 0:
        raise NobodyWaitsError("Request timed out before anything was done")
