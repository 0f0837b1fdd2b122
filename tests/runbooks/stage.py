"""The parts that pages are played on, and the names that stand for them on a page.

A ``Stage`` owns one scripted DynamoDB and one worker process; the broker is the session's. Each
page is lent it in turn (``lent``), with a table, a topic and a connector name of its own, and finds
nothing of the page before. The worker finds credentials and endpoints in its environment, so that
configs on pages need not be other ones than people's.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

from tests.fakes.process import FakeProcess, RemoteControl
from tests.harness.compare import compare_table_with_topic
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import HarnessError, free_ports, wait_for
from tests.harness.topics import read_topic
from tests.harness.worker import NO_CREDENTIALS_FROM_OUTSIDE, RestAnswer, WorkerProcess

DEADLINE_S: Final = 60.0
ITEMS: Final = 5
TAGS: Final = {"datalake-ingest": "yes", "environment": "prod"}

_FILE_PROVIDER: Final = "org.apache.kafka.common.config.provider.FileConfigProvider"
_LOG_TAIL_CHARS: Final = 3000


class Stage:
    """See the module's docstring; ``with Stage(...)`` starts the parts."""

    def __init__(self, broker: KafkaBroker, prefix: str, home: Path) -> None:
        """``prefix``: put before the group, the internal topics and the tables; ends with ``-``."""
        self.broker = broker
        self._prefix = prefix
        self._home = home
        self._turn = 0
        self._tables: set[str] = set()
        self._fake = FakeProcess(partitions=1)
        self._worker: WorkerProcess | None = None

    def __enter__(self) -> Self:
        self._fake.start()
        try:
            self._start_worker()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker and the fake."""
        if self._worker is not None:
            self._worker.close()
        self._fake.stop()

    def _start_worker(self) -> None:
        secrets = self._home / "secrets"
        secrets.mkdir(parents=True)
        self._worker = WorkerProcess(
            self.broker.bootstrap,
            group_id=f"{self._prefix}group",
            topics_prefix=self._prefix,
            home=self._home,
            env=self.environment,
            properties={
                "offset.flush.interval.ms": "200",
                "offset.storage.partitions": "3",
                "status.storage.partitions": "1",
                "config.providers": "file",
                "config.providers.file.class": _FILE_PROVIDER,
                "config.providers.file.param.allowed.paths": str(secrets),
            },
        )
        self._worker.start()

    # -- names ----------------------------------------------------------------------------------

    @property
    def table(self) -> str:
        """The table of the page that is being played."""
        return f"{self._prefix}orders-{self._turn}"

    @property
    def other_table(self) -> str:
        """A second table, for pages that have one."""
        return f"{self._prefix}customers-{self._turn}"

    @property
    def connector(self) -> str:
        """The connector of the page that is being played."""
        return f"{self._prefix}source-{self._turn}"

    @property
    def variables(self) -> Mapping[str, str]:
        """What ``$NAME`` stands for on a page."""
        return {
            "CONNECTD_URL": self.worker.rest_url,
            "CONNECTOR": self.connector,
            "TABLE": self.table,
            "TOPIC": self.topic(self.table),
            "OTHER_TABLE": self.other_table,
            "WORKER": str(self._home / "worker.properties"),
            "WORKER_PID": str(self.worker.pid),
            "SECRETS": str(self._home / "secrets"),
            "OTHER_PORT": str(free_ports(1)[0]),
        }

    @property
    def environment(self) -> Mapping[str, str]:
        """Where AWS is, and who asks: for the worker and for the commands of a page."""
        return {
            **NO_CREDENTIALS_FROM_OUTSIDE,
            "AWS_ENDPOINT_URL": self._fake.url,
            "AWS_ACCESS_KEY_ID": "AKIAENVIRONMENT",
            "AWS_SECRET_ACCESS_KEY": "of-the-environment",
        }

    def topic(self, table: str) -> str:
        """The topic of a table."""
        return f"dynamodb-{table}"

    @contextlib.contextmanager
    def lent(self) -> Iterator[Self]:
        """For one page of many; the worker must run when it ends."""
        self._turn += 1
        yield self
        for connector in self.request("GET", "/connectors").body:
            self.request("DELETE", f"/connectors/{connector}")
        self.control.clear_faults()
        for table in self._tables:
            self.control.drop_table(table=table)
        self._tables.clear()

    # -- the parts ------------------------------------------------------------------------------

    @property
    def worker(self) -> WorkerProcess:
        """The worker."""
        if self._worker is None:
            raise HarnessError("the stage has not been started")
        return self._worker

    @property
    def control(self) -> RemoteControl:
        """The script of DynamoDB."""
        return self._fake.control

    @property
    def secrets(self) -> Path:
        """Where the worker's config provider may read."""
        return self._home / "secrets"

    def reap_worker(self) -> None:
        """Take note of the worker's end when it comes, as the init of a machine does."""
        worker = self.worker
        threading.Thread(target=lambda: worker.wait_exit(deadline_s=600.0), daemon=True).start()

    def create_table(self, table: str, items: int = ITEMS) -> None:
        """A tagged table with items that are older than its stream."""
        self.control.create_table(table=table, tags=TAGS, view_type=None)
        self._tables.add(table)
        for number in range(items):
            self.put(table, number)
        self.control.enable_stream(table=table)

    def put(self, table: str, number: int, **attributes: Mapping[str, str]) -> None:
        """Write the item ``k<number>``."""
        self.control.put(table=table, item={"id": {"S": f"k{number}"}, **attributes})

    # -- the connector --------------------------------------------------------------------------

    @property
    def config(self) -> dict[str, str]:
        """The connector's config: what people have, and the waits of tests."""
        return {
            "connector.class": "connectd.DynamoDBSource",
            "tasks.max": "1",
            "dynamodb.table.whitelist": self.table,
            "kafka.topic.prefix": "dynamodb-",
            "init.sync.delay.period": "0",
            "init.sync.segments": "1",
            "stream.poll.interval.ms": "20",
            "stream.poll.interval.max.ms": "100",
            "connect.dynamodb.rediscovery.period": "1000",
        }

    def create_connector(self, **keys: str) -> None:
        """Create it; in ``keys`` two underscores stand for a dot."""
        config = self.config | {name.replace("__", "."): value for name, value in keys.items()}
        answer = self.request("PUT", f"/connectors/{self.connector}/config", config)
        assert answer.status == 201, answer

    def request(self, method: str, path: str, body: object = None) -> RestAnswer:
        """One request to the worker."""
        return self.worker.request(method, path, body)

    def row(self, table: str) -> dict[str, Any]:
        """What the worker shows of a table; empty while it shows nothing."""
        answer = self.request("GET", f"/connectd/connectors/{self.connector}/tables")
        rows = answer.body["tables"] if answer.status == 200 else []
        return next((row for row in rows if row["table"] == table), {})

    def states(self) -> list[str]:
        """States of the connector and its tasks; empty while there are none."""
        answer = self.request("GET", f"/connectors/{self.connector}/status")
        if answer.status != 200:
            return []
        return [each["state"] for each in (answer.body["connector"], *answer.body["tasks"])]

    # -- waiting --------------------------------------------------------------------------------

    def wait(self, ready: Callable[[], object], what: str) -> None:
        """Poll until true; raises HarnessError with the end of the worker's log."""
        if not wait_for(lambda: bool(ready()), deadline_s=DEADLINE_S):
            log = (self._home / "worker.log").read_text(encoding="utf-8")[-_LOG_TAIL_CHARS:]
            raise HarnessError(f"{what} did not happen within {DEADLINE_S:g} s\n{log}")

    def wait_states(self, *states: str) -> None:
        """Wait for these states of the connector and its tasks."""
        self.wait(lambda: self.states() == list(states), f"{self.connector} in {states}")

    def wait_following(self, table: str) -> None:
        """Wait until the table's stream is being read."""
        self.wait(
            lambda: (
                (row := self.row(table)).get("state") == "SYNC"
                and row["last_read_age_s"] is not None
            ),
            f"reading the stream of {table}",
        )

    def wait_equal(self, table: str) -> None:
        """Wait until the compacted topic equals the table; AssertionError says what differs."""
        wait_for(lambda: self._compared(table) == "", deadline_s=DEADLINE_S)
        assert not (difference := self._compared(table)), difference

    def _compared(self, table: str) -> str:
        items = self.control.table_items(table=table)
        found = compare_table_with_topic(items, self.broker.bootstrap, self.topic(table))
        return "" if found.equal else str(found)

    def operations(self, table: str) -> list[str]:
        """What the records of a table's topic say they are, tombstones left out."""
        records = read_topic(self.broker.bootstrap, self.topic(table))
        return [record.value_json["op"] for record in records if record.value is not None]

    def wait_position_of(self, table: str) -> None:
        """Wait until a shard's position behind a record is stored."""

        def is_stored() -> bool:
            answer = self.request("GET", f"/connectors/{self.connector}/offsets")
            return any(
                each["partition"].get("table_name") == table
                and each["offset"].get("sequence_number")
                for each in answer.body["offsets"]
            )

        self.wait(is_stored, f"a position in the stream of {table}")

    def append_offset(self, partition: Mapping[str, str], offset: Mapping[str, Any]) -> None:
        """Write an offset as a Java worker does: compact JSON, where Java's partitioner puts it."""
        from confluent_kafka import Producer

        producer = Producer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "partitioner": "murmur2_random",
                "log_level": 0,
            }
        )
        key = json.dumps([self.connector, dict(partition)], separators=(",", ":"))
        value = json.dumps(dict(offset), separators=(",", ":"))
        topic = f"{self._prefix}connect-offsets"
        producer.produce(topic, key=key.encode(), value=value.encode())
        if producer.flush(DEADLINE_S):
            raise HarnessError(f"a record for {topic} was not acknowledged")
