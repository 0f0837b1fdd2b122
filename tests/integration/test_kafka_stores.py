"""Stores on a real broker: bytes, restarts, garbage, wrong topics, and brokers that go away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

import pytest
import structlog
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but not marked so
    ConfigResource,
    NewTopic,
    ResourceType,
)

from connectd.aio.clock import LoopClock
from connectd.errors import BrokerUnavailableError, ConfigError, RetriableError, WorkerError
from connectd.model.cluster import RestartRequest
from connectd.model.ids import ConnectorTaskId
from connectd.model.record import EncodedRecord, SourcePartition
from connectd.model.states import State, TargetState
from connectd.model.status import Status, TopicStatus
from connectd.stores.kafka_config import KafkaConfigStore
from connectd.stores.kafka_offset import KafkaOffsetStore
from connectd.stores.kafka_status import KafkaStatusStore
from connectd.stores.protocols import Store
from connectd.stores.topic_home import TopicHome
from tests.harness.kafka import KafkaBroker
from tests.harness.topics import read_topic

DEADLINE_S = 120.0
CONFIG = {"name": "s", "connector.class": "connectd.DynamoDBSource"}
TASK = ConnectorTaskId("s", 0)
PARTITION = SourcePartition.of({"table_name": "t"})
S = TypeVar("S", bound=Store)
T = TypeVar("T")


class Home:
    """One set of topics; stores on it can be opened again and again."""

    def __init__(self, broker: KafkaBroker, prefix: str) -> None:
        self.broker = broker
        self.failures: list[WorkerError] = []
        self._home = TopicHome(
            client={"bootstrap.servers": broker.bootstrap, "reconnect.backoff.max.ms": "500"},
            client_id=prefix,
            topic=prefix,
            partitions=3,
            replication_factor=1,
        )

    def topic(self, kind: str) -> str:
        return f"{self._home.topic}{kind}"

    def home(self, kind: str, **changes: object) -> TopicHome:
        return replace(self._home, topic=self.topic(kind), **changes)  # type: ignore[arg-type]

    def config(self, **changes: object) -> KafkaConfigStore:
        home = self.home("configs", **changes)
        return KafkaConfigStore(home, clock=LoopClock(), on_failure=self.failures.append)

    def offset(self, **changes: object) -> KafkaOffsetStore:
        home = self.home("offsets", **changes)
        return KafkaOffsetStore(home, clock=LoopClock(), on_failure=self.failures.append)

    def status(self, **changes: object) -> KafkaStatusStore:
        home = self.home("status", **changes)
        return KafkaStatusStore(home, clock=LoopClock(), on_failure=self.failures.append)

    def create(self, kind: str, partitions: int, **settings: str) -> None:
        names = {name.replace("_", "."): value for name, value in settings.items()}
        topic = NewTopic(self.topic(kind), partitions, 1, config=names)
        admin = self.broker.admin()
        admin.create_topics([topic])[self.topic(kind)].result(DEADLINE_S)

    def write(self, kind: str, records: Sequence[EncodedRecord]) -> None:
        """Write as somebody else."""
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "log_level": 0})
        for key, value in records:
            producer.produce(self.topic(kind), value, key=key)
        assert producer.flush(DEADLINE_S) == 0

    def records(self, kind: str) -> list[EncodedRecord]:
        found = read_topic(self.broker.bootstrap, self.topic(kind))
        return [(record.key, record.value) for record in found]


@pytest.fixture
def home(kafka_broker: KafkaBroker, kafka_prefix: str) -> Home:
    return Home(kafka_broker, kafka_prefix)


@asynccontextmanager
async def opened(store: S) -> AsyncIterator[S]:
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def run(work: Callable[[], Coroutine[None, None, T]]) -> T:
    return asyncio.run(asyncio.wait_for(work(), DEADLINE_S))


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what a thread will bring about; bounded by the deadline of ``run``."""
    while not is_so():  # noqa: ASYNC110  the thread knows nothing of this test's events
        await asyncio.sleep(0.02)


@pytest.mark.kafka
class TestBytes:
    def test_of_the_config_topic(self, home: Home) -> None:
        async def work() -> None:
            async with opened(home.config()) as store:
                await store.put_connector("s", CONFIG, target=TargetState.STOPPED)
                await store.put_tasks("s", [{"tables": "a,b"}, {"tables": "ü"}])
                await store.put_target("s", TargetState.STARTED)
                await store.put_restart(RestartRequest("s", only_failed=True, include_tasks=False))
                await store.delete_connector("s")

        run(work)
        assert home.records("configs") == [
            (b"target-state-s", b'{"state":"PAUSED","state.v2":"STOPPED"}'),
            (
                b"connector-s",
                b'{"properties":{"name":"s","connector.class":"connectd.DynamoDBSource"}}',
            ),
            (b"task-s-0", b'{"properties":{"tables":"a,b"}}'),
            (b"task-s-1", '{"properties":{"tables":"ü"}}'.encode()),
            (b"commit-s", b'{"tasks":2}'),
            (b"target-state-s", b'{"state":"STARTED","state.v2":"STARTED"}'),
            (b"restart-connector-s", b'{"include-tasks":false,"only-failed":true}'),
            (b"connector-s", None),
            (b"target-state-s", None),
        ]

    def test_of_the_offsets_topic(self, home: Home) -> None:
        async def work() -> None:
            async with opened(home.offset()) as store:
                await store.put("s", {PARTITION: {"position": 1024, "init_sync": "RUNNING"}})
                await store.put("s", {PARTITION: None})

        run(work)
        assert home.records("offsets") == [
            (b'["s",{"table_name":"t"}]', b'{"position":1024,"init_sync":"RUNNING"}'),
            (b'["s",{"table_name":"t"}]', None),
        ]

    def test_of_the_status_topic(self, home: Home) -> None:
        async def work() -> None:
            async with opened(home.status()) as store:
                store.put_connector("s", Status(State.RUNNING, "h:8083", 7, version="4.3.1"))
                store.put_task(TASK, Status(State.FAILED, "h:8083", 7, "Error: x\n\tat y"))
                store.put_topic(TopicStatus("orders", "s", 0, 1700000000000))
                assert await store.flush(DEADLINE_S)

        run(work)
        assert dict(home.records("status")) == {
            b"status-connector-s": (
                b'{"state":"RUNNING","trace":null,"worker_id":"h:8083","generation":7,'
                b'"version":"4.3.1"}'
            ),
            b"status-task-s-0": (
                b'{"state":"FAILED","trace":"Error: x\\n\\tat y",'
                b'"worker_id":"h:8083","generation":7,"version":null}'
            ),
            b"status-topic-orders:connector-s": (
                b'{"topic":{"name":"orders","connector":"s","task":0,'
                b'"discoverTimestamp":1700000000000}}'
            ),
        }


@pytest.mark.kafka
class TestReopening:
    def test_everything_is_there_again(self, home: Home) -> None:
        async def work() -> None:
            async with (
                opened(home.config()) as configs,
                opened(home.offset()) as offsets,
                opened(home.status()) as statuses,
            ):
                await configs.put_connector("s", CONFIG, target=TargetState.PAUSED)
                await configs.put_tasks("s", [{"tables": "a"}])
                await offsets.put("s", {PARTITION: {"n": 1}})
                statuses.put_task(TASK, Status(State.PAUSED, "h:8083", 2))
                assert await statuses.flush(DEADLINE_S)
                before = configs.snapshot()
            async with opened(home.config()) as again:
                assert again.snapshot() == before
            async with opened(home.offset()) as again_offsets:
                assert again_offsets.all("s") == {PARTITION: {"n": 1}}
            async with opened(home.status()) as again_statuses:
                assert again_statuses.task(TASK) == Status(State.PAUSED, "h:8083", 2)

        run(work)

    def test_restart_requests_of_the_past_are_history(self, home: Home) -> None:
        seen: list[RestartRequest] = []
        request = RestartRequest("s", only_failed=False, include_tasks=True)

        async def work() -> None:
            async with opened(home.config()) as store:
                await store.put_restart(request)
            later = home.config()
            later.on_restart = seen.append
            async with opened(later):
                assert seen == []
                await later.put_restart(request)
                assert seen == [request]

        run(work)

    def test_two_members_see_each_others_writes(self, home: Home) -> None:
        async def work() -> None:
            async with opened(home.config()) as one, opened(home.config()) as other:
                await one.put_connector("s", CONFIG)
                assert await other.refresh() == one.snapshot()
            async with opened(home.offset()) as writer, opened(home.offset()) as reader:
                await writer.put("s", {PARTITION: {"n": 1}})
                await reader.refresh()
                assert reader.get("s", PARTITION) == {"n": 1}
                await reader.put("s", {PARTITION: {"n": 2}})
                await writer.refresh()
                assert writer.get("s", PARTITION) == {"n": 2}

        run(work)

    def test_tasks_before_their_connector_are_recovered_from(self, home: Home) -> None:
        """Field case O09: what compaction can leave behind."""
        home.create("configs", 1, cleanup_policy="compact")
        home.write(
            "configs",
            [
                (b"task-s-0", b'{"properties":{"tables":"a"}}'),
                (b"commit-s", b'{"tasks":1}'),
                (b"connector-s", b'{"properties":{"name":"s"}}'),
            ],
        )

        async def work() -> None:
            async with opened(home.config()) as store:
                picture = store.snapshot()
                assert picture.connectors == {"s": {"name": "s"}}
                assert picture.tasks("s") == ()
                await store.put_tasks("s", [{"tables": "a"}])
                assert store.snapshot().tasks("s") == (TASK,)

        run(work)


GARBAGE: list[EncodedRecord] = [
    (b"\xff\xfe", b"{}"),
    (b"nonsense", b"nonsense"),
    (b'["s"', b"{}"),
    (b"connector-", b"{"),
    (b"status-task-s-x", b"[]"),
]


@pytest.mark.kafka
def test_garbage_is_skipped_with_one_warning_each_and_nothing_is_lost(home: Home) -> None:
    home.create("configs", 1, cleanup_policy="compact")
    home.create("offsets", 1, cleanup_policy="compact")
    home.create("status", 1, cleanup_policy="compact")
    goods: dict[str, EncodedRecord] = {
        "configs": (b"connector-s", b'{"properties":{"name":"s"}}'),
        "offsets": (b'["s",{"table_name":"t"}]', b'{"n":1}'),
        "status": (
            b"status-connector-s",
            b'{"state":"RUNNING","trace":null,"worker_id":"h:1","generation":1}',
        ),
    }
    bads: dict[str, list[EncodedRecord]] = {
        # What a key of this topic with a value of no sense may not do is undo the good one.
        kind: [*GARBAGE, (good[0], b"\xff"), (good[0], b"7")]
        for kind, good in goods.items()
    }
    for kind, good in goods.items():
        home.write(kind, [good, *bads[kind]])

    async def work() -> None:
        async with (
            opened(home.config()) as configs,
            opened(home.offset()) as offsets,
            opened(home.status()) as statuses,
        ):
            assert configs.snapshot().connectors == {"s": {"name": "s"}}
            assert offsets.get("s", PARTITION) == {"n": 1}
            assert statuses.connector("s") == Status(State.RUNNING, "h:1", 1)

    with structlog.testing.capture_logs() as lines:
        run(work)
    skipped = [line for line in lines if line["event"].endswith("record skipped")]
    assert len(skipped) == sum(len(records) for records in bads.values())
    assert all(line["log_level"] == "warning" and line["reason"] for line in skipped)


@pytest.mark.kafka("exact")
class TestTopics:
    def test_they_are_created_compacted_with_the_settings_asked_for(self, home: Home) -> None:
        settings = {"segment.ms": "100000", "cleanup.policy": "delete"}

        async def work() -> None:
            async with opened(home.offset(topic_settings=settings)):
                pass

        run(work)
        topic = home.topic("offsets")
        admin = home.broker.admin()
        assert len(admin.list_topics(topic, timeout=DEADLINE_S).topics[topic].partitions) == 3
        resource = ConfigResource(ResourceType.TOPIC, topic)
        found = admin.describe_configs([resource])[resource].result(DEADLINE_S)
        assert found["cleanup.policy"].value == "compact"
        assert found["segment.ms"].value == "100000"

    @pytest.mark.parametrize(
        ("kind", "purpose"),
        [
            ("configs", "connector configurations"),
            ("offsets", "source connector offsets"),
            ("status", "connector and task statuses"),
        ],
    )
    @pytest.mark.parametrize("policy", ["delete", "compact,delete"])
    def test_one_that_would_lose_data_is_refused_by_name(
        self, home: Home, kind: str, purpose: str, policy: str
    ) -> None:
        """Field case O10."""
        home.create(kind, 1, cleanup_policy=policy)
        stores: dict[str, Callable[[], Store]] = {
            "configs": home.config,
            "offsets": home.offset,
            "status": home.status,
        }
        prefix = {"configs": "config", "offsets": "offset", "status": "status"}[kind]

        async def work() -> None:
            store = stores[kind]()
            with pytest.raises(ConfigError) as caught:
                await store.open()
            await store.close()
            text = str(caught.value)
            assert text.startswith(
                f"Topic '{home.topic(kind)}' supplied via the '{prefix}.storage.topic' property is "
                "required to have 'cleanup.policy=compact' to guarantee consistency and "
                f"durability of {purpose}, but found the topic currently has "
                f"'cleanup.policy={policy}'. Continuing"
            )

        run(work)

    def test_a_config_topic_with_several_partitions_is_refused(self, home: Home) -> None:
        home.create("configs", 2, cleanup_policy="compact")

        async def work() -> None:
            store = home.config()
            with pytest.raises(ConfigError) as caught:
                await store.open()
            await store.close()
            assert str(caught.value) == (
                f"Topic '{home.topic('configs')}' supplied via the 'config.storage.topic' property "
                "is required to have a single partition in order to guarantee consistency of "
                "connector configurations, but found 2 partitions."
            )

        run(work)

    def test_a_replication_factor_that_the_cluster_cannot_give_is_the_users_business(
        self, home: Home
    ) -> None:
        async def work() -> None:
            store = home.status(replication_factor=3)
            with pytest.raises(ConfigError, match=r"status\.storage\.replication\.factor"):
                await store.open()
            await store.close()

        run(work)

    def test_the_brokers_default_of_partitions_and_replicas(self, home: Home) -> None:
        async def work() -> None:
            async with opened(home.status(replication_factor=-1, partitions=-1)) as store:
                assert await store.flush(DEADLINE_S)

        run(work)


def test_a_broker_that_never_answers_is_told_at_start() -> None:
    nowhere = TopicHome(
        client={"bootstrap.servers": "127.0.0.1:1"},
        client_id="c",
        topic="t",
        partitions=1,
        replication_factor=1,
        create_deadline_s=0.5,
    )

    failures: list[WorkerError] = []

    async def work() -> None:
        store = KafkaConfigStore(nowhere, clock=LoopClock(), on_failure=failures.append)
        with pytest.raises(WorkerError, match="preparing topic t: "):
            await store.open()
        await store.close()

    run(work)


@pytest.mark.kafka("control", "durable")
class TestABrokerThatIsAway:
    def test_offsets_miss_their_deadline_and_newer_ones_supersede(self, home: Home) -> None:
        async def work() -> None:
            async with opened(home.offset(write_deadline_s=0.5)) as store:
                await store.put("s", {PARTITION: {"n": 0}})
                with home.broker.paused():
                    for number in (1, 2, 3):
                        with pytest.raises(RetriableError, match="not acknowledged within"):
                            await store.put("s", {PARTITION: {"n": number}})
                await until_put(store, {"n": 4})
                assert store.get("s", PARTITION) == {"n": 4}
            async with opened(home.offset()) as again:
                assert again.get("s", PARTITION) == {"n": 4}

        async def until_put(store: KafkaOffsetStore, offset: dict[str, int]) -> None:
            while True:
                try:
                    await store.put("s", {PARTITION: offset})
                except RetriableError:
                    continue
                return

        run(work)
        values = [value for _, value in home.records("offsets")]
        # 1 was on its way and arrived later; 2 and 3 were withdrawn.
        assert values == [b'{"n":0}', b'{"n":1}', b'{"n":4}']

    def test_a_config_write_that_failed_does_not_come_true_later(self, home: Home) -> None:
        async def work() -> None:
            async with opened(home.config(write_deadline_s=1.0)) as store:
                await store.put_connector("s", CONFIG)
                with (
                    home.broker.away(),
                    pytest.raises(
                        BrokerUnavailableError,
                        match=r"^Error writing connector configuration to Kafka$",
                    ),
                ):
                    await store.put_connector("late", CONFIG)
                await until_refreshed(store)
                assert set(store.snapshot().connectors) == {"s"}

        async def until_refreshed(store: KafkaConfigStore) -> None:
            while True:
                try:
                    await store.refresh()
                except RetriableError:
                    continue
                return

        run(work)

    def test_only_the_latest_statuses_are_written_when_it_returns(self, home: Home) -> None:
        async def work() -> None:
            async with opened(home.status()) as store:
                store.put_task(TASK, Status(State.RUNNING, "h:1", 1))
                assert await store.flush(DEADLINE_S)
                with home.broker.away():
                    for _ in range(100):
                        store.put_task(TASK, Status(State.PAUSED, "h:1", 1))
                        store.put_task(TASK, Status(State.RUNNING, "h:1", 1))
                    failed = Status(State.FAILED, "h:1", 1, "why")
                    store.put_task(TASK, failed, safe=True)
                    assert not await store.flush(0.1)
                assert await store.flush(DEADLINE_S)
                assert store.task(TASK) == failed

        run(work)
        assert len(home.records("status")) <= 3
