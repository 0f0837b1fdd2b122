"""Topics that records go to: names are checked, and topics created by the connector's rules.

Before the first record for a topic is handed to the producer, once per topic and life of a task:
the topic is looked for and, if it is not there, created as its group says (KIP-158, spec D.4.5).
"Exists already" is success; somebody else was quicker. A broker that does not answer is waited
for, with the task's records behind it; ``trouble`` says so. Every other refusal ends the task, in
Kafka's words, with the reason.

Without rules nothing is looked for, and the broker decides whether it creates topics by itself.
Names are checked in any case: a name that Kafka refuses, and the worker's own topics, where a
record would destroy what the cluster remembers. A transform can make up either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import structlog

from connectd.aio.backoff import Backoff
from connectd.aio.clock import Clock
from connectd.configdef.topic_creation import TopicGroup, TopicRules
from connectd.errors import AccessDeniedError, ConnectdError, FatalTaskError, RetriableError
from connectd.kafka import topic_names
from connectd.kafka.admin import TopicSpec
from connectd.model.record import Encoded

_log = structlog.get_logger(__name__)

ANSWER_S: Final = 30.0
"""One question to the broker; asked again until it answers."""

_BACKOFF: Final = Backoff(initial_s=0.5, max_s=10.0)


class TopicAdmin(Protocol):
    """What is asked of the broker (``kafka.admin.KafkaAdmin``)."""

    async def exists(self, topic: str, deadline_s: float) -> bool:
        """Whether there is such a topic."""
        ...

    async def create(self, spec: TopicSpec, deadline_s: float) -> bool:
        """Create it; False when it exists already."""
        ...


class TaskTopics:
    """See the module's docstring. ``open_admin`` is called when a topic is looked for first.

    Owned by one task; ``checked`` alone is pure and may be called in any thread.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        reserved: frozenset[str] = frozenset(),
        rules: TopicRules | None = None,
        open_admin: Callable[[], TopicAdmin] | None = None,
        log_fields: Mapping[str, object] | None = None,
    ) -> None:
        """``reserved`` are the worker's own topics."""
        self._clock = clock
        self._reserved = reserved
        self._rules = rules
        self._open_admin = open_admin
        self._admin: TopicAdmin | None = None
        self._known: set[str] = set()
        self._log_fields = dict(log_fields or {})
        self.trouble = ""

    @property
    def creates(self) -> bool:
        """Whether topics have to be seen to before records are sent."""
        return self._rules is not None and self._open_admin is not None

    def checked(self, encoded: Encoded) -> Encoded:
        """The same page, if all of its topics may be written to.

        Raises:
            FatalTaskError: one may not.
        """
        for topic in encoded.topics:
            problem = illegal_name(topic)
            if problem is not None:
                raise problem
            if topic in self._reserved:
                raise FatalTaskError(
                    f"sending records to topic {topic}: it is one of the worker's own topics, "
                    "which records of connectors would damage; send them to another one"
                )
        return encoded

    async def ensure(self, encoded: Encoded) -> None:
        """See to it that the topics of a page are there.

        Raises:
            FatalTaskError: one of them is not, and cannot be created.
        """
        rules, open_admin = self._rules, self._open_admin
        if rules is None or open_admin is None:
            return
        for topic in encoded.topics:
            if topic in self._known:
                continue
            if self._admin is None:
                self._admin = open_admin()
            await self._ensure(topic, rules.group_of(topic), self._admin)
            self._known.add(topic)

    async def _ensure(self, topic: str, group: TopicGroup, admin: TopicAdmin) -> None:
        attempt = 0
        try:
            while True:
                try:
                    await self._find_or_create(topic, group, admin)
                    return
                except RetriableError as error:
                    attempt += 1
                    if attempt == 1:
                        _log.warning(
                            "seeing to a topic: asked again until the broker answers",
                            topic=topic,
                            error=str(error),
                            **self._log_fields,
                        )
                    self.trouble = f"topic {topic} is not seen to yet: {error}"
                    await self._clock.sleep(_BACKOFF.wait_s(attempt))
        finally:
            self.trouble = ""

    async def _find_or_create(self, topic: str, group: TopicGroup, admin: TopicAdmin) -> None:
        try:
            if await admin.exists(topic, ANSWER_S):
                return
        except RetriableError:
            raise
        except ConnectdError as error:
            raise FatalTaskError(
                f"Error while attempting to describe topics '{topic}': {error}"
            ) from error
        spec = TopicSpec(topic, group.partitions, group.replication_factor, group.settings)
        try:
            is_created = await admin.create(spec, ANSWER_S)
        except RetriableError:
            raise
        except AccessDeniedError as error:
            raise FatalTaskError(
                f"Task failed to create new topic {_text(spec)}. Ensure that the task is "
                "authorized to create topics or that the topic exists and restart the task"
            ) from error
        except ConnectdError as error:
            raise FatalTaskError(f"Unable to create topic(s) '{topic}': {error}") from error
        if is_created:
            _log.info("topic created", topic=topic, group=group.name, **self._log_fields)


def illegal_name(topic: str) -> FatalTaskError | None:
    """Why Kafka would refuse a topic of this name; None: it would not."""
    problem = topic_names.problem(topic)
    if problem is None:
        return None
    return FatalTaskError(
        f"sending records to topic {topic!r}: {problem}; change the connector's topic settings or "
        "the transform that makes this name"
    )


def _text(spec: TopicSpec) -> str:
    """``NewTopic.toString``."""
    partitions, factor = (
        "default" if number == -1 else str(number)
        for number in (spec.partitions, spec.replication_factor)
    )
    settings = ", ".join(f"{name}={text}" for name, text in spec.settings.items())
    return (
        f"(name={spec.name}, numPartitions={partitions}, replicationFactor={factor}, "
        f"replicasAssignments=null, configs={{{settings}}})"
    )
