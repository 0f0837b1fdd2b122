"""Heartbeats, and the lease that they renew.

The pulse beats from the first join on, also while the member joins again: that takes as long as the
slowest member, and so long the lease must hold. Two jobs: one sends, one watches the lease; so an
answer that does not come does not keep the second from stopping what runs.

Owned by ``member``, which hears of what the coordinator says and of a lease that ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

import structlog

from connectd.aio.clock import BootClock
from connectd.aio.jobs import JobGroup, wait_first
from connectd.errors import AccessDeniedError, RetriableError
from connectd.kafka.group.client import MembershipLostError, RebalanceUnderWayError
from connectd.runtime.group.lease import Lease

_log = structlog.get_logger(__name__)

RETRY_S: Final = 0.5
"""How soon a heartbeat that was not answered is followed by another: the lease does not wait."""


class Heart(Protocol):
    """What the pulse needs of ``kafka.group.client.GroupClient``."""

    async def find_coordinator(self) -> None:
        """Find it, unless it is known."""
        ...

    async def heartbeat(self, member_id: str, generation: int, deadline_s: float) -> None:
        """Tell that one lives."""
        ...


class Listener(Protocol):
    """Who hears of it; called on the loop."""

    def on_rebalance(self, generation: int) -> None:
        """Members of this generation are to join again."""
        ...

    def on_membership_lost(self, generation: int, error: MembershipLostError) -> None:
        """The group does not know this generation, or this member at all."""
        ...

    def on_lease_short(self) -> None:
        """Nothing has been heard for so long that what runs should stop."""
        ...

    def on_lease_over(self) -> None:
        """What runs must not write any more."""
        ...


class Pulse:
    """See the module's docstring."""

    def __init__(
        self,
        heart: Heart,
        clock: BootClock,
        listener: Listener,
        *,
        session_s: float,
        interval_s: float,
    ) -> None:
        self.lease = Lease(session_s)
        self._heart = heart
        self._clock = clock
        self._listener = listener
        self._interval_s = interval_s
        self._session_s = session_s
        self._member_id = ""
        self._generation = -1
        self._leased = asyncio.Event()
        self._is_away = False

    @property
    def is_leased(self) -> bool:
        """Whether what runs may still write."""
        return self.lease.is_valid(self._clock.boot_s())

    def start(self, jobs: JobGroup) -> None:
        """Begin both jobs in the group of the owner."""
        jobs.spawn("heartbeats", self._beat(), service=True)
        jobs.spawn("lease", self._watch(), service=True)

    def beat_as(self, member_id: str, generation: int) -> None:
        """Who beats from now on; "" for nobody."""
        self._member_id = member_id
        self._generation = generation

    def renew(self, sent_s: float) -> None:
        """The coordinator has answered what was sent then."""
        self.lease.renew(sent_s)
        self._leased.set()
        if self._is_away:
            self._is_away = False
            _log.info("the group's coordinator answers again")

    async def _beat(self) -> None:
        while True:
            retry_s = min(self._interval_s, RETRY_S)
            await self._clock.sleep(retry_s if self._is_away else self._interval_s)
            member_id, generation = self._member_id, self._generation
            if not member_id:
                continue
            sent_s = self._clock.boot_s()
            try:
                async with asyncio.timeout(self._interval_s):
                    await self._heart.find_coordinator()
                await self._heart.heartbeat(member_id, generation, self._session_s)
                self.renew(sent_s)
            except RebalanceUnderWayError:
                self.renew(sent_s)
                self._listener.on_rebalance(generation)
            except MembershipLostError as error:
                if member_id == self._member_id:
                    self._listener.on_membership_lost(generation, error)
            except (RetriableError, AccessDeniedError, TimeoutError) as error:
                self._on_silence(error)

    def _on_silence(self, error: Exception) -> None:
        if not self._is_away:
            self._is_away = True
            _log.warning("the group's coordinator does not answer", error=str(error) or repr(error))

    async def _watch(self) -> None:
        while True:
            await self._leased.wait()
            self._leased.clear()
            if await self._passes(lambda: self.lease.stops_s):
                self._listener.on_lease_short()
                if await self._passes(lambda: self.lease.ends_s):
                    self._listener.on_lease_over()

    async def _passes(self, moment: Callable[[], float | None]) -> bool:
        """Wait for a moment of the lease; False if it is over, or has been renewed meanwhile."""
        until_s = moment()
        if until_s is None:
            return False
        wait_s = until_s - self._clock.boot_s()
        await wait_first(self._clock.sleep(wait_s), self._leased.wait())
        return not self._leased.is_set()
