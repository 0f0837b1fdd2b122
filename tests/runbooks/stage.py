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
from tests.harness.topics import TopicRecord, read_topic
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
        self.control.require_credentials(
            access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
            secret=self.environment["AWS_SECRET_ACCESS_KEY"],
        )
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
        """For one page of many, whatever it does to the broker and the worker."""
        self._turn += 1
        try:
            yield self
        finally:
            if not self.broker.running:  # the page has failed before it was back
                self.broker.start()
            if not self.worker.running:  # the page has replaced it
                self.worker.start()
            self._clear()

    def _clear(self) -> None:
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

    @property
    def _log(self) -> Path:
        return self._home / "worker.log"

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

    def reads(self) -> int:
        """How often streams were read so far."""
        return int(self.control.counts().get("GetRecords", 0))

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
            log = self._log.read_text(encoding="utf-8")[-_LOG_TAIL_CHARS:]
            raise HarnessError(f"{what} did not happen within {DEADLINE_S:g} s\n{log}")

    def wait_states(self, *states: str) -> None:
        """Wait for these states of the connector and its tasks."""
        self.wait(lambda: self.states() == list(states), f"{self.connector} in {states}")

    def wait_life(self, number: int) -> None:
        """Wait until task 0 has begun to run so many times, by the worker's log.

        A change of the config is answered before it has taken effect, and the task before it looks
        like the one after it.
        """
        wanted = {"connector": self.connector, "task": 0, "state": "RUNNING"}

        def lives() -> int:
            lines = map(json.loads, self._log.read_text(encoding="utf-8").splitlines())
            return sum(wanted.items() <= line.items() for line in lines)

        self.wait(lambda: lives() >= number, f"life {number} of task 0")

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

    def records_of(self, table: str, number: int) -> list[TopicRecord]:
        """The records of the item ``k<number>``."""
        records = read_topic(self.broker.bootstrap, self.topic(table))
        return [record for record in records if record.key_json == {"id": f"k{number}"}]

    # -- offsets --------------------------------------------------------------------------------

    def stored_state(self, table: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The table's state, and its shard with the position behind a record; empty: none yet."""
        state: dict[str, Any] = {}
        shard: dict[str, Any] = {}
        answer = self.request("GET", f"/connectors/{self.connector}/offsets")
        for each in answer.body["offsets"]:
            partition, offset = each["partition"], each["offset"]
            if partition == {"table_name": table}:
                state = offset
            elif partition.get("table_name") == table and offset.get("sequence_number"):
                shard = {**partition, **offset}
        return state, shard

    def wait_position_of(self, table: str) -> None:
        """Wait until a shard's position behind a record is stored."""
        self.wait(lambda: self.stored_state(table)[1], f"a position in the stream of {table}")

    def replace_offsets(self, partition: Mapping[str, str], offset: Mapping[str, Any]) -> None:
        """Let this be all that is stored of the connector, which is stopped."""
        path = f"/connectors/{self.connector}/offsets"
        assert (answer := self.request("DELETE", path)).status == 200, answer
        only = {"offsets": [{"partition": dict(partition), "offset": dict(offset)}]}
        assert (answer := self.request("PATCH", path, only)).status == 200, answer
