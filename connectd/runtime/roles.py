"""Which requests belong to this worker, and to whom the others do (spec kafka-connect A.1.5).

The leader alone writes configs, task sets and offsets; what restarts is asked of whoever runs it.
Only a group at rest knows who that is: while it rebalances a request waits, within its deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from connectd.configdef import rest_settings
from connectd.errors import ConnectdError
from connectd.model.ids import ConnectorTaskId
from connectd.runtime import askers
from connectd.runtime.membership import Membership
from connectd.runtime.requests import stage


class NotHereError(ConnectdError):
    """Another worker is to be asked; ``url`` is where it is, None while that is not known."""

    def __init__(self, message: str, whom: Callable[[], str | None]) -> None:
        """``whom`` tells at any time who is to be asked."""
        super().__init__(message)
        self.url = whom()
        self._whom = whom

    @property
    def is_outdated(self) -> bool:
        """Whether it is somebody else by now."""
        return self._whom() != self.url


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
        """Wait until the group does not rebalance, and this worker is known to be a member.

        One that was frozen may be at rest by an old picture: until it has noticed that its lease
        is over, which asking for the right to write makes it do.
        """
        with stage("ensuring membership in the cluster"):
            await self._membership.wait_at_rest()
            while not self._membership.may_write():
                await self._membership.wait_at_rest()

    async def require_leader(self) -> None:
        """Go on only as the leader.

        Raises:
            NotHereError: another worker is.
        """
        await self.wait_at_rest()
        self._check_leads()

    async def require_still_leader(self) -> None:
        """Go on to a write only as the leader, and only if somebody still waits for it.

        What was true at the beginning of a request may have passed while it waited for its turn.

        Raises:
            NobodyWaitsError: whoever asked has given up.
            NotHereError: another worker leads.
        """
        await askers.require_wanted()
        self._check_leads()

    def _check_leads(self) -> None:
        if not self._membership.is_leader:
            raise NotHereError("Only the leader can do this", self._other_leader_url)

    def _other_leader_url(self) -> str | None:
        """Where another worker leads. One that has led, and is given up by now, knows of none."""
        url = self._membership.leader_url
        if url is None or rest_settings.worker_id(url) == self._membership.worker_id:
            return None
        return url

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
        raise NotHereError(
            f"Cannot restart {kind} since it is not assigned to this member: {item}",
            lambda: self._whom_to_ask(item),
        )

    def _whom_to_ask(self, item: str | ConnectorTaskId) -> str | None:
        if self._membership.is_leader:
            return self._membership.owner_url(item)
        return self._other_leader_url()
