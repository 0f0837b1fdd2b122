"""Scripted plugins: connectors and tasks that count, fail and hang on command.

A ``Probe`` is the script and the record of everything that carries one connector's name: its
instances and the lives of its tasks look up what to do there, and write down what was done to them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance
from connectd.model.cluster import Config
from connectd.model.ids import ConnectorTaskId
from connectd.model.record import Emission, SourceOffset, SourcePartition
from connectd.model.states import LifecycleEvent, TargetState
from connectd.observe.metrics import Numbers
from connectd.plugins import spi
from connectd.runtime.task_runner import TaskSpec

PROBE_CLASS = "tests.ProbeSource"


@dataclass
class Probe:
    """What the plugins of one connector are to do, and what has happened to them.

    ``*_error`` is raised at that point; ``*_gate`` holds it up until set. ``ignores_stop`` makes
    tasks deaf to signals, ``ignores_cancel`` to cancellation too.
    """

    start_error: BaseException | None = None
    start_gate: asyncio.Event | None = None
    stop_error: BaseException | None = None
    stop_gate: asyncio.Event | None = None
    task_configs_error: BaseException | None = None
    task_configs_gate: asyncio.Event | None = None
    task_count: int | None = None
    task_start_error: BaseException | None = None
    runner_error: BaseException | None = None
    ignores_stop: bool = False
    ignores_cancel: bool = False
    alter_error: BaseException | None = None
    alter_result: bool = True
    calls: Counter[str] = field(default_factory=Counter)
    context: spi.ConnectorContext | None = None
    connector_config: Config = field(default_factory=dict)
    runners: list[ProbeRunner] = field(default_factory=list)
    altered: list[Mapping[SourcePartition, SourceOffset | None]] = field(default_factory=list)

    def latest(self, task: int = 0) -> ProbeRunner:
        """The latest life of a task."""
        return next(r for r in reversed(self.runners) if r.spec.task_id.task == task)

    def alive(self) -> list[ConnectorTaskId]:
        """Tasks with a life that has not ended."""
        return [runner.spec.task_id for runner in self.runners if runner.is_alive]


class Probes:
    """All probes of a test, by connector name; made when first asked for."""

    def __init__(self) -> None:
        self._probes: dict[str, Probe] = {}

    def __getitem__(self, connector: str) -> Probe:
        return self._probes.setdefault(connector, Probe())

    def alive(self) -> list[ConnectorTaskId]:
        """Tasks of all connectors with a life that has not ended."""
        return [task for probe in self._probes.values() for task in probe.alive()]


class ProbeTask:
    """Names the task class; the runners of these tests need no task."""

    async def start(self, context: spi.TaskContext, config: Config) -> None:
        """Nothing to open."""

    async def poll(self) -> Sequence[Emission]:
        """Never has anything."""
        await asyncio.Event().wait()
        return []

    async def stop(self) -> None:
        """Nothing to release."""

    def tables(self) -> Sequence[Mapping[str, object]]:
        """No inputs."""
        return []


class ProbeConnector:
    """A connector that does what the probe of its name says (known from its ``start``)."""

    version: ClassVar[str] = "1.0"
    probes: ClassVar[Probes]

    def __init__(self) -> None:
        self._probe = Probe()
        self._config: Config = {}

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef(
            [
                ConfigKey("probe.topic", ConfigType.STRING, "Where to.", Importance.HIGH),
                ConfigKey("probe.secret", ConfigType.PASSWORD, "Hush.", Importance.LOW, None),
                ConfigKey("probe.size", ConfigType.INT, "How much.", Importance.LOW, 10),
            ]
        )

    @classmethod
    def task_class(cls) -> type[spi.SourceTask]:
        return ProbeTask

    @classmethod
    def validate(cls, config: Config) -> Mapping[str, Sequence[str]]:
        return {}

    async def start(self, context: spi.ConnectorContext, config: Config) -> None:
        self._probe = probe = self.probes[context.connector]
        self._config = config
        probe.context, probe.connector_config = context, config
        probe.calls["start"] += 1
        if probe.start_gate is not None:
            await probe.start_gate.wait()
        if probe.start_error is not None:
            raise probe.start_error

    async def task_configs(self, tasks_max: int) -> Sequence[Config]:
        self._probe.calls["task_configs"] += 1
        if self._probe.task_configs_gate is not None:
            await self._probe.task_configs_gate.wait()
        if self._probe.task_configs_error is not None:
            raise self._probe.task_configs_error
        count = tasks_max if self._probe.task_count is None else self._probe.task_count
        own = {key: value for key, value in self._config.items() if key.startswith("probe.")}
        return [{**own, "number": str(number)} for number in range(count)]

    async def stop(self) -> None:
        self._probe.calls["stop"] += 1
        if self._probe.stop_gate is not None:
            await self._probe.stop_gate.wait()
        if self._probe.stop_error is not None:
            raise self._probe.stop_error

    @classmethod
    def alter_offsets(
        cls, config: Config, offsets: Mapping[SourcePartition, SourceOffset | None]
    ) -> bool:
        probe = cls.probes[config["name"]]
        if probe.alter_error is not None:
            raise probe.alter_error
        probe.altered.append(offsets)
        return probe.alter_result

    def tables(self) -> Sequence[Mapping[str, object]]:
        return [{"table": "skipped", "state": "SKIPPED", "reason": "no stream"}]


class ProbeConverter:
    """Only its keys are of interest."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef(
            [ConfigKey("schemas.enable", ConfigType.BOOLEAN, "Schemas.", Importance.LOW, True)]
        )


class ProbeRunner:
    """One life of a task, without a data plane; ``row`` is what else its table shows."""

    def __init__(self, spec: TaskSpec, probe: Probe) -> None:
        if probe.runner_error is not None:
            raise probe.runner_error
        self.spec = spec
        self.is_alive = False
        self.is_abandoned = False
        self.row: dict[str, object] = {}
        self._probe = probe
        self._is_paused = spec.target is TargetState.PAUSED
        self._ended = asyncio.Event()
        self._failure: Exception | None = None
        probe.runners.append(self)

    async def run(self) -> None:
        self.is_alive = True
        try:
            if self._is_paused:
                self.spec.on_event(LifecycleEvent.PAUSED, None)
            else:
                self._start()
            await self._ended.wait()
            if self._failure is not None:
                raise self._failure
        except asyncio.CancelledError:
            if self._probe.ignores_cancel:
                await self._hang()
            raise
        finally:
            self.is_alive = False

    def _start(self) -> None:
        self._probe.calls["task start"] += 1
        if self._probe.task_start_error is not None:
            raise self._probe.task_start_error
        self.spec.on_event(LifecycleEvent.STARTED, None)

    async def _hang(self) -> None:
        while not self._ended.is_set():
            try:
                await self._ended.wait()
            except asyncio.CancelledError:
                continue

    def pause(self) -> None:
        self._is_paused = True
        self.spec.on_event(LifecycleEvent.PAUSED, None)

    def resume(self) -> None:
        self._is_paused = False
        self.spec.on_event(LifecycleEvent.RESUMED, None)

    def signal_stop(self) -> None:
        if not self._probe.ignores_stop:
            self._ended.set()

    def abandon(self) -> None:
        self.is_abandoned = True

    def tables(self) -> Sequence[Mapping[str, object]]:
        return [{"table": f"t{self.spec.task_id.task}", "state": "SYNC", **self.row}]

    def metrics(self) -> Numbers:
        return {}

    # -- for tests ------------------------------------------------------------------------------

    def fail(self, error: Exception) -> None:
        """Let the life end with an error."""
        self._failure = error
        self._ended.set()

    def finish(self) -> None:
        """Let the life end, as if it had been stopped."""
        self._ended.set()

    def report_failure(self, error: Exception) -> None:
        """Fail partly and go on."""
        self.spec.on_event(LifecycleEvent.FAILED, error)
