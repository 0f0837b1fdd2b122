"""kafka-connect-healthcheck: a server that judges the worker from states and worker ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.harness.client_env import ClientEnv, environment
from tests.harness.processes import ManagedProcess, free_ports, wait_for
from tests.harness.worker import RestAnswer, rest_request
from tests.integration.worker_rig import Rig

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

START_DEADLINE_S = 30.0


class Healthcheck:
    """One running health check."""

    def __init__(self, clients: ClientEnv, home: Path, url: str, options: dict[str, str]) -> None:
        port = free_ports(1)[0]
        self._url = f"http://127.0.0.1:{port}"
        settings = {"--port": str(port), "--connect-url": url, **options}
        self.process = ManagedProcess(
            "kafka-connect-healthcheck",
            [
                str(clients.program("kafka-connect-healthcheck")),
                *(word for option in settings.items() for word in option),
            ],
            log_path=home / f"healthcheck-{port}.log",
            env=environment(),
        )

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.process.start()
        self.process.wait_until(self._is_up, what="200 from /ping", deadline_s=START_DEADLINE_S)

    def ask(self) -> RestAnswer:
        """Its verdict: 200 or 503, and why."""
        return rest_request(f"{self._url}/", "GET")

    def _is_up(self) -> bool:
        try:
            return rest_request(f"{self._url}/ping", "GET").status == 200
        except OSError:
            return False


Starter = Callable[..., Healthcheck]


@pytest.fixture
def healthcheck(clients: ClientEnv, rig: Rig, tmp_path: Path) -> Iterator[Starter]:
    """Starts health checks of the worker, with options as they are typed."""
    with ExitStack() as ends:

        def start(**options: str) -> Healthcheck:
            typed = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
            check = Healthcheck(clients, tmp_path, rig.worker.rest_url, typed)
            ends.callback(check.process.stop, grace_s=10.0)
            check.start()
            return check

        yield start


def test_a_worker_without_connectors_is_healthy(healthcheck: Starter) -> None:
    answer = healthcheck().ask()
    assert answer.status == 200
    assert answer.body == {
        "failures": [],
        "failure_states": ["FAILED"],
        "failure_rate": 0.0,
        "failure_threshold": 0.0,
        "healthy": True,
    }


def test_a_failed_task_makes_it_unhealthy_until_it_is_restarted(
    healthcheck: Starter, rig: Rig
) -> None:
    rig.create_table("t", items=1)
    rig.control.deny(action="dynamodb:Scan")
    rig.create()
    rig.wait_states("RUNNING", "FAILED")
    worker_id = rig.status()["connector"]["worker_id"]
    here, elsewhere = (
        healthcheck(connect_worker_id=worker_id),
        healthcheck(connect_worker_id="10.0.0.1:8083"),
    )

    verdict = here.ask()

    assert verdict.status == 503
    failure: dict[str, Any] = verdict.body["failures"][0]
    assert failure["trace"].startswith("connectd.errors.")
    assert {key: failure[key] for key in ("type", "connector", "id", "state", "worker_id")} == {
        "type": "task",
        "connector": rig.name,
        "id": 0,
        "state": "FAILED",
        "worker_id": worker_id,
    }
    assert elsewhere.ask().body["failures"] == []

    rig.control.allow(action="dynamodb:Scan")
    rig.expect(204, "POST", f"{rig.path}/tasks/0/restart")
    assert wait_for(lambda: here.ask().status == 200, deadline_s=20.0)


def test_states_and_containers_can_be_chosen(healthcheck: Starter, rig: Rig) -> None:
    rig.create_table("t", items=1)
    rig.create()
    rig.wait_states("RUNNING", "RUNNING")
    rig.expect(202, "PUT", f"{rig.path}/pause")
    rig.wait_states("PAUSED", "PAUSED")

    paused_is_fine = healthcheck()
    paused_is_not = healthcheck(unhealthy_states="FAILED,PAUSED", considered_containers="CONNECTOR")

    assert paused_is_fine.ask().status == 200
    verdict = paused_is_not.ask()
    assert verdict.status == 503
    assert [failure["type"] for failure in verdict.body["failures"]] == ["connector"]


def test_a_worker_that_does_not_answer_is_unhealthy(clients: ClientEnv, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    check = Healthcheck(clients, tmp_path, url, {})
    try:
        check.start()
        assert check.ask().status == 503
    finally:
        check.process.stop(grace_s=10.0)
