"""One seeded run: a table under load, a worker that is killed, faults around it, and a verdict.

The seed decides everything that is decided here: in which phase the worker is killed and when, how
often, what else goes wrong. The machine decides the rest (scheduling), so a seed narrows a fault
down but may need repeating.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.fakes.process import FakeProcess, RemoteControl
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import HarnessError
from tests.harness.worker import WorkerProcess
from tests.simulation.workload import Verdict, Workload, judge

_broker_faults = threading.Lock()

Phase = Literal["INIT_SYNC", "SYNC"]

ITEMS = 600
CONVERGE_DEADLINE_S = 90.0
PHASE_DEADLINE_S = 60.0


@dataclass
class CrashRun:
    """The plan of one run, drawn from its seed."""

    seed: int
    phase: Phase
    broker: KafkaBroker
    narrate: Callable[[str], None] = lambda line: None
    story: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = random.Random(f"{self.seed}/{self.phase}")
        self.table = f"soak-{self.phase.lower().replace('_', '-')}-{self.seed}"
        self.kills = self.dice.choice([1, 1, 2, 3])

    def run(self) -> Verdict:
        """Live through it; raises HarnessError when it does not come to rest."""
        prefix = f"{self.table}-{time.time_ns()}-"
        with (
            FakeProcess(partitions=self.dice.choice([1, 2, 4])) as fake,
            contextlib.closing(self._worker(prefix)) as worker,
        ):
            return self._run(fake.control, fake.url, worker, f"{prefix}{self.table}")

    def _worker(self, prefix: str) -> WorkerProcess:
        return WorkerProcess(
            self.broker.bootstrap,
            group_id=f"{prefix}group",
            topics_prefix=prefix,
            properties={
                "offset.flush.interval.ms": str(self.dice.choice([50, 300, 2000])),
                "offset.storage.partitions": "5",
                # A killed worker's successor waits until the group has missed it.
                "session.timeout.ms": "3000",
                "heartbeat.interval.ms": "500",
            },
        )

    def _run(self, control: RemoteControl, url: str, worker: WorkerProcess, topic: str) -> Verdict:
        control.create_table(
            table=self.table, tags={"datalake-ingest": "yes", "environment": "soak"}
        )
        workload = Workload(control, self.table, self.seed, writes_max=1200)
        workload.load(ITEMS)
        control.latency(operation="Scan", delay_s=0.02)
        worker.start()
        self._create_connector(worker, url, topic.removesuffix(self.table))
        workload.start()
        for number in range(self.kills):
            self._wait_for_kill_point(worker)
            self._tell(f"kill {number + 1} of {self.kills}")
            worker.kill9()
            self._disturb(control)
            worker.start()
        self._wait(lambda: not workload.running, "the load to end")
        workload.stop()
        return self._converge(control, worker, topic)

    def _create_connector(self, worker: WorkerProcess, url: str, prefix: str) -> None:
        config = {
            "connector.class": "connectd.DynamoDBSource",
            "tasks.max": "1",
            "aws.access.key.id": "dummy-key-id",
            "aws.secret.key": "dummy-secret",
            "dynamodb.service.endpoint": url,
            "resource.tagging.service.endpoint": url,
            "dynamodb.table.env.tag.value": "soak",
            "kafka.topic.prefix": prefix,
            "init.sync.delay.period": "0",
            "init.sync.page.size": "20",
            "init.sync.segments": str(self.dice.choice([1, 2, 3])),
            "stream.poll.interval.ms": "20",
            "stream.poll.interval.max.ms": "100",
            "stream.page.limit": str(self.dice.choice([7, 100, 1000])),
        }
        answer = worker.request("PUT", "/connectors/soak/config", config)
        if answer.status != 201:
            raise HarnessError(f"creating the connector: {answer.status} {answer.body}")

    # -- kill points and faults -----------------------------------------------------------------

    def _wait_for_kill_point(self, worker: WorkerProcess) -> None:
        if self.phase == "INIT_SYNC":
            scanned = self.dice.randrange(ITEMS)
            self._wait(lambda: self._has_scanned(worker, scanned), f"{scanned} items scanned")
        else:
            self._wait(lambda: self._state(worker) == "SYNC", "SYNC")
        delay_s = self.dice.uniform(0.0, 0.6 if self.phase == "SYNC" else 0.05)
        time.sleep(delay_s)

    def _has_scanned(self, worker: WorkerProcess, count: int) -> bool:
        row = self._row(worker)
        return row.get("state") == "SYNC" or int(row.get("items_scanned") or 0) >= count

    def _state(self, worker: WorkerProcess) -> object:
        return self._row(worker).get("state")

    def _row(self, worker: WorkerProcess) -> dict[str, Any]:
        answer = worker.request("GET", "/connectd/connectors/soak/tables")
        rows = answer.body["tables"] if answer.status == 200 else []
        return next((row for row in rows if row["table"] == self.table), {})

    def _disturb(self, control: RemoteControl) -> None:
        """While the worker is down or comes up: what the outside world does."""
        open_shards = control.open_shards(table=self.table)
        shard = self.dice.choice(open_shards)
        match self.dice.choice(
            ["nothing", "split", "roll", "hide", "throttle", "expire", "broker"]
        ):
            case "split":
                control.split_shard(table=self.table, shard=shard)
                self._tell("shard split")
            case "roll":
                control.roll_over_all(table=self.table)
                self._tell("all shards rolled over")
            case "hide":
                child = control.roll_over(table=self.table, shard=shard)
                control.hide_shard(table=self.table, shard=child, for_calls=2)
                self._tell("shard rolled over, child hidden")
            case "throttle":
                for operation, error in _THROTTLES:
                    control.inject(operation=operation, error=error, times=3, table=self.table)
                self._tell("throttling")
            case "expire":
                control.expire_iterators(table=self.table)
                self._tell("iterators expired")
            case "broker":
                # Runs may be side by side; one at a time has the broker to itself.
                with _broker_faults, self.broker.paused():
                    time.sleep(self.dice.uniform(0.2, 1.0))
                self._tell("broker silent for a while")

    # -- the end --------------------------------------------------------------------------------

    def _converge(self, control: RemoteControl, worker: WorkerProcess, topic: str) -> Verdict:
        give_up_at = time.monotonic() + CONVERGE_DEADLINE_S
        while True:
            verdict = judge(control, self.table, self.broker.bootstrap, topic)
            if not verdict.faults:
                code = worker.sigterm()
                if code != 0:
                    raise HarnessError(f"the worker ended with {code}\n{worker.log_tail()}")
                return verdict
            if time.monotonic() > give_up_at:
                self._tell(f"table row: {self._row(worker)}")
                self._tell(worker.log_tail())
                return verdict
            time.sleep(0.3)

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        give_up_at = time.monotonic() + PHASE_DEADLINE_S
        while not condition():
            if time.monotonic() > give_up_at:
                raise HarnessError(f"seed {self.seed} {self.phase}: waited in vain for {what}")
            time.sleep(0.01)

    def _tell(self, line: str) -> None:
        self.story.append(line)
        self.narrate(line)


_THROTTLES = (
    ("Scan", "ProvisionedThroughputExceededException"),
    ("GetRecords", "LimitExceededException"),
    ("DescribeStream", "ThrottlingException"),
    ("GetShardIterator", "InternalServerError"),
)
