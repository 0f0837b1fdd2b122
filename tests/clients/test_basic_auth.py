"""Clients and a worker that asks for a login: who has one works, who has none learns why (X09)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.interpreter import ClientError, Interpreter
from tests.harness.client_env import ClientEnv
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import ManagedProcess, free_ports, wait_for
from tests.harness.worker import WorkerProcess, rest_request
from tests.integration.worker_rig import prefix_of

USER, PASSWORD = "ops", "correct horse"
FAILING = {"connector.class": "MockSource", "mock_mode": "task-failure", "delay_ms": "1"}
DEADLINE_S = 40.0

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def worker(
    kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """A worker whose probes are open to everybody, and nothing else."""
    home = tmp_path_factory.mktemp("login")
    users = home / "users.properties"
    users.write_text(f"{USER}={PASSWORD}\n", encoding="utf-8")
    prefix = prefix_of(__name__)
    with WorkerProcess(
        kafka_broker.bootstrap,
        group_id=f"{prefix}group",
        topics_prefix=prefix,
        home=home / "worker",
        properties={
            "rest.extension.classes": (
                "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
            ),
            "connectd.rest.basic.auth.credentials.file": str(users),
            "connectd.rest.basic.auth.public.paths": "/,/health",
        },
    ) as started:
        yield started


@pytest.fixture
def admin(worker: WorkerProcess, python: Interpreter) -> Iterator[Interpreter]:
    """``connect`` is kafka-connect-py with a login; what a test has made is deleted by it."""
    python.run(
        "from kafka_connect import KafkaConnect",
        f"connect = KafkaConnect({worker.rest_url!r}, auth={f'{USER}:{PASSWORD}'!r})",
    )
    yield python
    python.run("connect.delete_all_connectors()")


def create(admin: Interpreter, name: str, config: dict[str, str], state: str) -> None:
    admin.run(f"connect.update_connector({name!r}, {config!r})")
    status = f"connect.list_connector_tasks({name!r}) and connect.get_connector_task_status"
    task = f"{status}({name!r}, 0)['state']"

    def is_there() -> bool:
        try:
            return bool(admin.value(task) == state)
        except ClientError:
            return False

    assert wait_for(is_there, deadline_s=DEADLINE_S)


def test_without_a_login_only_probes_are_answered(worker: WorkerProcess) -> None:
    assert worker.request("GET", "/").status == 200
    assert worker.request("GET", "/health").status == 200
    refused = worker.request("GET", "/connectors")
    assert refused.status == 401
    assert refused.body == {"error_code": 401, "message": "User cannot access the resource."}


def test_kafka_connect_py_takes_a_login_from_its_environment(
    clients: ClientEnv, worker: WorkerProcess
) -> None:
    variables = {"KAFKA_CONNECT_URL": worker.rest_url}
    login = {"KAFKA_CONNECT_BASIC_AUTH": f"{USER}:{PASSWORD}"}

    assert clients.run("kc", "list", env={**variables, **login}).json == []
    refused = clients.run("kc", "list", env=variables).stdout
    assert refused.startswith("401 Client Error: Unauthorized")


def test_kafka_connect_api_tells_a_wrong_login_from_other_errors(
    worker: WorkerProcess, python: Interpreter
) -> None:
    python.run(
        "from kafka_connect_api.kafka_connect_api import Api, Cluster",
        f"port, user = {worker.rest_port}, {USER!r}",
        f"known = Api('127.0.0.1', port=port, username=user, password={PASSWORD!r})",
        "stranger = Api('127.0.0.1', port=port, username=user, password='guessed')",
    )

    assert python.value("Cluster(known).connectors") == {}
    with pytest.raises(ClientError) as refused:
        python.value("Cluster(stranger).connectors")
    assert refused.value.kind == "GenericUnauthorized"


def test_kafkaconnect_takes_a_login_in_the_url(clients: ClientEnv, worker: WorkerProcess) -> None:
    url = f"http://{USER}:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{worker.rest_port}"
    assert clients.run("kafkaconnect", "--connect", url, "list").json == []


def test_the_healthcheck_judges_with_a_login(
    clients: ClientEnv, worker: WorkerProcess, admin: Interpreter, tmp_path: Path
) -> None:
    create(admin, "failing", FAILING, "FAILED")
    port = free_ports(1)[0]
    check = ManagedProcess(
        "kafka-connect-healthcheck",
        [
            str(clients.program("kafka-connect-healthcheck")),
            *("--port", str(port), "--connect-url", worker.rest_url),
            *("--basic-auth", f"{USER}:{PASSWORD}"),
        ],
        log_path=tmp_path / "healthcheck.log",
    )
    verdict: dict[str, Any] = {}

    def has_a_verdict() -> bool:
        try:
            verdict.update(rest_request(f"http://127.0.0.1:{port}/", "GET").body)
        except OSError:
            return False
        return True

    try:
        check.start()
        check.wait_until(has_a_verdict, what="a verdict", deadline_s=DEADLINE_S)
    finally:
        check.stop(grace_s=10.0)
    assert [(each["type"], each["connector"]) for each in verdict["failures"]] == [
        ("task", "failing")
    ]


def test_the_watcher_acts_with_a_login(
    clients: ClientEnv, worker: WorkerProcess, admin: Interpreter, tmp_path: Path
) -> None:
    create(admin, "failing", FAILING, "FAILED")
    cluster = {
        "hostname": "127.0.0.1",
        "port": worker.rest_port,
        "authentication": {"username": USER, "password": PASSWORD},
        "evaluation_rules": [{"auto_correct_actions": [{"action": "pause"}]}],
    }
    config = tmp_path / "watcher.yaml"
    config.write_text(json.dumps({"clusters": [cluster]}), encoding="utf-8")
    watcher = ManagedProcess(
        "kafka-connect-watcher",
        [str(clients.program("kafka-connect-watcher")), "--config-file", str(config)],
        log_path=tmp_path / "watcher.log",
        env={"CONCURRENT_THREADS": "1", "AWS_EMF_ENVIRONMENT": "local"},
    )
    state = "connect.get_connector_status('failing')['connector']['state']"
    try:
        watcher.start()
        watcher.wait_until(
            lambda: bool(admin.value(state) == "PAUSED"), what="PAUSED", deadline_s=DEADLINE_S
        )
    finally:
        watcher.stop(grace_s=5.0)
