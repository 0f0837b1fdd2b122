"""Processes for tasks without processes: each is a ``TaskHost`` in the loop of the test.

Everything that is said goes through the frames that a socket would carry. A process can be lost
(``end``), stand still (``is_frozen``), and be kept from being there at all (``refuses``) or from
saying so (``are_mute``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from connectd.aio.clock import LoopClock
from connectd.aio.jobs import JobGroup
from connectd.runtime.cores import messages
from connectd.runtime.cores.hosting import Hosted, HostParts, TaskHost
from connectd.runtime.cores.processes import ProcessSettings, TaskProcesses
from connectd.runtime.cores.remote_task import RemoteTask, RemoteTaskParts
from connectd.runtime.membership import Membership
from connectd.runtime.task_runner import TaskRunner, TaskRunnerFactory, TaskSpec
from connectd.stores.protocols import OffsetStore

SETTINGS = ProcessSettings(
    places=2, mode="distributed", log_format="json", properties={}, environ={}, spark_places=1
)


class MemoryProcess:
    """One process, as both ends see it (``processes.Peer``)."""

    def __init__(
        self,
        setup: messages.Setup,
        hear: Callable[[messages.ToParent], None],
        make_runner: Callable[[Hosted], TaskRunner],
    ) -> None:
        self.setup = setup
        self.sent: list[messages.ToChild] = []
        self.levels: list[tuple[str, str]] = []
        self.report = messages.ProcessReport(aws={"Scan": {"calls_total": 1}})
        self.fenced = 0
        self.is_frozen = False
        self._hear = hear
        self._held: list[messages.ToChild] = []
        self._over = asyncio.Event()
        self._how = ""
        self._jobs = JobGroup("process")
        self.host = TaskHost(
            HostParts(
                clock=LoopClock(),
                send=self._say,
                make_runner=make_runner,
                report=lambda: self.report,
                unsent_bytes=lambda: 0,
                on_fenced=self._on_fenced,
                on_level=lambda namespace, level: self.levels.append((namespace, level)),
            )
        )

    @property
    def is_over(self) -> bool:
        """Whether it is no more."""
        return self._over.is_set()

    def start(self) -> None:
        """It is there."""
        self._jobs.spawn("host", self._serve())
        self._say(messages.Ready(1000 + self.setup.place))

    async def _serve(self) -> None:
        await self.host.run()
        self.end("it has ended with 0")

    def _on_fenced(self) -> None:
        self.fenced += 1

    def _say(self, said: messages.ToParent) -> None:
        if not self.is_frozen and not self._over.is_set():
            message = messages.from_child(messages.encode(said))
            asyncio.get_running_loop().call_soon(self._hear, message)

    def send(self, message: messages.ToChild) -> None:
        """See ``processes.Peer``."""
        heard = messages.from_parent(messages.encode(message))
        self.sent.append(heard)
        if self.is_frozen:
            self._held.append(heard)
        elif not self._over.is_set():
            asyncio.get_running_loop().call_soon(self.host.receive, heard)

    async def wait(self) -> str:
        """See ``processes.Peer``."""
        await self._over.wait()
        return self._how

    def end(self, how: str) -> None:
        """It is gone, and nothing of it is heard any more."""
        self._how = self._how or how
        self._over.set()

    async def close(self) -> None:
        """As the end of a process: whatever ran in it is over."""
        self.end("it was ended by SIGKILL")
        await self._jobs.stop()


class MemoryProcesses:
    """Starts them, and remembers all; ``started`` has the newest last."""

    def __init__(
        self, make_runner: TaskRunnerFactory, settings: ProcessSettings = SETTINGS
    ) -> None:
        self.started: list[MemoryProcess] = []
        self.hosted: list[Hosted] = []
        self.refuses = self.are_mute = False
        self.failures: list[BaseException] = []
        self.tails = 0
        self._make_runner = make_runner
        self.processes = TaskProcesses(
            settings, start=self._start, clock=LoopClock(), on_failure=self.failures.append
        )

    def factory(self, offsets: OffsetStore, membership: Membership) -> TaskRunnerFactory:
        """See ``control_plane.RemoteTasks``."""
        self.processes.writes_until_s = membership.writes_until_s
        self.processes.start()
        parts = RemoteTaskParts(
            places=self.processes,
            offsets=offsets,
            may_write=membership.may_write,
            writes_until_s=lambda: self.processes.writes_until_s(),
            on_tail_left=self._on_tail_left,
        )

        def make(spec: TaskSpec) -> TaskRunner:
            return RemoteTask(spec, parts)

        return make

    def _on_tail_left(self) -> None:
        self.tails += 1

    def at(self, place: int) -> MemoryProcess:
        """The newest process of a place."""
        return next(each for each in reversed(self.started) if each.setup.place == place)

    def _hosted(self, hosted: Hosted) -> TaskRunner:
        self.hosted.append(hosted)
        return self._make_runner(hosted.spec)

    @asynccontextmanager
    async def _start(
        self, setup: messages.Setup, hear: Callable[[messages.ToParent], None]
    ) -> AsyncIterator[MemoryProcess]:
        if self.refuses:
            raise OSError("no memory")
        process = MemoryProcess(setup, hear, self._hosted)
        self.started.append(process)
        process.is_frozen = self.are_mute
        process.start()
        try:
            yield process
        finally:
            await process.close()
