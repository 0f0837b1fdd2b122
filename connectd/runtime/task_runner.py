"""The seam between control plane and data plane: what the worker asks of one life of a task.

The runtime knows no pipeline. The composition root hands the worker a ``TaskRunnerFactory``; each
call makes one runner for one life of a task, and a restarted task gets a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from connectd.model.cluster import Config
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import LifecycleEvent, TargetState
from connectd.observe.metrics import Numbers

OnEvent = Callable[[LifecycleEvent, Exception | None], None]
"""Reports STARTED, PAUSED and RESUMED, and FAILED with its error for a failure that the task
survives. The end of ``run`` reports the rest."""

OnTopic = Callable[[str], None]
"""Reports a topic to which the task has written a record."""


@dataclass(frozen=True)
class TaskSpec:
    """Everything that one life of a task is made from.

    ``generation`` is that of the assignment which started it. The configs have their placeholders
    resolved: they may hold secrets, and are never written anywhere. ``target`` is the state wanted
    at the start, STARTED or PAUSED; later changes come as ``pause`` and ``resume``.
    """

    task_id: ConnectorTaskId
    generation: int
    connector_config: Config
    task_config: Config
    target: TargetState
    on_event: OnEvent
    on_topic: OnTopic


class TaskRunner(Protocol):
    """One life of one task. All methods are called on the loop; only ``run`` waits."""

    async def run(self) -> None:
        """Live; returns when stopped, raises to fail.

        Cancelling it is the second rung of the stop ladder: it then ends as fast as it can.
        """
        ...

    def pause(self) -> None:
        """Stop polling; what is under way goes on."""
        ...

    def resume(self) -> None:
        """Poll again."""
        ...

    def signal_stop(self) -> None:
        """The first rung: wind down and let ``run`` return."""
        ...

    def abandon(self) -> None:
        """The last rung: from now on this life writes neither offsets nor records nor events."""
        ...

    def tables(self) -> Sequence[Mapping[str, object]]:
        """Progress of the task's inputs, for people to look at."""
        ...

    def metrics(self) -> Numbers:
        """What this life says of itself; groups with the labels ``connector`` and ``task``."""
        ...


TaskRunnerFactory = Callable[[TaskSpec], TaskRunner]
"""Makes a runner; raises to fail the task before its life has begun."""
