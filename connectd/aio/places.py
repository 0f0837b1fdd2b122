"""So many at a time, first come, first served.

What ``asyncio.Semaphore`` is for, where thousands come and go in a second and nearly always find a
place: ``take_at_once`` then costs a comparison and an addition.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Places:
    """Taken one by one, each given back once. Used on one event loop."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.taken = 0
        self._line: deque[asyncio.Future[None]] = deque()

    def take_at_once(self) -> bool:
        """Take one if there is one, else False. Nobody is overtaken: with a line there is none."""
        if self.taken < self.count:
            self.taken += 1
            return True
        return False

    async def take(self) -> None:
        """Take one, after those who came before. A wait that is cancelled has taken none."""
        if self.take_at_once():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        await self.taken_by(turn)

    def line_up(self, turn: asyncio.Future[None]) -> None:
        """Take one for whoever waits for ``turn``, which is done then: at once or after others.

        Who waits does so with ``taken_by``.
        """
        if self.take_at_once():
            turn.set_result(None)
        else:
            self._line.append(turn)

    async def taken_by(self, turn: asyncio.Future[None]) -> None:
        """Wait for a turn that will be lined up. A wait that is cancelled has taken none."""
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()  # it had just been given one
            raise

    def give_back(self) -> None:
        """One goes to the first in line, or is free."""
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.taken -= 1
