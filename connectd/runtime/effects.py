"""When a change of a connector has taken effect on this worker: its instance and tasks run.

Only a standalone worker waits for that before it answers: in a cluster the change may concern
another worker.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from connectd.runtime.reconfiguration import Reconfiguration
from connectd.runtime.requests import stage
from connectd.runtime.worker import Worker

_TASKS_S: Final = 5.0
"""How long tasks that are starting are waited for: clients like to see them, and may look again."""


class Effects:
    """``apply_latest`` makes the worker know what has been written by now."""

    def __init__(
        self, worker: Worker, reconfiguration: Reconfiguration, apply_latest: Callable[[], None]
    ) -> None:
        self._worker = worker
        self._reconfiguration = reconfiguration
        self._apply_latest = apply_latest

    async def wait(self, connector: str) -> Exception | None:
        """Wait until what runs is what was written last; returns why the connector failed.

        A connector that keeps failing to compute its task configs is waited for as long as the
        request may take.
        """
        with stage(f"waiting for connector {connector} to take on its configuration"):
            self._apply_latest()
            await self._worker.wait_settled(connector)
            life = self._worker.connector_life(connector)
            if life is None:
                return None
            await life.wait_settled()
            await self._reconfiguration.wait_idle(connector)
            await life.wait_settled()  # its task configs may have failed it
            if life.failure is None:
                self._apply_latest()  # the task set that has just been published
                await self._worker.wait_settled(connector)
                with contextlib.suppress(TimeoutError):  # slow tasks show by themselves
                    async with asyncio.timeout(_TASKS_S):
                        await self._worker.wait_tasks_told(connector)
            return life.failure
