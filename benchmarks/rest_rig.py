"""What the benchmarks of the control plane share: a worker of its own, watchers, latencies.

Connectors are of ``HangingSource`` of the tests, which has as many tasks as allowed and moves no
data, so that what is measured is the worker.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from benchmarks.rig import cpu_s, say
from tests.harness.kafka import KafkaBroker
from tests.harness.probe_worker import HANGING_CLASS, ProbeWorkerProcess
from tests.harness.processes import HarnessError, sigterm_is_ctrl_c

DEADLINE_S = 120.0
POLL_S = 0.05


@dataclass
class Latencies:
    """Times of requests in seconds, collected by several threads."""

    times_s: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def summary_ms(self) -> dict[str, float]:
        """Count, median, 99th percentile and maximum."""
        if not self.times_s:
            raise HarnessError(f"no request was answered: {self.failures[:3]}")
        ordered = sorted(self.times_s)
        return {
            "requests": len(ordered),
            "p50_ms": round(quantile(ordered, 0.5) * 1000, 2),
            "p99_ms": round(quantile(ordered, 0.99) * 1000, 2),
            "max_ms": round(ordered[-1] * 1000, 2),
        }


def quantile(ordered: Sequence[float], part: float) -> float:
    """The smallest of them that ``part`` of all do not exceed."""
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


class Client:
    """One kept-alive connection, as a watcher has it."""

    def __init__(self, port: int, latencies: Latencies) -> None:
        self._port = port
        self._latencies = latencies
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)

    def request(self, method: str, path: str, body: object = None, *, timed: bool = True) -> Any:
        """The parsed body of an answer below 400; others, and none, count as failures."""
        content = self.fetch(method, path, body, timed=timed)
        return json.loads(content) if content else None

    def fetch(
        self, method: str, path: str, body: object = None, *, timed: bool = True
    ) -> bytes | None:
        """The body as it is, likewise."""
        began_s = time.perf_counter()
        text = None if body is None else json.dumps(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            self._connection.request(method, path, text, headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except OSError as error:
            self._latencies.failures.append(f"{method} {path}: {error!r}")
            self.close()
            return None
        if timed:
            self._latencies.times_s.append(time.perf_counter() - began_s)
        if answer.status >= 400:
            self._latencies.failures.append(f"{method} {path}: {answer.status} {content[:200]!r}")
            return None
        return content

    def close(self) -> None:
        """The next request opens a new connection."""
        self._connection.close()


class ControlRig:
    """A worker with internal topics of its own."""

    def __init__(self, worker: ProbeWorkerProcess) -> None:
        self.worker = worker

    def client(self, latencies: Latencies | None = None) -> Client:
        """A connection of its own; not for two threads."""
        return Client(self.worker.rest_port, latencies or Latencies())

    def create(self, count: int, *, tasks: int) -> None:
        """Connectors ``c0``, ``c1``, … with so many tasks each."""
        latencies = Latencies()
        client = self.client(latencies)
        for number in range(count):
            config = {"connector.class": HANGING_CLASS, "tasks.max": str(tasks)}
            client.request("PUT", f"/connectors/c{number}/config", config)
        if latencies.failures:
            raise HarnessError(f"creating connectors: {latencies.failures[:3]}")

    def wait_running(self, count: int, *, tasks: int) -> float:
        """Wait until all run with all their tasks; returns how long that took, in seconds."""
        began_s = time.monotonic()
        client = self.client()
        while time.monotonic() - began_s < DEADLINE_S:
            listing = client.request("GET", "/connectors?expand=status") or {}
            running = [name for name, entry in listing.items() if _runs(entry["status"], tasks)]
            if len(running) >= count:
                return time.monotonic() - began_s
            time.sleep(POLL_S)
        raise HarnessError(f"{count} connectors do not run after {DEADLINE_S:g} s")

    def cpu_s(self) -> float:
        """Processor time of the worker so far."""
        return cpu_s(self.worker.pid)


def _runs(status: dict[str, Any], tasks: int) -> bool:
    states = [status["connector"]["state"], *(task["state"] for task in status["tasks"])]
    return states == ["RUNNING"] * (tasks + 1)


@contextlib.contextmanager
def control_rig(name: str) -> Iterator[ControlRig]:
    """Start a broker and a worker, and end them."""
    sigterm_is_ctrl_c()
    prefix = f"bench-{name}-{time.time_ns()}-"
    with KafkaBroker() as broker:
        say(f"broker: {broker.kind} at {broker.bootstrap}")
        worker = ProbeWorkerProcess(
            broker.bootstrap, group_id=f"{prefix}group", topics_prefix=prefix
        )
        with contextlib.closing(worker):
            worker.start()
            yield ControlRig(worker)


def side_by_side(
    workers: int, work: Callable[[int, threading.Event], None], *, for_s: float
) -> None:
    """Let ``work`` run in threads until the event that it gets is set, after ``for_s`` seconds."""
    ended = threading.Event()
    with ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(work, number, ended) for number in range(workers)]
        ended.wait(for_s)
        ended.set()
        for job in jobs:
            job.result()
