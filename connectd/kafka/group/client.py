"""A group at its coordinator: join, sync, heartbeat, leave.

``GroupClient`` knows where the coordinator is and how its answers are to be taken; it does not know
when to ask, nor what members tell each other: that is the caller's state machine. Two connections
to the coordinator: one for heartbeats, since a join waits for the slowest member. Each request is
sent once; repeating is the caller's business.

What goes wrong is one of:

* ``BrokerUnavailableError``     no coordinator (any more): find it again
* ``RebalanceUnderWayError``     the group wants everybody to join again
* ``MembershipLostError``        the group has gone on without this member
* ``ConfigError``, ``AccessDeniedError``: only somebody else can mend it
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import KafkaError

from connectd.errors import (
    BrokerUnavailableError,
    ConfigError,
    ConflictError,
    ConnectdError,
    RetriableError,
)
from connectd.kafka import errors
from connectd.kafka.group import requests
from connectd.kafka.group.access import Access
from connectd.kafka.group.connection import BrokerConnection

JOIN_LAPSE_S: Final = 5.0
"""A join is answered within the rebalance timeout of the group, and a little later (Java's own)."""

_GROUP: Final = 0

_MOVED: Final = frozenset(
    {
        KafkaError.UNKNOWN,  # a broker that is starting or stopping may say no more than that
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
    }
)
_LOST: Final = frozenset(
    {
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.FENCED_INSTANCE_ID,
    }
)


class RebalanceUnderWayError(RetriableError):
    """Everybody is to join again."""


class MembershipLostError(ConflictError):
    """The group has gone on without this member; ``knows_member``: only its generation is old."""

    def __init__(self, message: str, *, knows_member: bool) -> None:
        super().__init__(message)
        self.knows_member = knows_member


@dataclass(frozen=True)
class GroupTimes:
    """What the group is promised, in seconds (``session.timeout.ms``, ``rebalance.timeout.ms``)."""

    session_s: float
    rebalance_s: float


@dataclass(frozen=True)
class Joined:
    """An answer to a join; ``members`` is there for the leader alone: metadata by member id."""

    generation: int
    protocol: str
    leader: str
    member_id: str
    members: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def is_leader(self) -> bool:
        """Whether this member is to assign."""
        return self.leader == self.member_id


class GroupClient:
    """See the module's docstring. Used by one job on the loop, and by one more for heartbeats."""

    def __init__(self, access: Access, group: str, protocol_type: str, times: GroupTimes) -> None:
        self._access = access
        self._group = group
        self._protocol_type = protocol_type
        self._times = times
        self._coordinator: tuple[str, int] | None = None
        self._main: BrokerConnection | None = None
        self._pulse: BrokerConnection | None = None
        self._servers = list(access.servers)
        self._next_server = 0

    @property
    def coordinator(self) -> str | None:
        """Where the coordinator is, as far as is known."""
        return None if self._coordinator is None else "{}:{}".format(*self._coordinator)

    async def find_coordinator(self) -> None:
        """Ask one broker after the other, at most each once, for the coordinator.

        Raises:
            BrokerUnavailableError: none answers, or there is no coordinator yet.
            AccessDeniedError, ConfigError: see ``BrokerConnection.open``.
        """
        if self._coordinator is not None:
            return
        servers = self._servers
        failure: ConnectdError | None = None
        for _ in servers:
            host, port = servers[self._next_server % len(servers)]
            try:
                connection = await BrokerConnection.open(host, port, self._access)
                try:
                    self._coordinator = await self._ask_for_coordinator(connection)
                finally:
                    await connection.close()
                if self._coordinator not in servers:
                    servers.append(self._coordinator)  # one more that may know where it has moved
                return
            except BrokerUnavailableError as error:
                failure = error
                self._next_server += 1
        raise failure or BrokerUnavailableError("bootstrap.servers names no broker")

    async def _ask_for_coordinator(self, connection: BrokerConnection) -> tuple[str, int]:
        answer = await connection.call(
            requests.FIND_COORDINATOR, self._access.request_s, key=self._group, key_type=_GROUP
        )
        self._check(answer["error_code"], "finding the coordinator")
        return answer["host"], answer["port"]

    async def join(self, member_id: str, protocols: Sequence[tuple[str, bytes]]) -> Joined:
        """Join, or join again; waits for the other members. "" asks for a member id.

        Raises: see the module's docstring.
        """
        named = [{"name": name, "metadata": metadata} for name, metadata in protocols]
        for _ in range(2):
            answer = await self._call_main(
                requests.JOIN_GROUP,
                self._times.rebalance_s + JOIN_LAPSE_S,
                session_timeout_ms=round(self._times.session_s * 1000),
                rebalance_timeout_ms=round(self._times.rebalance_s * 1000),
                member_id=member_id,
                group_instance_id=None,
                protocol_type=self._protocol_type,
                protocols=named,
            )
            if answer["error_code"] != KafkaError.MEMBER_ID_REQUIRED:
                break
            member_id = answer["member_id"]  # told to come again with it (KIP-394)
        self._check(answer["error_code"], "joining")
        return Joined(
            generation=answer["generation_id"],
            protocol=answer["protocol_name"] or "",
            leader=answer["leader"],
            member_id=answer["member_id"],
            members={each["member_id"]: each["metadata"] for each in answer["members"]},
        )

    async def sync(self, joined: Joined, assignments: Mapping[str, bytes]) -> bytes:
        """This member's assignment; the leader brings those of all, the others none.

        Raises: see the module's docstring.
        """
        answer = await self._call_main(
            requests.SYNC_GROUP,
            self._times.rebalance_s + JOIN_LAPSE_S,
            generation_id=joined.generation,
            member_id=joined.member_id,
            group_instance_id=None,
            assignments=[
                {"member_id": member, "assignment": content}
                for member, content in assignments.items()
            ],
        )
        self._check(answer["error_code"], "syncing")
        return bytes(answer["assignment"] or b"")

    async def heartbeat(self, member_id: str, generation: int, deadline_s: float) -> None:
        """Tell that one lives.

        Raises: see the module's docstring.
        """
        answer = await self._call_pulse(
            requests.HEARTBEAT,
            deadline_s,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=None,
        )
        self._check(answer["error_code"], "sending a heartbeat")

    async def leave(self, member_id: str, deadline_s: float) -> None:
        """Leave at once, rather than by silence.

        Raises: see the module's docstring.
        """
        answer = await self._call_pulse(
            requests.LEAVE_GROUP,
            deadline_s,
            member_id=member_id,
            members=[{"member_id": member_id, "group_instance_id": None}],
        )
        self._check(answer["error_code"], "leaving")

    def forget_coordinator(self) -> None:
        """It has moved, or does not answer: the next call looks for it."""
        self._coordinator = None
        for connection in (self._main, self._pulse):
            if connection is not None:
                connection.abort()
        self._main = self._pulse = None

    async def close(self) -> None:
        """Close the connections; bounded. Idempotent."""
        connections = (self._main, self._pulse)
        self._main = self._pulse = None
        for connection in connections:
            if connection is not None:
                await connection.close()

    async def _call_main(self, api: requests.Api, deadline_s: float, **body: Any) -> Any:
        with self._minding_failure():
            if self._main is None or not self._main.is_open:
                self._main = await self._connected()
            return await self._main.call(api, deadline_s, group_id=self._group, **body)

    async def _call_pulse(self, api: requests.Api, deadline_s: float, **body: Any) -> Any:
        with self._minding_failure():
            if self._pulse is None or not self._pulse.is_open:
                self._pulse = await self._connected()
            return await self._pulse.call(api, deadline_s, group_id=self._group, **body)

    async def _connected(self) -> BrokerConnection:
        if self._coordinator is None:
            raise BrokerUnavailableError(f"group {self._group}: its coordinator is not known")
        host, port = self._coordinator
        return await BrokerConnection.open(host, port, self._access)

    @contextlib.contextmanager
    def _minding_failure(self) -> Iterator[None]:
        try:
            yield
        except BrokerUnavailableError:
            self.forget_coordinator()
            raise

    def _check(self, code: int, doing: str) -> None:
        """Raise what an error code means for a member of the group."""
        if not code:
            return
        where = f"{doing}: group {self._group}"
        error = KafkaError(code)
        if code in _MOVED:
            self.forget_coordinator()
            raise BrokerUnavailableError(f"{where}: {error.str()} ({error.name()})")
        if code == KafkaError.REBALANCE_IN_PROGRESS:
            raise RebalanceUnderWayError(f"{where}: it rebalances")
        if code in _LOST:
            knows_member = code == KafkaError.ILLEGAL_GENERATION
            raise MembershipLostError(
                f"{where}: {error.str()} ({error.name()})", knows_member=knows_member
            )
        if code in _ADVICE:
            raise ConfigError(f"{where}: {error.str()} ({error.name()}); {_ADVICE[code]}")
        raise errors.translate(error, where)


_ADVICE: Final = {
    KafkaError.INCONSISTENT_GROUP_PROTOCOL: (
        "consumers, or workers with a connect.protocol that shares nothing with ours, have this "
        "group.id already; give the Connect cluster a group.id of its own"
    ),
    KafkaError.INVALID_SESSION_TIMEOUT: (
        "session.timeout.ms must lie between the brokers' group.min.session.timeout.ms and "
        "group.max.session.timeout.ms"
    ),
    KafkaError.GROUP_MAX_SIZE_REACHED: "the brokers' group.max.size allows no more workers",
}
