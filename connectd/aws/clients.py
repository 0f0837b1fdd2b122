"""Opens and closes everything for one ``AwsSettings``, and shares it between its users.

``AwsClients`` owns threads, connections, credentials and rate limits; the four clients in it are
thin. ``AwsClientPool`` counts users: connectors with equal settings share one ``AwsClients``, and
so one connection pool and one budget of calls towards the account.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from connectd.aio.clock import Clock
from connectd.aws.blocking import BlockingCalls
from connectd.aws.call_counts import CallCounts, OperationCounts
from connectd.aws.control import ControlPlane
from connectd.aws.credentials import CredentialsSource, NotedTime
from connectd.aws.dynamodb import DynamoDbClient
from connectd.aws.endpoints import FixedEndpoint, ProbedEndpoints
from connectd.aws.errors import Call
from connectd.aws.exports import ExportsClient
from connectd.aws.pooled_transport import PooledTransport
from connectd.aws.rate import TokenBucket
from connectd.aws.session import CONTROL_PLANE_CALLS_MAX, USER_AGENT, AwsSession
from connectd.aws.settings import AwsSettings
from connectd.aws.streams import DESCRIBE_STREAM_PER_S, StreamsClient
from connectd.aws.tagging import TAGGING_CALLS_PER_S, TaggingClient
from connectd.aws.transport import TransportSettings, tls_context
from connectd.aws.wire import Endpoints, JsonWire
from connectd.errors import InvariantError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient as BotoDynamoDb
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient as BotoStreams
    from mypy_boto3_resourcegroupstaggingapi import ResourceGroupsTaggingAPIClient as BotoTagging

# Opening reads files only; ten seconds are for disks that are asleep.
_OPEN_DEADLINE_S = 10.0
# boto3's threads come back when their sockets time out; the process does not wait longer.
_CLOSE_DEADLINE_S = 5.0


DataService = Literal["dynamodb", "dynamodbstreams"]


@dataclass(frozen=True)
class _Made:
    """What reading files and service models yields; made in a thread."""

    session: AwsSession
    tls: ssl.SSLContext
    dynamodb: BotoDynamoDb
    streams: BotoStreams
    tagging: BotoTagging


def _make(settings: AwsSettings, time: NotedTime) -> _Made:
    session = AwsSession(settings, time)
    return _Made(
        session=session,
        tls=tls_context(session.ca_bundle()),
        dynamodb=session.client("dynamodb"),
        streams=session.client("dynamodbstreams"),
        tagging=session.client("resourcegroupstaggingapi"),
    )


class AwsClients:
    """The clients of one ``AwsSettings``: ``dynamodb``, ``streams``, ``tagging``, ``exports``.

    Between ``open`` and ``close`` they may be used by any job on the loop. Opening reads no
    network: wrong credentials show on the first call.
    """

    dynamodb: DynamoDbClient
    streams: StreamsClient
    tagging: TaggingClient
    exports: ExportsClient

    def __init__(
        self,
        settings: AwsSettings,
        clock: Clock,
        counts: CallCounts | None = None,
        *,
        processes: int = 1,
    ) -> None:
        """``counts`` hears of every call; several clients may share it.

        ``processes`` of a worker that call with the same settings share what the account allows.
        """
        self._processes = processes
        self._counts = counts or CallCounts(clock)
        self.settings = settings
        self._clock = clock
        self._blocking: BlockingCalls | None = None
        self._keys: CredentialsSource | None = None
        self._transport: PooledTransport | None = None
        self._made: _Made | None = None
        self._exports: ExportsClient | None = None

    async def open(self) -> None:
        """Make the clients. Raises ``ConfigError`` for a region or profile that does not exist.

        After a failure everything is closed again.
        """
        if self._blocking is not None:
            raise InvariantError(f"AWS clients for {self.settings.region} are open already")
        self._blocking = BlockingCalls(threads_max=CONTROL_PLANE_CALLS_MAX)
        time = NotedTime(self._clock)
        try:
            self._made = await self._blocking.run(
                Call("opening AWS clients", self.settings.region),
                _OPEN_DEADLINE_S,
                _make,
                self.settings,
                time,
            )
            await self._open(self._made, self._blocking, time)
        except BaseException:
            await self.close()
            raise

    async def _open(self, made: _Made, blocking: BlockingCalls, time: NotedTime) -> None:
        settings, clock, session = self.settings, self._clock, made.session
        deadline_s = settings.call_deadline_s
        self._keys = keys = CredentialsSource(
            session.credentials, time, call=session.credentials_call, deadline_s=deadline_s
        )
        self._transport = transport = PooledTransport(
            TransportSettings(
                tls=made.tls,
                connections_max=settings.pool_connections_max,
                connect_timeout_s=settings.connect_timeout_s,
                user_agent=USER_AGENT,
            )
        )
        await transport.open()
        counts = self._counts
        control = ControlPlane(blocking=blocking, keys=keys, deadline_s=deadline_s, counts=counts)

        def wire(service: DataService, endpoint_url: str, override: str | None) -> JsonWire:
            endpoints: Endpoints
            if override is not None or settings.account_id_endpoint_mode == "disabled":
                endpoints = FixedEndpoint(endpoint_url, region=settings.region)
            else:
                endpoints = ProbedEndpoints(
                    lambda: session.client(service), control, region=settings.region
                )
            return JsonWire(
                transport=transport,
                endpoints=endpoints,
                keys=keys,
                clock=clock,
                deadline_s=deadline_s,
                counts=counts,
            )

        self.dynamodb = DynamoDbClient(
            wire=wire("dynamodb", made.dynamodb.meta.endpoint_url, settings.dynamodb_endpoint)
        )
        self.streams = StreamsClient(
            client=made.streams,
            wire=wire("dynamodbstreams", made.streams.meta.endpoint_url, settings.streams_endpoint),
            control=control,
            describe_bucket=TokenBucket(
                rate_per_s=DESCRIBE_STREAM_PER_S / self._processes, clock=clock
            ),
        )
        self.tagging = TaggingClient(
            client=made.tagging,
            control=control,
            bucket=TokenBucket(rate_per_s=TAGGING_CALLS_PER_S / self._processes, clock=clock),
        )
        self.exports = self._exports = ExportsClient(
            client=made.dynamodb, make_s3=lambda: session.client("s3"), control=control
        )

    async def close(self) -> None:
        """Close connections and threads. Calls under way fail; safe to call twice."""
        if self._transport is not None:
            await self._transport.close()
            self._transport = None
        if self._keys is not None:
            self._keys.close()
            self._keys = None
        if self._blocking is not None:
            await self._blocking.close(deadline_s=_CLOSE_DEADLINE_S)
            self._blocking = None
        if self._exports is not None:
            self._exports.close()
            self._exports = None
        if self._made is not None:
            for client in (self._made.dynamodb, self._made.streams, self._made.tagging):
                client.close()
            self._made = None


@dataclass(frozen=True)
class PoolStatistics:
    """Distinct settings with open clients, and the users of all of them."""

    settings: int
    users: int


@dataclass
class _Shared:
    clients: AwsClients
    users: int


class AwsClientPool:
    """Shares ``AwsClients`` between those who ask with equal settings. Owned by one event loop."""

    def __init__(self, clock: Clock, *, processes: int = 1) -> None:
        """``processes``: how many of them share what an account allows (``AwsClients``)."""
        self._clock = clock
        self._processes = processes
        self._counts = CallCounts(clock)
        self._shared: dict[AwsSettings, _Shared] = {}
        # Opening and closing are rare and short; one at a time keeps the counts simple.
        self._changing = asyncio.Lock()

    async def acquire(self, settings: AwsSettings) -> AwsClients:
        """Open clients for these settings, or share the ones that are open.

        Each ``acquire`` that returned is answered by one ``release``. Raises what
        ``AwsClients.open`` raises, and then nothing is to be released.
        """
        async with self._changing:
            shared = self._shared.get(settings)
            if shared is None:
                clients = AwsClients(settings, self._clock, self._counts, processes=self._processes)
                await clients.open()
                shared = self._shared[settings] = _Shared(clients, 0)
            shared.users += 1
            return shared.clients

    async def release(self, clients: AwsClients) -> None:
        """Give clients back; the last user's release closes them."""
        async with self._changing:
            shared = self._shared.get(clients.settings)
            if shared is None or shared.clients is not clients:
                raise InvariantError(
                    f"AWS clients for {clients.settings.region} are released once too often"
                )
            shared.users -= 1
            if shared.users == 0:
                del self._shared[clients.settings]
                await clients.close()

    async def close(self) -> None:
        """Close all clients, whoever still has them."""
        async with self._changing:
            while self._shared:
                _, shared = self._shared.popitem()
                await shared.clients.close()

    def calls(self) -> Mapping[str, OperationCounts]:
        """Every call since the start, by operation."""
        return self._counts.statistics()

    def statistics(self) -> PoolStatistics:
        """What is open and for how many."""
        users = sum(each.users for each in self._shared.values())
        return PoolStatistics(settings=len(self._shared), users=users)
