"""Looking at and changing the stored offsets of a connector (spec kafka-connect A.6, KIP-875).

Offsets may be changed only while nothing can write them: the connector is STOPPED, has no tasks in
the config topic, and none of its tasks is still on its way out on any worker: the leader knows that
when the group is at rest.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from connectd.errors import ConfigError, ConnectdError, RetriableError
from connectd.model.cluster import ClusterConfigState, Config
from connectd.model.record import Primitive, SourceOffset, SourcePartition
from connectd.model.states import TargetState
from connectd.plugins import resolving, spi
from connectd.runtime.loop_watch import foreign
from connectd.runtime.requests import (
    RequestFailedError,
    RequestGate,
    failing_with,
    stage,
    with_cause,
)
from connectd.runtime.roles import Roles
from connectd.runtime.views import Views
from connectd.runtime.worker import Worker
from connectd.stores import protocols

_log = structlog.get_logger(__name__)

_NOTHING_GIVEN = "Partitions / offsets need to be provided for an alter offsets request"
_FRAMEWORK_ONLY = (
    "The Connect framework-managed offsets for this connector have been {done} successfully. "
    "However, if this connector manages offsets externally, they will need to be manually {done} "
    "in the system that the connector uses."
)
_COMPLETE = "The offsets for this connector have been {done} successfully"

ConnectorClass = Callable[[str], type[spi.SourceConnector]]
"""The class behind ``connector.class``; raises ConfigError or NotFoundError."""


@dataclass(frozen=True)
class OffsetEntry:
    """One entry of a request to alter offsets, as parsed from JSON and not yet checked."""

    partition: object
    offset: object


class ConnectorOffsets:
    """Reads, alters and resets offsets.

    ``apply_latest`` makes the worker know what has been written to the config topic by now.
    """

    def __init__(
        self,
        gate: RequestGate,
        *,
        configs: protocols.ConfigStore,
        offsets: protocols.OffsetStore,
        views: Views,
        worker: Worker,
        apply_latest: Callable[[], None],
        connector_class: ConnectorClass,
        resolve: resolving.Resolver,
        roles: Roles,
    ) -> None:
        self._gate = gate
        self._configs = configs
        self._offsets = offsets
        self._views = views
        self._worker = worker
        self._apply_latest = apply_latest
        self._connector_class = connector_class
        self._resolve = resolve
        self._roles = roles

    async def read(self, connector: str) -> Mapping[SourcePartition, SourceOffset]:
        """Every partition with its offset.

        Raises:
            NotFoundError: there is no connector of that name.
        """
        async with self._gate.request():
            self._views.info_of(self._configs.snapshot(), connector)
            await self._refresh(
                f"Failed to retrieve offsets for source connector {connector}",
            )
            return self._offsets.all(connector)

    async def alter(self, connector: str, entries: Sequence[OffsetEntry]) -> str:
        """Write offsets, None removing one; returns the sentence for the client.

        Raises:
            ConfigError: the connector is not stopped, or an entry is not acceptable.
            NotFoundError: there is no connector of that name.
            NotHereError: the leader is to be asked.
        """
        if not entries:
            raise ConfigError(_NOTHING_GIVEN)
        wanted = {_partition(entry.partition): _offset(entry.offset) for entry in entries}
        async with self._changing(connector):
            config = await self._stopped_config(connector)
            await self._refresh(
                "Timed out while trying to read to the end of the offsets topic prior to modifying "
                f"offsets for source connector {connector}"
            )
            known = {_identity(partition): partition for partition in self._offsets.all(connector)}
            changes = {known.get(_identity(key), key): offset for key, offset in wanted.items()}
            return await self._change(connector, config, changes, done="altered")

    async def reset(self, connector: str) -> str:
        """Remove every offset; returns the sentence for the client.

        Raises:
            ConfigError: the connector is not stopped.
            NotFoundError: there is no connector of that name.
            NotHereError: the leader is to be asked.
        """
        async with self._changing(connector):
            config = await self._stopped_config(connector)
            await self._refresh(
                "Timed out while trying to read to the end of the offsets topic prior to modifying "
                f"offsets for source connector {connector}"
            )
            changes: dict[SourcePartition, SourceOffset | None] = dict.fromkeys(
                self._offsets.all(connector)
            )
            return await self._change(connector, config, changes, done="reset")

    @contextlib.asynccontextmanager
    async def _changing(self, connector: str) -> AsyncIterator[None]:
        async with self._gate.request():
            await self._roles.require_leader()
            async with self._gate.turn(connector):
                yield

    async def _refresh(self, on_error: str) -> None:
        with stage("reading to the end of the offsets topic"), failing_with(on_error):
            await self._offsets.refresh()

    async def _stopped_config(self, connector: str) -> Config:
        snapshot = self._configs.snapshot()
        config = self._views.info_of(snapshot, connector).config
        if not _is_stopped(snapshot, connector):
            raise ConfigError(
                "Connectors must be in the STOPPED state before their offsets can be modified. "
                "This can be done for the specified connector by issuing a 'PUT' request to the "
                f"'/connectors/{connector}/stop' endpoint"
            )
        self._apply_latest()  # or the worker might not know yet that it is to stop anything
        with stage(f"waiting for the tasks of connector {connector} to stop"):
            await self._worker.wait_settled(connector)
            await self._roles.wait_at_rest()  # then they have stopped on the other workers as well
        return config

    async def _change(
        self,
        connector: str,
        config: Config,
        changes: Mapping[SourcePartition, SourceOffset | None],
        *,
        done: str,
    ) -> str:
        failed = f"Failed to modify offsets for source connector {connector}"
        with stage(f"asking the config providers of connector {connector}"):
            try:
                resolved = (await self._resolve(config)).config
            except ConfigError as error:
                raise RequestFailedError(str(error)) from error
        class_name = resolved.get("connector.class", "")
        kind = self._connector_class(class_name)
        try:
            with foreign(f"checking offsets of connector {connector} ({class_name})"):
                is_complete = kind.alter_offsets(resolved, changes)
        except ConnectdError:
            raise
        except Exception as error:
            raise RequestFailedError(failed) from error
        if changes:
            await self._roles.require_still_leader()
            with stage(f"writing offsets of connector {connector}"):
                try:
                    await self._offsets.put(connector, changes)
                except RetriableError as error:
                    raise RequestFailedError(with_cause(failed, error)) from error
        _log.info("offsets changed", connector=connector, partitions=len(changes), how=done)
        return (_COMPLETE if is_complete else _FRAMEWORK_ONLY).format(done=done)


def _is_stopped(snapshot: ClusterConfigState, connector: str) -> bool:
    is_target = snapshot.target(connector) is TargetState.STOPPED
    return is_target and snapshot.task_counts.get(connector, 0) == 0


def _identity(partition: SourcePartition) -> str:
    # A client may write the members in another order than the connector did; the same input is
    # meant, and the stored key must be met byte for byte.
    return json.dumps(partition.to_dict(), sort_keys=True)


def _partition(value: object) -> SourcePartition:
    return SourcePartition.of(_primitives(value, "partition"))


def _offset(value: object) -> SourceOffset | None:
    return None if value is None else _primitives(value, "offset")


def _primitives(value: object, what: str) -> dict[str, Primitive]:
    if not isinstance(value, dict):
        raise ConfigError(
            f"A source {what} is {_kind(value)}, expected an object with primitive values"
        )
    members: dict[str, Primitive] = {}
    for name, member in value.items():
        if member is not None and not isinstance(member, str | int | float | bool):
            raise ConfigError(
                "Offsets may only contain primitive types as values, but field "
                f"{name} contains {_kind(member)}"
            )
        members[name] = member
    return members


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return f"a {type(value).__name__}"
