"""Several control planes in one loop, which are one Connect cluster.

Each has its own worker, its own view of one config log, and its own line to one ``FakeGroup``;
offsets and statuses are kept once, as on topics. ``Cluster.start`` adds a worker, ``kill`` lets one
vanish without a word, ``stop`` lets one go in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from connectd.aio.clock import LoopClock
from connectd.configdef.worker import GroupSettings
from connectd.model.cluster import ClusterConfigState
from connectd.model.ids import ConnectorTaskId
from connectd.runtime.group.member import GroupMember
from connectd.runtime.peers import PeerAnswer, PeerError, Peers
from connectd.stores.memory import MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore
from tests.kit.asgi_client import Answer
from tests.kit.control_plane import WALL_ANCHOR_S, Options, Plane, control_plane
from tests.kit.fake_group import FakeGroup, FakeSession

_LOOK_S = 0.05

GROUP = GroupSettings(
    id="cx",
    protocol="sessioned",
    session_timeout_s=10.0,
    heartbeat_interval_s=3.0,
    rebalance_timeout_s=60.0,
    rebalance_delay_max_s=300.0,
    sync_timeout_s=3.0,
    unsync_backoff_s=300.0,
)


class ConfigLogs:
    """One log of configs; ``view`` gives a worker's own picture of it."""

    def __init__(self) -> None:
        self.records: list[tuple[str, bytes | None]] = []
        self.views: list[_View] = []

    def view(self) -> MemoryConfigStore:
        """A reader from the beginning on."""
        return _View(self)


class _View(MemoryConfigStore):
    """``lags``: what others write is seen by whoever reads to the end, and not before."""

    def __init__(self, logs: ConfigLogs) -> None:
        super().__init__()
        self.lags = False
        self._logs = logs
        self._unread = list[tuple[str, bytes | None]]()
        super()._append(*logs.records)
        logs.views.append(self)

    def _append(self, *records: tuple[str, bytes | None]) -> None:
        self._logs.records.extend(records)
        for view in self._logs.views:
            view.read(*records)

    def read(self, *records: tuple[str, bytes | None]) -> None:
        """What every reader does."""
        self._unread += records
        if not self.lags:
            self._catch_up()

    async def refresh(self) -> ClusterConfigState:
        self._catch_up()
        return await super().refresh()

    def _catch_up(self) -> None:
        records, self._unread = self._unread, []
        super()._append(*records)


class SuspendableClock(LoopClock):
    """Of a machine that can sleep: ``slept_s`` is what only ``boot_s`` has counted."""

    slept_s = 0.0

    def boot_s(self) -> float:
        return self.monotonic() + self.slept_s


@dataclass
class Worker:
    """One worker of the cluster."""

    name: str
    plane: Plane
    member: GroupMember
    session: FakeSession
    life: AsyncExitStack
    clock: SuspendableClock

    def running(self) -> set[ConnectorTaskId]:
        """The tasks that live on it."""
        return set(self.plane.probes.alive())


@dataclass
class Cluster:
    """See the module's docstring."""

    settings: GroupSettings = GROUP
    options: Options = field(default_factory=Options)
    group: FakeGroup = field(default_factory=FakeGroup)
    configs: ConfigLogs = field(default_factory=ConfigLogs)
    offsets: MemoryOffsetStore = field(default_factory=MemoryOffsetStore)
    statuses: MemoryStatusStore = field(default_factory=MemoryStatusStore)
    workers: dict[str, Worker] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    away: set[str] = field(default_factory=set)
    questions: set[asyncio.Future[Answer]] = field(default_factory=set)
    instead: Peers | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name in list(self.workers):
            await self.stop(name)
        await asyncio.gather(*self.questions)

    async def start(
        self,
        name: str,
        *,
        settings: GroupSettings | None = None,
        peers: Peers | None = None,
        configs: ConfigLogs | None = None,
    ) -> Worker:
        """Add a worker; it may take a while until the group is at rest again."""
        session, view = self.group.session(), (configs or self.configs).view()
        clock = SuspendableClock(wall_anchor_s=WALL_ANCHOR_S)
        member = GroupMember(
            f"http://{name}:8083/",
            session=session,
            configs=view,
            offsets=self.offsets,
            clock=clock,
            settings=settings or self.settings,
        )
        life = AsyncExitStack()
        options = replace(
            self.options,
            stores=(view, self.offsets, self.statuses),
            membership=member,
            peers=peers or self,
        )
        plane = await life.enter_async_context(control_plane(options))
        worker = self.workers[name] = Worker(name, plane, member, session, life, clock)
        return worker

    async def ask(
        self, method: str, url: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> PeerAnswer:
        """How workers ask each other (``runtime.peers.Peers``): nobody answers who is ``away``."""
        if self.instead is not None:
            return await self.instead.ask(method, url, body=body, headers=headers)
        parts = urlsplit(url)
        worker = self.workers.get(parts.hostname or "")
        if worker is None or parts.hostname in self.away:
            raise PeerError(f"{url}: nobody is there")
        self.asked.append(f"{method} {url}")
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        hung_up = asyncio.Event()
        question = asyncio.ensure_future(
            worker.plane.client.request(method, target, body, headers, hung_up=hung_up)
        )
        self.questions.add(question)  # it goes on where it was asked, whoever gives up here
        try:
            answer = await asyncio.shield(question)
        finally:
            hung_up.set()
        return PeerAnswer(answer.status, answer.body)

    async def stop(self, name: str) -> None:
        """Let a worker end in order."""
        worker = self.workers.pop(name)
        await worker.life.aclose()
        assert worker.plane.failures == []

    async def settle(self, duration_s: float = 8.0) -> None:
        """Long enough for a heartbeat to tell everybody, and for some rounds.

        Meanwhile it is looked at often that no task lives on two workers.
        """
        loop = asyncio.get_running_loop()
        until_s = loop.time() + duration_s
        while loop.time() < until_s:
            await asyncio.sleep(_LOOK_S)
            alive = [task for worker in self.workers.values() for task in worker.running()]
            assert len(alive) == len(set(alive)), self.placed()

    def placed(self) -> Mapping[str, list[str]]:
        """Which tasks live where."""
        return {
            name: sorted(str(task) for task in worker.running())
            for name, worker in self.workers.items()
        }

    def leader(self) -> Worker:
        """The worker that leads; there is one."""
        (found,) = [each for each in self.workers.values() if each.member.is_leader]
        return found
