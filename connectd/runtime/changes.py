"""What clients may do to connectors: every change is a record in the config topic.

Nothing here touches the worker. A change is checked, written, read back by the store, and takes
effect when the herder sees the new picture: here and on every other worker by the same road.
Changes of one connector take turns, so that what was checked still holds when the record is
written. Order of checks and texts: spec kafka-connect A.4.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

import structlog

from connectd.errors import ConfigError, ConflictError, NotFoundError
from connectd.model.cluster import ClusterConfigState, Config
from connectd.model.states import TargetState
from connectd.observe import redaction
from connectd.runtime import askers, task_configs
from connectd.runtime.manners import Manners
from connectd.runtime.requests import RequestFailedError, RequestGate, failing_with, stage
from connectd.runtime.roles import Roles
from connectd.runtime.views import ConnectorInfo, Views
from connectd.stores import protocols

_log = structlog.get_logger(__name__)

SubmittedConfig = Mapping[str, str | None]
"""A config as a client sent it; None stands for JSON's null."""

ConfigCheck = Callable[[SubmittedConfig], Awaitable[Config]]
"""Validates a config and gives it back without nulls; raises ConfigError with the client's text."""

TellLeader = Callable[[str, Sequence[Config]], Awaitable[None]]
"""Has the leader commit the task set of a connector; raises when it did not."""

_WRITING_FAILED = "Error writing connector configuration to Kafka"
_REMOVING_FAILED = "Error removing connector configuration from Kafka"
_TARGET_FAILED = "Error writing target state to Kafka"
_TASKS_FAILED = "Error writing task configurations to Kafka"


class ConnectorChanges:
    """Creates, changes and deletes connectors, and says what is wanted of them.

    The herder sets ``wait_effect`` if changes are answered when they have taken effect: it waits
    for that and returns why the connector failed. It sets ``tell_leader`` too, which has a task set
    committed by another worker.
    """

    tell_leader: TellLeader

    def __init__(
        self,
        gate: RequestGate,
        configs: protocols.ConfigStore,
        offsets: protocols.OffsetStore,
        views: Views,
        check: ConfigCheck,
        manners: Manners,
        roles: Roles,
    ) -> None:
        self.wait_effect: Callable[[str], Awaitable[Exception | None]] | None = None
        self._gate = gate
        self._configs = configs
        self._offsets = offsets
        self._views = views
        self._check = check
        self._manners = manners
        self._roles = roles

    async def create(
        self, connector: str, submitted: SubmittedConfig, *, target: TargetState | None = None
    ) -> ConnectorInfo:
        """A new connector.

        Raises:
            ConfigError: its config is not valid.
            ConflictError: there is one of that name.
            NotHereError: another worker is to be asked; so for every change but pause and resume.
        """
        async with self._gate.request():
            await self._roles.require_leader()
            config = await self._check(with_name(connector, submitted))
            async with self._turn(connector):
                if connector in self._configs.snapshot().connectors:
                    raise ConflictError(f"Connector {connector} already exists")
                await self._write(connector, config, target)
            return await self._in_effect(connector, config, is_new=True)

    async def put(self, connector: str, submitted: SubmittedConfig) -> tuple[bool, ConnectorInfo]:
        """A new connector, or a new config for one that exists; True when it was created.

        Raises:
            ConfigError: the config is not valid.
        """
        async with self._gate.request():
            await self._roles.require_leader()
            config = await self._check(with_name(connector, submitted))
            async with self._turn(connector):
                is_new = connector not in self._configs.snapshot().connectors
                await self._write(connector, config, None)
            return is_new, await self._in_effect(connector, config, is_new=is_new)

    async def patch(self, connector: str, patch: SubmittedConfig) -> ConnectorInfo:
        """Overwrite some keys of a config; None removes one.

        Raises:
            NotFoundError: there is no connector of that name.
            ConfigError: what comes out is not valid.
        """
        async with self._gate.request():
            await self._roles.require_leader()
            while True:
                current = self._views.info_of(self._configs.snapshot(), connector).config
                merged = {**current, **patch}
                kept = {key: value for key, value in merged.items() if value is not None}
                config = await self._check(kept)
                async with self._turn(connector):
                    # Checking takes its time outside of the turn; a change that came first is
                    # not to be lost, so the patch is applied to that one again.
                    latest = self._views.info_of(self._configs.snapshot(), connector).config
                    if latest != current:
                        continue
                    await self._write(connector, config, None)
                return await self._in_effect(connector, config, is_new=False)

    @contextlib.asynccontextmanager
    async def _turn(self, connector: str) -> AsyncIterator[None]:
        """The turn of a change that is the leader's, and that somebody waits for."""
        async with self._gate.turn(connector):
            await self._roles.require_still_leader()
            yield

    async def _write(self, connector: str, config: Config, target: TargetState | None) -> None:
        is_new = connector not in self._configs.snapshot().connectors
        with (
            stage(f"writing the configuration of connector {connector} to the config topic"),
            failing_with(_WRITING_FAILED),
        ):
            await self._configs.put_connector(connector, config, target=target)
        if is_new:
            _log.info(
                "connector created",
                connector=connector,
                stored_offsets=len(self._offsets.all(connector)),
            )

    async def _in_effect(self, connector: str, config: Config, *, is_new: bool) -> ConnectorInfo:
        """The answer to a change, when it is time for it.

        A connector that is new and cannot start is taken back: what was refused is not there
        (field case R24).

        Raises:
            RequestFailedError: it has not started, with its own words.
        """
        if self.wait_effect is not None:
            try:
                failure = await self.wait_effect(connector)
                if failure is not None:
                    raise RequestFailedError(redaction.redact_text(str(failure))) from failure
            except BaseException:
                if is_new:
                    await self._take_back(connector, config)
                raise
        return self._views.info_of(self._configs.snapshot(), connector)

    async def _take_back(self, connector: str, config: Config) -> None:
        async with self._gate.turn(connector):
            if self._configs.snapshot().connectors.get(connector) == config:
                await self._configs.delete_connector(connector)
                _log.info("connector taken back: it did not start", connector=connector)
        await self._settle(connector)

    async def _settle(self, connector: str) -> None:
        if self.wait_effect is not None:
            await self.wait_effect(connector)

    async def delete(self, connector: str) -> None:
        """Remove a connector. Its offsets stay: one of the same name goes on where it was.

        Raises:
            NotFoundError: there is no connector of that name.
        """
        async with self._gate.request():
            await self._roles.require_leader()
            async with self._turn(connector):
                self._views.info_of(self._configs.snapshot(), connector)
                with (
                    stage(f"removing connector {connector} from the config topic"),
                    failing_with(_REMOVING_FAILED),
                ):
                    await self._configs.delete_connector(connector)
                _log.info("connector deleted, its offsets are kept", connector=connector)
            await self._settle(connector)

    async def pause(self, connector: str) -> None:
        """Want it paused.

        Raises:
            NotFoundError: there is no connector of that name.
        """
        await self._set_target(connector, TargetState.PAUSED)

    async def resume(self, connector: str) -> None:
        """Want it running.

        Raises:
            NotFoundError: there is no connector of that name.
        """
        await self._set_target(connector, TargetState.STARTED)

    async def _set_target(self, connector: str, target: TargetState) -> None:
        async with self._gate.request(), self._gate.turn(connector):
            self._require(connector)
            await askers.require_wanted()
            await self._write_target(connector, target)

    async def stop(self, connector: str) -> None:
        """Take its tasks away, then want it stopped.

        Raises:
            NotFoundError: there is no connector of that name.
        """
        async with self._gate.request():
            await self._roles.require_leader()
            async with self._turn(connector):
                if connector not in self._configs.snapshot().connectors:
                    text = self._manners.no_connector_to_stop.format(connector=connector)
                    raise self._manners.stop_error(text)
                with (
                    stage(f"writing an empty task set of connector {connector}"),
                    failing_with(_TASKS_FAILED),
                ):
                    await self._configs.put_tasks(connector, [])
                await self._write_target(connector, TargetState.STOPPED)
            await self._settle(connector)

    async def _write_target(self, connector: str, target: TargetState) -> None:
        with (
            stage(f"writing the target state of connector {connector} to the config topic"),
            failing_with(_TARGET_FAILED),
        ):
            await self._configs.put_target(connector, target)

    def _require(self, connector: str) -> ClusterConfigState:
        snapshot = self._configs.snapshot()
        if connector not in snapshot.connectors:
            raise NotFoundError(f"Unknown connector {connector}")
        return snapshot

    async def publish_tasks(self, connector: str, base: Config, configs: Sequence[Config]) -> bool:
        """Commit a task set that was computed from the config ``base``; True if it was written.

        Nothing is written when the connector has another config by now, is not to run any more, or
        has just these tasks already.
        """
        async with self._gate.turn(connector):
            snapshot = self._configs.snapshot()
            is_current = snapshot.connectors.get(connector) == base
            if not is_current or snapshot.target(connector) is TargetState.STOPPED:
                return False
            if not task_configs.needs_publishing(snapshot, connector, configs):
                return False
            if self._roles.is_leader:
                await self._configs.put_tasks(connector, configs)
            else:
                await self.tell_leader(connector, configs)
            return True


def with_name(connector: str, submitted: SubmittedConfig) -> dict[str, str | None]:
    """The config with ``name`` in it.

    Raises:
        ConfigError: it names another connector.
    """
    named = submitted.get("name")
    if named is not None and named != connector:
        raise ConfigError(
            f"Connector name configuration ({named}) doesn't match connector name in the URL "
            f"({connector})"
        )
    return {**submitted, "name": connector}
