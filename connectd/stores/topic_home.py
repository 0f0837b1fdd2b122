"""The topics that stores live in: created when missing, refused when they would lose data.

Rules and texts of spec kafka-connect C.1: compaction is forced on creation, demanded of a topic
that exists, and not asked about where its settings may not be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connectd.aio.clock import Clock
from connectd.errors import ConfigError, RetriableError, WorkerError
from connectd.kafka.admin import KafkaAdmin, TopicDescription, TopicSpec

METADATA_S = 30.0
"""How long a topic may take until all of its partitions have leaders."""

ATTEMPT_S = 5.0
RETRY_S = 0.1
RETRY_MAX_S = 1.0

_COMPACT = "compact"


@dataclass(frozen=True)
class TopicHome:
    """Where a store lives, and with which client settings it is reached.

    ``client`` holds client settings under their Java names, without prefix
    (``kafka.clientconf.select`` takes them out of a worker's configuration). ``partitions`` and
    ``replication_factor`` -1 mean the broker's default. ``topic_settings`` are those of the
    ``*.storage.`` prefix, without it; a ``cleanup.policy`` in them is ignored. ``may_create`` is
    ``internal.topics.automatic.creation.enable``.
    ``create_deadline_s`` bounds how long a broker is waited for at start (Java's
    ``default.api.timeout.ms``), ``open_deadline_s`` how long reading the topic may take then,
    ``write_deadline_s`` a single write.
    """

    client: Mapping[str, str]
    client_id: str
    topic: str
    partitions: int
    replication_factor: int
    topic_settings: Mapping[str, str] = field(default_factory=dict)
    may_create: bool = True
    create_deadline_s: float = 60.0
    open_deadline_s: float = 300.0
    write_deadline_s: float = 30.0


@dataclass(frozen=True)
class HomeRules:
    """What kind of store this is: the words of its messages, and its special demand."""

    topic_property: str
    purpose: str
    is_single_partition: bool = False


CONFIG_RULES = HomeRules(
    "config.storage.topic", "connector configurations", is_single_partition=True
)
OFFSET_RULES = HomeRules("offset.storage.topic", "source connector offsets")
STATUS_RULES = HomeRules("status.storage.topic", "connector and task statuses")


async def prepare(home: TopicHome, rules: HomeRules, *, admin: KafkaAdmin, clock: Clock) -> int:
    """Create or verify the topic of a store; returns its number of partitions.

    Raises:
        ConfigError: it exists in a shape that would lose data, or cannot be created as asked for.
        AccessDeniedError: the worker may not create it.
        WorkerError: no broker answered, or its partitions have no leaders, in time.
    """
    is_new = await _create(home, rules, admin, clock)
    found = await _await_leaders(home.topic, admin, clock)
    if not is_new:
        _verify(found, rules)
    return found.partitions


async def _create(home: TopicHome, rules: HomeRules, admin: KafkaAdmin, clock: Clock) -> bool:
    spec = TopicSpec(
        name=home.topic,
        partitions=1 if rules.is_single_partition else home.partitions,
        replication_factor=home.replication_factor,
        settings={**home.topic_settings, "cleanup.policy": _COMPACT},
    )
    end = clock.monotonic() + home.create_deadline_s
    while True:
        attempt_s = min(ATTEMPT_S, max(end - clock.monotonic(), RETRY_S))
        try:
            if await admin.describe(home.topic, attempt_s) is not None:
                return False
            if not home.may_create:
                raise ConfigError(
                    f"topic {home.topic} of {rules.topic_property} does not exist, and "
                    "internal.topics.automatic.creation.enable is false; create it compacted, or "
                    "let the worker do it"
                )
            return await _create_as_asked(spec, rules, admin, attempt_s)
        except RetriableError as error:
            if clock.monotonic() >= end:
                raise WorkerError(f"preparing topic {home.topic}: {error}") from error
        await clock.sleep(RETRY_MAX_S)


async def _create_as_asked(
    spec: TopicSpec, rules: HomeRules, admin: KafkaAdmin, deadline_s: float
) -> bool:
    try:
        return await admin.create(spec, deadline_s)
    except ConfigError as error:
        prefix = rules.topic_property.removesuffix("topic")
        raise ConfigError(
            f"{error}; create topic {spec.name} by hand, or change {prefix}replication.factor, "
            f"{prefix}partitions or another {prefix}* setting of the worker"
        ) from error


async def _await_leaders(topic: str, admin: KafkaAdmin, clock: Clock) -> TopicDescription:
    end = clock.monotonic() + METADATA_S
    wait_s = RETRY_S
    while True:
        found: TopicDescription | None = None
        cause: RetriableError | None = None
        try:
            found = await admin.describe(topic, ATTEMPT_S)
        except RetriableError as error:
            cause = error
        if found is not None and found.partitions and found.has_leaders:
            return found
        if clock.monotonic() >= end:
            raise WorkerError(
                f"Could not look up partition metadata for topic '{topic}' in the allotted period. "
                "This could indicate a connectivity issue, unavailable topic partitions, or if "
                "this is your first use of the topic it may have taken too long to create."
            ) from cause
        await clock.sleep(wait_s)
        wait_s = min(2 * wait_s, RETRY_MAX_S)


def _verify(found: TopicDescription, rules: HomeRules) -> None:
    policy, wanted = found.cleanup_policy, rules.topic_property
    if policy is not None and policy.replace(" ", "") != _COMPACT:
        raise ConfigError(
            f"Topic '{found.name}' supplied via the '{wanted}' property is required to have "
            f"'cleanup.policy=compact' to guarantee consistency and durability of {rules.purpose}, "
            f"but found the topic currently has 'cleanup.policy={policy}'. Continuing would likely "
            f"result in eventually losing {rules.purpose} and problems restarting this Connect "
            f"cluster in the future. Change the '{wanted}' property in the Connect worker "
            "configurations to use a topic with 'cleanup.policy=compact'."
        )
    if rules.is_single_partition and found.partitions != 1:
        raise ConfigError(
            f"Topic '{found.name}' supplied via the '{wanted}' property is required to have a "
            "single partition in order to guarantee consistency of connector configurations, but "
            f"found {found.partitions} partitions."
        )
