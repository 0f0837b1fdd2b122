"""The demo in order: parts, tables, worker, connector, INIT_SYNC, SYNC, changes, verdict.

Every part is a process of this run and is stopped, last started first, however the story ends. A
failure names its step and shows the log of the part at fault; the logs then stay where they are.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.demo import screen, tables
from tests.harness import kafka_launch
from tests.harness.compare import compare_table_with_topic
from tests.harness.kafka import KafkaBroker
from tests.harness.kafka_launch import Capability
from tests.harness.ministack import ACCESS_KEY_ID, REGION, SECRET_KEY, Ministack
from tests.harness.processes import LOG_TAIL_LINES, HarnessError
from tests.harness.topics import TopicReader
from tests.harness.worker import WorkerProcess, rest_request

CONNECTOR = "demo"
KAFKA_PORT = 9092
REST_PORT = 8083

SYNC_DEADLINE_S = 180.0
CHANGES_DEADLINE_S = 60.0
EQUAL_DEADLINE_S = 60.0
POLL_S = 0.1
QUIET_S = 2.0
TAIL_POLL_S = 1.0


class Demo:
    """One telling of the story."""

    def __init__(self) -> None:
        launch = kafka_launch.choose()
        self._home = Path(tempfile.mkdtemp(prefix="connectd-demo-"))
        self._ministack = Ministack(home=self._home)
        self._broker = KafkaBroker(launch, port=_free_or_any(KAFKA_PORT), home=self._home / "kafka")
        # A broker of somebody else's may still have the topics of another run.
        self._run = "" if Capability.CONTROL in self._broker.capabilities else f"{os.getpid()}-"
        self._topic_prefix = f"demo-{self._run}"

    def tell(self, *, leave_up: bool) -> bool:
        """The whole story; ``leave_up`` ends it with Ctrl-C. Returns the verdict.

        Raises HarnessError when a part fails; the logs are then kept and their place is named.
        """
        keep_logs = True
        try:
            equal = self._tell(leave_up=leave_up)
            keep_logs = False
        except KeyboardInterrupt:
            keep_logs = False
            raise
        except HarnessError as error:
            self._show_worker_log(error)
            raise HarnessError(f"{error}\n\nThe logs stay in {self._home}") from error
        finally:
            if not keep_logs:
                shutil.rmtree(self._home, ignore_errors=True)
        return equal

    def _tell(self, *, leave_up: bool) -> bool:
        with ExitStack() as parts:
            broker, worker = self._start_parts(parts)
            self._create_connector(worker)
            self._watch_tables(worker)
            with TopicReader(broker.bootstrap, self._topics()) as reader:
                self._change_items(reader)
                equal = self._verify(broker)
                if leave_up:
                    self._wait_for_ctrl_c(broker, worker, reader)
            return equal if leave_up else self._stop_worker(worker) and equal

    def _start_parts(self, parts: ExitStack) -> tuple[KafkaBroker, WorkerProcess]:
        screen.heading("Real parts: a DynamoDB endpoint and a Kafka broker")
        parts.enter_context(self._ministack)
        screen.say(f"ministack serves DynamoDB, its streams and tags on {self._ministack.url}")
        broker = parts.enter_context(self._broker)
        screen.say(f"{broker.kind} on {broker.bootstrap}")

        screen.heading("Three tagged tables with streams")
        client = self._ministack.dynamodb()
        for table in tables.ALL_TABLES:
            tables.create(client, table)
            key = " + ".join(f"{name} ({letter})" for name, letter in table.key)
            screen.say(f"{table.name}: key {key}, {len(table.first_items)} items")

        screen.heading("The worker, as its own process")
        worker = WorkerProcess(
            broker.bootstrap,
            group_id=f"{self._run}connectd-demo",
            topics_prefix=self._run,
            rest_port=_free_or_any(REST_PORT),
            home=self._home / "worker",
        )
        parts.enter_context(worker)
        screen.say(f"connectd run worker.properties: pid {worker.pid}, REST on {worker.rest_url}")
        return broker, worker

    def _create_connector(self, worker: WorkerProcess) -> None:
        screen.heading("A connector, created with curl")
        config = connector_config(self._ministack.url, self._topic_prefix)
        body = {"name": CONNECTOR, "config": config}
        screen.json_answer(screen.curl("POST", f"{worker.rest_url}/connectors", body))

    def _watch_tables(self, worker: WorkerProcess) -> None:
        screen.heading("DISCOVERY → INIT_SYNC → SYNC")
        url = f"{worker.rest_url}/connectd/connectors/{CONNECTOR}/tables"
        screen.say(f"(from {url})")
        give_up_at = time.monotonic() + SYNC_DEADLINE_S
        with screen.TableBars(sorted(_names())) as bars:
            while True:
                found = self._tables(worker, url)
                for table in found:
                    bars.show(table)
                if {t["table"] for t in found if t["state"] == "SYNC"} == _names():
                    return
                if time.monotonic() > give_up_at:
                    states = {t["table"]: t["state"] for t in found}
                    raise HarnessError(f"not every table was in SYNC in time: {states}")
                time.sleep(POLL_S)

    def _tables(self, worker: WorkerProcess, url: str) -> list[dict[str, Any]]:
        """What the worker tells of its tables; nothing while the connector is being started."""
        answer = _answer(worker, url)
        found: list[dict[str, Any]] = answer["tables"] if answer else []
        for table in found:
            if table["state"] in ("FAILED", "SKIPPED"):
                raise HarnessError(f"{table['table']} is {table['state']}: {table['reason']}")
        status = _answer(worker, f"{worker.rest_url}/connectors/{CONNECTOR}/status")
        if status:
            for part in (status["connector"], *status["tasks"]):
                if part["state"] == "FAILED":
                    raise HarnessError(f"the connector failed: {part.get('trace')}")
        return found

    def _change_items(self, reader: TopicReader) -> None:
        screen.heading("Changes and deletes, and the Kafka records they become")
        screen.say(
            f"{_read_until_quiet(reader)} records so far. More than items: what was written in the "
            "hour before the scan is in the stream too, and comes twice rather than never."
        )
        changes = tables.change(self._ministack.dynamodb())
        counted = ", ".join(f"{n} {what}s" for what, n in Counter(c.what for c in changes).items())
        screen.say(f"Now {counted}:")
        awaited: Counter[tuple[str, str]] = Counter()
        for each in changes:
            awaited[self._topic_prefix + each.table, _canonical(each.key)] += each.records
        give_up_at = time.monotonic() + CHANGES_DEADLINE_S
        while awaited.total() > 0:
            if time.monotonic() > give_up_at:
                raise HarnessError(f"no records came for {sorted(+awaited)}")
            for record in reader.read_to_end():
                place = record.topic, _canonical(record.key_json)
                if awaited[place] > 0:
                    awaited[place] -= 1
                    screen.record(record)
            time.sleep(POLL_S)

    def _verify(self, broker: KafkaBroker) -> bool:
        screen.heading("Verdict: the last record of each key against the table")
        client = self._ministack.dynamodb()
        give_up_at = time.monotonic() + EQUAL_DEADLINE_S
        while True:
            comparisons = [
                compare_table_with_topic(
                    tables.items_of(client, table.name),
                    broker.bootstrap,
                    self._topic_prefix + table.name,
                )
                for table in tables.ALL_TABLES
            ]
            equal = all(each.equal for each in comparisons)
            if equal or time.monotonic() > give_up_at:
                break
            time.sleep(TAIL_POLL_S)
        for each in comparisons:
            screen.say(str(each))
        differing = sum(1 for each in comparisons if not each.equal)
        count = len(comparisons)
        screen.say(
            f"VERDICT: all {count} topics equal their tables"
            if equal
            else f"VERDICT: {differing} of {count} topics differ from their tables"
        )
        return equal

    def _stop_worker(self, worker: WorkerProcess) -> bool:
        code = worker.sigterm()
        screen.say(f"the worker stopped with exit code {code}")
        return code == 0

    def _wait_for_ctrl_c(
        self, broker: KafkaBroker, worker: WorkerProcess, reader: TopicReader
    ) -> None:
        screen.heading("Everything stays up until Ctrl-C. Try in another terminal:")
        screen.say(things_to_try(worker.rest_url, self._ministack.url))
        screen.say(f"Kafka: {broker.bootstrap}, topics {', '.join(self._topics())}")
        screen.say("\nNew Kafka records appear here:")
        try:
            while True:
                if not worker.running:
                    raise HarnessError("the worker has ended by itself")
                for record in reader.read_to_end():
                    screen.record(record)
                time.sleep(TAIL_POLL_S)
        except KeyboardInterrupt:
            screen.say("\nstopping: worker, broker, DynamoDB endpoint")

    def _topics(self) -> list[str]:
        return [self._topic_prefix + table.name for table in tables.ALL_TABLES]

    def _show_worker_log(self, error: HarnessError) -> None:
        log = self._home / "worker" / "worker.log"
        if not log.exists() or str(log) in str(error):
            return
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_TAIL_LINES:]
        screen.say("\n".join(["", f"--- end of {log} ---", *tail]))


def connector_config(endpoint: str, topic_prefix: str) -> dict[str, str]:
    """The connector of the demo, as a person would write it."""
    return {
        "connector.class": "connectd.DynamoDBSource",
        "tasks.max": "2",
        "aws.region": REGION,
        "aws.access.key.id": ACCESS_KEY_ID,
        "aws.secret.key": SECRET_KEY,
        "dynamodb.service.endpoint": endpoint,
        "resource.tagging.service.endpoint": endpoint,
        "dynamodb.table.ingestion.tag.key": tables.INGEST_TAG,
        "dynamodb.table.env.tag.key": tables.ENVIRONMENT_TAG,
        "dynamodb.table.env.tag.value": tables.ENVIRONMENT,
        "kafka.topic.prefix": topic_prefix,
        "init.sync.delay.period": "0",
    }


def things_to_try(rest_url: str, endpoint: str) -> str:
    """Commands for another terminal."""
    connector = f"{rest_url}/connectors/{CONNECTOR}"
    item = '{"TableName":"parcels","Item":{"id":{"S":"mine"},"weight":{"N":"1"}}}'
    credential = f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY_ID}/20250101/{REGION}/dynamodb/x"
    return "\n".join(
        [
            f"  curl -s {connector}/status",
            f"  curl -s {rest_url}/connectd/connectors/{CONNECTOR}/tables",
            f"  curl -s {connector}/offsets",
            f"  curl -s -X PUT {connector}/pause     (and /resume)",
            f"  curl -s {endpoint} -H 'X-Amz-Target: DynamoDB_20120810.PutItem' \\",
            "    -H 'Content-Type: application/x-amz-json-1.0' \\",
            f"    -H 'Authorization: {credential}' -d '{item}'",
        ]
    )


def _answer(worker: WorkerProcess, url: str) -> Any:
    """The body of a 200; None for a 404, which is what a connector not yet started is."""
    try:
        answer = rest_request(url, "GET")
    except OSError as error:
        raise HarnessError(f"GET {url} got no answer: {error}\n{worker.log_tail()}") from error
    if answer.status not in (200, 404):
        raise HarnessError(f"GET {url} answered {answer.status}: {answer.body}")
    return answer.body if answer.status == 200 else None


def _read_until_quiet(reader: TopicReader) -> int:
    """Read until nothing has come for a while; returns how many records that were."""
    count = 0
    give_up_at = time.monotonic() + SYNC_DEADLINE_S
    last_news_at = time.monotonic()
    while time.monotonic() < min(last_news_at + QUIET_S, give_up_at):
        news = sum(1 for _ in reader.read_to_end())
        if news:
            count += news
            last_news_at = time.monotonic()
        time.sleep(POLL_S)
    return count


def _canonical(key: Any) -> str:
    return json.dumps(key, sort_keys=True)


def _names() -> set[str]:
    return {table.name for table in tables.ALL_TABLES}


def _free_or_any(port: int) -> int | None:
    """The port that people expect if it is free, else None: any free one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return None
    return port
