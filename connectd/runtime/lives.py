"""Makes the lives of connectors and tasks: gathers what each needs from the worker.

What configs refer to is resolved here, at the last moment, and inside of the life's own failure
boundary: a config provider that fails or hangs is a failure of that connector or task alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from connectd.aio.jobs import JobGroup
from connectd.configdef.definition import ConfigDef
from connectd.model.cluster import Config
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State, TargetState
from connectd.observe import redaction
from connectd.plugins import resolving, spi
from connectd.runtime import task_configs
from connectd.runtime.assignment import ConnectorWork
from connectd.runtime.auto_restart import Item, RestartPolicy
from connectd.runtime.connector_life import (
    START_DEADLINE_S,
    ConnectorLife,
    ConnectorOffsetReader,
    ConnectorSpec,
)
from connectd.runtime.loop_watch import foreign
from connectd.runtime.membership import Membership
from connectd.runtime.statuses import StatusReporter
from connectd.runtime.task_life import TaskLife
from connectd.runtime.task_runner import OnEvent, TaskRunner, TaskRunnerFactory, TaskSpec
from connectd.stores import protocols

ConnectorMaker = Callable[[Config], spi.SourceConnector]
"""Makes an instance for a resolved config; raises to fail the connector."""

VersionFinder = Callable[[str], str | None]
"""The version of a connector class, by name or alias; None when it is not installed."""

OnResolved = Callable[[str, Config, Mapping[tuple[str, str], int]], None]
"""Hears what was resolved for a connector: its config, and what of it expires (``Reloads``)."""

OnState = Callable[[Item, State], str | None]
"""Hears of every state of a connector or task; may add to the trace of a failure."""


@dataclass(frozen=True)
class LifeSettings:
    """How long lives may take.

    ``task_grace_s`` is ``task.shutdown.graceful.timeout.ms``, shared by tasks that stop together;
    ``restarts`` says what becomes of those that fail.
    """

    task_grace_s: float = 5.0
    connector_start_deadline_s: float = START_DEADLINE_S
    restarts: RestartPolicy = field(default_factory=RestartPolicy)


class LifeMaker:
    """See the module's docstring. The worker sets what is called ``on_…``.

    ``on_begun`` hears of every life that begins; True keeps the failure of the one before in sight.
    """

    def __init__(
        self,
        *,
        services: spi.WorkerServices,
        offsets: protocols.OffsetStore,
        membership: Membership,
        statuses: StatusReporter,
        make_connector: ConnectorMaker,
        version_of: VersionFinder,
        make_task_runner: TaskRunnerFactory,
        resolve: resolving.Resolver,
        settings: LifeSettings,
    ) -> None:
        self.on_reconfigure: Callable[[str], None] | None = None
        self.on_resolved: OnResolved | None = None
        self.on_begun: Callable[[Item], bool] = lambda item: False
        self.on_state: OnState = lambda item, state: None
        self.settings = settings
        self._services = services
        self._offsets = offsets
        self._membership = membership
        self._statuses = statuses
        self._make_connector = make_connector
        self._version_of = version_of
        self._make_task_runner = make_task_runner
        self._resolve = resolve
        self._numbers = itertools.count(1)

    def connector_life(self, connector: str, work: ConnectorWork, jobs: JobGroup) -> ConnectorLife:
        """A life of a connector's instance, not yet started."""

        async def resolve(config: Config) -> Config:
            resolution = await self._resolve(config)
            self._tell_resolved(connector, resolution)
            return resolution.config

        def create(resolved: Config) -> spi.SourceConnector:
            pen.version = self._version_of(resolved.get("connector.class", ""))
            instance = self._make_connector(resolved)
            _register_secrets(resolved, instance.config_def())
            return instance

        def reconfigure() -> None:
            if self.on_reconfigure is not None:
                self.on_reconfigure(connector)

        pen = self._statuses.connector_pen(connector, keeps_failure=self.on_begun(connector))
        pen.on_state = lambda state: self.on_state(connector, state)
        spec = ConnectorSpec(
            connector=connector,
            config=work.config,
            create=create,
            resolve=resolve,
            services=self._services,
            offsets=ConnectorOffsetReader(self._offsets, connector),
            on_started=reconfigure,
            on_reconfigure=reconfigure,
        )
        return ConnectorLife(
            spec,
            jobs=jobs,
            job_name=self._job_name(connector),
            pen=pen,
            target=work.target,
            start_deadline_s=self.settings.connector_start_deadline_s,
        )

    def task_life(
        self, task: ConnectorTaskId, config: Config, work: ConnectorWork, jobs: JobGroup
    ) -> TaskLife:
        """A life of a task, not yet started."""

        async def create(on_event: OnEvent, target: Callable[[], TargetState]) -> TaskRunner:
            resolution = await self._resolve(work.config)
            task_resolution = await self._resolve(config)
            self._tell_resolved(task.connector, resolution, task_resolution)
            connector_config, task_config = resolution.config, task_resolution.config
            pen.version = self._version_of(connector_config.get("connector.class", ""))
            _register_secrets(connector_config, ConfigDef([]))
            task_configs.check_task_count(task.connector, work.task_count, connector_config)
            spec = TaskSpec(
                task_id=task,
                generation=self._membership.assignment.generation,
                connector_config=connector_config,
                task_config=task_config,
                target=target(),
                on_event=on_event,
                on_topic=lambda topic: self._statuses.on_topic(task, topic),
            )
            with foreign(f"creating task {task} of {connector_config.get('connector.class')}"):
                return self._make_task_runner(spec)

        pen = self._statuses.task_pen(task, keeps_failure=self.on_begun(task))
        pen.on_state = lambda state: self.on_state(task, state)
        return TaskLife(
            task,
            jobs=jobs,
            job_name=self._job_name(str(task)),
            pen=pen,
            create=create,
            target=work.target,
            grace_s=self.settings.task_grace_s,
        )

    def _tell_resolved(self, connector: str, *resolutions: resolving.Resolution) -> None:
        """The first resolution is that of the connector's own config."""
        if self.on_resolved is not None:
            ttls_ms = {where: ttl for each in resolutions for where, ttl in each.ttls_ms.items()}
            self.on_resolved(connector, resolutions[0].config, ttls_ms)

    def _job_name(self, name: str) -> str:
        # An abandoned life may still be there when the next one of the same name begins.
        return f"{name}#{next(self._numbers)}"


def _register_secrets(config: Config, definition: ConfigDef) -> None:
    """Keep what must not be read by everybody out of logs and traces from now on.

    What came from config providers is registered by the resolver.
    """
    for name, value in config.items():
        is_declared = name in definition and definition.key(name).is_secret
        if is_declared or redaction.is_secret_name(name):
            redaction.register_secret(value)
        for password in redaction.url_passwords(value):
            redaction.register_secret(password)
