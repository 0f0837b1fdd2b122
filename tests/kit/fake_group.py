"""A group's coordinator in memory, on the loop's own time: joins that wait, sessions that end.

It does what a broker does to members of one group, as far as a member can tell: a join waits for
all members that are known, silent ones are given up after the session timeout, a member that has
been given up is unknown. ``FakeSession`` is one member's line to it, and can be cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from connectd.errors import BrokerUnavailableError
from connectd.kafka.group.client import Joined, MembershipLostError, RebalanceUnderWayError


@dataclass
class _Member:
    protocols: Mapping[str, bytes]
    expires: asyncio.TimerHandle | None = None
    waits: asyncio.Future[Joined] | None = None
    syncs: asyncio.Future[bytes] | None = None


@dataclass
class FakeGroup:
    """See the module's docstring; ``joins`` counts completed rebalances."""

    session_s: float = 10.0
    rebalance_s: float = 60.0
    generation: int = 0
    members: dict[str, _Member] = field(default_factory=dict)
    leader: str = ""
    assignments: dict[str, bytes] | None = None
    is_preparing: bool = False
    born: int = 0

    def session(self) -> FakeSession:
        """A line for one more member."""
        return FakeSession(self)

    # -- what sessions call ---------------------------------------------------------------------

    async def join(self, member_id: str, protocols: Sequence[tuple[str, bytes]]) -> Joined:
        if not member_id:
            self.born += 1
            member_id = f"member-{self.born:03}"
            self.members[member_id] = _Member(dict(protocols))
        member = self._member(member_id)
        member.protocols = dict(protocols)
        waits: asyncio.Future[Joined] = asyncio.get_running_loop().create_future()
        member.waits = waits
        self._prepare()
        self._complete_if_all_are_there()
        return await waits

    async def sync(self, joined: Joined, assignments: Mapping[str, bytes]) -> bytes:
        member = self._current(joined.member_id, joined.generation)
        self._heard(joined.member_id)
        if self.is_preparing:
            raise RebalanceUnderWayError("it rebalances")
        if joined.is_leader:
            self.assignments = dict(assignments)
            for member_id, other in self.members.items():
                if other.syncs is not None and not other.syncs.done():
                    other.syncs.set_result(self.assignments.get(member_id, b""))
        if self.assignments is None:
            member.syncs = asyncio.get_running_loop().create_future()
            return await member.syncs
        return self.assignments.get(joined.member_id, b"")

    def heartbeat(self, member_id: str, generation: int) -> None:
        self._current(member_id, generation)
        self._heard(member_id)
        if self.is_preparing:
            raise RebalanceUnderWayError("it rebalances")

    def leave(self, member_id: str) -> None:
        self._member(member_id)
        self._remove(member_id)

    # -- inside ---------------------------------------------------------------------------------

    def _member(self, member_id: str) -> _Member:
        found = self.members.get(member_id)
        if found is None:
            raise MembershipLostError("unknown member", knows_member=False)
        return found

    def _current(self, member_id: str, generation: int) -> _Member:
        member = self._member(member_id)
        if generation != self.generation:
            raise MembershipLostError("illegal generation", knows_member=True)
        return member

    def _heard(self, member_id: str) -> None:
        member = self.members[member_id]
        if member.expires is not None:
            member.expires.cancel()
        loop = asyncio.get_running_loop()
        member.expires = loop.call_later(self.session_s, self._remove, member_id)

    def _remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is None:
            return
        if member.expires is not None:
            member.expires.cancel()
        if self.members:
            self._prepare()
            self._complete_if_all_are_there()

    def _prepare(self) -> None:
        if self.is_preparing:
            return
        self.is_preparing = True
        for member in self.members.values():
            if member.syncs is not None and not member.syncs.done():
                member.syncs.set_exception(RebalanceUnderWayError("it rebalances"))
        loop = asyncio.get_running_loop()
        loop.call_later(self.rebalance_s, self._give_up_the_slow, self.generation)

    def _give_up_the_slow(self, generation: int) -> None:
        if self.is_preparing and self.generation == generation:
            for member_id in [name for name, each in self.members.items() if each.waits is None]:
                self._remove(member_id)

    def _complete_if_all_are_there(self) -> None:
        if not self.members or any(each.waits is None for each in self.members.values()):
            return
        self.is_preparing = False
        self.generation += 1
        self.assignments = None
        if self.leader not in self.members:
            self.leader = next(iter(self.members))
        name = self._protocol()
        for member_id, member in self.members.items():
            waits, member.waits = member.waits, None
            is_leader = member_id == self.leader
            said = {each: other.protocols[name] for each, other in self.members.items()}
            joined = Joined(
                self.generation, name, self.leader, member_id, said if is_leader else {}
            )
            assert waits is not None
            if not waits.done():
                waits.set_result(joined)
            self._heard(member_id)

    def _protocol(self) -> str:
        first = next(iter(self.members.values()))
        return next(
            name
            for name in first.protocols
            if all(name in each.protocols for each in self.members.values())
        )


class FakeSession:
    """One member's line; ``is_cut``: nothing arrives, and nothing comes back."""

    def __init__(self, group: FakeGroup) -> None:
        self.is_cut = False
        self.has_left = False
        self._group = group

    async def find_coordinator(self) -> None:
        self._check()

    async def join(self, member_id: str, protocols: Sequence[tuple[str, bytes]]) -> Joined:
        self._check()
        joined = await self._group.join(member_id, protocols)
        self._check()
        return joined

    async def sync(self, joined: Joined, assignments: Mapping[str, bytes]) -> bytes:
        self._check()
        content = await self._group.sync(joined, assignments)
        self._check()
        return content

    async def heartbeat(self, member_id: str, generation: int, deadline_s: float) -> None:
        self._check()
        self._group.heartbeat(member_id, generation)

    async def leave(self, member_id: str, deadline_s: float) -> None:
        self._check()
        self.has_left = True
        self._group.leave(member_id)

    async def close(self) -> None:
        """Nothing is open."""

    def _check(self) -> None:
        if self.is_cut:
            raise BrokerUnavailableError("the line is cut")
