"""From a running connector to its committed task set (spec kafka-connect D.3).

A connector that has started, resumed or asked for it gets ``task_configs`` called; what comes out
is published only if it differs from what is there. One job per connector under way: requests that
arrive meanwhile are one more round. Errors are retried for ever, since the outside may heal, and
logged each time; those that only a user can mend fail the connector, where the user looks.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from typing import Protocol

import structlog

from connectd.aio.jobs import JobGroup, run_unless
from connectd.errors import ConfigError, ConnectdError, FatalTaskError, WorkerError
from connectd.model.cluster import Config
from connectd.model.states import State
from connectd.runtime import task_configs
from connectd.runtime.connector_life import ConnectorLife

_log = structlog.get_logger(__name__)

_RETRY_FIRST_S = 0.25
_RETRY_MAX_S = 60.0
_CALL_DEADLINE_S = 90.0
"""A connector that takes longer than a request may take to answer would hide behind RUNNING."""


class TaskPublisher(Protocol):
    """Writes a task set if it is still the right one to write."""

    async def __call__(self, connector: str, base: Config, configs: list[dict[str, str]]) -> bool:
        """True if it was written."""
        ...


class Reconfiguration:
    """Keeps task sets in step with their connectors; jobs run in the group given."""

    def __init__(
        self,
        jobs: JobGroup,
        *,
        life_of: Callable[[str], ConnectorLife | None],
        publish: TaskPublisher,
    ) -> None:
        self._jobs = jobs
        self._life_of = life_of
        self._publish = publish
        self._rounds: dict[str, asyncio.Event] = {}
        self._ended: dict[str, asyncio.Event] = {}
        self._numbers = itertools.count(1)

    def request(self, connector: str) -> None:
        """Compute the task configs of a connector again, soon. Returns at once."""
        wanted = self._rounds.get(connector)
        if wanted is not None:
            wanted.set()
            return
        wanted = self._rounds[connector] = asyncio.Event()
        wanted.set()
        self._ended[connector] = asyncio.Event()
        # Numbered: the last job of the same connector may be about to end just now.
        job_name = f"reconfigure {connector}#{next(self._numbers)}"
        self._jobs.spawn(job_name, self._rounds_of(connector, wanted))

    def ensure(self, connector: str) -> None:
        """Likewise, unless that is under way or the connector does not run (then it will ask)."""
        life = self._life_of(connector)
        if connector not in self._rounds and life is not None and life.state is State.RUNNING:
            self.request(connector)

    async def wait_idle(self, connector: str) -> None:
        """Wait until nothing is under way for a connector; retries are."""
        while (under_way := self._ended.get(connector)) is not None:
            await under_way.wait()

    async def _rounds_of(self, connector: str, wanted: asyncio.Event) -> None:
        failures = 0
        try:
            while wanted.is_set():
                wanted.clear()
                try:
                    await self._round(connector)
                    failures = 0
                except WorkerError:
                    raise
                except Exception as error:
                    wait_s = min(_RETRY_MAX_S, _RETRY_FIRST_S * 2 ** min(failures, 10))
                    failures += 1
                    _log.warning(
                        "reconfiguring tasks: will try again",
                        connector=connector,
                        error=repr(error),
                        attempt=failures,
                        wait_s=wait_s,
                    )
                    with contextlib.suppress(TimeoutError):  # a new request need not wait
                        async with asyncio.timeout(wait_s):
                            await wanted.wait()
                    wanted.set()
        finally:
            del self._rounds[connector]
            self._ended.pop(connector).set()

    async def _round(self, connector: str) -> None:
        life = self._life_of(connector)
        if life is None or not _runs(life):
            return  # it will ask again when it runs
        try:
            limit = task_configs.tasks_max(life.resolved_config)
            async with asyncio.timeout(_CALL_DEADLINE_S):
                computed = await run_unless(life.task_configs(limit), life.wait_ended())
            if computed is None:
                return  # what never answered has been replaced, and its successor asks itself
            task_configs.check_task_count(connector, len(computed), life.resolved_config)
        except (ConfigError, FatalTaskError) as error:
            life.fail(error)
            return
        except ConnectdError:
            if not _runs(life):
                return  # stopped in between: it will ask again, or its successor does
            raise
        configs = task_configs.prepared(computed, task_class=life.task_class_name, raw=life.config)
        if await self._publish(connector, life.config, configs):
            _log.info("task set published", connector=connector, tasks=len(configs))


def _runs(life: ConnectorLife) -> bool:
    return life.state is State.RUNNING
