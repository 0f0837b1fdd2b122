"""Restarting connectors and tasks (spec kafka-connect A.4, D.3.1).

A restart with flags is a record in the config topic: every worker sees it and restarts what it
runs of the plan. The plan is a pure function of the request and the statuses, so that the answer to
the client and the deed agree. A plain restart of one connector or task concerns its owner alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from connectd.errors import NotFoundError
from connectd.model.cluster import RestartRequest
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.model.status import Status
from connectd.runtime import askers
from connectd.runtime.manners import Manners
from connectd.runtime.requests import RequestFailedError, RequestGate, failing_with, stage
from connectd.runtime.roles import Roles
from connectd.runtime.views import ConnectorStatusInfo, Views
from connectd.runtime.worker import Worker
from connectd.stores import protocols

T = TypeVar("T", str, ConnectorTaskId)


@dataclass(frozen=True)
class RestartPlan:
    """What a restart stops and starts again; ``status`` is what clients see meanwhile."""

    restarts_connector: bool
    tasks: tuple[ConnectorTaskId, ...]
    status: ConnectorStatusInfo


def stronger(one: RestartRequest | None, other: RestartRequest) -> RestartRequest:
    """Of several pending requests for a connector, the one that restarts most."""
    return other if one is None or other.rank >= one.rank else one


def plan_restart(request: RestartRequest, status: ConnectorStatusInfo) -> RestartPlan:
    """Apply the flags of a request to what is known of the connector and its tasks."""
    restarts_connector = _is_concerned(request, status.connector)
    concerned = {
        task
        for task, state in status.tasks
        if request.include_tasks and _is_concerned(request, state)
    }
    shown = replace(
        status,
        connector=_restarting(status.connector) if restarts_connector else status.connector,
        tasks=tuple(
            (task, _restarting(state) if task in concerned else state)
            for task, state in status.tasks
        ),
    )
    return RestartPlan(restarts_connector, tuple(sorted(concerned)), shown)


def _is_concerned(request: RestartRequest, status: Status) -> bool:
    return not request.only_failed or status.state is State.FAILED


def _restarting(status: Status) -> Status:
    # The trace stays, as in Kafka's answer: it says why there is something to restart.
    return replace(status, state=State.RESTARTING)


class Restarts:
    """Takes requests to restart, and carries out those that come by the config topic.

    Pending requests come from the config store's callback; the herder's tick executes them.
    ``apply_latest`` makes the worker know what has been written by now: a client may restart what
    it has only just created.
    """

    def __init__(
        self,
        gate: RequestGate,
        configs: protocols.ConfigStore,
        views: Views,
        worker: Worker,
        apply_latest: Callable[[], None],
        manners: Manners,
        roles: Roles,
    ) -> None:
        self._gate = gate
        self._configs = configs
        self._views = views
        self._worker = worker
        self._apply_latest = apply_latest
        self._manners = manners
        self._roles = roles
        self._pending: dict[str, RestartRequest] = {}

    async def restart(self, request: RestartRequest) -> ConnectorStatusInfo:
        """Ask for a restart with flags; the answer shows what it concerns as RESTARTING.

        Raises:
            NotFoundError: the connector is unknown, or has no status yet.
            NotHereError: the leader is to be asked.
        """
        connector = request.connector
        async with self._gate.request():
            await self._roles.require_leader()
            await self._catch_up_unless(lambda: self._is_known(connector))
            self._require(connector, "Unknown connector: {connector}")
            status = self._views.status_of(connector)
            if status is None:
                raise NotFoundError(f"Status for connector {connector} not found")
            plan = plan_restart(request, status)
            await self._roles.require_still_leader()
            with (
                stage(f"writing a restart request for connector {connector} to the config topic"),
                failing_with(f"Error writing {request} to Kafka"),
            ):
                await self._configs.put_restart(request)
            self._apply_latest()  # RESTARTING is to be seen by whoever asks next (R22)
            return plan.status

    async def restart_connector(self, connector: str) -> None:
        """Restart the connector's instance only; returns when it has started again.

        Raises:
            NotFoundError: the connector is unknown.
            RequestFailedError: it did not start.
            NotHereError: another worker is to be asked.
        """
        async with self._gate.request():
            await self._catch_up_unless(lambda: self._is_known(connector))
            self._require(connector, self._manners.no_connector_to_restart)
            await self._at_owner(connector, self._worker.restart_connector)

    async def restart_task(self, task: ConnectorTaskId) -> None:
        """Restart one task.

        Raises:
            NotFoundError: the connector or the task is unknown.
            RequestFailedError: it did not start.
            NotHereError: another worker is to be asked.
        """
        async with self._gate.request():
            await self._catch_up_unless(lambda: self._is_known(task))
            self._require(task.connector, self._manners.no_connector_to_restart)
            if not self._is_known(task):
                raise NotFoundError(self._manners.no_task_to_restart.format(task=task))
            await self._at_owner(task, self._worker.restart_task)

    async def _at_owner(self, item: T, restart: Callable[[T], Awaitable[None]]) -> None:
        """Restart what runs here; if the group takes it away meanwhile, look again whose it is."""
        while True:
            self._apply_latest()
            await self._roles.require_owner(item)
            self._apply_latest()  # it may have become ours this very moment
            await askers.require_wanted()
            try:
                await restart(item)
                return
            except RequestFailedError:
                if not self._roles.is_rebalancing:
                    raise

    async def _catch_up_unless(self, is_known: Callable[[], bool]) -> None:
        """What is not known here may have been written by another worker this very moment."""
        if not is_known():
            with (
                stage("reading to the end of the config topic"),
                failing_with("Failed to read the config topic to its end"),
            ):
                await self._configs.refresh()

    def _is_known(self, item: str | ConnectorTaskId) -> bool:
        snapshot = self._configs.snapshot()
        if isinstance(item, ConnectorTaskId):
            return item in snapshot.tasks(item.connector)
        return item in snapshot.connectors

    def _require(self, connector: str, text: str) -> None:
        if not self._is_known(connector):
            raise NotFoundError(text.format(connector=connector))

    def add(self, request: RestartRequest) -> None:
        """Take note of a request that was read from the config topic."""
        self._pending[request.connector] = stronger(self._pending.get(request.connector), request)

    def execute(self) -> None:
        """Begin the restarts that are pending. Returns at once."""
        pending, self._pending = self._pending, {}
        for connector, request in pending.items():
            status = self._views.status_of(connector)
            if status is not None:
                plan = plan_restart(request, status)
                self._worker.restart(
                    connector, includes_connector=plan.restarts_connector, tasks=plan.tasks
                )
