"""What a member tells the group, and hears of it, in the group's own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from connectd.kafka.group.client import Joined
from connectd.runtime.group import blobs
from connectd.runtime.group.blobs import Allotment, Subscription
from connectd.runtime.group.blobs import Protocol as GroupProtocol
from connectd.runtime.group.leading import Round
from connectd.runtime.group.pulse import Heart
from connectd.runtime.group.shares import Share


class Session(Heart, Protocol):
    """What a member needs of ``kafka.group.client.GroupClient``."""

    async def join(self, member_id: str, protocols: Sequence[tuple[str, bytes]]) -> Joined:
        """Join, or join again."""
        ...

    async def sync(self, joined: Joined, assignments: Mapping[str, bytes]) -> bytes:
        """This member's assignment; the leader brings those of all."""
        ...

    async def leave(self, member_id: str, deadline_s: float) -> None:
        """Leave at once, rather than by silence."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


def subscriptions(
    offered: Sequence[GroupProtocol],
    url: str,
    config_offset: int,
    last: Allotment | None,
    allotted: Share,
) -> list[tuple[str, bytes]]:
    """A member's subscription in each protocol that it offers, the best first.

    ``last`` is what the leader gave it last, ``allotted`` what it still has of that and of all
    before; a member that has nothing says that nobody gave it anything.
    """
    return [
        (
            each.wire_name,
            blobs.dump_subscription(
                Subscription(each.version, url, config_offset, _running(each, last, allotted))
            ),
        )
        for each in offered
    ]


def _running(protocol: GroupProtocol, last: Allotment | None, allotted: Share) -> Allotment | None:
    if last is None or not allotted:
        return None
    return Allotment(
        version=protocol.version,
        leader=last.leader,
        leader_url=last.leader_url,
        config_offset=last.config_offset,
        assigned=allotted,
    )


def round_of(joined: Joined, protocol: GroupProtocol) -> Round:
    """What the coordinator has told the leader.

    Raises:
        WireError: a member has told it what no subscription is.
    """
    said = {member: blobs.load_subscription(each) for member, each in joined.members.items()}
    return Round(protocol, joined.generation, joined.leader, said)
