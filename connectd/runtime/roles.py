"""Which requests belong to this worker, and to whom the others do (spec kafka-connect A.1.5).

The leader alone writes configs, task sets and offsets; what restarts is asked of whoever runs it.
Only a group at rest knows who that is: while it rebalances a request waits, within its deadline.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from connectd.errors import ConnectdError
from connectd.model.ids import ConnectorTaskId
from connectd.runtime.membership import Membership
from connectd.runtime.requests import stage


class NotHereError(ConnectdError):
    """Another worker is to be asked; ``url`` is where it is, None while that is not known."""

    def __init__(self, message: str, url: str | None) -> None:
        super().__init__(message)
        self.url = url


class Roles:
    """See the module's docstring."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership

    @property
    def is_leader(self) -> bool:
        """Whether this worker may write the config topic."""
        return self._membership.is_leader

    @property
    def leader_url(self) -> str | None:
        """Where the leader is."""
        return self._membership.leader_url

    @property
    def is_rebalancing(self) -> bool:
        """Whether what runs where is about to change."""
        return self._membership.is_rebalancing

    def urls_elsewhere(self, worker_ids: Iterable[str]) -> tuple[str, ...]:
        """Where the other ones of these workers are reached: as the leader is, by its scheme.

        ``worker_ids`` are ``host:port``, as in statuses.
        """
        if self.leader_url is None:
            return ()
        scheme = urlsplit(self.leader_url).scheme
        others = set(worker_ids) - {self._membership.worker_id}
        return tuple(f"{scheme}://{each}/" for each in sorted(others))

    async def wait_at_rest(self) -> None:
        """Wait until the group does not rebalance."""
        with stage("ensuring membership in the cluster"):
            await self._membership.wait_at_rest()

    async def require_leader(self) -> None:
        """Go on only as the leader.

        Raises:
            NotHereError: another worker is.
        """
        await self.wait_at_rest()
        if not self._membership.is_leader:
            raise NotHereError("Only the leader can do this", self._membership.leader_url)

    async def require_owner(self, item: str | ConnectorTaskId) -> None:
        """Go on only where a connector's instance or a task runs.

        Raises:
            NotHereError: another worker runs it; only the leader knows which.
        """
        await self.wait_at_rest()
        assigned = self._membership.assignment
        is_here = (
            item in assigned.tasks
            if isinstance(item, ConnectorTaskId)
            else item in assigned.connectors
        )
        if is_here:
            return
        kind = "task" if isinstance(item, ConnectorTaskId) else "connector"
        url = self._membership.leader_url
        if self._membership.is_leader:
            url = self._membership.owner_url(item)
        raise NotHereError(
            f"Cannot restart {kind} since it is not assigned to this member: {item}", url
        )
