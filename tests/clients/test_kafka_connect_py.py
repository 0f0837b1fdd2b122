"""kafka-connect-py: the command ``kc`` and the class behind it, in whole lives of connectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.interpreter import ClientError, Interpreter
from tests.harness.client_env import ClientEnv, CommandAnswer
from tests.integration.worker_rig import Rig

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]


class CommandLine:
    """``kc`` with the worker's URL; it ends with 0 whatever it was told."""

    def __init__(self, clients: ClientEnv, rig: Rig) -> None:
        self._clients = clients
        self._url = rig.worker.rest_url

    def __call__(self, *arguments: str) -> CommandAnswer:
        answer = self._clients.run("kc", "--url", self._url, *arguments)
        assert (answer.exit_code, answer.stderr) == (0, ""), answer
        assert "Oops" not in answer.stdout
        return answer


@pytest.fixture
def kc(clients: ClientEnv, rig: Rig) -> CommandLine:
    return CommandLine(clients, rig)


@pytest.fixture
def library(python: Interpreter, rig: Rig) -> Interpreter:
    """A session in which ``connect`` is the client and ``name``, ``config`` are the test's own."""
    python.run(
        "from kafka_connect import KafkaConnect",
        f"connect = KafkaConnect(url={rig.worker.rest_url!r})",
        f"name, config = {rig.name!r}, {rig.config()!r}",
    )
    return python


def test_the_command_line_goes_through_a_whole_life(
    kc: CommandLine, rig: Rig, tmp_path: Path
) -> None:
    rig.create_table("t", items=2)
    config = rig.config()
    file = tmp_path / "connector.json"
    file.write_text(json.dumps({"name": rig.name, "config": config}), encoding="utf-8")

    assert kc("info").json.keys() == {"version", "commit", "kafka_cluster_id"}
    created = kc("create", "--config-file", str(file)).json
    assert created["config"] == {**config, "name": rig.name}
    assert created["type"] == "source"
    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_records("t", 2)
    again = kc("create", "--config-file", str(file)).stdout
    assert again.startswith("409 Client Error: Conflict")

    assert kc("list").json == [rig.name]
    listed = kc("list", "--expand", "status", "--state", "running", "--pattern", "c.*").json
    assert listed[rig.name]["status"]["connector"]["state"] == "RUNNING"
    assert kc("list", "--expand", "info", "--pattern", "other.*").json == {}
    assert kc("get", rig.name).json["tasks"] == [{"connector": rig.name, "task": 0}]
    assert kc("config", rig.name).json == {**config, "name": rig.name}
    assert kc("list-tasks", rig.name).json[0]["id"]["task"] == 0
    assert kc("task-status", rig.name, "0").json["state"] == "RUNNING"
    assert kc("list-topics", rig.name).json == {rig.name: {"topics": [rig.topic("t")]}}

    kc("pause", "--all", "--pattern", "c.*")
    rig.wait_states("PAUSED", "PAUSED")
    kc("resume", rig.name)
    rig.wait_states("RUNNING", "RUNNING")
    kc("restart-task", rig.name, "0")
    rig.wait_states("RUNNING", "RUNNING")

    kc("delete", rig.name)
    assert kc("status", rig.name).stdout.startswith("404 Client Error: Not Found")
    assert kc("list").json == []


def test_numbers_and_booleans_in_an_update_are_taken_as_their_text(
    library: Interpreter, rig: Rig
) -> None:
    """R12: people write JSON numbers where Connect has strings."""
    rig.create_table("t")
    rig.create()
    rig.wait_states("RUNNING", "RUNNING")

    library.run("config.update({'tasks.max': 2, 'init.sync.skip': True})")
    updated = library.value("connect.update_connector(name, config)")

    assert updated["config"]["tasks.max"] == "2"
    assert updated["config"]["init.sync.skip"] == "true"
    assert library.value("connect.get_connector_config(name)") == updated["config"]


def test_restarts_say_what_they_restart(library: Interpreter, rig: Rig) -> None:
    """R10: the client sends ``True`` and ``False``, as Python spells them."""
    rig.create_table("t", items=1)
    rig.control.deny(action="dynamodb:Scan")
    rig.create()
    rig.wait_states("RUNNING", "FAILED")

    assert library.value("connect.restart_connector(name)") is None
    rig.wait_states("RUNNING", "FAILED")
    rig.control.allow(action="dynamodb:Scan")
    plan = library.value("connect.restart_connector(name, include_tasks=True, only_failed=True)")

    assert plan["connector"]["state"] == "RUNNING"
    assert plan["tasks"][0]["state"] == "RESTARTING"
    rig.wait_states("RUNNING", "RUNNING")


def test_all_connectors_can_be_stopped_and_resumed(library: Interpreter, rig: Rig) -> None:
    rig.create_table("t", items=1)
    rig.create()
    rig.wait_states("RUNNING", "RUNNING")

    library.run("connect.stop_all_connectors(pattern='c.*', state='RUNNING')")
    rig.wait_states("STOPPED")
    assert library.value("connect.get_connector_status(name)")["tasks"] == []
    assert library.value("connect.list_connectors(state='stopped')") == [rig.name]

    library.run("connect.resume_all_connectors()")
    rig.wait_states("RUNNING", "RUNNING")
    library.run("connect.restart_all_connectors(include_tasks=True)")
    rig.wait_states("RUNNING", "RUNNING")
    library.run("connect.delete_all_connectors()")
    assert library.value("connect.list_connectors()") == []


def test_topics_are_forgotten_on_request(library: Interpreter, rig: Rig) -> None:
    rig.create_table("t", items=1)
    rig.create()
    rig.wait_records("t", 1)
    topics = {rig.name: {"topics": [rig.topic("t")]}}
    rig.wait(lambda: library.value("connect.list_connector_topics(name)") == topics, "the topic")
    rig.expect(204, "PUT", f"{rig.path}/stop")
    rig.wait_states("STOPPED")

    library.run("connect.reset_connector_topics(name)")

    nothing: dict[str, Any] = {rig.name: {"topics": []}}
    rig.wait(lambda: library.value("connect.list_connector_topics(name)") == nothing, "no topic")


def test_plugins_are_listed_and_configs_validated(library: Interpreter, rig: Rig) -> None:
    plugin = rig.config()["connector.class"]
    listed = library.value("connect.list_connector_plugins()")
    assert plugin in {entry["class"] for entry in listed}

    found = library.value(
        f"connect.validate_connector_config({plugin!r}, {{**config, 'tasks.max': 'x'}})"
    )

    errors = {each["value"]["name"]: each["value"]["errors"] for each in found["configs"]}
    assert errors["name"] != []
    assert errors["tasks.max"] != []
    assert found["error_count"] == sum(len(each) for each in errors.values())


def test_what_is_not_there_is_a_404_with_its_reason(library: Interpreter, rig: Rig) -> None:
    for call in ("get_connector", "pause_connector", "delete_connector", "get_connector_status"):
        with pytest.raises(ClientError, match="404 Client Error: Not Found"):
            library.run(f"connect.{call}(name)")
    with pytest.raises(ClientError, match=f"Unknown connector: {rig.name}"):
        library.run("connect.restart_connector(name)")
