"""A place for tasks: one process, and in its stead those that follow it when it is lost.

Written and read by ``processes`` alone; tasks know it as ``remote_task.Place``.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from connectd.errors import TaskProcessLostError
from connectd.model.ids import ConnectorTaskId
from connectd.runtime.cores import messages
from connectd.runtime.cores.messages import ProcessReport
from connectd.runtime.cores.remote_task import RemoteTask


class Peer(Protocol):
    """A process that runs."""

    def send(self, message: messages.ToChild) -> None:
        """Say something to it."""
        ...

    async def wait(self) -> str:
        """Wait for its end; in words, how it ended."""
        ...


class Place:
    """See the module's docstring."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.runs: dict[int, RemoteTask] = {}
        self.peer: Peer | None = None
        self.report = ProcessReport()
        self.has_reported = False
        self.silent_looks = 0
        self.held: dict[int, ConnectorTaskId] = {}
        """Runs that were abandoned, and of which the process may still send something."""
        self.reproach = ""
        self._ready = asyncio.Event()
        self._condemned = asyncio.Event()

    @property
    def is_ready(self) -> bool:
        return self._ready.is_set()

    async def wait_ready(self) -> None:
        await self._ready.wait()

    def become_ready(self) -> None:
        self._ready.set()

    def send(self, message: messages.ToChild) -> None:
        if self.peer is not None:
            self.peer.send(message)

    def condemn(self, reproach: str) -> None:
        self.reproach = reproach
        self._condemned.set()

    async def wait_condemned(self) -> None:
        await self._condemned.wait()

    def lose(self, error: TaskProcessLostError) -> None:
        self.peer = None
        self._ready.clear()
        self._condemned.clear()
        self.report, self.has_reported, self.silent_looks = ProcessReport(), False, 0
        self.held.clear()
        for task in list(self.runs.values()):
            task.on_lost(error)
