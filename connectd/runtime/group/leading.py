"""What the leader makes of all subscriptions: one allotment for each member (spec C.5.3).

First the config check: a leader that has not read what another member has would assign by an old
picture; then everybody gets an error, nothing to start, and the offset to read to. Otherwise the
protocol decides how the work is shared. ``Leading`` keeps what the cooperative assignor remembers
between rounds, and who is where for redirections; it is made anew for every leadership.

Pure but for that memory; the clock's reading is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from connectd.model.cluster import ClusterConfigState
from connectd.model.ids import ConnectorTaskId
from connectd.runtime.group import blobs, cooperative, eager
from connectd.runtime.group.blobs import Allotment, Protocol, Subscription
from connectd.runtime.group.shares import NOTHING, Share, configured, union


@dataclass(frozen=True)
class Round:
    """What the group's coordinator tells the leader of a round."""

    protocol: Protocol
    generation: int
    leader: str
    subscriptions: Mapping[str, Subscription]


class Leading:
    """See the module's docstring. ``delay_max_ms`` is ``scheduled.rebalance.max.delay.ms``.

    ``is_unfinished``: another round is to follow at once. When a group falls back to the eager
    protocol its members still run what they had, so the first round deals nothing to anybody.
    ``waiting`` is what nobody was given, since somebody may come back for it.
    """

    def __init__(self, delay_max_ms: int) -> None:
        self.is_unfinished = False
        self.waiting = NOTHING
        self._delay_max_ms = delay_max_ms
        self._memory = cooperative.Memory()
        self._urls: Mapping[str, str] = {}
        self._shares: Mapping[str, Share] = {}

    def allot(
        self,
        round_: Round,
        snapshot: ClusterConfigState,
        latest: Callable[[], ClusterConfigState],
        *,
        last_generation: int,
        now_ms: int,
    ) -> dict[str, Allotment]:
        """Every member's allotment.

        ``snapshot`` is the picture that this member joined with, ``latest`` gives a newer one;
        ``last_generation`` is that of the last allotment that this member has received.
        """
        offsets = [each.config_offset for each in round_.subscriptions.values()]
        offset = max(offsets, default=snapshot.offset)
        if snapshot.offset < offset:
            snapshot = latest()
            if snapshot.offset < offset:
                return self._refused(round_, offset)
            offset = snapshot.offset
        self._urls = {member: each.url for member, each in round_.subscriptions.items()}
        self.is_unfinished = False
        if round_.protocol is Protocol.EAGER:
            return self._deal(round_, offset, configured(snapshot))
        running = {
            member: NOTHING if each.running is None else each.running.assigned
            for member, each in round_.subscriptions.items()
        }
        facts = cooperative.Facts(
            running=running,
            configured=configured(snapshot),
            last_generation=last_generation,
            generation=round_.generation,
            now_ms=now_ms,
            delay_max_ms=self._delay_max_ms,
            urls=self._urls,
        )
        self._memory, outcome = cooperative.round_of(self._memory, facts)
        self._shares = outcome.whole
        self.waiting = facts.configured - union(outcome.whole.values())
        return {
            member: replace(
                self._given(round_, offset, outcome.assigned[member]),
                revoked=outcome.revoked[member],
                delay_ms=outcome.delay_ms,
            )
            for member in round_.subscriptions
        }

    def _deal(self, round_: Round, offset: int, everything: Share) -> dict[str, Allotment]:
        self.is_unfinished = bool(self._memory.members)
        self._memory = cooperative.Memory()
        self.waiting = everything if self.is_unfinished else NOTHING
        self._shares = eager.deal(
            round_.subscriptions, NOTHING if self.is_unfinished else everything
        )
        return {
            member: self._given(round_, offset, share) for member, share in self._shares.items()
        }

    def owner_url(self, item: str | ConnectorTaskId) -> str | None:
        """Where a connector or a task runs, by the last round; None: nowhere that is known."""
        for member, share in self._shares.items():
            if item in (share.tasks if isinstance(item, ConnectorTaskId) else share.connectors):
                return self._urls.get(member)
        return None

    def _refused(self, round_: Round, offset: int) -> dict[str, Allotment]:
        refusal = replace(self._given(round_, offset, NOTHING), error=blobs.CONFIG_MISMATCH)
        return dict.fromkeys(round_.subscriptions, refusal)

    def _given(self, round_: Round, offset: int, share: Share) -> Allotment:
        return Allotment(
            version=round_.protocol.version,
            leader=round_.leader,
            leader_url=round_.subscriptions[round_.leader].url,
            config_offset=offset,
            assigned=share,
        )
