"""What a worker stands on: its stores and its place among others (DESIGN 5).

Here and nowhere else distributed and standalone workers are made of different things.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from connectd.aio.clock import BootClock, Clock
from connectd.configdef import rest_settings
from connectd.configdef.worker import ClusterSettings, InternalTopic, WorkerConfig
from connectd.kafka.group import access
from connectd.kafka.group.client import GroupClient, GroupTimes
from connectd.runtime.group.member import GroupMember
from connectd.runtime.herder import Stores
from connectd.runtime.manners import DISTRIBUTED, STANDALONE, Manners
from connectd.runtime.membership import Membership, StandaloneMember
from connectd.stores.file_offset import FileOffsetStore
from connectd.stores.kafka_config import KafkaConfigStore
from connectd.stores.kafka_offset import KafkaOffsetStore
from connectd.stores.kafka_status import KafkaStatusStore
from connectd.stores.memory import MemoryConfigStore, MemoryStatusStore
from connectd.stores.topic_home import TopicHome

PROTOCOL_TYPE = "connect"
"""What coordinators call the groups of Connect workers."""

OnFailure = Callable[[BaseException], None]


class Ground(Protocol):
    """One of the two kinds; ``client_id`` names the worker's own Kafka clients (spec C.1)."""

    @property
    def manners(self) -> Manners:
        """How it talks to clients."""
        ...

    @property
    def producer_client_id(self) -> str:
        """The id of producers whose settings name none."""
        ...

    def client_id(self, purpose: str) -> str:
        """The id of a client for a purpose."""
        ...

    def stores(self, clock: Clock, on_failure: OnFailure) -> Stores:
        """The three stores, not yet open; ``on_failure`` hears of one that has given up."""
        ...

    def membership(self, url: str, stores: Stores, clock: BootClock) -> Membership:
        """The place of the worker that others reach at ``url``.

        Raises:
            ConfigError: the group's coordinator cannot be reached with these settings.
        """
        ...


def ground_of(config: WorkerConfig) -> Ground:
    """The ground that the configuration describes."""
    if config.cluster is not None:
        return DistributedGround(config, config.cluster)
    assert config.offset_file is not None, "a worker is distributed or standalone"
    return StandaloneGround(config, config.offset_file)


@dataclass(frozen=True)
class DistributedGround:
    """Three compacted topics, and a group."""

    config: WorkerConfig
    cluster: ClusterSettings
    manners: Manners = DISTRIBUTED

    @property
    def producer_client_id(self) -> str:
        return f"connector-producer-{self.cluster.group.id}"

    def client_id(self, purpose: str) -> str:
        own = f"{self.config.client_id}-" if self.config.client_id else ""
        return f"{self.cluster.group.id}-{own}{purpose}"

    def stores(self, clock: Clock, on_failure: OnFailure) -> Stores:
        cluster, flush_s = self.cluster, self.config.offset_flush_timeout_s
        return Stores(
            configs=KafkaConfigStore(
                self._home(cluster.config_topic, "configs"), clock=clock, on_failure=on_failure
            ),
            offsets=KafkaOffsetStore(
                self._home(cluster.offset_topic, "offsets", write_deadline_s=flush_s),
                clock=clock,
                on_failure=on_failure,
            ),
            statuses=KafkaStatusStore(
                self._home(cluster.status_topic, "statuses"), clock=clock, on_failure=on_failure
            ),
        )

    def membership(self, url: str, stores: Stores, clock: BootClock) -> Membership:
        group, worker_id = self.cluster.group, rest_settings.worker_id(url)
        client_id = self.config.client_id or f"connect-{worker_id}"
        session = GroupClient(
            access.read(self.config.client_config(), client_id=client_id),
            group.id,
            PROTOCOL_TYPE,
            GroupTimes(session_s=group.session_timeout_s, rebalance_s=group.rebalance_timeout_s),
        )
        return GroupMember(
            url,
            session=session,
            configs=stores.configs,
            offsets=stores.offsets,
            clock=clock,
            settings=group,
        )

    def _home(
        self, topic: InternalTopic, client: str, *, write_deadline_s: float = 30.0
    ) -> TopicHome:
        return TopicHome(
            client=self.config.client_config(),
            client_id=self.client_id(client),
            topic=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_settings=topic.settings,
            may_create=self.cluster.topics_created,
            create_deadline_s=self.config.broker_wait_s,
            write_deadline_s=write_deadline_s,
        )


@dataclass(frozen=True)
class StandaloneGround:
    """Configs and statuses in memory, offsets in a file, nobody else."""

    config: WorkerConfig
    offset_file: str
    manners: Manners = STANDALONE
    producer_client_id: str = "connector-producer"

    def client_id(self, purpose: str) -> str:
        own = f"{self.config.client_id}-" if self.config.client_id else ""
        return f"connect-{own}{purpose}"

    def stores(self, clock: Clock, on_failure: OnFailure) -> Stores:
        return Stores(
            configs=MemoryConfigStore(),
            offsets=FileOffsetStore(
                self.offset_file, write_deadline_s=self.config.offset_flush_timeout_s
            ),
            statuses=MemoryStatusStore(),
        )

    def membership(self, url: str, stores: Stores, clock: BootClock) -> Membership:
        return StandaloneMember(url)
