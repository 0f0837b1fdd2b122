"""What the chart installs, without Kubernetes: its file in a worker, its Job against that."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.harness.helm import Manifest
from tests.harness.kafka import KafkaBroker
from tests.harness.worker import NO_CREDENTIALS_FROM_OUTSIDE, ROOT, WorkerProcess, rest_status
from tests.helm.test_values import worker_file
from tests.helm.value_sets import chart

pytestmark = pytest.mark.kafka

USER, PASSWORD = "operator", "s3cret:with/specials@"
LOGIN = f"{USER}:{PASSWORD}"
COMMAND_DEADLINE_S = 120.0
SOURCE = {"connector.class": "FileStreamSource", "tasks.max": 1, "topic": "lines", "file": "/none"}


@dataclass(frozen=True)
class Ended:
    code: int
    lines: list[str]


@pytest.fixture(scope="module")
def worker(
    kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    users = tmp_path_factory.mktemp("secrets") / "users"
    users.write_text(f"{USER}={PASSWORD}\n")
    login = {"connectd.rest.basic.auth.credentials.file": str(users)}
    file = worker_file(chart.render({"worker": {"config": login}}))
    here = {"bootstrap.servers": kafka_broker.bootstrap, "group.id": "chart", "listeners": ""}
    topics = {key: f"chart-{text}" for key, text in file.items() if key.endswith("storage.topic")}
    made = WorkerProcess(
        kafka_broker.bootstrap,
        group_id="chart",
        properties={key: text for key, text in file.items() if key not in here} | topics,
        headers={"Authorization": f"Basic {base64.b64encode(LOGIN.encode()).decode()}"},
    )
    with made:
        made.wait_healthy()
        yield made


def run_job(worker: WorkerProcess, home: Path, connectors: dict[str, Any]) -> Ended:
    """The Job's own command, with its files and variables, beside this worker."""
    objects = chart.render({"connectors": {**connectors, "loginSecret": "login"}})
    files = objects.one("ConfigMap", "c-connectd-connectors")["data"]
    mounted = home / "connectors"
    mounted.mkdir(exist_ok=True)
    for old in mounted.iterdir():
        old.unlink()
    for name, text in files.items():
        (mounted / name).write_text(text)
    container: Manifest = objects.one("Job")["spec"]["template"]["spec"]["containers"][0]
    place = {
        "/etc/connectd/connectors": str(mounted),
        "http://c-connectd.streams.svc:8083": worker.rest_url,
    }
    arguments = [place.get(each, each) for each in container["args"]]
    secret = {"username": USER, "password": PASSWORD}
    env = {
        each["name"]: secret[each["valueFrom"]["secretKeyRef"]["key"]]
        for each in container["env"]
        if "valueFrom" in each
    }
    assert container["command"] == ["connectd"]
    ended = subprocess.run(
        [sys.executable, "-m", "connectd", *arguments],
        env={**os.environ, **NO_CREDENTIALS_FROM_OUTSIDE, **env},
        cwd=ROOT, stdin=subprocess.DEVNULL, text=True, timeout=COMMAND_DEADLINE_S,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return Ended(ended.returncode, ended.stdout.splitlines())


def test_the_job_brings_the_group_to_what_the_values_say(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    both = {"items": {"a": {"config": SOURCE}, "b": {"config": SOURCE, "initialState": "STOPPED"}}}
    changed = {"items": {"a": {"config": {**SOURCE, "batch.size": 7}}}}

    assert run_job(worker, tmp_path, both) == Ended(0, ["a: created", "b: created"])
    assert run_job(worker, tmp_path, both) == Ended(0, ["a: unchanged", "b: unchanged"])
    assert run_job(worker, tmp_path, changed) == Ended(
        0, ["a: changed", "b: kept, though no file has it"]
    )
    assert run_job(worker, tmp_path, {**changed, "unlisted": "delete"}) == Ended(
        0, ["a: unchanged", "b: deleted, since no file has it"]
    )


def test_the_job_fails_with_the_words_of_the_worker(worker: WorkerProcess, tmp_path: Path) -> None:
    wrong = {"connector.class": "FileStreamSource", "topic": "t", "batch.size": "many"}

    ended = run_job(worker, tmp_path, {"items": {"x": {"config": wrong}}})

    assert ended.code == 1
    assert ended.lines[0].startswith("x: refused: Connector configuration is invalid")
    assert "Invalid value many for configuration batch.size" in "\n".join(ended.lines)


def test_probes_need_no_login(worker: WorkerProcess) -> None:
    container = chart.render().one("StatefulSet")["spec"]["template"]["spec"]["containers"][0]
    paths = {
        container[f"{name}Probe"]["httpGet"]["path"]
        for name in ("startup", "liveness", "readiness")
    }
    worker.wait_healthy()  # it has joined its group: ready
    answers = {path: rest_status(f"{worker.rest_url}{path}", {}) for path in paths}
    assert answers == dict.fromkeys(paths, 200)
    assert rest_status(f"{worker.rest_url}/connectors", {}) == 401


def test_what_the_container_asks_of_itself_is_answered(worker: WorkerProcess) -> None:
    ask = [sys.executable, "-m", "connectd", "health", "--url", worker.rest_url]
    ended = subprocess.run(
        ask, cwd=ROOT, text=True, capture_output=True, timeout=COMMAND_DEADLINE_S
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "live\n"
