"""This worker as a member of its Connect group (spec kafka-connect C.5.2).

One job follows the table of ``phases``: join, sync, take what is allotted, and join again when
somebody wishes it: the group, the config topic (connectors that come and go, new task sets), the
leader's delay, or this member after it has let go of something. ``pulse`` sends heartbeats beside.

The order that keeps a table from being read twice:

* Before it joins, a member has read the config topic to its end and stopped what that outdates.
* What is revoked has stopped and committed before the member joins again; only then does the
  leader give it away. ``on_shrink`` waits for that.
* What is given is started when both the config topic and the offsets topic have been read to the
  end, so that every task begins where its predecessor has ended.
* A member that does not hear from the coordinator stops what it runs before others may start it,
  and at the end of its lease loses the right to write (``may_write``).

State of the event loop; the herder is told by the ``on_…`` attributes of ``Membership``.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from connectd.aio.backoff import Backoff
from connectd.aio.clock import BootClock
from connectd.aio.jobs import JobGroup, run_unless, wait_first
from connectd.configdef import rest_settings
from connectd.configdef.worker import GroupSettings
from connectd.errors import AccessDeniedError, ConnectdError, RetriableError
from connectd.kafka.group.client import Joined, MembershipLostError, RebalanceUnderWayError
from connectd.model.cluster import ClusterConfigState
from connectd.model.ids import ConnectorTaskId
from connectd.runtime.group import blobs, telling
from connectd.runtime.group.blobs import Allotment
from connectd.runtime.group.blobs import Protocol as GroupProtocol
from connectd.runtime.group.leading import Leading
from connectd.runtime.group.phases import Event, Phase, next_phase
from connectd.runtime.group.pulse import Pulse
from connectd.runtime.group.shares import NOTHING, Share
from connectd.runtime.group.telling import Session
from connectd.runtime.membership import Assignment
from connectd.stores import protocols

_log = structlog.get_logger(__name__)

LEAVE_S: Final = 3.0
"""How long a goodbye may take; without one the group waits for the session to end."""

_RETRY: Final = Backoff(initial_s=0.1, max_s=1.0)

_STAYS_AWAY: Final = 10
"""A member that cannot keep up with the config topic stays away for that part of
``scheduled.rebalance.max.delay.ms``, divided by 5 the first time, then by 4, 3, 2, 1."""

_STAYS_AWAY_FIRST: Final = 5


class BehindError(RetriableError):
    """The topics could not be read as far as the leader has read them."""


class GroupMember:
    """Implements ``runtime.membership.Membership``; see the module's docstring."""

    def __init__(
        self,
        worker_url: str,
        *,
        session: Session,
        configs: protocols.ConfigStore,
        offsets: protocols.OffsetStore,
        clock: BootClock,
        settings: GroupSettings,
    ) -> None:
        self.worker_id = rest_settings.worker_id(worker_url)
        self.on_change: Callable[[], None] | None = None
        self.on_shrink: Callable[[], Awaitable[None]] | None = None
        self.on_fenced: Callable[[], None] | None = None
        self.on_failure: Callable[[BaseException], None] | None = None
        self._url = worker_url
        self._session = session
        self._configs = configs
        self._offsets = offsets
        self._clock = clock
        self._settings = settings
        self._offered = GroupProtocol.offered(settings.protocol)
        self._jobs = JobGroup("group", on_failure=self._on_job_failure)
        self._pulse = Pulse(
            session,
            clock,
            self,
            session_s=settings.session_timeout_s,
            interval_s=settings.heartbeat_interval_s,
        )
        self._phase = Phase.OUTSIDE
        self._protocol: GroupProtocol | None = None
        self._member_id = ""
        self._last: Allotment | None = None
        self._generation = -1
        self._allotted = NOTHING
        self._assignment = Assignment()
        self._known: object = None
        self._leading: Leading | None = None
        self._rejoin = asyncio.Event()
        self._at_rest = asyncio.Event()
        self._rejoin_s: float | None = None
        self._in_force = asyncio.Event()
        self._failed = asyncio.Event()
        self._failure: BaseException | None = None
        self._times_behind = 0

    # -- Membership -----------------------------------------------------------------------------

    async def join(self, snapshot: ClusterConfigState) -> None:
        """See ``Membership``: waits for a coordinator for as long as it takes."""
        self._jobs.spawn("membership", self._follow(), service=True)
        self._pulse.start(self._jobs)
        await wait_first(self._in_force.wait(), self._failed.wait())
        if self._failure is not None:
            raise self._failure

    async def leave(self) -> None:
        """See ``Membership``: tells the group, so that nobody waits for the end of the session."""
        await self._jobs.stop()
        self._go(Event.LEAVE)
        self._assignment = Assignment(generation=self._assignment.generation)
        await self._say_goodbye()
        self._pulse.lease.drop()
        await self._session.close()

    def observe(self, snapshot: ClusterConfigState) -> Assignment:
        """See ``Membership``."""
        if self._phase is Phase.MEMBER and _signature(snapshot) != self._known:
            self._wish_to_rejoin()
        return self._assignment

    @property
    def assignment(self) -> Assignment:
        """See ``Membership``."""
        return self._assignment

    @property
    def is_leader(self) -> bool:
        """See ``Membership``."""
        return (
            self._last is not None
            and self._last.leader == self._member_id
            and self._pulse.is_leased
        )

    @property
    def leader_url(self) -> str | None:
        """See ``Membership``."""
        return None if self._last is None else self._last.leader_url

    @property
    def waiting_work(self) -> int:
        """See ``Membership``."""
        if self._leading is None or not self.is_leader:
            return 0
        return len(self._leading.waiting.connectors) + len(self._leading.waiting.tasks)

    @property
    def is_rebalancing(self) -> bool:
        """See ``Membership``."""
        return not self._at_rest.is_set()

    async def wait_at_rest(self) -> None:
        """See ``Membership``."""
        await self._at_rest.wait()

    @property
    def signs_requests(self) -> bool:
        """See ``Membership``."""
        return self._protocol is GroupProtocol.SESSIONED

    def owner_url(self, item: str | ConnectorTaskId) -> str | None:
        """See ``Membership``."""
        return None if self._leading is None else self._leading.owner_url(item)

    def may_write(self) -> bool:
        """See ``Membership``."""
        if self._pulse.is_leased:
            return True
        self.on_lease_over()
        return False

    def writes_until_s(self) -> float:
        """See ``Membership``."""
        ends_s = self._pulse.lease.ends_s
        return -math.inf if ends_s is None else ends_s

    # -- the job --------------------------------------------------------------------------------

    async def _follow(self) -> None:
        failures = 0
        while True:
            await self._wait_for_a_wish()
            try:
                await self._take_part()
                failures = 0
            except RebalanceUnderWayError:
                self._go(Event.REJOIN)
            except MembershipLostError as error:
                self._lose(error)
            except BehindError as error:
                await self._stay_away(error)
            except (RetriableError, AccessDeniedError) as error:
                if isinstance(error, AccessDeniedError) and not self._in_force.is_set():
                    raise  # later on it may be a broker that starts, or a password that changes
                self._go(Event.COORDINATOR_LOST)
                failures += 1
                if failures == 1:
                    _log.warning("joining the group: will try again", error=str(error))
                await self._clock.sleep(_RETRY.wait_s(failures))

    async def _wait_for_a_wish(self) -> None:
        if self._phase is not Phase.MEMBER:
            return
        if self._rejoin_s is None:
            await self._rejoin.wait()
        else:
            wait_s = self._rejoin_s - self._clock.monotonic()
            await wait_first(self._rejoin.wait(), self._clock.sleep(wait_s))
        if self._phase is Phase.MEMBER:
            self._go(Event.REJOIN)

    async def _take_part(self) -> None:
        """One round, from the wish to join to work that runs."""
        self._rejoin.clear()
        self._rejoin_s = None
        await self._prepare()
        await self._session.find_coordinator()
        self._go(Event.BEGIN)
        snapshot = self._configs.snapshot()
        self._known = _signature(snapshot)
        said = telling.subscriptions(
            self._offered, self._url, snapshot.offset, self._last, self._allotted
        )
        joined = await self._session.join(self._member_id, said)
        self._go(Event.JOINED)
        self._member_id = joined.member_id
        self._pulse.beat_as(joined.member_id, joined.generation)
        self._protocol = GroupProtocol.named(joined.protocol)
        await self._shrink()  # what the picture that it has joined with outdates
        allotments = self._allot(joined, snapshot)
        sent_s = self._clock.boot_s()
        content = await self._session.sync(joined, allotments)
        self._pulse.renew(sent_s)
        self._go(Event.SYNCED)
        self._generation = joined.generation
        await self._take(blobs.load_allotment(content))

    async def _prepare(self) -> None:
        """Nothing runs on that the config topic, or the protocol, does not want any more."""
        await self._configs.refresh()
        if self._protocol is GroupProtocol.EAGER:
            self._let_go(NOTHING)
        await self._shrink()

    def _allot(self, joined: Joined, snapshot: ClusterConfigState) -> dict[str, bytes]:
        if not joined.is_leader:
            self._leading = None
            return {}
        if self._leading is None:
            self._leading = Leading(round(self._settings.rebalance_delay_max_s * 1000))
        assert self._protocol is not None
        allotments = self._leading.allot(
            telling.round_of(joined, self._protocol),
            snapshot,
            self._configs.snapshot,
            last_generation=self._generation,
            now_ms=round(self._clock.monotonic() * 1000),
        )
        return {member: blobs.dump_allotment(given) for member, given in allotments.items()}

    async def _take(self, given: Allotment) -> None:
        """Stop what is revoked, catch up, start what is new."""
        was_leader = self.is_leader
        self._last = given
        if self.is_leader and not was_leader:
            _log.info("leads the group", generation=self._generation)
        if given.error:
            await self._caught_up(given)
            self._wish_to_rejoin()
            return
        is_eager = self._protocol is GroupProtocol.EAGER
        kept = NOTHING if is_eager else self._allotted - given.revoked
        self._allotted = allotted = kept | given.assigned
        if self._let_go(allotted):
            await self._shrink()
        snapshot = await self._caught_up(given)
        if self._phase is not Phase.MEMBER or self._allotted != allotted:
            return  # fenced meanwhile
        self._known = _signature(snapshot)
        if snapshot.offset != given.config_offset:
            self._wish_to_rejoin()  # somebody has written since: what is new does not start yet
            return
        if given.delay_ms > 0:
            self._rejoin_s = self._clock.monotonic() + given.delay_ms / 1000
        if given.revoked or (self._leading is not None and self._leading.is_unfinished):
            self._wish_to_rejoin()
        elif not self._rejoin.is_set():
            self._at_rest.set()
        self._come_into_force(snapshot)

    async def _caught_up(self, given: Allotment) -> ClusterConfigState:
        try:
            async with asyncio.timeout(self._settings.sync_timeout_s):
                if self._configs.snapshot().offset < given.config_offset:
                    await self._configs.refresh()
                if self._allotted:  # also what stays may be another task set by now
                    await self._offsets.refresh()
        except (TimeoutError, RetriableError) as error:
            raise BehindError(
                "reading the config topic and the offsets topic: not at the end within "
                f"{self._settings.sync_timeout_s:g} s (worker.sync.timeout.ms)"
            ) from error
        snapshot = self._configs.snapshot()
        if snapshot.offset < given.config_offset:
            raise BehindError(
                f"the config topic ends at offset {snapshot.offset} here, but another worker of "
                f"the group has read to {given.config_offset} (its leader is {given.leader_url}); "
                "check that all workers of this group.id have the same config.storage.topic and "
                "brokers"
            )
        self._times_behind = 0
        return snapshot

    def _come_into_force(self, snapshot: ClusterConfigState) -> None:
        self._assignment = Assignment(
            generation=self._generation,
            connectors=self._allotted.connectors,
            tasks=self._allotted.tasks,
            task_sets=dict(snapshot.generations),
        )
        _log.info(
            "assigned",
            generation=self._generation,
            connectors=len(self._allotted.connectors),
            tasks=len(self._allotted.tasks),
        )
        self._in_force.set()
        self._tell_change()

    # -- less than before -----------------------------------------------------------------------

    def _let_go(self, allowed: Share) -> bool:
        """Let no more be in force than what is allowed; True if that is less than before."""
        current = self._assignment
        in_force = Share(current.connectors, current.tasks)
        kept = in_force & allowed
        self._allotted &= allowed
        if kept == in_force:
            return False
        self._assignment = Assignment(
            current.generation, kept.connectors, kept.tasks, current.task_sets
        )
        self._tell_change()
        return True

    async def _shrink(self) -> None:
        if self.on_shrink is not None:
            await self.on_shrink()

    async def _stay_away(self, error: BehindError) -> None:
        """Leave the group for a while: it would wait for a member that cannot keep up."""
        self._let_go(NOTHING)
        await self._shrink()
        await self._say_goodbye()
        self._go(Event.REJOIN)
        if self._protocol is GroupProtocol.EAGER:
            wait_s = self._settings.unsync_backoff_s
        else:
            divisor = _STAYS_AWAY_FIRST - self._times_behind % _STAYS_AWAY_FIRST
            wait_s = self._settings.rebalance_delay_max_s / _STAYS_AWAY / divisor
        self._times_behind += 1
        _log.warning("cannot keep up with the group, left it", error=str(error), wait_s=wait_s)
        await self._clock.sleep(wait_s)

    async def _say_goodbye(self) -> None:
        member_id, self._member_id = self._member_id, ""
        self._pulse.beat_as("", -1)
        if not member_id or not self._pulse.is_leased:
            return  # nobody would hear it
        try:
            await run_unless(self._session.leave(member_id, LEAVE_S), self._clock.sleep(LEAVE_S))
        except ConnectdError as error:
            # The session ends by itself; there is nobody left to tell.
            _log.debug("leaving the group without a goodbye", error=str(error))

    def _lose(self, error: MembershipLostError) -> None:
        self._go(Event.MEMBERSHIP_LOST)
        if error.knows_member:
            return
        self._member_id = ""
        self._pulse.beat_as("", -1)
        _log.warning("the group has gone on without this worker", error=str(error))
        self.on_lease_over()

    # -- what the pulse tells -------------------------------------------------------------------

    def on_rebalance(self, generation: int) -> None:
        """See ``pulse.Listener``."""
        if self._phase is Phase.MEMBER and generation == self._generation:
            self._wish_to_rejoin()

    def on_membership_lost(self, generation: int, error: MembershipLostError) -> None:
        """See ``pulse.Listener``: while it joins, its old generation is nothing to be known by."""
        if self._phase is Phase.MEMBER:
            self._lose(error)
        elif not error.knows_member:
            self.on_lease_over()  # the join that is under way will hear of it too
        self._wish_to_rejoin()

    def on_lease_short(self) -> None:
        """See ``pulse.Listener``."""
        if self._let_go(NOTHING):
            _log.warning("no word from the group's coordinator: stopping what runs here")
        self._wish_to_rejoin()

    def on_lease_over(self) -> None:
        """See ``pulse.Listener``."""
        had_lease = self._pulse.lease.ends_s is not None
        self._pulse.lease.drop()
        self._let_go(NOTHING)
        if had_lease and self.on_fenced is not None:
            self.on_fenced()
        self._wish_to_rejoin()

    # -- small things ---------------------------------------------------------------------------

    def _wish_to_rejoin(self) -> None:
        self._at_rest.clear()
        self._rejoin.set()

    def _go(self, event: Event) -> None:
        self._phase = next_phase(self._phase, event)
        if self._phase is not Phase.MEMBER:
            self._at_rest.clear()

    def _tell_change(self) -> None:
        if self.on_change is not None:
            self.on_change()

    def _on_job_failure(self, name: str, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
        self._failed.set()
        if self._in_force.is_set() and self.on_failure is not None:
            self.on_failure(error)


def _signature(snapshot: ClusterConfigState) -> object:
    """What the shares depend on: connectors that there are, and their task sets."""
    return frozenset(snapshot.connectors), dict(snapshot.generations), snapshot.inconsistent
