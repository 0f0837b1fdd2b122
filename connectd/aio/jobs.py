"""Named, supervised jobs: the only place that creates asyncio tasks.

A ``JobGroup`` owns jobs. Each has a name that shows in logs and in ``statistics``. A *service* job
must not end by itself: finishing is as much an error as raising. A *worker* job may finish.
The owner learns of every failure through ``on_failure``; nothing is lost in a forgotten task.

The stop ladder (DESIGN section 6, rule 6): ``signal`` is the owner's business (an event, a queue
sentinel); ``stop`` then waits for the grace period, cancels, waits for the hard limit, and finally
abandons: it returns the names of jobs that still run, so that the owner can take their pens away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Generic, Self, TypeVar

from connectd.errors import InvariantError

T = TypeVar("T")

_BEGINNING_TURNS: Final = 5
"""Turns of the loop that a request over a connection that is open takes at most to be written."""

OnFailure = Callable[[str, BaseException], None]


@dataclass(frozen=True)
class JobStatistics:
    """A snapshot of a group: names of running jobs, and how many ended by now."""

    running: tuple[str, ...]
    finished: int
    failed: int


class JobEndedError(InvariantError):
    """A job that must run until it is stopped came to its end."""


class JobGroup:
    """Owns named jobs; see the module's docstring for the rules.

    ``on_failure(name, error)`` is called on the loop, once for each job that fails. Without it a
    failure is kept, and ``complete`` raises it.
    """

    def __init__(self, name: str, *, on_failure: OnFailure | None = None) -> None:
        self.name = name
        self._on_failure = on_failure
        self._jobs: dict[str, asyncio.Task[Any]] = {}
        self._first_failure: BaseException | None = None
        self._finished = 0
        self._failed = 0
        self._closing = False

    def spawn(self, name: str, work: Coroutine[Any, Any, Any], *, service: bool = False) -> None:
        """Start a job. Names are unique among the running jobs of the group."""
        if self._closing:
            work.close()
            raise InvariantError(f"job group {self.name} is closing: cannot start {name}")
        if name in self._jobs:
            work.close()
            raise InvariantError(f"job group {self.name} already runs a job named {name}")
        job = asyncio.get_running_loop().create_task(work, name=f"{self.name}/{name}")
        self._jobs[name] = job
        job.add_done_callback(lambda done: self._on_done(name, done, service=service))

    def _on_done(self, name: str, job: asyncio.Task[Any], *, service: bool) -> None:
        if self._jobs.get(name) is job:
            del self._jobs[name]
        self._finished += 1
        if job.cancelled():
            return
        error = job.exception()
        if error is None and service and not self._closing:
            error = JobEndedError(f"job {self.name}/{name} ended, it was to run until stopped")
        if error is None:
            return
        self._failed += 1
        if self._on_failure is not None:
            self._on_failure(name, error)
            return
        if self._first_failure is None:
            self._first_failure = error

    def is_running(self, name: str) -> bool:
        """Whether a job of that name is alive."""
        return name in self._jobs

    async def cancel(self, name: str, *, deadline_s: float = 10.0) -> bool:
        """Cancel one job and wait for its end; False when it did not end in time."""
        job = self._jobs.get(name)
        if job is None:
            return True
        job.cancel()
        done, _ = await asyncio.wait({job}, timeout=deadline_s)
        return bool(done)

    def cancel_soon(self, name: str) -> None:
        """Cancel one job, if it runs, and do not wait for its end."""
        job = self._jobs.get(name)
        if job is not None:
            job.cancel()

    async def join(self, *, deadline_s: float) -> bool:
        """Wait for all jobs to end by themselves; False when the deadline came first."""
        jobs = set(self._jobs.values())
        if not jobs:
            return True
        _, pending = await asyncio.wait(jobs, timeout=deadline_s)
        return not pending

    async def complete(self) -> None:
        """Wait for all jobs to end by themselves (only for groups without ``on_failure``).

        The first failure is raised at once; the other jobs are stopped by then, and no new one can
        be started.

        Raises:
            InvariantError: a job was cancelled by somebody else, so its work is not done.
        """
        done: set[asyncio.Task[Any]] = set()
        try:
            jobs = set(self._jobs.values())
            if jobs:
                done, _ = await asyncio.wait(jobs, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            await self.stop()
        if self._first_failure is not None:
            raise self._first_failure
        lost = sorted(job.get_name() for job in done if job.cancelled())
        if lost:
            raise InvariantError(f"cancelled before their end: {', '.join(lost)}")

    async def stop(self, *, grace_s: float = 0.0, hard_s: float = 5.0) -> tuple[str, ...]:
        """Climb the stop ladder; returns the names of the jobs that had to be abandoned.

        The caller has signalled before. After this call no new job can be started.
        """
        self._closing = True
        current = asyncio.current_task()
        jobs = {job for job in self._jobs.values() if job is not current}
        if jobs and grace_s > 0:
            _, jobs = await asyncio.wait(jobs, timeout=grace_s)
        for job in jobs:
            job.cancel()
        if jobs:
            _, jobs = await asyncio.wait(jobs, timeout=hard_s)
        return tuple(sorted(name for name, job in self._jobs.items() if job in jobs))

    def statistics(self) -> JobStatistics:
        """What runs and what ended."""
        return JobStatistics(tuple(sorted(self._jobs)), self._finished, self._failed)


class Ahead(Generic[T]):
    """Work that begins before its result is wanted, one piece at a time.

    Leaving the block drops what was begun and not taken.
    """

    def __init__(self) -> None:
        self._work: asyncio.Future[T] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    @property
    def has_begun(self) -> bool:
        """Whether there is something to take."""
        return self._work is not None

    async def begin(self, work: Coroutine[Any, Any, T]) -> None:
        """Begin it, and let it come to where it waits for the outside.

        The loop may be kept busy from now on, as it is while a page is converted: what the outside
        does meanwhile costs no time.
        """
        if self._work is not None:
            work.close()
            raise InvariantError("what was begun before has not been taken")
        self._work = asyncio.ensure_future(work)
        for _ in range(_BEGINNING_TURNS):
            await asyncio.sleep(0)

    async def take(self) -> T:
        """Its result, or what it raised."""
        work, self._work = self._work, None
        if work is None:
            raise InvariantError("nothing has begun")
        try:
            return await work
        finally:
            work.cancel()  # nobody else waits for it; no effect on what is done


async def wait_first(*works: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of several waits is over; the others are cancelled. Raises what it raised."""
    waits = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in done:
            wait.result()
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


async def run_unless(
    work: Coroutine[Any, Any, T], condition: Coroutine[Any, Any, object]
) -> T | None:
    """Run ``work``, but cancel it when ``condition`` is over first; None if it was cancelled.

    Nothing that ``work`` finished is lost: if both end together, its result counts.
    """
    job, wait = asyncio.ensure_future(work), asyncio.ensure_future(condition)
    try:
        await asyncio.wait((job, wait), return_when=asyncio.FIRST_COMPLETED)
        if not job.done():
            job.cancel()
            await asyncio.wait((job,))
        return None if job.cancelled() else job.result()
    finally:
        for each in (job, wait):
            each.cancel()
        await asyncio.gather(job, wait, return_exceptions=True)
