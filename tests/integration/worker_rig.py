"""What the tests of a whole worker stand on: one worker process, one scripted fake, real Kafka.

A ``Rig`` owns the fake and the worker; the broker is the session's, topics and groups carry the
rig's prefix. It says in a test's words what people do with the parts: create tables and connectors,
look at states, offsets, statuses and topics, and wait for something with a deadline.

Starting the parts takes longer than most tests do. A module whose tests leave the worker running
starts one rig and lends it to each test in turn: the next test gets a connector name and topics of
its own, and finds no table, no connector and no fault of the test before.
"""

from __future__ import annotations

import contextlib
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from confluent_kafka import Producer

from tests.fakes.process import FakeProcess, RemoteControl
from tests.harness.compare import compare_table_with_topic
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import HarnessError, wait_for
from tests.harness.topics import TopicRecord, read_topic
from tests.harness.worker import RestAnswer, WorkerProcess

DEADLINE_S = 90.0

_LOG_TAIL_CHARS = 4000


class Rig:
    """One test's parts; ``with Rig(...)`` starts the fake, and the worker unless told not to."""

    def __init__(
        self,
        broker: KafkaBroker,
        prefix: str,
        home: Path,
        *,
        partitions: int = 1,
        properties: Mapping[str, str] | None = None,
        starts_worker: bool = True,
        headers: Mapping[str, str] | None = None,
        worker_class: type[WorkerProcess] = WorkerProcess,
    ) -> None:
        """``headers`` go with every request; ``worker_class``: with other plugins, for instance."""
        self.broker = broker
        self.prefix = prefix
        self.name = "c"
        self._turn = 0
        self._tables: set[str] = set()
        self._home = home
        self._starts_worker = starts_worker
        self._headers = dict(headers or {})
        self._fake = FakeProcess(partitions=partitions)
        self.worker = worker_class(
            broker.bootstrap,
            group_id=f"{prefix}group",
            topics_prefix=prefix,
            home=home,
            headers=headers,
            properties={
                "offset.flush.interval.ms": "100",
                "offset.storage.partitions": "3",
                "status.storage.partitions": "1",
                **(properties or {}),
            },
        )

    def __enter__(self) -> Self:
        self._fake.start()
        try:
            if self._starts_worker:
                self.worker.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker and the fake."""
        self.worker.close()
        self._fake.stop()

    @contextlib.contextmanager
    def lent(self) -> Iterator[Self]:
        """For one test of many; the worker must run when it ends."""
        self._turn += 1
        self.name = f"c{self._turn}"
        yield self
        for connector in self.expect(200, "GET", "/connectors").body:
            self.expect(204, "DELETE", f"/connectors/{connector}")
        self.control.clear_faults()
        for table in self._tables:
            self.control.drop_table(table=table)
        self._tables.clear()

    # -- the source -----------------------------------------------------------------------------

    @property
    def control(self) -> RemoteControl:
        """The fake's script."""
        return self._fake.control

    def create_table(
        self,
        table: str,
        items: int = 0,
        *,
        view_type: str | None = "NEW_AND_OLD_IMAGES",
        **arguments: object,
    ) -> None:
        """A tagged table with so many items, and a stream that is younger than they are.

        So the scan alone tells of these items, and the stream of later changes alone.
        """
        tags = {"datalake-ingest": "yes", "environment": "dev"}
        everything = {"tags": tags, **arguments, "view_type": None}
        self.control.create_table(table=table, **everything)
        self._tables.add(table)
        for number in range(items):
            self.put(table, number)
        if view_type is not None:
            self.control.enable_stream(table=table, view_type=view_type)

    def put(self, table: str, number: int, **attributes: Mapping[str, Any]) -> None:
        """Write item ``k<number>``."""
        self.control.put(table=table, item={"id": {"S": f"k{number}"}, **attributes})

    # -- the connector --------------------------------------------------------------------------

    def config(self, **keys: str) -> dict[str, str]:
        """A connector's config for the fake; in ``keys`` two underscores stand for a dot."""
        return {
            "connector.class": "connectd.DynamoDBSource",
            "tasks.max": "1",
            "aws.access.key.id": "AKIATEST",
            "aws.secret.key": "an-ordinary-secret",
            "dynamodb.service.endpoint": self._fake.url,
            "resource.tagging.service.endpoint": self._fake.url,
            "kafka.topic.prefix": self.topic(""),
            "connect.dynamodb.rediscovery.period": "1000",
            "init.sync.delay.period": "0",
            "init.sync.segments": "1",
            "stream.poll.interval.ms": "20",
            "stream.poll.interval.max.ms": "100",
            **{name.replace("__", "."): value for name, value in keys.items()},
        }

    def create(self, **keys: str) -> RestAnswer:
        """Create the connector and expect 201."""
        return self.expect(201, "PUT", f"{self.path}/config", self.config(**keys))

    @property
    def path(self) -> str:
        """The connector's resource."""
        return f"/connectors/{self.name}"

    def expect(self, status: int, method: str, path: str, body: object = None) -> RestAnswer:
        """One REST request and the status that its answer must have."""
        answer = self.worker.request(method, path, body)
        assert answer.status == status, f"{method} {path}: {answer.status} {answer.body}"
        return answer

    def send(self, method: str, path: str, body: bytes) -> RestAnswer:
        """One REST request with these very bytes as its body."""
        request = urllib.request.Request(
            f"{self.worker.rest_url}{path}",
            data=body,
            method=method,
            headers={"Content-Type": "application/json", **self._headers},
        )
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
                return RestAnswer(answer.status, json.loads(answer.read()))
        except urllib.error.HTTPError as answer:
            with answer:
                return RestAnswer(answer.code, json.loads(answer.read()))

    def rows(self) -> dict[str, dict[str, Any]]:
        """What the worker shows of each table, by table; nothing for an unknown connector."""
        answer = self.worker.request("GET", f"/connectd{self.path}/tables")
        rows = answer.body["tables"] if answer.status == 200 else []
        return {row["table"]: row for row in rows}

    def row(self, table: str) -> dict[str, Any]:
        """What the worker shows of a table; empty while it shows nothing."""
        return self.rows().get(table, {})

    def status(self) -> Any:
        """The status document; None while there is none."""
        answer = self.worker.request("GET", f"{self.path}/status")
        return answer.body if answer.status == 200 else None

    def states(self) -> tuple[str, ...]:
        """States of the connector and its tasks, in order; empty while there are none."""
        status = self.status()
        if status is None:
            return ()
        return (status["connector"]["state"], *(task["state"] for task in status["tasks"]))

    def offsets(self) -> dict[str, Any]:
        """Stored offsets by their partition as JSON with sorted keys."""
        body = self.expect(200, "GET", f"{self.path}/offsets").body
        return {partition_text(each["partition"]): each["offset"] for each in body["offsets"]}

    def shard_offsets(self) -> list[tuple[dict[str, Any], Any]]:
        """Partition and offset of every shard with a stored position."""
        found = [(json.loads(text), offset) for text, offset in self.offsets().items()]
        return [(partition, offset) for partition, offset in found if "shard_id" in partition]

    # -- Kafka ----------------------------------------------------------------------------------

    def topic(self, table: str) -> str:
        """The topic of a table."""
        return f"{self.prefix}{self.name}-{table}"

    def records(self, table: str) -> list[TopicRecord]:
        """All records of a table's topic; not while something is written to it without pause."""
        return read_topic(self.broker.bootstrap, self.topic(table))

    def values(self, table: str) -> list[Any]:
        """The values of a table's topic, without tombstones."""
        return [record.value_json for record in self.records(table) if record.value is not None]

    def ops(self, table: str) -> list[str]:
        """What the messages of a table's topic say they are."""
        return [value["op"] for value in self.values(table)]

    def internal(self, kind: str) -> list[TopicRecord]:
        """All records of an internal topic: ``configs``, ``offsets`` or ``status``."""
        return read_topic(self.broker.bootstrap, f"{self.prefix}connect-{kind}")

    def append(
        self, kind: str, key: bytes | None, value: bytes | None, partition: int = -1
    ) -> None:
        """Write a record into an internal topic, as nobody should; -1: where the key belongs."""
        producer = Producer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "partitioner": "murmur2_random",
                "log_level": 0,
            }
        )
        topic = f"{self.prefix}connect-{kind}"
        producer.produce(topic, key=key, value=value, partition=partition)
        if producer.flush(DEADLINE_S):
            raise HarnessError(f"a record for {topic} was not acknowledged")

    def assert_topic_equals_table(self, table: str) -> None:
        """The compacted topic and the table hold the same."""
        items = self.control.table_items(table=table)
        compared = compare_table_with_topic(items, self.broker.bootstrap, self.topic(table))
        assert compared.equal, str(compared)

    # -- waiting --------------------------------------------------------------------------------

    def wait(
        self, ready: Callable[[], object], what: str, *, deadline_s: float = DEADLINE_S
    ) -> None:
        """Poll until true; raises HarnessError with states and log when that does not happen."""
        if not wait_for(lambda: bool(ready()), deadline_s=deadline_s):
            log = self.log_text()[-_LOG_TAIL_CHARS:]
            raise HarnessError(f"{what} did not happen within {deadline_s:g} s\n{log}")

    def wait_states(self, *states: str) -> None:
        """Wait for these states of the connector and its tasks."""
        self.wait(lambda: self.states() == states, f"{self.name} in {states}")

    def wait_table(self, table: str, state: str) -> None:
        """Wait until the table shows this state."""
        self.wait(lambda: self.row(table).get("state") == state, f"{table} in {state}")

    def wait_following(self, table: str) -> None:
        """Wait until the table's stream is being read."""

        def is_read() -> bool:
            row = self.row(table)
            return row.get("state") == "SYNC" and row["last_read_age_s"] is not None

        self.wait(is_read, f"reading the stream of {table}")

    def wait_records(self, table: str, count: int) -> None:
        """Wait for so many records in a table's topic."""
        self.wait(lambda: len(self.records(table)) >= count, f"{count} records of {table}")

    def wait_equal(self, table: str) -> None:
        """Wait until the compacted topic equals the table, then assert it."""

        def is_equal() -> bool:
            items = self.control.table_items(table=table)
            topic = self.topic(table)
            return compare_table_with_topic(items, self.broker.bootstrap, topic).equal

        wait_for(is_equal, deadline_s=DEADLINE_S)
        self.assert_topic_equals_table(table)

    # -- what the worker says -------------------------------------------------------------------

    def log_text(self) -> str:
        """Its whole log, over all starts."""
        path = self._home / "worker.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def log_lines(self) -> list[dict[str, Any]]:
        """The log, parsed; lines that are not JSON are left out."""
        return [json.loads(line) for line in self.log_text().splitlines() if line[:1] == "{"]


def partition_text(partition: Mapping[str, Any]) -> str:
    """A source partition as the key of ``Rig.offsets``."""
    return json.dumps(partition, sort_keys=True)


def table_partition(table: str) -> str:
    """The table state's partition, as the key of ``Rig.offsets``."""
    return partition_text({"table_name": table})


def prefix_of(module: str) -> str:
    """A prefix for topics and groups of a rig that a whole module shares."""
    return f"{module.rpartition('.')[2].replace('_', '-')}-{time.time_ns()}-"
