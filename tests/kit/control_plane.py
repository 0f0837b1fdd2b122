"""A whole control plane in one loop: herder, worker and REST on memory stores and probes.

``async with control_plane() as plane`` runs the herder as a job, as the composition root does;
``plane.client`` talks to its API. ``settle`` lets everything happen that can happen now.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from connectd.aio.clock import LoopClock
from connectd.aio.jobs import JobGroup
from connectd.aio.scheduler import PollScheduler
from connectd.configdef.catalogue import PluginKind
from connectd.configdef.worker import WorkerConfig
from connectd.model.status import Status
from connectd.plugins import resolving, spi
from connectd.plugins.directory import PluginDirectory
from connectd.plugins.registry import PluginDesc, PluginRegistry
from connectd.rest.api import create_api
from connectd.runtime.herder import Herder, HerderSettings, Plugins, Stores, WorkerInfo
from connectd.runtime.lives import LifeMaker, LifeSettings
from connectd.runtime.membership import Membership, SoleMember
from connectd.runtime.peers import Peers
from connectd.runtime.statuses import StatusReporter
from connectd.runtime.task_runner import TaskRunnerFactory, TaskSpec
from connectd.runtime.validation import ThreadRunner
from connectd.runtime.worker import Worker
from connectd.stores.memory import MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore
from connectd.stores.protocols import OffsetStore
from tests.kit.asgi_client import AsgiClient
from tests.kit.probes import PROBE_CLASS, ProbeConnector, ProbeConverter, ProbeRunner, Probes

T = TypeVar("T")


class RemoteTasks(Protocol):
    """Who has tasks run in other processes."""

    def factory(self, offsets: OffsetStore, membership: Membership) -> TaskRunnerFactory:
        """What makes them."""
        ...


WORKER_URL = "http://worker:8083/"
WORKER_ID = "worker:8083"
WALL_ANCHOR_S = 1_700_000_000.0
WORKER_PROPERTIES = {
    "bootstrap.servers": "127.0.0.1:9092",
    "group.id": "cx",
    "key.converter": "tests.ProbeConverter",
    "value.converter": "tests.ProbeConverter",
    "config.storage.topic": "connect-configs",
    "offset.storage.topic": "connect-offsets",
    "status.storage.topic": "connect-status",
}

SRC: Mapping[str, str] = {
    "connector.class": PROBE_CLASS,
    "tasks.max": "1",
    "probe.topic": "t1",
}
"""A config that is valid but for its name."""


def src(name: str, **more: str) -> dict[str, str]:
    """``SRC`` with a name and more keys (underscores stand for dots)."""
    return {**SRC, "name": name, **{key.replace("_", "."): text for key, text in more.items()}}


async def run_inline(call: Callable[[], T], group: str = "") -> T:
    """The thread runner of tests: virtual time does not wait for threads."""
    return call()


@dataclass
class Plane:
    """Everything a test may want to build differently or look into."""

    probes: Probes
    configs: MemoryConfigStore
    offsets: MemoryOffsetStore
    statuses: MemoryStatusStore
    herder: Herder
    worker: Worker
    client: AsgiClient
    failures: list[BaseException]

    async def settle(self, duration_s: float = 0.01) -> None:
        """Let everything happen that is due now (virtual time moves by almost nothing)."""
        await asyncio.sleep(duration_s)

    async def create(self, name: str, **more: str) -> None:
        """A running connector; fails the test if it cannot be created."""
        answer = await self.client.put(f"/connectors/{name}/config", src(name, **more))
        assert answer.status in (200, 201), answer.body
        await self.settle()

    async def states(self, name: str) -> tuple[str, list[str]]:
        """States of a connector and of its tasks, as REST shows them."""
        body = (await self.client.get(f"/connectors/{name}/status")).json()
        return body["connector"]["state"], [task["state"] for task in body["tasks"]]

    def status(self, name: str) -> Status | None:
        """The stored status of a connector."""
        return self.statuses.connector(name)


@dataclass(frozen=True)
class Options:
    """What tests vary."""

    settings: HerderSettings = field(default_factory=HerderSettings)
    lives: LifeSettings = field(default_factory=LifeSettings)
    resolve: resolving.Resolver = resolving.resolve_nothing
    run_blocking: ThreadRunner = run_inline
    stores: tuple[MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore] | None = None
    opens: Callable[[], Coroutine[Any, Any, None]] | None = None
    membership: Membership | None = None
    peers: Peers | None = None
    processes: Callable[[TaskRunnerFactory], RemoteTasks] | None = None


def _registry(probes: Probes) -> PluginRegistry:
    connector_class = type("BoundProbeConnector", (ProbeConnector,), {"probes": probes})
    registry = PluginRegistry()
    registry.register(
        PluginDesc(PROBE_CLASS, PluginKind.SOURCE, ProbeConnector.version, connector_class)
    )
    registry.register(
        PluginDesc("tests.ProbeConverter", PluginKind.CONVERTER, "1.0", ProbeConverter)
    )
    return registry


def _elsewhere(
    options: Options, here: TaskRunnerFactory, offsets: OffsetStore, membership: Membership
) -> TaskRunnerFactory:
    """Runners in other processes, if there are to be any."""
    return (
        here if options.processes is None else options.processes(here).factory(offsets, membership)
    )


def _build(options: Options) -> Plane:
    probes = Probes()
    registry = _registry(probes)
    configs, offsets, statuses = options.stores or (
        MemoryConfigStore(),
        MemoryOffsetStore(),
        MemoryStatusStore(),
    )
    if options.opens is not None:
        configs.open = options.opens  # type: ignore[method-assign]
    clock = LoopClock(wall_anchor_s=WALL_ANCHOR_S)
    membership = options.membership or SoleMember(WORKER_URL, statuses)
    reporter = StatusReporter(
        statuses,
        membership,
        clock,
        configs.snapshot,
        tracks_topics=options.settings.tracks_topics,
    )

    def find(name: str) -> type[spi.SourceConnector]:
        found: type[spi.SourceConnector] = registry.find(PluginKind.SOURCE, name).cls
        return found

    def type_of(name: str) -> str:
        plugin = registry.find_any(name)
        return "unknown" if plugin is None else plugin.kind.value

    def version_of(name: str) -> str | None:
        plugin = registry.find_any(name)
        return None if plugin is None else plugin.version

    def make_runner(spec: TaskSpec) -> ProbeRunner:
        return ProbeRunner(spec, probes[spec.task_id.connector])

    worker = Worker(
        LifeMaker(
            services=spi.WorkerServices(clock, PollScheduler(), {}),
            offsets=offsets,
            membership=membership,
            statuses=reporter,
            make_connector=lambda config: find(config.get("connector.class", ""))(),
            version_of=version_of,
            make_task_runner=_elsewhere(options, make_runner, offsets, membership),
            resolve=options.resolve,
            settings=options.lives,
        )
    )
    herder = Herder(
        describe=lambda: WorkerInfo("4.0.0", "c0ffee", "cluster-1"),
        clock=clock,
        stores=Stores(configs, offsets, statuses),
        membership=membership,
        statuses=reporter,
        worker=worker,
        plugins=Plugins(
            directory=PluginDirectory(registry, WorkerConfig.from_properties(WORKER_PROPERTIES)),
            connector_class=find,
            connector_type=type_of,
            run_blocking=options.run_blocking,
        ),
        resolve=options.resolve,
        settings=options.settings,
        peers=options.peers,
    )
    client = AsgiClient(create_api(herder, peers=options.peers))
    return Plane(probes, configs, offsets, statuses, herder, worker, client, [])


@asynccontextmanager
async def control_plane(options: Options | None = None, **changes: Any) -> AsyncIterator[Plane]:
    """A running control plane; it is stopped at the end, and its failures are kept."""
    plane = _build(replace(options or Options(), **changes))
    jobs = JobGroup("test", on_failure=lambda _, error: plane.failures.append(error))
    jobs.spawn("herder", plane.herder.run())
    await plane.settle()
    try:
        yield plane
    finally:
        plane.herder.stop()
        assert await jobs.join(deadline_s=120.0), jobs.statistics()
