"""A two-way flag that can be awaited in both directions (pause and resume)."""

from __future__ import annotations

import asyncio
from typing import NoReturn


class Toggle:
    """On or off; ``wait_on`` and ``wait_off`` return as soon as the state is as asked."""

    def __init__(self, *, is_on: bool) -> None:
        self._on = asyncio.Event()
        self._off = asyncio.Event()
        self.set(is_on)

    def __bool__(self) -> NoReturn:
        # "if toggle:" would always be true; the reader wants is_on().
        raise TypeError("a Toggle has no truth value: ask is_on()")

    def is_on(self) -> bool:
        """The state now."""
        return self._on.is_set()

    def set(self, is_on: bool) -> None:
        """Change the state; waking those that wait for it."""
        (self._on if is_on else self._off).set()
        (self._off if is_on else self._on).clear()

    async def wait_on(self) -> None:
        """Wait until on."""
        await self._on.wait()

    async def wait_off(self) -> None:
        """Wait until off."""
        await self._off.wait()
