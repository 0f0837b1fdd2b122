"""Where boto3 calls block: a fixed number of threads, and a deadline on every call.

boto3's clients are safe to share between threads; their sockets have timeouts of their own, so a
thread that a deadline has given up comes back by itself and is counted as busy until then.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from connectd.aws.errors import Call, raise_translated
from connectd.errors import InvariantError, TransientNetworkError

P = ParamSpec("P")
T = TypeVar("T")


class BlockingCalls:
    """Runs blocking calls in ``threads_max`` threads; more of them wait for a free thread.

    Owned by one event loop. The wait for a thread is bounded by the deadlines of the calls ahead.
    """

    def __init__(self, *, threads_max: int, name: str = "aws") -> None:
        self._threads_max = threads_max
        self._executor = ThreadPoolExecutor(threads_max, thread_name_prefix=name)
        self._free = asyncio.Semaphore(threads_max)
        self._is_closed = False

    async def run(
        self,
        call: Call,
        deadline_s: float,
        function: Callable[P, T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The function's result.

        Foreign exceptions come out translated (``errors.translate``). ``TransientNetworkError``
        when the deadline, in seconds from the start of the call, has passed.
        """
        work = await self._submit(call, functools.partial(function, *args, **kwargs))
        try:
            async with asyncio.timeout(deadline_s):
                return await asyncio.wrap_future(work)
        except TimeoutError as error:
            raise TransientNetworkError(f"{call}: no answer within {deadline_s:g} s") from error
        except Exception as error:
            raise_translated(error, call)

    async def _submit(self, call: Call, function: Callable[[], T]) -> Future[T]:
        self._check_open(call)
        await self._free.acquire()
        try:
            self._check_open(call)  # again: close() may have come during the wait
            work = self._executor.submit(function)
        except BaseException:
            self._free.release()
            raise
        work.add_done_callback(functools.partial(self._on_done, asyncio.get_running_loop()))
        return work

    def _check_open(self, call: Call) -> None:
        if self._is_closed:
            raise InvariantError(f"{call}: the AWS clients have been closed")

    def _on_done(self, loop: asyncio.AbstractEventLoop, work: Future[T]) -> None:
        # The thread is free only now, however early the caller has left.
        try:
            loop.call_soon_threadsafe(self._free.release)
        except RuntimeError:
            return  # the loop has been closed: nobody waits for a thread any more

    async def close(self, *, deadline_s: float) -> bool:
        """Take no more calls and wait for those under way; False when some outlast the deadline."""
        self._is_closed = True
        self._executor.shutdown(wait=False)
        try:
            async with asyncio.timeout(deadline_s):
                for _ in range(self._threads_max):
                    await self._free.acquire()
        except TimeoutError:
            return False
        self._executor.shutdown(wait=True)  # all threads are idle: they end at once
        return True
