"""One life of one connector instance on this worker, in a job of its own.

The job takes the instance from one target state to the next (spec kafka-connect D.1.2): leaving
STARTED stops the instance, entering it starts the *same* object again. A target that changes while
a transition is under way takes its turn afterwards; of several, only the last. A failure, thrown or
raised through the context, stops the instance and shows FAILED; from there only STOPPED can be
reached, or a restart, which is a new life. Stopping never ends in FAILED.

Nobody waits for this job but those who ask to: a connector that hangs in ``start`` holds up itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from connectd.aio.jobs import JobGroup
from connectd.errors import ConnectdError
from connectd.model.cluster import Config
from connectd.model.record import SourceOffset, SourcePartition
from connectd.model.states import LifecycleEvent, State, TargetState
from connectd.observe import logs
from connectd.plugins import answers, spi
from connectd.runtime.loop_watch import foreign
from connectd.runtime.statuses import StatusPen
from connectd.stores import protocols

_log = structlog.get_logger(__name__)

START_DEADLINE_S = 300.0
"""A start may retry throttled calls for minutes; after this it has failed, and says so."""

GRACE_S = 5.0
"""Kafka Connect's own limit for the graceful end of a connector instance."""


class ConnectorOffsetReader:
    """The offsets of one connector, as its instance may see them (``spi.OffsetReader``)."""

    def __init__(self, store: protocols.OffsetStore, connector: str) -> None:
        self._store = store
        self._connector = connector

    async def refresh(self) -> None:
        """Read to the end of the store."""
        await self._store.refresh()

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        """The stored offset of a partition."""
        return self._store.get(self._connector, partition)

    def all(self) -> Mapping[SourcePartition, SourceOffset]:
        """All partitions with a stored offset."""
        return self._store.all(self._connector)


@dataclass(frozen=True)
class ConnectorSpec:
    """Everything that one life of a connector is made from.

    ``config`` is raw, references to config providers and all; ``resolve`` makes the config that the
    instance gets, ``create`` the instance for it; both may raise to fail the connector.
    """

    connector: str
    config: Config
    create: Callable[[Config], spi.SourceConnector]
    resolve: Callable[[Config], Awaitable[Config]]
    services: spi.WorkerServices
    offsets: spi.OffsetReader
    on_started: Callable[[], None]
    on_reconfigure: Callable[[], None]


class _Context:
    """What the instance sees of its worker (``spi.ConnectorContext``)."""

    def __init__(self, spec: ConnectorSpec, on_error: Callable[[Exception], None]) -> None:
        self.connector = spec.connector
        self.services = spec.services
        self.offsets = spec.offsets
        self._on_reconfigure = spec.on_reconfigure
        self._on_error = on_error

    def request_task_reconfiguration(self) -> None:
        self._on_reconfigure()

    def raise_error(self, error: Exception) -> None:
        self._on_error(error)


class ConnectorLife:
    """Runs one instance to its end; see the module's docstring. ``job_name`` is unique.

    ``failure`` is why it has failed.
    """

    def __init__(
        self,
        spec: ConnectorSpec,
        *,
        jobs: JobGroup,
        job_name: str,
        pen: StatusPen,
        target: TargetState,
        grace_s: float = GRACE_S,
        start_deadline_s: float = START_DEADLINE_S,
    ) -> None:
        self.name = spec.connector
        self.grace_s = grace_s
        self.config = spec.config
        self._spec = spec
        self._jobs = jobs
        self._job_name = job_name
        self._pen = pen
        self._target = target
        self._start_deadline_s = start_deadline_s
        self._instance: spi.SourceConnector | None = None
        self._resolved: Config = {}
        self._needs_stop = False
        self._raised: Exception | None = None
        self.failure: Exception | None = None
        self._is_stopping = False
        self._changed = asyncio.Event()
        self._settled = asyncio.Event()
        self._ended = asyncio.Event()

    def start(self) -> None:
        """Begin the job; the way to the target state is part of it."""
        self._jobs.spawn(self._job_name, self._live())

    async def _live(self) -> None:
        logs.bind_context(connector=self.name)
        try:
            try:
                await self._ensure_instance()
            except Exception as error:
                await self._fail(error)
            while not self._is_stopping:
                self._changed.clear()
                await self._take_step()
                if not self._changed.is_set():
                    self._settled.set()
                await self._changed.wait()
            await self._stop_instance()
        except asyncio.CancelledError:
            # What half a start has opened must be released too; the ladder bounds this.
            await self._stop_instance()
            raise
        finally:
            # FAILED stays to be seen; anything else is not running here any more.
            if self._pen.state is not State.FAILED:
                self._pen.report(LifecycleEvent.SHUT_DOWN)
            self._pen.revoke()
            self._settled.set()
            self._ended.set()

    async def _ensure_instance(self) -> spi.SourceConnector:
        if self._instance is None:
            self._resolved = await self._spec.resolve(self.config)
            with foreign(f"creating {self._title}"):
                self._instance = self._spec.create(self._resolved)
        return self._instance

    @property
    def _title(self) -> str:
        return f"connector {self.name} ({self._class_name})"

    @property
    def _class_name(self) -> str:
        """As people wrote it: before there is an instance, too."""
        return (self._resolved or self.config).get("connector.class", "")

    def _method(self, name: str) -> str:
        return f"{self._class_name}.{name}"

    async def _take_step(self) -> None:
        raised, self._raised = self._raised, None
        if raised is not None and self._needs_stop:  # otherwise it comes from before a stop
            await self._fail(raised)
        target = self._target
        state = self._pen.state
        if _STATE_OF_TARGET[target] is state:
            return
        if state is State.FAILED and target is not TargetState.STOPPED:
            _log.warning("stays failed until it is restarted")
            return
        try:
            await self._transition(target)
        except Exception as error:
            await self._fail(error)

    async def _transition(self, target: TargetState) -> None:
        if target is TargetState.STARTED:
            await self._start_instance()
            resumes = self._pen.state in (State.PAUSED, State.STOPPED)
            self._pen.report(LifecycleEvent.RESUMED if resumes else LifecycleEvent.STARTED)
            self._spec.on_started()
        elif target is TargetState.PAUSED:
            await self._stop_instance(raises=True)
            self._pen.report(LifecycleEvent.PAUSED)
        else:
            await self._stop_instance()
            self._pen.report(LifecycleEvent.SUSPENDED)

    async def _start_instance(self) -> None:
        instance = await self._ensure_instance()
        self._needs_stop = True
        context = _Context(self._spec, self.fail)
        try:
            async with asyncio.timeout(self._start_deadline_s) as limit:
                with foreign(f"starting {self._title}"):
                    started = instance.start(context, self._resolved)
                    await answers.awaited(self._method("start"), started)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ConnectdError(
                f"starting connector {self.name}: not done after {self._start_deadline_s:g} s, "
                "gave up; see the log for what it waited for, then restart the connector"
            ) from error

    async def _stop_instance(self, *, raises: bool = False) -> None:
        if self._instance is None or not self._needs_stop:
            return
        self._needs_stop = False
        try:
            with foreign(f"stopping {self._title}"):
                await answers.awaited(self._method("stop"), self._instance.stop())
        except Exception as error:
            if raises:
                raise
            _log.error("stopping the instance failed", error=repr(error))

    async def _fail(self, error: Exception) -> None:
        self.failure = error
        self._pen.report(LifecycleEvent.FAILED, error)
        await self._stop_instance()

    # -- what the worker and the herder call ----------------------------------------------------

    @property
    def state(self) -> State:
        """The state that its status shows."""
        return self._pen.state

    @property
    def version(self) -> str | None:
        """The version of its plugin, once it is known."""
        return self._pen.version

    @property
    def resolved_config(self) -> Config:
        """The config that the instance got: may hold secrets."""
        return self._resolved

    @property
    def task_class_name(self) -> str:
        """The class that runs its tasks, by its full name; empty before there is an instance.

        A task that takes the place of a Java one says so in ``class_name``: a config topic that
        Java workers share names it as they do.
        """
        if self._instance is None:
            return ""
        with foreign(f"asking {self._title} for the class of its tasks"):
            kind = self._instance.task_class()
        return str(getattr(kind, "class_name", f"{kind.__module__}.{kind.__qualname__}"))

    def set_target(self, target: TargetState) -> None:
        """Change what is wanted; the job takes it from there."""
        if target is not self._target:
            self._target = target
            self._unsettle()

    def fail(self, error: Exception) -> None:
        """Fail the connector from outside of its job, once it has a moment."""
        self._raised = error
        self._unsettle()

    def _unsettle(self) -> None:
        self._changed.set()
        if not self.has_ended:
            self._settled.clear()

    def announce_restart(self) -> None:
        """Show RESTARTING and begin to stop; this life writes no status after that."""
        self._pen.report(LifecycleEvent.RESTARTED)
        self._pen.revoke()
        self.signal_stop()

    async def wait_settled(self) -> None:
        """Wait until the target state is reached, or is known to be out of reach."""
        await self._settled.wait()

    async def task_configs(self, tasks_max: int) -> Sequence[Config]:
        """Ask the running instance for task configs; raises what it raises."""
        if self._instance is None or self._pen.state is not State.RUNNING:
            raise ConnectdError(f"connector {self.name} is not running")
        method = self._method("task_configs")
        with foreign(f"computing task configs of {self._title}"):
            computed = await answers.awaited(method, self._instance.task_configs(tasks_max))
            return answers.configs(method, computed)

    def tables(self) -> Sequence[Mapping[str, object]]:
        """What the instance shows of inputs that no task serves."""
        if self._instance is None or self._pen.state is not State.RUNNING:
            return ()
        with foreign(f"asking {self._title} for its tables"):
            return answers.rows(self._method("tables"), self._instance.tables())

    # -- the stop ladder ------------------------------------------------------------------------

    def signal_stop(self) -> None:
        """Ask the job to stop the instance and end."""
        self._is_stopping = True
        self._changed.set()

    async def cancel(self) -> None:
        """Interrupt whatever the instance waits for."""
        await self._jobs.cancel(self._job_name, deadline_s=0.0)

    def fence(self) -> None:
        """Let it write nothing from now on, and end."""
        self._pen.revoke()
        self.signal_stop()

    def abandon(self) -> None:
        """Take its pen away; UNASSIGNED is the last that is heard of it (spec D.1.1)."""
        if self._pen.state is not State.FAILED:
            self._pen.report(LifecycleEvent.SHUT_DOWN)
        self._pen.revoke()

    @property
    def has_ended(self) -> bool:
        """Whether the job is over."""
        return self._ended.is_set()

    async def wait_ended(self) -> None:
        """Wait for the end of the job."""
        await self._ended.wait()


_STATE_OF_TARGET = {
    TargetState.STARTED: State.RUNNING,
    TargetState.PAUSED: State.PAUSED,
    TargetState.STOPPED: State.STOPPED,
}
