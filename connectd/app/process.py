"""One worker process: builds what it owns, in order, serves, and closes everything in reverse.

``serve`` is what ``connectd run`` and ``connectd standalone`` do after they have read the
configuration; the second brings connectors along, which are created as if by REST. The order:
sockets (an address in use is told first), the shared resources of plugins, the stores, the
herder, and last the REST server, which answers while the stores are still being read. SIGTERM and
SIGINT ask for the end: REST stops taking requests, tasks drain and commit, statuses are flushed,
the stores are closed; all within ``connectd.shutdown.grace.ms``. What has not ended by then, in our
code or in that of plugins, is left as it is, and the process ends (``end_watch``). A second signal
ends it at once, as if it had been killed; its exit code says that a tail will be sent again.

The exit code says how it went; see ``exit_code``.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Coroutine, Sequence
from typing import Any

import structlog
import uvloop

import connectd
from connectd.aio.clock import LoopClock
from connectd.aio.jobs import JobGroup, wait_first
from connectd.aio.scheduler import PollScheduler
from connectd.app import ground, hand_off, metrics, task_wiring, tuning, wiring
from connectd.app.bundled import plugin_registry
from connectd.app.end_watch import EndWatch
from connectd.app.exit_code import ExitCode, exit_code_of
from connectd.app.task_processes import task_processes
from connectd.aws.clients import AwsClientPool
from connectd.configdef.connector_file import ConnectorFile
from connectd.configdef.worker import WorkerConfig
from connectd.connectors.dynamodb import tiers
from connectd.connectors.dynamodb.spark_engine import SparkEngine
from connectd.errors import (
    ConfigError,
    ConflictError,
    ConnectdError,
    RetriableError,
    WorkerError,
)
from connectd.kafka.admin import KafkaAdmin
from connectd.kafka.pool import ProducerPool
from connectd.observe import tracing
from connectd.plugins import containment, spi
from connectd.plugins.internal_topics import InternalTopics
from connectd.plugins.registry import PluginRegistry
from connectd.rest.api import create_admin_api, create_api
from connectd.rest.peers import HttpPeers
from connectd.rest.server import RestServer
from connectd.rest.tracing import traced
from connectd.runtime.cores import spawning
from connectd.runtime.herder import Herder
from connectd.runtime.loop_watch import LoopWatch

_log = structlog.get_logger(__name__)

_REST_GRACE_S = 2.0

_LAST_STEPS = 3
"""Cancelling what is late, ending clients, ending the interpreter: the grace period is for all."""

_LAST_STEP_MAX_S = 1.0
"""Each of them gets that of the grace period, or an equal part of half of it if that is short."""

_BROKER_QUIET_S = 3.0
"""A broker that takes longer to answer at the start is worth a line in the log."""


class WorkerApp:
    """All objects of one worker process. Made and used on its event loop."""

    def __init__(
        self,
        config: WorkerConfig,
        connectors: Sequence[ConnectorFile],
        registry: PluginRegistry,
        end_watch: EndWatch,
        program: str,
    ) -> None:
        self._config = config
        self._connectors = connectors
        self._registry = registry
        self._end_watch = end_watch
        self._loop_watch = LoopWatch(window=task_wiring.window_settings(config))
        self._ground = ground.ground_of(config)
        self._clock = LoopClock()
        self._tracing = tracing.start(os.environ, version=connectd.__version__)
        self._aws = AwsClientPool(self._clock)
        self._producers = ProducerPool(
            client_id=self._ground.producer_client_id,
            buffer_kib=config.producer_queue_kib,
            on_failure=self._fail,
        )
        internal = InternalTopics(task_wiring.internal_topics(config))
        self._services = spi.WorkerServices(
            clock=self._clock,
            scheduler=PollScheduler(in_flight_max=config.polls_in_flight_max),
            resources={
                AwsClientPool: self._aws,
                InternalTopics: internal,
                SparkEngine: hand_off.spark_engine(
                    config, registry, internal, client_id=self._ground.producer_client_id
                ),
            },
        )
        self._rest = RestServer(
            config.rest.listeners,
            config.rest.tls,
            admin_listeners=config.rest.admin_listeners or (),
            admin_tls=config.rest.admin_tls,
            grace_s=_REST_GRACE_S,
        )
        self._peers = HttpPeers(config.rest.tls)
        self._processes = task_processes(config, self._clock, self._fail, program)
        self._jobs = JobGroup("process", on_failure=lambda _, error: self._fail(error))
        self._ended = asyncio.Event()
        self._stopping = asyncio.Event()
        self._stop_until_s = 0.0
        self._failure: BaseException | None = None
        self._has_tail_left = False
        self._cluster_id: str | None = None
        self._herder: Herder | None = None

    # -- life -----------------------------------------------------------------------------------

    async def run(self) -> ExitCode:
        """Serve until a signal or a failure; everything is closed when it returns.

        Raises:
            ConfigError: something that the configuration names cannot be used.
            WorkerError: a service of the worker gave up.
        """
        try:
            _tell_tier()
            bound = self._rest.open()
            url = self._config.rest.advertised.url(bound, _machine_address())
            with containment.contained("making what the worker's properties name"):
                self._herder = herder = self._wiring().herder(url)
            self._end_watch.listen(self._on_signal)
            self._loop_watch.start()
            if self._processes is not None:
                self._processes.start()
            self._jobs.spawn("herder", self._serve(herder))
            numbers = self._metrics(herder)
            self._jobs.spawn(
                "rest",
                self._rest.serve(
                    traced(
                        create_api(herder, self._config.rest, self._clock, numbers, self._peers),
                        self._tracing,
                    ),
                    traced(create_admin_api(herder, numbers), self._tracing),
                ),
                service=True,
            )
            self._jobs.spawn("connectors", self._create_connectors(herder))
            await wait_first(self._ended.wait(), self._stopping.wait())
        finally:
            await self._close()
        if self._failure is not None:
            raise self._failure
        return ExitCode.TAIL_REPEATED if self._has_tail_left else ExitCode.CLEAN

    async def _serve(self, herder: Herder) -> None:
        try:
            with herder.stage("waiting for a Kafka broker to answer"):
                await wait_first(self._find_broker(), self._stopping.wait())
            if not self._stopping.is_set():
                await herder.run()
        except asyncio.CancelledError:
            _log.error("stopping: not done in time", grace_s=self._config.shutdown_grace_s)
            self._has_tail_left = True
            raise
        finally:
            self._ended.set()

    async def _create_connectors(self, herder: Herder) -> None:
        for file in self._connectors:
            try:
                await herder.changes.create(file.name, file.config, target=file.target)
            except (ConfigError, ConflictError) as error:
                found = f"Failed to create connector for {file.path}: {error}"
                raise ConfigError(found) from error
            except ConnectdError as error:
                if self._stopping.is_set():
                    return
                found = f"Failed to create connector for {file.path}: {error}"
                raise WorkerError(found) from error

    async def _find_broker(self) -> None:
        wait_s, servers = self._config.broker_wait_s, ", ".join(self._config.bootstrap_servers)
        client_id = self._ground.client_id("shared-admin")
        admin = KafkaAdmin(self._config.client_config(), client_id=client_id, clock=self._clock)
        try:
            self._cluster_id = await admin.cluster_id(min(_BROKER_QUIET_S, wait_s))
            return
        except RetriableError as error:
            _log.warning(
                "no Kafka broker answers yet, waiting",
                bootstrap_servers=servers,
                deadline_s=wait_s,
                error=admin.trouble or str(error),
            )
        try:
            self._cluster_id = await admin.wait_broker(max(0.0, wait_s - _BROKER_QUIET_S))
        except RetriableError as error:
            reason = f". {admin.trouble}" if admin.trouble else ""
            raise WorkerError(
                f"no Kafka broker answered within {wait_s:g} s (default.api.timeout.ms); check "
                f"bootstrap.servers ({servers}) and the network{reason}"
            ) from error

    def _on_signal(self, number: signal.Signals) -> None:
        _log.info("stopping", signal=number.name, grace_s=self._config.shutdown_grace_s)
        self._stop()

    def _stop(self) -> None:
        if not self._stopping.is_set():
            self._stop_until_s = self._clock.monotonic() + self._config.shutdown_grace_s
            self._end_watch.begin()
        self._stopping.set()
        if self._herder is not None:
            self._herder.stop()

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
            self._end_watch.exit_code = exit_code_of(error)
        self._stop()
        self._ended.set()

    async def _close(self) -> None:
        self._stop()
        self._rest.stop()
        step_s = min(_LAST_STEP_MAX_S, self._config.shutdown_grace_s / 2 / _LAST_STEPS)
        left_s = self._stop_until_s - self._clock.monotonic()
        grace_s = max(0.0, left_s - _LAST_STEPS * step_s)
        left_behind = await self._jobs.stop(grace_s=grace_s, hard_s=step_s)
        if left_behind:
            _log.error("stopping: services did not end in time", jobs=left_behind)
            self._has_tail_left = True
        self._rest.close()
        await asyncio.gather(
            self._producers.close(deadline_s=step_s),
            self._end_tracing(step_s),
            self._end_processes(step_s),
        )
        await self._aws.close()
        self._loop_watch.stop()

    def _metrics(self, herder: Herder) -> metrics.WorkerMetrics:
        parts = metrics.MeteredParts(
            herder=herder,
            producers=self._producers,
            aws=self._aws,
            scheduler=self._services.scheduler,
            loop_watch=self._loop_watch,
            clock=self._clock,
            client_id=self._ground.producer_client_id,
            processes=self._processes,
        )
        return metrics.WorkerMetrics(self._config, parts)

    async def _end_processes(self, deadline_s: float) -> None:
        if self._processes is not None:
            await self._processes.close(deadline_s=deadline_s)

    async def _end_tracing(self, deadline_s: float) -> None:
        if self._tracing is not None:
            await asyncio.to_thread(self._tracing.close, deadline_s=deadline_s)

    def _wiring(self) -> wiring.Wiring:
        parts = wiring.Parts(
            clock=self._clock,
            registry=self._registry,
            services=self._services,
            producers=self._producers,
            cluster_id=lambda: self._cluster_id,
            on_failure=self._fail,
            on_tail_left=self._on_tail_left,
            peers=self._peers,
            tracing=self._tracing,
            processes=self._processes,
        )
        return wiring.Wiring(self._config, self._ground, parts)

    def _on_tail_left(self) -> None:
        if self._stopping.is_set():
            self._has_tail_left = True


def _machine_address() -> str:
    """This machine's own address as its name resolves to, the loopback address if it does not."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def serve(
    config: WorkerConfig,
    connectors: Sequence[ConnectorFile] = (),
    *,
    registry: PluginRegistry | None = None,
    program: str = spawning.PROGRAM,
) -> ExitCode:
    """Run a worker until it is told to stop, or fails; the log says why.

    ``connectors`` are created one after the other; the first that cannot be ends the worker.
    ``registry`` has its plugins: those that come with connectd, unless another one is given; then
    ``program`` is the module of processes for tasks that has the same.

    The process is expected to end when this returns. If it has not done so soon after, it is ended.
    """
    plugins = registry or plugin_registry()
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    loop = runner.get_loop()
    end_watch = EndWatch(loop, grace_s=config.shutdown_grace_s)

    async def run() -> ExitCode:
        return await WorkerApp(config, connectors, plugins, end_watch, program).run()

    tuning.settle()
    code = ExitCode.FAILED
    try:
        code = _run_to_the_end(loop, run(), end_watch)
    except ConnectdError as error:
        code = exit_code_of(error)
        what = "worker cannot start" if code is ExitCode.CONFIG else "worker failed"
        _log.critical(what, error=str(error), kind=type(error).__name__)
    finally:
        end_watch.all_closed(code)
        # This waits for jobs and threads that plugins have left behind; the watch does not.
        with contextlib.suppress(SystemExit):  # theirs; we have our own code
            runner.close()
    return code


def _tell_tier() -> None:
    """Say what encodes pages: little else makes such a difference to what a core can do."""
    reason = {"reason": why} if (why := tiers.why_portable()) else {}
    _log.info("tier of the encoder chosen", tier=tiers.active().value, **reason)


def _run_to_the_end(
    loop: asyncio.AbstractEventLoop,
    work: Coroutine[Any, Any, ExitCode],
    end_watch: EndWatch,
) -> ExitCode:
    """Turn the loop until ``work`` is done.

    A ``SystemExit`` out of a callback or a job of a plugin's own stops the loop wherever it is
    raised: that fails nothing of ours, and the loop goes on.
    """
    job = loop.create_task(work, name="main")
    while True:
        try:
            return loop.run_until_complete(job)
        except (SystemExit, KeyboardInterrupt) as error:
            if job.done() or not end_watch.is_listening:  # nobody has begun yet: it is the user's
                raise
            _log.error("a plugin tried to end the worker, which goes on", exc_info=error)
