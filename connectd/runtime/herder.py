"""Decides what should run on this worker; the only counterpart of REST.

``run`` is the worker's main service: it opens the stores and reads them to the end, joins the
cluster, and then ticks. A tick is level-triggered: it looks at the latest picture of the config
topic and at the assignment, tells the worker what to run, removes obsolete statuses, and begins the
restarts that were asked for. It never waits for a connector, a task or a broker, so nothing that
they do can stop it. An event that was missed costs latency, never correctness.

What REST asks for is grouped by kind: ``views`` (questions), ``changes``, ``restarts``,
``offsets``, ``validation``. All of them pass one ``RequestGate``.

A failure of a store, of the tick or of a supervisor ends ``run`` with that error: better no worker
than one that only looks alive. Failures of connectors and tasks never come here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import structlog

from connectd.aio import clock as clocks
from connectd.aio.jobs import JobGroup, wait_first
from connectd.configdef.session_key_settings import SessionKeySettings
from connectd.model.cluster import ClusterConfigState, RestartRequest
from connectd.observe.levels import LevelRegistry
from connectd.plugins import resolving
from connectd.runtime import assignment, degradation, health, task_configs
from connectd.runtime.changes import ConnectorChanges
from connectd.runtime.effects import Effects
from connectd.runtime.health import Readiness
from connectd.runtime.internal import InternalRequests
from connectd.runtime.loggers import Loggers
from connectd.runtime.lost_configs import LostConfigs
from connectd.runtime.manners import DISTRIBUTED, Manners
from connectd.runtime.membership import Membership
from connectd.runtime.metering import Metering
from connectd.runtime.offsets import ConnectorClass, ConnectorOffsets
from connectd.runtime.peers import LeaderLine, NoPeers, Peers
from connectd.runtime.reconfiguration import Reconfiguration
from connectd.runtime.requests import REQUEST_DEADLINE_S, RequestGate
from connectd.runtime.restart import Restarts
from connectd.runtime.roles import Roles
from connectd.runtime.session_keys import SessionKeys
from connectd.runtime.statuses import StatusReporter
from connectd.runtime.validation import PluginDirectory, ThreadRunner, Validation
from connectd.runtime.views import ConnectorType, Views
from connectd.runtime.worker import Worker
from connectd.stores import protocols

_log = structlog.get_logger(__name__)

_TICK_MAX_S = 30.0
"""Longest time between two ticks: nothing should need it, but a lost wake-up must not last."""

_STATUS_FLUSH_S = 5.0

_BREATH_TABLES = 100
"""Tables that are shown without giving way to others: some milliseconds."""


@dataclass(frozen=True)
class Stores:
    """The three backing stores; the herder opens and closes them."""

    configs: protocols.ConfigStore
    offsets: protocols.OffsetStore
    statuses: protocols.StatusStore


@dataclass(frozen=True)
class WorkerInfo:
    """What ``GET /`` shows."""

    version: str
    commit: str
    kafka_cluster_id: str | None


@dataclass(frozen=True)
class HerderSettings:
    """Limits, the kind of worker, and what its configuration says about active topics.

    ``on_fenced`` is called when nothing that is still on its way to Kafka should arrive there,
    ``on_level`` when a request has set the level of loggers.
    """

    request_deadline_s: float = REQUEST_DEADLINE_S
    probe_deadline_s: float = health.PROBE_DEADLINE_S
    tracks_topics: bool = True
    allows_topic_reset: bool = True
    session_keys: SessionKeySettings | None = None
    table_still_s: float = degradation.STILL_S
    allows_new_config_topic: bool = False
    on_fenced: Callable[[], None] = lambda: None
    on_level: Callable[[str, str], None] | None = None
    manners: Manners = DISTRIBUTED


@dataclass(frozen=True)
class Plugins:
    """What the herder needs to know of plugins.

    ``connector_class`` finds a class by name or alias, ``connector_type`` its kind;
    ``run_blocking`` runs plugin code that may hang.
    """

    directory: PluginDirectory
    connector_class: ConnectorClass
    connector_type: ConnectorType
    run_blocking: ThreadRunner


class Herder:
    """See the module's docstring."""

    def __init__(
        self,
        *,
        describe: Callable[[], WorkerInfo],
        clock: clocks.Clock,
        stores: Stores,
        membership: Membership,
        statuses: StatusReporter,
        worker: Worker,
        plugins: Plugins,
        resolve: resolving.Resolver,
        settings: HerderSettings,
        peers: Peers | None = None,
    ) -> None:
        self.describe = describe
        self.settings = settings
        self._stores = stores
        configs = stores.configs
        self._membership = membership
        self._statuses = statuses
        self._worker = worker
        self._gate = gate = RequestGate(clock, deadline_s=settings.request_deadline_s)
        self._jobs = JobGroup("herder", on_failure=lambda _, error: self._fail(error))
        self._wake = asyncio.Event()
        self._ticked = asyncio.Event()
        self._stopping = asyncio.Event()
        self._failure: BaseException | None = None

        self.views = Views(
            gate,
            configs,
            topics=stores.statuses.topics,
            statuses=statuses,
            connector_type=plugins.connector_type,
        )
        self.validation = Validation(
            gate, plugins.directory, run_blocking=plugins.run_blocking, resolve=resolve
        )
        roles = self.roles = Roles(membership)
        manners = settings.manners
        self.changes = ConnectorChanges(
            gate, configs, stores.offsets, self.views, self.validation.check, manners, roles
        )
        self.restarts = Restarts(
            gate, configs, self.views, worker, self._apply_latest, manners, roles
        )
        self.offsets = ConnectorOffsets(
            gate,
            configs=configs,
            offsets=stores.offsets,
            views=self.views,
            worker=worker,
            apply_latest=self._apply_latest,
            connector_class=plugins.connector_class,
            resolve=resolve,
            roles=roles,
        )
        self._join_in(roles, clock, peers or NoPeers())
        self.loggers = Loggers(gate, configs, LevelRegistry(clock, on_set=settings.on_level))
        self.metering = Metering(
            worker, membership, clock, plugins.connector_type, still_s=settings.table_still_s
        )
        self._lost_configs = LostConfigs(configs, is_meant=settings.allows_new_config_topic)
        self._reconfiguration = Reconfiguration(
            self._jobs, life_of=worker.connector_life, publish=self.changes.publish_tasks
        )
        if manners.awaits_effect:
            effects = Effects(worker, self._reconfiguration, self._apply_latest)
            self.changes.wait_effect = effects.wait
        self._listen()

    def _join_in(self, roles: Roles, clock: clocks.Clock, peers: Peers) -> None:
        """What workers of a cluster ask of each other, in both directions."""
        configs, manners = self._stores.configs, self.settings.manners
        self.session_keys = SessionKeys(
            self.settings.session_keys,
            configs,
            self._jobs,
            clock,
            is_agreed=lambda: self._membership.signs_requests,
        )
        self.changes.tell_leader = LeaderLine(peers, self.session_keys, roles).put_tasks
        self.internal = InternalRequests(
            self._gate, configs, self.views, self.session_keys, manners, roles
        )

    def _listen(self) -> None:
        self._gate.on_failure = self._fail
        self._worker.on_failure = self._fail
        self._worker.on_reconfigure = self._on_reconfigure
        self._membership.on_change = self._wake.set
        self._membership.on_shrink = self._settle
        self._membership.on_fenced = self._on_fenced
        self._membership.on_failure = self._fail
        self._stores.configs.on_change = self._on_change
        self._stores.configs.on_restart = self._on_restart

    # -- the service ----------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve until ``stop`` is called; then everything has been stopped and closed.

        Raises:
            ConfigError: an internal topic cannot be used as it is.
            WorkerError: a store or the cluster gave up, or a promise was broken (InvariantError).
        """
        try:
            await wait_first(self._start(), self._stopping.wait())
            while not self._stopping.is_set():
                self._wake.clear()
                with self._gate.stages.stage("applying the latest configuration"):
                    self._tick()
                await self._wait_for_work()
        finally:
            await self._shut_down()
        if self._failure is not None:
            raise self._failure

    async def _start(self) -> None:
        stages, stores = self._gate.stages, self._stores
        with stages.stage("initializing and reading to the end of internal topics"):
            await stores.statuses.open()
            await stores.configs.open()
            await stores.offsets.open()
            await self._lost_configs.look(stores.offsets, stores.statuses)
        with stages.stage("ensuring membership in the cluster"):
            await self._membership.join(stores.configs.snapshot())
        snapshot = stores.configs.snapshot()
        _log.info(
            "worker ready",
            worker=self._membership.worker_id,
            generation=self._membership.assignment.generation,
            connectors=len(snapshot.connectors),
        )
        self._gate.open()

    def _tick(self) -> None:
        snapshot = self._stores.configs.snapshot()
        in_force = self._membership.observe(snapshot)
        self.metering.observe(in_force.generation)
        work_by_connector = assignment.work_of(snapshot, in_force)
        self._worker.assign(work_by_connector)
        for connector, work in work_by_connector.items():
            # A connector asks for its task set when it starts. Deleted and created again between
            # two ticks, it has not been stopped and started, but its task set is gone.
            if work.has_connector and not task_configs.is_applied(snapshot, connector):
                self._reconfiguration.ensure(connector)
        self._statuses.forget_gone(snapshot)
        if self._membership.is_leader and not self._membership.is_rebalancing:
            if not self._lost_configs.connectors:  # statuses are what the next start knows them by
                self._statuses.clean_up(snapshot)
            self.session_keys.rotate_if_due(snapshot)
        self.restarts.execute()
        # Each tick has an event of its own: probes that wait side by side cannot take it from
        # each other.
        self._ticked.set()
        self._ticked = asyncio.Event()

    def _apply_latest(self) -> None:
        """A tick in between, for requests that must not run ahead of the worker."""
        try:
            self._tick()
        except Exception as error:
            self._fail(error)
            raise

    async def _wait_for_work(self) -> None:
        try:
            async with asyncio.timeout(_TICK_MAX_S):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _shut_down(self) -> None:
        self._gate.close()
        self._stopping.set()
        stages = self._gate.stages
        with stages.stage("stopping connectors and tasks"):
            await self._jobs.stop()
            await self._worker.stop()
        with stages.stage("leaving the cluster"):
            # After a start that failed there is nothing to flush, and perhaps nowhere to.
            if self._gate.was_opened and not await self._stores.statuses.flush(_STATUS_FLUSH_S):
                _log.warning("last statuses not written in time", deadline_s=_STATUS_FLUSH_S)
            await self._membership.leave()
        for store in (self._stores.offsets, self._stores.configs, self._stores.statuses):
            await store.close()

    def stage(self, description: str) -> AbstractContextManager[None]:
        """Say what the worker does before ``run``, to requests that wait and to probes."""
        return self._gate.stages.stage(description)

    def stop(self) -> None:
        """Ask for the end; ``run`` returns when it is reached. Idempotent."""
        self._stopping.set()
        self._gate.close()
        self._wake.set()

    def _fail(self, error: BaseException) -> None:
        _log.critical("worker failed, ending", error=repr(error))
        if self._failure is None:
            self._failure = error
        self.stop()

    # -- what wakes it --------------------------------------------------------------------------

    def _on_change(self, snapshot: ClusterConfigState) -> None:
        self._wake.set()

    async def _settle(self) -> None:
        """See ``Membership.on_shrink``; the end of what has stopped is then known to all."""
        if self._stopping.is_set():
            return  # everything ends, and then this worker leaves its group
        self._apply_latest()
        await self._worker.wait_all_settled()
        await self._stores.statuses.flush(_STATUS_FLUSH_S)

    def _on_fenced(self) -> None:
        _log.error("others may run what ran here: it writes no more")
        self._worker.fence()
        self.settings.on_fenced()

    def _on_restart(self, request: RestartRequest) -> None:
        self.restarts.add(request)
        self._wake.set()

    def _on_reconfigure(self, connector: str) -> None:
        if not self._stopping.is_set():
            self._reconfiguration.request(connector)

    # -- requests that belong to no group -------------------------------------------------------

    async def health(self) -> health.Health:
        """Ask the tick for a sign of life; bounded by the probe's deadline, never raises."""
        ticked, answered = self._ticked, False
        self._wake.set()
        if not self._stopping.is_set():
            try:
                async with asyncio.timeout(self.settings.probe_deadline_s):
                    await wait_first(ticked.wait(), self._stopping.wait())
                    answered = ticked.is_set()
            except TimeoutError:
                answered = False
        return health.judge(
            answered=answered,
            was_ready=self._gate.was_opened,
            sentence=self._gate.stages.sentence(),
        )

    def readiness(self) -> Readiness:
        """Whether requests may come here, from what is known by now; does not wait."""
        return Readiness(self.reasons_not_ready(), self.metering.tables_degraded())

    def reasons_not_ready(self) -> tuple[str, ...]:
        """Why requests may not come here; empty: they may."""
        gate = self._gate
        if gate.is_closed:
            return ("The worker is ending.",)
        if not gate.was_opened:
            return (f"Worker is still starting up. {gate.stages.sentence()}".strip(),)
        reasons = [health.reason_of(name, store) for name, store in self._named_stores().items()]
        return tuple(filter(None, (self._lost_configs.reason(), *reasons)))

    def stores_available(self) -> Mapping[str, bool]:
        """Whether what the stores stand on answers, by what they keep."""
        return {name: store.is_available for name, store in self._named_stores().items()}

    def connectors_lost(self) -> int:
        """How many connectors only other topics than that of configs know; see ``lost_configs``."""
        return self._lost_configs.connectors

    def _named_stores(self) -> Mapping[str, protocols.Store]:
        stores = self._stores
        return {"configs": stores.configs, "offsets": stores.offsets, "statuses": stores.statuses}

    async def reset_topics(self, connector: str) -> None:
        """Forget the active topics of a connector; what is written to comes back."""
        async with self._gate.request():
            self._statuses.reset_topics(connector)

    async def tables(self, connector: str) -> Sequence[Mapping[str, object]]:
        """Progress of the inputs of a connector, as far as this worker serves them.

        Raises:
            NotFoundError: there is no connector of that name.
        """
        async with self._gate.request():
            self.views.info_of(self._stores.configs.snapshot(), connector)
            shown = []
            for number, row in enumerate(self._worker.tables(connector)):
                if number % _BREATH_TABLES == 0:
                    await asyncio.sleep(0)
                shown.append(degradation.judged(row, self.settings.table_still_s))
            return shown
