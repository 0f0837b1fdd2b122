"""Topics and cluster: create, describe, end offsets; waiting for a broker.

``KafkaAdmin`` asks one AdminClient at a time. Its calls return futures that librdkafka resolves
from a thread of its own; they are awaited on the loop, each with a deadline. The client belongs to
the keeper (``admin_keeper``), which does not let go of it before all of them are resolved.

A client that names no broker, or has answered nothing for ``PATIENCE_S``, is not asked again: the
next question goes to a new one. For when brokers say that there are none, librdkafka forgets those
that it knows and often does not go back to bootstrap.servers, and such a client never finds the
cluster again (librdkafka issue 5301).

What is not to be called here is ``describe_cluster``: when the answer names no broker, librdkafka
finds that it has no result, and aborts the process. Brokers answer so for a moment when all of them
were silent for longer than their session, and when they start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but not marked so
    AdminClient,
    ClusterMetadata,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but not marked so
    TopicDescription as KafkaTopicDescription,
)

from connectd.aio import threads
from connectd.aio.clock import Clock
from connectd.errors import (
    AccessDeniedError,
    BrokerUnavailableError,
    ConfigError,
    ConflictError,
    ConnectdError,
    NotFoundError,
    RetriableError,
)
from connectd.kafka import clientconf, errors
from connectd.kafka.admin_keeper import KEEPER
from connectd.kafka.clientconf import Settings
from connectd.kafka.voice import ClientVoice

T = TypeVar("T")

ATTEMPT_S = 5.0
"""One question to a broker that may be away; asked again until the caller's deadline."""

ANY_TOPIC = "__consumer_offsets"
"""Named where the answer must be about some topic; it need not exist, nor be visible."""

_LATEST = OffsetSpec.latest()  # type: ignore[no-untyped-call]

RETRY_S = 0.5
"""Between two such questions."""

PATIENCE_S: Final = 30.0
"""How long a client may answer nothing: brokers that are busy take long to let one in."""

_UNANSWERED: Final = {KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN}
"""What librdkafka says when nobody said anything."""


@dataclass(frozen=True)
class TopicSpec:
    """A topic to be created. -1 for partitions or replication factor: the broker's default."""

    name: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TopicDescription:
    """A topic that exists. ``cleanup_policy`` is None where its settings may not be read."""

    name: str
    partitions: int
    has_leaders: bool
    cleanup_policy: str | None


class SharedAdmins:
    """One admin client for all who want the same one, for as long as one of them keeps it.

    A client costs threads and a connection, and most of those who create topics create them with
    the same settings.
    """

    def __init__(self, *, client_id: str, clock: Clock) -> None:
        self._client_id = client_id
        self._clock = clock
        self._admins: WeakValueDictionary[tuple[tuple[str, str], ...], KafkaAdmin] = (
            WeakValueDictionary()
        )

    def get(self, settings: Settings) -> KafkaAdmin:
        """The client for these settings (Java names, no prefix).

        Raises:
            ConfigError: librdkafka does not accept them.
        """
        key = tuple(sorted(settings.items()))
        admin = self._admins.get(key)
        if admin is None:
            client_id = settings.get("client.id", self._client_id)
            admin = KafkaAdmin(settings, client_id=client_id, clock=self._clock)
            self._admins[key] = admin
        return admin


class KafkaAdmin:
    """See the module's docstring; used on one event loop."""

    def __init__(self, settings: Settings, *, client_id: str, clock: Clock) -> None:
        """Create the client; nothing is connected yet.

        Raises:
            ConfigError: librdkafka does not accept the settings.
        """
        self._voice = ClientVoice(client_id, is_quiet=True)
        # Its log would say, several times a second, what the callback says too.
        quiet = {"log_level": 0, "error_cb": self._voice.on_error}
        self._conf = clientconf.admin_conf(settings, client_id=client_id) | quiet
        self._asked = _AskedClient(self._conf)
        self._clock = clock

    @property
    def trouble(self) -> str:
        """Why the brokers do not answer, in librdkafka's words; empty: they do, or nothing heard.

        The errors of unanswered questions have it in their message.
        """
        return self._voice.trouble

    async def wait_broker(self, deadline_s: float) -> str:
        """Wait until a broker answers; returns the id of the cluster.

        Raises:
            BrokerUnavailableError: none did before the deadline.
            AccessDeniedError: one did, and refused the credentials.
        """
        end = self._clock.monotonic() + deadline_s
        while True:
            left_s = end - self._clock.monotonic()
            try:
                return await self.cluster_id(min(ATTEMPT_S, max(left_s, 0.1)))
            except RetriableError as error:
                if left_s <= RETRY_S:
                    raise BrokerUnavailableError(
                        f"waiting for a Kafka broker: none answered within {deadline_s:g} s; check "
                        f"that the brokers run and that bootstrap.servers reaches them{self._why()}"
                    ) from error
            await self._clock.sleep(RETRY_S)

    async def cluster_id(self, deadline_s: float) -> str:
        """The id of the cluster, as soon as a broker of it is ready to serve.

        Raises:
            RetriableError: no answer in time, or none is.
        """
        asked = self._asked
        future = _metadata(asked.client, deadline_s)
        answer = await self._answer(asked, future, "asking for the cluster", deadline_s)
        if not answer.brokers:
            self._give_up(asked)
            raise BrokerUnavailableError(
                "asking for the cluster: the broker that answered knows of none that is ready"
            )
        return str(answer.cluster_id)

    async def create(self, spec: TopicSpec, deadline_s: float) -> bool:
        """Create a topic; False when it exists already.

        Raises:
            ConfigError: the cluster cannot have it as asked for (replication factor, settings).
            AccessDeniedError: the worker may not create it.
            RetriableError: no answer in time; it may exist by now.
        """
        new_topic = NewTopic(
            spec.name,
            num_partitions=spec.partitions,
            replication_factor=spec.replication_factor,
            config=dict(spec.settings),
        )
        asked = self._asked
        futures = asked.client.create_topics([new_topic], request_timeout=deadline_s)
        doing = f"creating topic {spec.name}"
        try:
            await self._answer(asked, futures[spec.name], doing, deadline_s)
        except ConflictError:
            return False
        return True

    async def describe(self, topic: str, deadline_s: float) -> TopicDescription | None:
        """What a topic is like; None when it does not exist. Never creates it.

        Raises:
            RetriableError: no answer in time.
            AccessDeniedError: the worker may not even see it.
        """
        try:
            answer = await self._describe(topic, deadline_s)
        except NotFoundError:
            return None
        return TopicDescription(
            name=topic,
            partitions=len(answer.partitions),
            has_leaders=all(each.leader is not None for each in answer.partitions),
            cleanup_policy=await self._cleanup_policy(topic, deadline_s),
        )

    async def exists(self, topic: str, deadline_s: float) -> bool:
        """Whether there is such a topic. Never creates it.

        Raises:
            RetriableError: no answer in time.
            AccessDeniedError: the client may not even see it.
            ConfigError: no topic can have this name.
        """
        try:
            await self._describe(topic, deadline_s)
        except NotFoundError:
            return False
        return True

    async def _describe(self, topic: str, deadline_s: float) -> KafkaTopicDescription:
        asked, topics = self._asked, TopicCollection([topic])
        futures = asked.client.describe_topics(topics, request_timeout=deadline_s)
        return await self._answer(asked, futures[topic], f"describing topic {topic}", deadline_s)

    async def _cleanup_policy(self, topic: str, deadline_s: float) -> str | None:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        asked = self._asked
        futures = asked.client.describe_configs([resource], request_timeout=deadline_s)
        doing = f"describing the settings of topic {topic}"
        try:
            entries = await self._answer(asked, futures[resource], doing, deadline_s)
        except AccessDeniedError:
            return None
        entry = entries.get("cleanup.policy")
        return None if entry is None else str(entry.value)

    async def end_offsets(
        self, topic: str, partitions: int, deadline_s: float, *, committed: bool = False
    ) -> dict[int, int]:
        """Offset of the next record of each partition, asked for now.

        ``committed``: of the next one that a reader of committed records may see.

        Raises:
            RetriableError: no answer in time.
        """
        places = {TopicPartition(topic, each): _LATEST for each in range(partitions)}
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        asked = self._asked
        futures = asked.client.list_offsets(
            places, request_timeout=deadline_s, isolation_level=level
        )
        doing = f"listing the end offsets of topic {topic}"
        try:
            answers = await asyncio.gather(
                *(self._answer(asked, future, doing, deadline_s) for future in futures.values())
            )
        except RetriableError:
            # librdkafka remembers that it knew no leaders and, when asked again, answers from
            # that memory. Describing the topic makes it ask: the next call will be right.
            await self._describe(topic, deadline_s)
            raise
        return {
            place.partition: answer.offset for place, answer in zip(futures, answers, strict=True)
        }

    def _answer(
        self, asked: _AskedClient, future: Future[T], doing: str, deadline_s: float
    ) -> Coroutine[Any, Any, T]:
        """The answer, to be awaited; the client is kept for it from here on."""
        asked.kept.expect(future)
        return self._awaited(asked, future, doing, deadline_s)

    async def _awaited(
        self, asked: _AskedClient, future: Future[T], doing: str, deadline_s: float
    ) -> T:
        # Shielded: librdkafka cannot resolve a future that was cancelled.
        answer = asyncio.shield(asyncio.wrap_future(future))
        try:
            # librdkafka's own timeout comes first as a rule, and says more.
            result = await asyncio.wait_for(answer, deadline_s + 1.0)
        except KafkaException as error:
            if errors.kafka_error(error).code() in _UNANSWERED:
                self._on_silence(asked)
            else:
                asked.silent_since_s = None
            raise self._translated(error, doing) from error
        except TimeoutError as error:
            self._on_silence(asked)
            raise BrokerUnavailableError(
                f"{doing}: no answer within {deadline_s:g} s{self._why()}"
            ) from error
        asked.silent_since_s = None
        self._voice.on_answer()
        return result

    def _on_silence(self, asked: _AskedClient) -> None:
        asked.client.poll(0)  # what it has to say of that
        now_s = self._clock.monotonic()
        if asked.silent_since_s is None:
            asked.silent_since_s = now_s
        elif now_s - asked.silent_since_s >= PATIENCE_S:
            self._give_up(asked)

    def _give_up(self, asked: _AskedClient) -> None:
        """Ask another client from now on; what this one was asked, it answers or not."""
        if asked is self._asked:  # the first of those who wait for it
            self._asked = _AskedClient(self._conf)

    def _translated(self, error: KafkaException, doing: str) -> ConnectdError:
        translated = errors.translate(error, doing)
        if not isinstance(translated, RetriableError):
            self._voice.on_answer()
            return translated
        self._asked.client.poll(0)
        return type(translated)(f"{translated}{self._why()}")

    def _why(self) -> str:
        return f". {self.trouble}" if self.trouble else ""


class _AskedClient:
    """A client as long as it is asked; the keeper looks whether this object is still there."""

    silent_since_s: float | None = None
    """When a question was not answered, if none has been since."""

    def __init__(self, conf: dict[str, Any]) -> None:
        try:
            self.client = AdminClient(conf)
        except KafkaException as error:
            raise ConfigError(
                f"creating an admin client: {errors.kafka_error(error).str()}"
            ) from error
        self.kept = KEEPER.keep(self.client, self)


def _metadata(client: AdminClient, deadline_s: float) -> Future[ClusterMetadata]:
    """What a broker says of the cluster and of one topic, which is not created by that.

    confluent_kafka has this as a blocking call alone.
    """
    return threads.started(
        lambda: client.list_topics(ANY_TOPIC, timeout=deadline_s), name="kafka-metadata"
    )
