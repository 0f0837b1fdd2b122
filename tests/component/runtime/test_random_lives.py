"""Seeded storms of requests and failures: when they are over, what runs is what is wanted."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from connectd.aio.jobs import JobGroup
from connectd.model.states import State, TargetState
from tests.kit.control_plane import Plane, control_plane, src
from tests.kit.virtual import virtual

NAMES = ("a", "b", "c")
STATE_OF_TARGET = {
    TargetState.STARTED: State.RUNNING,
    TargetState.PAUSED: State.PAUSED,
    TargetState.STOPPED: State.STOPPED,
}


class Storm:
    """Random requests and faults; every step is a job, so that they overlap."""

    def __init__(self, plane: Plane, seed: int) -> None:
        self._plane = plane
        self._dice = random.Random(seed)
        self._jobs = JobGroup("storm", on_failure=lambda _, error: self.failures.append(error))
        self.failures: list[BaseException] = []

    def slow_down_the_config_store(self) -> None:
        """Writes take their time, so that others come in between."""
        for name in ("put_connector", "put_tasks", "put_target", "delete_connector", "put_restart"):
            setattr(self._plane.configs, name, self._slow(getattr(self._plane.configs, name)))

    def _slow(self, write: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def slow_write(*args: Any, **kwargs: Any) -> None:
            await asyncio.sleep(self._dice.choice([0.0, 0.01, 2.0]))
            await write(*args, **kwargs)
            await asyncio.sleep(self._dice.choice([0.0, 0.01, 2.0]))

        return slow_write

    async def rage(self, steps: int) -> None:
        for number in range(steps):
            self._jobs.spawn(str(number), self._step(self._dice.choice(NAMES)))
            await self._plane.settle(self._dice.choice([0.0, 0.001, 0.5, 3.0, 12.0]))
        assert await self._jobs.join(deadline_s=1000.0), self._jobs.statistics()

    async def _step(self, name: str) -> None:
        client, probe = self._plane.client, self._plane.probes[name]
        config = src(
            name,
            tasks_max=str(self._dice.randint(1, 3)),
            tasks_max_enforce="false",  # a paused connector keeps its set when the limit falls
            probe_topic=self._dice.choice(["t1", "t2"]),
        )
        action = self._dice.randrange(12)
        if action <= 2:
            await client.put(f"/connectors/{name}/config", config)
        elif action == 3:
            await client.delete(f"/connectors/{name}")
        elif action <= 6:
            await client.put(f"/connectors/{name}/{('pause', 'resume', 'stop')[action - 4]}")
        elif action == 7:
            await client.post(f"/connectors/{name}/restart")
        elif action == 8:
            only_failed = self._dice.choice(["true", "false"])
            await client.post(
                f"/connectors/{name}/restart?includeTasks=true&onlyFailed={only_failed}"
            )
        elif action == 9:
            await client.post(f"/connectors/{name}/tasks/0/restart")
        elif action == 10 and probe.alive():
            self._dice.choice(probe.runners).fail(ValueError("struck"))
        else:
            self._change_weather(name)

    def _change_weather(self, name: str) -> None:
        probe = self._plane.probes[name]
        probe.ignores_stop = self._dice.random() < 0.3
        probe.ignores_cancel = self._dice.random() < 0.1
        probe.start_error = ValueError("no start") if self._dice.random() < 0.2 else None
        probe.task_configs_error = ValueError("busy") if self._dice.random() < 0.2 else None
        probe.stop_error = ValueError("no stop") if self._dice.random() < 0.2 else None

    async def calm(self) -> None:
        """Good weather, and everything that failed is restarted."""
        for name in NAMES:
            probe = self._plane.probes[name]
            probe.ignores_stop = probe.ignores_cancel = False
            probe.start_error = probe.task_configs_error = probe.stop_error = None
        await self._plane.settle(120.0)
        for name in NAMES:
            for runner in self._plane.probes[name].runners:
                if runner.is_abandoned:
                    runner.finish()  # ends at last, and nobody may hear of it
            for _ in range(2):  # what is FAILED may hide a wish to be paused, or have no tasks yet
                await self._plane.client.post(
                    f"/connectors/{name}/restart?includeTasks=true&onlyFailed=true"
                )
                await self._plane.settle(30.0)


def _check(plane: Plane) -> None:
    snapshot = plane.configs.snapshot()
    for name in NAMES:
        probe = plane.probes[name]
        target = snapshot.target(name)
        alive = Counter(probe.alive())
        if name not in snapshot.connectors:
            assert alive == Counter()
            assert plane.status(name) is None
            assert plane.statuses.tasks(name) == {}
            continue
        tasks = () if target is TargetState.STOPPED else snapshot.tasks(name)
        assert alive == Counter(tasks)
        status = plane.status(name)
        assert status is not None
        assert status.state is STATE_OF_TARGET[target]
        assert {task: status.state for task, status in plane.statuses.tasks(name).items()} == (
            dict.fromkeys(tasks, STATE_OF_TARGET[target])
        )
        if target is TargetState.STARTED:
            assert len(tasks) == int(snapshot.connectors[name]["tasks.max"])
            topics = {
                runner.spec.task_config["probe.topic"]
                for runner in probe.runners
                if runner.is_alive
            }
            assert topics == {snapshot.connectors[name]["probe.topic"]}


@pytest.mark.parametrize("seed", range(30))
@virtual
async def test_after_the_storm_what_runs_is_what_is_wanted(seed: int) -> None:
    async with control_plane() as plane:
        storm = Storm(plane, seed)
        if seed % 3:
            storm.slow_down_the_config_store()
        await storm.rage(60)
        await storm.calm()
        _check(plane)
        assert storm.failures == []
        assert plane.failures == []
    assert all(plane.probes[name].alive() == [] for name in NAMES)
    assert plane.worker.statistics().running == ()


@virtual
async def test_a_storm_can_be_told_apart_from_calm() -> None:
    """The check itself must be able to fail."""
    async with control_plane() as plane:
        await plane.create("a")
        _check(plane)
        plane.probes["a"].latest().fail(ValueError("x"))
        await asyncio.sleep(1.0)
        with pytest.raises(AssertionError):
            _check(plane)
