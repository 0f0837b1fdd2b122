"""What a child has asked its parent and waits to hear."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Final

from connectd.errors import RetriableError
from connectd.runtime.cores.failures import error_of
from connectd.runtime.cores.messages import Answer, ToParent

DEADLINE_S: Final = 120.0
"""The parent's own deadlines are shorter: this is for one that hangs."""


class Calls:
    """Numbers calls and hands answers to those who wait. Used on one event loop."""

    def __init__(self, send: Callable[[ToParent], None]) -> None:
        self._send = send
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Answer]] = {}

    async def ask(self, question: Callable[[int], ToParent]) -> Answer:
        """The answer to ``question(number)``.

        Raises:
            RetriableError: there is none, in time.
            Exception: what the parent says that went wrong.
        """
        number, answer = self._begin(question)
        try:
            async with asyncio.timeout(DEADLINE_S):
                return await answer
        except TimeoutError as error:
            raise RetriableError(
                f"the worker's main process has not answered for {DEADLINE_S:g} s"
            ) from error
        finally:
            self._waiting.pop(number, None)

    async def ask_patiently(
        self, question: Callable[[int], ToParent], *, if_unwanted: Callable[[], None]
    ) -> None:
        """Wait as long as it takes. An answer that comes after a cancellation is ``unwanted``."""
        _, answer = self._begin(question)
        try:
            await asyncio.shield(answer)
        except asyncio.CancelledError:
            answer.add_done_callback(lambda done: None if done.cancelled() else if_unwanted())
            raise

    def _begin(self, question: Callable[[int], ToParent]) -> tuple[int, asyncio.Future[Answer]]:
        number = next(self._numbers)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._send(question(number))
        return number, answer

    def on_answer(self, answer: Answer) -> None:
        """An answer; nobody waits for it any more if it comes too late."""
        waiting = self._waiting.pop(answer.call, None)
        if waiting is None or waiting.done():
            return
        if answer.failure is None:
            waiting.set_result(answer)
        else:
            waiting.set_exception(error_of(answer.failure))
