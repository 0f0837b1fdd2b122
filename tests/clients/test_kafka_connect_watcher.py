"""kafka-connect-watcher: looks at all connectors again and again, and acts on what is not well."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.harness.client_env import ClientEnv, environment
from tests.harness.processes import ManagedProcess
from tests.integration.worker_rig import Rig

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

ACTS_WITHIN_S = 40.0
"""It waits 5 s after each action, whatever it is told."""


class Watcher:
    """One running watcher of the worker, with one rule."""

    def __init__(self, clients: ClientEnv, home: Path, rig: Rig, rule: dict[str, Any]) -> None:
        cluster = {
            "hostname": "127.0.0.1",
            "port": rig.worker.rest_port,
            "evaluation_rules": [rule],
        }
        config = home / "watcher.yaml"  # JSON is YAML
        config.write_text(
            json.dumps({"clusters": [cluster], "watch_interval": "2s"}), encoding="utf-8"
        )
        self.log = home / "watcher.log"
        self.process = ManagedProcess(
            "kafka-connect-watcher",
            [str(clients.program("kafka-connect-watcher")), "--config-file", str(config)],
            log_path=self.log,
            env={
                **environment(),
                "CONCURRENT_THREADS": "1",  # each of them spins
                "PYTHONUNBUFFERED": "1",
                "AWS_EMF_ENVIRONMENT": "local",
            },
        )

    def wait_log(self, text: str) -> None:
        """Wait until it says this."""
        self.process.wait_until(
            lambda: text in self.log.read_text(encoding="utf-8"),
            what=f"'{text}' in its log",
            deadline_s=ACTS_WITHIN_S,
        )


Starter = Callable[..., Watcher]


@pytest.fixture
def watcher(clients: ClientEnv, rig: Rig, tmp_path: Path) -> Iterator[Starter]:
    """Starts a watcher with a rule as it is written in its configuration."""
    with ExitStack() as ends:

        def start(**rule: Any) -> Watcher:
            started = Watcher(clients, tmp_path, rig, rule)
            ends.callback(started.process.stop, grace_s=5.0)
            started.process.start()
            return started

        yield start


def fail_a_task(rig: Rig) -> None:
    """A task that fails, of a table that can be read again by the next one."""
    rig.create_table("t", items=1)
    rig.control.deny(action="dynamodb:Scan")
    rig.create()
    rig.wait_states("RUNNING", "FAILED")
    rig.control.allow(action="dynamodb:Scan")


def test_it_brings_back_a_failed_task(watcher: Starter, rig: Rig) -> None:
    fail_a_task(rig)

    started = watcher(auto_correct_actions=[{"action": "cycle"}])

    rig.wait(lambda: rig.states() == ("RUNNING", "RUNNING"), "the task back", deadline_s=40.0)
    rig.wait_equal("t")
    started.wait_log(f"Post-action status for {rig.name}: {{'name': '{rig.name}'")
    assert "ERROR" not in started.log.read_text(encoding="utf-8")


def test_a_restart_of_the_connector_alone_leaves_its_tasks(watcher: Starter, rig: Rig) -> None:
    """R27: as in Kafka, a plain restart is the connector's."""
    fail_a_task(rig)

    started = watcher(auto_correct_actions=[{"action": "restart"}])

    started.wait_log(f"Applied corrective action 'restart' to connector {rig.name}")
    rig.wait_states("RUNNING", "FAILED")


def test_what_is_paused_by_a_person_stays_paused_when_the_rule_says_so(
    watcher: Starter, rig: Rig
) -> None:
    rig.create_table("t")
    rig.create()
    rig.wait_states("RUNNING", "RUNNING")
    rig.expect(202, "PUT", f"{rig.path}/pause")
    rig.wait_states("PAUSED", "PAUSED")

    watcher(ignore_paused=True).wait_log("Clusters processing finished")
    assert rig.states() == ("PAUSED", "PAUSED")
    watcher(exclude_regex=[r"c\d+"]).wait_log("ignored by exclude_regex")
    assert rig.states() == ("PAUSED", "PAUSED")
    watcher(ignore_paused=False)
    rig.wait_states("RUNNING", "RUNNING")
