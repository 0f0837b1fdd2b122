"""A connector that hangs, whatever way, hurts nobody else (R18): a real worker, real blocking.

What hangs would do so for two minutes. The others must be answered long before; how long exactly
on a quiet machine is measured by ``make bench NAME=hanging``.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import probe_worker
from tests.harness.kafka import KafkaBroker
from tests.harness.probe_worker import HANG_S, HANGING_CLASS, ProbeWorkerProcess
from tests.harness.processes import HarnessError, wait_for
from tests.integration.worker_rig import prefix_of

pytestmark = pytest.mark.kafka

PATIENCE_S = 30.0
SLOWEST_S = 25.0
"""A fifth of what hangs: a test's machine may be busy. ``make bench NAME=hanging`` measures."""

SOURCE = {"connector.class": HANGING_CLASS, "tasks.max": "2"}
ROUNDS = 5


@pytest.fixture(scope="module")
def worker(
    kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProbeWorkerProcess]:
    prefix = prefix_of(__name__)
    worker = ProbeWorkerProcess(
        kafka_broker.bootstrap,
        group_id=f"{prefix}group",
        topics_prefix=prefix,
        home=tmp_path_factory.mktemp("worker"),
    )
    try:
        worker.start()
        yield worker
    finally:
        worker.close()


def _states(worker: ProbeWorkerProcess, name: str) -> list[str]:
    body = worker.request("GET", f"/connectors/{name}/status").body
    if "connector" not in body:
        return []
    return [body["connector"]["state"], *(task["state"] for task in body["tasks"])]


def _slowest_s(worker: ProbeWorkerProcess, number: int) -> float:
    """Ask for one of everything; returns the time of the slowest answer."""
    requests: list[tuple[str, str, object, int]] = [
        ("GET", "/", None, 200),
        ("GET", "/health", None, 200),
        ("GET", "/connectors?expand=status&expand=info", None, 200),
        ("GET", "/connectors/good/status", None, 200),
        ("PUT", "/connectors/good/config", {**SOURCE, "note": str(number)}, 200),
        ("POST", "/connectors/good/restart", None, 204),
        ("PUT", f"/connector-plugins/{HANGING_CLASS}/config/validate", SOURCE, 200),
    ]
    slowest_s = 0.0
    for method, path, body, expected in requests:
        began_s = time.monotonic()
        answer = worker.request(method, path, body)
        assert answer.status == expected, answer
        slowest_s = max(slowest_s, time.monotonic() - began_s)
    return slowest_s


def _create_good(worker: ProbeWorkerProcess) -> None:
    """Create ``good`` and wait until it runs."""
    worker.request("PUT", "/connectors/good/config", SOURCE)
    running = ["RUNNING"] * 3
    assert wait_for(lambda: _states(worker, "good") == running, deadline_s=PATIENCE_S)


@pytest.fixture
def good(worker: ProbeWorkerProcess) -> Iterator[ProbeWorkerProcess]:
    """The worker with a connector ``good`` that runs."""
    _create_good(worker)
    yield worker
    for name in ("good", "bad"):
        worker.request("DELETE", f"/connectors/{name}")


def _create_bad(worker: ProbeWorkerProcess, hang: str) -> threading.Thread:
    """Create ``bad`` from another thread: the answer may take its time."""

    def create() -> None:
        config = {**SOURCE, "hang": hang, "hang.s": str(HANG_S)}
        with contextlib.suppress(HarnessError):  # the worker may be killed before it answers
            worker.request("PUT", "/connectors/bad/config", config)

    thread = threading.Thread(target=create, daemon=True)
    thread.start()
    return thread


def test_a_start_that_never_comes_back_shows_and_disturbs_nobody(
    good: ProbeWorkerProcess,
) -> None:
    _create_bad(good, probe_worker.START).join()
    assert wait_for(lambda: _states(good, "bad") == ["UNASSIGNED"], deadline_s=PATIENCE_S)
    assert max(_slowest_s(good, number) for number in range(ROUNDS)) < SLOWEST_S
    assert _states(good, "bad") == ["UNASSIGNED"]
    assert good.request("DELETE", "/connectors/bad").status == 204


@pytest.mark.parametrize(
    ("hang", "failed", "doing"),
    [
        (probe_worker.START_BLOCKING, ["FAILED"], "starting connector bad"),
        (probe_worker.TASK_START_BLOCKING, ["RUNNING", "FAILED", "FAILED"], "starting task bad-"),
        (probe_worker.POLL_BLOCKING, ["RUNNING", "FAILED", "FAILED"], "polling task bad-"),
    ],
)
def test_code_that_blocks_the_loop_fails_with_the_line_where_it_stood(
    good: ProbeWorkerProcess, hang: str, failed: list[str], doing: str
) -> None:
    began_s = time.monotonic()
    _create_bad(good, hang)
    assert wait_for(lambda: _states(good, "bad") == failed, deadline_s=PATIENCE_S)
    assert time.monotonic() - began_s < HANG_S
    assert max(_slowest_s(good, number) for number in range(ROUNDS)) < SLOWEST_S
    body: dict[str, Any] = good.request("GET", "/connectors/bad/status").body
    last = (body["tasks"] or [body["connector"]])[-1]
    assert f"{doing}" in last["trace"].splitlines()[0]
    assert "probe_worker.py:" in last["trace"].splitlines()[0]
    running = ["RUNNING"] * 3
    assert wait_for(lambda: _states(good, "good") == running, deadline_s=PATIENCE_S)


@pytest.mark.parametrize("hang", [probe_worker.VALIDATE, probe_worker.VALIDATE_BUSY])
def test_a_check_that_hangs_holds_up_only_who_asked_for_it(
    worker_of_its_own: ProbeWorkerProcess, hang: str
) -> None:
    worker = worker_of_its_own
    _create_good(worker)
    for _ in range(3):  # clients ask again
        _create_bad(worker, hang)
    assert max(_slowest_s(worker, number) for number in range(ROUNDS)) < SLOWEST_S
    assert worker.request("GET", "/connectors/bad").status == 404


@pytest.fixture
def worker_of_its_own(kafka_broker: KafkaBroker, tmp_path: Path) -> Iterator[ProbeWorkerProcess]:
    """One that is killed in the end: its threads hang longer than a test should take."""
    prefix = prefix_of(__name__)
    worker = ProbeWorkerProcess(
        kafka_broker.bootstrap, group_id=f"{prefix}group", topics_prefix=prefix, home=tmp_path
    )
    try:
        worker.start()
        yield worker
        worker.kill9()
    finally:
        worker.close()
