"""Plugins that would end the worker, or keep it from ending: a real process, real signals."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import probe_worker
from tests.harness.kafka import KafkaBroker
from tests.harness.probe_worker import EXITING_TRANSFORM, HANGING_CLASS, ProbeWorkerProcess
from tests.harness.processes import wait_for
from tests.integration.worker_rig import prefix_of

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

PATIENCE_S = 60.0
GRACE_S = 3.0
EXIT_S = 30.0  # of the interpreter, on a busy machine

SOURCE = {"connector.class": HANGING_CLASS, "tasks.max": "1"}


@pytest.fixture(scope="module")
def worker(
    kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProbeWorkerProcess]:
    worker = _worker(kafka_broker, tmp_path_factory.mktemp("worker"))
    try:
        worker.start()
        yield worker
    finally:
        worker.close()


def _worker(broker: KafkaBroker, home: Path) -> ProbeWorkerProcess:
    prefix = prefix_of(__name__)
    return ProbeWorkerProcess(
        broker.bootstrap,
        group_id=f"{prefix}group",
        topics_prefix=prefix,
        home=home,
        properties={
            "connectd.shutdown.grace.ms": str(int(GRACE_S * 1000)),
            "task.shutdown.graceful.timeout.ms": "500",
        },
    )


def _create(worker: ProbeWorkerProcess, hang: str, **more: str) -> Any:
    return worker.request("PUT", "/connectors/bad/config", {**SOURCE, "hang": hang, **more})


def _status(worker: ProbeWorkerProcess) -> list[dict[str, Any]]:
    body = worker.request("GET", "/connectors/bad/status").body
    return [body["connector"], *body["tasks"]] if "connector" in body else []


def _states(worker: ProbeWorkerProcess) -> list[str]:
    return [each["state"] for each in _status(worker)]


@pytest.mark.parametrize(
    ("method", "states", "line"),
    [
        ("start", ["FAILED"], "starting connector bad (tests.HangingSource): SystemExit(3) in "),
        ("task_configs", ["FAILED"], "task configs of connector bad (tests.HangingSource): Sys"),
        ("task-start", ["RUNNING", "FAILED"], "starting task bad-0 ({}): SystemExit(3) in {}.st"),
        ("poll", ["RUNNING", "FAILED"], "polling task bad-0 ({}): SystemExit(3) in {}.poll ("),
    ],
)
def test_one_that_calls_exit_fails_by_itself_and_is_named(
    worker: ProbeWorkerProcess, method: str, states: list[str], line: str
) -> None:
    assert _create(worker, f"{probe_worker.EXIT}{method}").status in (200, 201)
    try:
        assert wait_for(lambda: _states(worker) == states, deadline_s=PATIENCE_S)
        failed = next(each for each in _status(worker) if each["state"] == "FAILED")
        task = "__main__.HangingTask"
        assert line.replace("{}", task) in failed["trace"].splitlines()[0]
        assert "SystemExit" in worker.log_tail()
    finally:
        assert worker.request("DELETE", "/connectors/bad").status == 204


def test_a_check_that_calls_exit_is_an_answer(worker: ProbeWorkerProcess) -> None:
    answer = _create(worker, f"{probe_worker.EXIT}validate")
    assert answer.status == 500
    assert f"asking plugins about a {HANGING_CLASS}: SystemExit(3) in " in answer.body["message"]
    assert worker.request("GET", "/connectors/bad").status == 404


def test_a_transform_that_calls_exit_fails_its_task(
    worker: ProbeWorkerProcess, kafka_prefix: str
) -> None:
    transform = {"transforms": "x", "transforms.x.type": EXITING_TRANSFORM}
    _create(worker, probe_worker.RECORD, topic=f"{kafka_prefix}t", **transform)
    try:
        assert wait_for(lambda: _states(worker) == ["RUNNING", "FAILED"], deadline_s=PATIENCE_S)
        first, *_ = _status(worker)[1]["trace"].splitlines()
        assert f"transforms.x ({EXITING_TRANSFORM}): SystemExit(3) in __main__.Exiting" in first
    finally:
        assert worker.request("DELETE", "/connectors/bad").status == 204


def test_a_job_of_a_plugin_that_calls_exit_ends_nothing_but_itself(
    worker: ProbeWorkerProcess,
) -> None:
    _create(worker, probe_worker.EXIT_JOB)
    try:
        said = "a plugin tried to end the worker, which goes on"
        assert wait_for(lambda: said in worker.log_tail(), deadline_s=PATIENCE_S)
        assert wait_for(lambda: _states(worker) == ["RUNNING"] * 2, deadline_s=PATIENCE_S)
    finally:
        assert worker.request("DELETE", "/connectors/bad").status == 204


@pytest.mark.parametrize(
    ("hang", "left"),
    [(probe_worker.POLL_DEAF, "bad-0/poll"), (probe_worker.POLL_THREAD, "uvloop_0")],
)
def test_the_process_ends_in_time_whatever_a_plugin_leaves_behind(
    kafka_broker: KafkaBroker, tmp_path: Path, hang: str, left: str
) -> None:
    worker = _worker(kafka_broker, tmp_path)
    try:
        worker.start()
        _create(worker, hang)
        assert wait_for(lambda: _states(worker) == ["RUNNING"] * 2, deadline_s=PATIENCE_S)
        began_s = time.monotonic()
        assert worker.sigterm() in (0, 3)
        assert time.monotonic() - began_s < GRACE_S + EXIT_S
        (line,) = [each for each in _log_lines(worker) if "ending the process" in each]
        assert left in line
    finally:
        worker.close()


def test_a_second_signal_ends_it_at_once_though_a_plugin_holds_it_up(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    worker = _worker(kafka_broker, tmp_path)
    worker.properties["connectd.shutdown.grace.ms"] = "600000"
    worker.properties["task.shutdown.graceful.timeout.ms"] = "600000"
    try:
        worker.start()
        _create(worker, probe_worker.POLL_DEAF)
        assert wait_for(lambda: _states(worker) == ["RUNNING"] * 2, deadline_s=PATIENCE_S)
        os.kill(worker.pid, signal.SIGTERM)
        assert wait_for(lambda: '"stopping"' in worker.log_tail(), deadline_s=PATIENCE_S)
        os.kill(worker.pid, signal.SIGTERM)
        assert worker.wait_exit(deadline_s=PATIENCE_S) == 3
        assert "stopping at once, as a second signal asks" in worker.log_tail()
    finally:
        worker.close()


def _log_lines(worker: ProbeWorkerProcess) -> list[str]:
    return worker.log_tail().splitlines()
