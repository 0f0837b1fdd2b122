"""One suite for every backing store: those of a standalone worker, and compacted topics.

A store on Kafka shows a status when it has been read back; ``flush`` waits for that, in memory it
is a matter of course.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from connectd.aio.clock import LoopClock
from connectd.errors import ConfigError, WorkerError
from connectd.model.cluster import ClusterConfigState, LoggerChange, RestartRequest, SessionKey
from connectd.model.ids import ConnectorTaskId
from connectd.model.record import SourceOffset, SourcePartition
from connectd.model.states import State, TargetState
from connectd.model.status import Status, TopicStatus
from connectd.stores.file_offset import FileOffsetStore
from connectd.stores.kafka_config import KafkaConfigStore
from connectd.stores.kafka_offset import KafkaOffsetStore
from connectd.stores.kafka_status import KafkaStatusStore
from connectd.stores.memory import MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore
from connectd.stores.protocols import ConfigStore, OffsetStore, StatusStore, Store
from connectd.stores.topic_home import TopicHome

DEADLINE_S = 20.0
CONFIG = {"name": "s", "connector.class": "connectd.DynamoDBSource", "tasks.max": "2"}
S = TypeVar("S", bound=Store)


@dataclass(frozen=True)
class Stores:
    """Makes the stores of one kind; opened and closed by ``use``."""

    config: Callable[[], ConfigStore]
    offset: Callable[[], OffsetStore]
    status: Callable[[], StatusStore]


def _no_failure(error: WorkerError) -> None:
    raise AssertionError(error)


@pytest.fixture(params=["memory", "file", pytest.param("kafka", marks=pytest.mark.kafka)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    if request.param == "memory":
        return Stores(MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore)
    if request.param == "file":

        def in_file() -> FileOffsetStore:
            return FileOffsetStore(tmp_path / "offsets", write_deadline_s=DEADLINE_S)

        return Stores(MemoryConfigStore, in_file, MemoryStatusStore)
    bootstrap = request.getfixturevalue("kafka_broker").bootstrap
    prefix = request.getfixturevalue("kafka_prefix")

    def home(kind: str, partitions: int) -> TopicHome:
        return TopicHome(
            client={"bootstrap.servers": bootstrap},
            client_id=f"{prefix}{kind}",
            topic=f"{prefix}{kind}",
            partitions=partitions,
            replication_factor=1,
            write_deadline_s=DEADLINE_S,
        )

    clock = LoopClock()
    return Stores(
        lambda: KafkaConfigStore(home("configs", 1), clock=clock, on_failure=_no_failure),
        lambda: KafkaOffsetStore(home("offsets", 5), clock=clock, on_failure=_no_failure),
        lambda: KafkaStatusStore(home("status", 3), clock=clock, on_failure=_no_failure),
    )


def use(make: Callable[[], S], work: Callable[[S], Awaitable[None]]) -> None:
    """Run ``work`` on a store that is open."""

    async def bounded() -> None:
        async with asyncio.timeout(2 * DEADLINE_S):
            store = make()
            await store.open()
            try:
                await work(store)
            finally:
                await store.close()
                await store.close()

    asyncio.run(bounded())


class TestConfigStore:
    def test_a_new_one_is_empty(self, stores: Stores) -> None:
        async def work(store: ConfigStore) -> None:
            picture = store.snapshot()
            assert picture == ClusterConfigState()
            assert await store.refresh() == picture

        use(stores.config, work)

    def test_a_connector_is_in_the_picture_when_its_writer_returns(self, stores: Stores) -> None:
        async def work(store: ConfigStore) -> None:
            seen: list[ClusterConfigState] = []
            store.on_change = seen.append
            await store.put_connector("s", CONFIG)
            assert store.snapshot().connectors == {"s": CONFIG}
            assert store.snapshot().target("s") is TargetState.STARTED
            assert seen[-1] == store.snapshot()
            changed = {**CONFIG, "tasks.max": "3"}
            await store.put_connector("s", changed)
            assert store.snapshot().connectors == {"s": changed}
            assert [each.offset for each in seen] == sorted({each.offset for each in seen})

        use(stores.config, work)

    def test_a_connector_may_be_created_with_a_target_state(self, stores: Stores) -> None:
        async def work(store: ConfigStore) -> None:
            await store.put_connector("s", CONFIG, target=TargetState.STOPPED)
            assert store.snapshot().target("s") is TargetState.STOPPED

        use(stores.config, work)

    def test_one_that_held_a_connector_is_never_new_again(self, stores: Stores) -> None:
        async def write(store: ConfigStore) -> None:
            await store.put_session_key(SessionKey(b"k" * 32, "HmacSHA256", 1))
            # One that keeps nothing is always new, which means nothing.
            assert store.is_new is not isinstance(store, MemoryConfigStore)
            await store.put_connector("s", CONFIG)
            assert not store.is_new
            await store.delete_connector("s")

        async def look(store: ConfigStore) -> None:
            assert not store.is_new

        use(stores.config, write)
        use(stores.config, look)

    @pytest.mark.parametrize("target", list(TargetState))
    def test_target_states(self, stores: Stores, target: TargetState) -> None:
        async def work(store: ConfigStore) -> None:
            await store.put_connector("s", CONFIG)
            await store.put_target("s", target)
            assert store.snapshot().target("s") is target

        use(stores.config, work)

    def test_task_sets_replace_each_other_as_a_whole(self, stores: Stores) -> None:
        async def work(store: ConfigStore) -> None:
            await store.put_connector("s", CONFIG)
            await store.put_tasks("s", [{"part": "a"}, {"part": "b"}])
            picture = store.snapshot()
            assert [picture.task_configs[task]["part"] for task in picture.tasks("s")] == ["a", "b"]
            assert picture.generations["s"] == 0
            assert picture.applied["s"] == CONFIG
            await store.put_tasks("s", [{"part": "c"}])
            picture = store.snapshot()
            assert [picture.task_configs[task]["part"] for task in picture.tasks("s")] == ["c"]
            assert picture.generations["s"] == 1
            await store.put_tasks("s", [])
            assert store.snapshot().tasks("s") == ()

        use(stores.config, work)

    def test_a_deleted_connector_leaves_nothing_in_the_picture(self, stores: Stores) -> None:
        async def work(store: ConfigStore) -> None:
            await store.put_connector("s", CONFIG, target=TargetState.PAUSED)
            await store.put_tasks("s", [{"part": "a"}])
            await store.delete_connector("s")
            picture = store.snapshot()
            assert (picture.connectors, picture.task_configs, picture.targets) == ({}, {}, {})
            await store.put_connector("s", CONFIG)
            assert store.snapshot().target("s") is TargetState.STARTED
            assert store.snapshot().tasks("s") == ()

        use(stores.config, work)

    def test_restart_requests_are_handed_over_once(self, stores: Stores) -> None:
        request = RestartRequest("s", only_failed=True, include_tasks=True)

        async def work(store: ConfigStore) -> None:
            seen: list[RestartRequest] = []
            store.on_restart = seen.append
            await store.put_restart(request)
            await store.refresh()
            assert seen == [request]

        use(stores.config, work)

    def test_levels_of_loggers_are_handed_over_once(self, stores: Stores) -> None:
        change = LoggerChange("connectd.rest", "debug")

        async def work(store: ConfigStore) -> None:
            seen: list[LoggerChange] = []
            store.on_logger = seen.append
            await store.put_logger(change)
            await store.refresh()
            assert seen == [change]

        use(stores.config, work)

    def test_a_session_key_is_read_back(self, stores: Stores) -> None:
        key = SessionKey(bytes(range(32)), "HmacSHA256", 1_700_000_000_000)

        async def work(store: ConfigStore) -> None:
            assert store.snapshot().session_key is None
            await store.put_session_key(key)
            assert store.snapshot().session_key == key

        use(stores.config, work)

    def test_writers_do_not_disturb_each_other(self, stores: Stores) -> None:
        async def work(store: ConfigStore) -> None:
            names = [f"c-{number}" for number in range(20)]
            await asyncio.gather(*(store.put_connector(name, CONFIG) for name in names))
            await asyncio.gather(*(store.put_tasks(name, [{"of": name}]) for name in names))
            picture = store.snapshot()
            assert set(picture.connectors) == set(names)
            for name in names:
                (task,) = picture.tasks(name)
                assert picture.task_configs[task] == {"of": name}

        use(stores.config, work)

    @pytest.mark.parametrize("name", ["täble ☃", 'quo"te\\', "a-0-1", " "])
    def test_names_and_values_of_any_text(self, stores: Stores, name: str) -> None:
        config = {"name": name, "note": 'tab\tnew\nline "quoted" \x01 🎉'}

        async def work(store: ConfigStore) -> None:
            await store.put_connector(name, config)
            await store.put_tasks(name, [config])
            picture = store.snapshot()
            assert picture.connectors == {name: config}
            assert picture.task_configs == {ConnectorTaskId(name, 0): config}

        use(stores.config, work)


PARTITION = SourcePartition.of({"table_name": "t"})
OTHER = SourcePartition.of({"table_name": "t", "shard_id": "s-1"})


class TestOffsetStore:
    def test_an_unknown_partition_has_no_offset(self, stores: Stores) -> None:
        async def work(store: OffsetStore) -> None:
            await store.refresh()
            assert store.get("c", PARTITION) is None
            assert store.all("c") == {}

        use(stores.offset, work)

    def test_offsets_are_visible_at_once_and_stay(self, stores: Stores) -> None:
        offset: SourceOffset = {
            "init_sync": "FINISHED",
            "count": 3,
            "share": 0.5,
            "flag": True,
            "none": None,
        }

        async def work(store: OffsetStore) -> None:
            putting = asyncio.ensure_future(store.put("c", {PARTITION: offset}))
            await asyncio.sleep(0)
            assert store.get("c", PARTITION) == offset
            await putting
            for _ in range(2):
                assert store.get("c", PARTITION) == offset
                assert store.all("c") == {PARTITION: offset}
                await store.refresh()
            assert store.get("other", PARTITION) is None

        use(stores.offset, work)

    def test_types_survive(self, stores: Stores) -> None:
        offset: SourceOffset = {"int": 2**62, "float": 1.0, "bool": False, "text": "1"}

        async def work(store: OffsetStore) -> None:
            await store.put("c", {PARTITION: offset})
            await store.refresh()
            found = store.get("c", PARTITION) or {}
            assert {name: type(value) for name, value in found.items()} == {
                "int": int,
                "float": float,
                "bool": bool,
                "text": str,
            }

        use(stores.offset, work)

    def test_the_latest_put_wins(self, stores: Stores) -> None:
        async def work(store: OffsetStore) -> None:
            puts = [store.put("c", {PARTITION: {"n": n}, OTHER: {"n": -n}}) for n in range(50)]
            await asyncio.gather(*puts)
            assert store.all("c") == {PARTITION: {"n": 49}, OTHER: {"n": -49}}
            await store.refresh()
            assert store.all("c") == {PARTITION: {"n": 49}, OTHER: {"n": -49}}

        use(stores.offset, work)

    def test_none_removes_an_offset(self, stores: Stores) -> None:
        async def work(store: OffsetStore) -> None:
            await store.put("c", {PARTITION: {"n": 1}, OTHER: {"n": 2}})
            await store.put("c", {PARTITION: None})
            for _ in range(2):
                assert store.get("c", PARTITION) is None
                assert store.all("c") == {OTHER: {"n": 2}}
                await store.refresh()

        use(stores.offset, work)

    def test_an_unknown_partition_may_be_removed(self, stores: Stores) -> None:
        """Field case O04."""

        async def work(store: OffsetStore) -> None:
            await store.put("c", {PARTITION: None})
            assert store.all("c") == {}

        use(stores.offset, work)

    def test_connectors_are_kept_apart(self, stores: Stores) -> None:
        async def work(store: OffsetStore) -> None:
            await asyncio.gather(
                *(store.put(f"c-{n}", {PARTITION: {"n": n}, OTHER: {"n": -n}}) for n in range(20))
            )
            await store.refresh()
            for number in range(20):
                assert store.all(f"c-{number}") == {PARTITION: {"n": number}, OTHER: {"n": -number}}
            assert store.connectors() == {f"c-{number}" for number in range(20)}
            await store.put("c-7", {PARTITION: None, OTHER: None})
            await store.refresh()
            assert store.connectors() == {f"c-{number}" for number in range(20) if number != 7}

        use(stores.offset, work)

    def test_the_order_of_members_is_part_of_a_partitions_name(self, stores: Stores) -> None:
        swapped = SourcePartition(tuple(reversed(OTHER.items)))

        async def work(store: OffsetStore) -> None:
            await store.put("c", {OTHER: {"n": 1}, swapped: {"n": 2}})
            await store.refresh()
            assert store.all("c") == {OTHER: {"n": 1}, swapped: {"n": 2}}

        use(stores.offset, work)

    @pytest.mark.parametrize("value", [[1], {"a": 1}, b"bytes", float("nan"), "\ud800"])
    def test_one_offset_that_cannot_be_written_fails_the_whole_put(
        self, stores: Stores, value: object
    ) -> None:
        bad: dict[SourcePartition, SourceOffset | None] = {
            PARTITION: {"n": 1},
            OTHER: {"bad": value},  # type: ignore[dict-item]
        }

        async def work(store: OffsetStore) -> None:
            with pytest.raises(ConfigError):
                await store.put("c", bad)
            await store.refresh()
            assert store.all("c") == {}

        use(stores.offset, work)

    def test_nothing_to_put_is_done_at_once(self, stores: Stores) -> None:
        async def work(store: OffsetStore) -> None:
            await store.put("c", {})
            assert store.all("c") == {}

        use(stores.offset, work)


TASK = ConnectorTaskId("a-b", 1)


def status(state: State, worker: str = "w1:8083", generation: int = 3) -> Status:
    return Status(state, worker, generation)


async def settled(store: StatusStore) -> None:
    assert await store.flush(DEADLINE_S)


class TestStatusStore:
    def test_nothing_is_known_of_strangers(self, stores: Stores) -> None:
        async def work(store: StatusStore) -> None:
            await settled(store)
            assert store.connector("s") is None
            assert store.task(TASK) is None
            assert store.tasks("s") == {}
            assert store.topics("s") == ()
            assert store.connectors() == frozenset()

        use(stores.status, work)

    def test_the_latest_status_wins(self, stores: Stores) -> None:
        async def work(store: StatusStore) -> None:
            for state in (State.RUNNING, State.PAUSED, State.RESTARTING, State.RUNNING):
                store.put_connector("a-b", status(state))
                store.put_task(TASK, status(state))
            failed = Status(State.FAILED, "w1:8083", 3, trace="TableGoneError: t\n\tat …")
            store.put_task(TASK, failed, safe=True)
            await settled(store)
            assert store.connector("a-b") == status(State.RUNNING)
            assert store.task(TASK) == failed
            assert store.tasks("a-b") == {TASK: failed}
            assert store.connectors() == {"a-b"}

        use(stores.status, work)

    def test_a_removed_connector_takes_its_tasks_along(self, stores: Stores) -> None:
        async def work(store: StatusStore) -> None:
            other = ConnectorTaskId("other", 0)
            for task in (TASK, ConnectorTaskId("a-b", 0), other):
                store.put_task(task, status(State.RUNNING))
            store.put_connector("a-b", status(State.RUNNING))
            store.put_connector("a-b", None)
            await settled(store)
            assert store.connector("a-b") is None
            assert store.tasks("a-b") == {}
            assert store.task(other) == status(State.RUNNING)

        use(stores.status, work)

    def test_a_removed_task_is_gone(self, stores: Stores) -> None:
        async def work(store: StatusStore) -> None:
            store.put_task(TASK, status(State.RUNNING))
            await settled(store)
            store.put_task(TASK, None)
            await settled(store)
            assert store.task(TASK) is None

        use(stores.status, work)

    @pytest.mark.parametrize(
        ("ours", "is_written"),
        [
            (status(State.FAILED, "w2:8083", 4), False),
            (status(State.FAILED, "w2:8083", 5), True),
            (status(State.FAILED, "w1:8083", 4), True),
        ],
    )
    def test_a_safe_write_overrules_nobody_newer(
        self, stores: Stores, ours: Status, is_written: bool
    ) -> None:
        async def work(store: StatusStore) -> None:
            theirs = status(State.RUNNING, "w1:8083", 5)
            store.put_task(TASK, theirs)
            store.put_connector("a-b", theirs)
            await settled(store)
            store.put_task(TASK, ours, safe=True)
            store.put_connector("a-b", ours, safe=True)
            await settled(store)
            expected = ours if is_written else theirs
            assert store.task(TASK) == expected
            assert store.connector("a-b") == expected

        use(stores.status, work)

    def test_a_plain_write_overrules_everybody(self, stores: Stores) -> None:
        async def work(store: StatusStore) -> None:
            store.put_task(TASK, status(State.RUNNING, "w1:8083", 5))
            await settled(store)
            store.put_task(TASK, status(State.PAUSED, "w2:8083", 1))
            await settled(store)
            assert store.task(TASK) == status(State.PAUSED, "w2:8083", 1)

        use(stores.status, work)

    def test_a_worker_may_say_that_its_own_task_is_unassigned(self, stores: Stores) -> None:
        async def work(store: StatusStore) -> None:
            store.put_task(TASK, status(State.RUNNING))
            await settled(store)
            store.put_task(TASK, status(State.UNASSIGNED), safe=True)
            await settled(store)
            assert store.task(TASK) == status(State.UNASSIGNED)

        use(stores.status, work)

    def test_active_topics_are_listed_by_name_and_forgotten_together(self, stores: Stores) -> None:
        async def work(store: StatusStore) -> None:
            topics = [TopicStatus(name, "c", 0, 1700000000000) for name in ("b", "a.x", "a")]
            for topic in topics:
                store.put_topic(topic)
            store.put_topic(TopicStatus("a", "other", 0, 5))
            await settled(store)
            assert [topic.topic for topic in store.topics("c")] == ["a", "a.x", "b"]
            assert set(store.topics("c")) == set(topics)
            store.delete_topics("c")
            await settled(store)
            assert store.topics("c") == ()
            assert len(store.topics("other")) == 1

        use(stores.status, work)

    def test_topics_are_forgotten_before_they_were_read_back(self, stores: Stores) -> None:
        async def work(store: StatusStore) -> None:
            store.put_topic(TopicStatus("a", "c", 0, 1))
            store.delete_topics("c")
            await settled(store)
            assert store.topics("c") == ()

        use(stores.status, work)
