"""What workers of a cluster ask of their leader: not for users (spec kafka-connect A.9).

Every request is signed with the cluster's session key; that is checked before anything else is
said about it.
"""

from __future__ import annotations

from collections.abc import Sequence

from connectd.errors import ConfigError
from connectd.model.cluster import Config
from connectd.model.states import TargetState
from connectd.runtime.manners import Manners
from connectd.runtime.requests import RequestFailedError, RequestGate, failing_with, stage
from connectd.runtime.roles import Roles
from connectd.runtime.session_keys import SessionKeys, Signature
from connectd.runtime.views import Views
from connectd.stores import protocols


class InternalRequests:
    """Takes task sets from the workers whose connectors computed them, and fences."""

    def __init__(
        self,
        gate: RequestGate,
        configs: protocols.ConfigStore,
        views: Views,
        keys: SessionKeys,
        manners: Manners,
        roles: Roles,
    ) -> None:
        self._gate = gate
        self._configs = configs
        self._views = views
        self._keys = keys
        self._manners = manners
        self._roles = roles

    async def put_tasks(
        self,
        connector: str,
        configs: Sequence[Config],
        *,
        signature: Signature | None,
        body: bytes,
    ) -> None:
        """Commit a task set; ``body`` is what was signed.

        Raises:
            ConfigError: the signature is missing or not understood, or the connector is stopped.
            NoSessionKeyError, InvalidSignatureError: see ``SessionKeys.check``.
            NotFoundError: there is no connector of that name.
            RequestFailedError: this worker has no cluster.
        """
        async with self._gate.request():
            _refuse(self._manners.refuses_task_configs)
            self._keys.check(signature, body)
            await self._roles.require_leader()
            async with self._gate.turn(connector):
                await self._roles.require_still_leader()
                snapshot = self._configs.snapshot()
                self._views.info_of(snapshot, connector)
                if configs and snapshot.target(connector) is TargetState.STOPPED:
                    raise ConfigError(
                        "Cannot submit non-empty set of task configs for stopped connector "
                        f"{connector}"
                    )
                with (
                    stage(f"writing the task configs of connector {connector}"),
                    failing_with("Error writing task configurations to Kafka"),
                ):
                    await self._configs.put_tasks(connector, configs)

    async def fence(self, connector: str, *, signature: Signature | None, body: bytes) -> None:
        """Make sure that no earlier generation of a connector's tasks can write.

        At-least-once tasks have no transactions that could be fenced, so there is nothing to do
        for a source connector; the answer is that of a fencing that succeeded.

        Raises:
            ConfigError: the signature is missing or not understood, or it is no source connector.
            NoSessionKeyError, InvalidSignatureError: see ``SessionKeys.check``.
            NotFoundError: there is no connector of that name.
            RequestFailedError: this worker has no cluster.
        """
        async with self._gate.request():
            _refuse(self._manners.refuses_fencing)
            self._keys.check(signature, body)
            await self._roles.require_leader()
            info = self._views.info_of(self._configs.snapshot(), connector)
            if info.type != "source":
                raise ConfigError(f"Connector {connector} is not a source connector")


def _refuse(reason: str | None) -> None:
    if reason is not None:
        raise RequestFailedError(reason)
