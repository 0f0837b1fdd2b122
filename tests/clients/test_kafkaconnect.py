"""kafkaconnect: a command line that validates before it uploads, and takes flat configs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clients.interpreter import Interpreter
from tests.harness.client_env import ClientEnv, CommandAnswer
from tests.integration.worker_rig import Rig

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]


class CommandLine:
    """``kafkaconnect`` with the worker's URL."""

    def __init__(self, clients: ClientEnv, rig: Rig) -> None:
        self._clients = clients
        self._variables = {"KAFKA_CONNECT_URL": rig.worker.rest_url}

    def __call__(self, *arguments: str) -> CommandAnswer:
        answer = self._clients.run("kafkaconnect", *arguments, env=self._variables)
        assert answer.exit_code == 0, answer
        return answer


@pytest.fixture
def kafkaconnect(clients: ClientEnv, rig: Rig) -> CommandLine:
    return CommandLine(clients, rig)


def test_a_connector_is_uploaded_looked_at_paused_and_deleted(
    kafkaconnect: CommandLine, rig: Rig, tmp_path: Path
) -> None:
    rig.create_table("t", items=2)
    config = rig.config()
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config), encoding="utf-8")

    checked = kafkaconnect("upload", "--name", rig.name, "--dry-run", str(file)).json
    assert (checked["name"], checked["error_count"]) == (config["connector.class"], 0)
    assert kafkaconnect("list").json == []

    uploaded = kafkaconnect("upload", "--name", rig.name, str(file)).stdout
    created = json.loads(uploaded.partition("\n")[2])
    assert created["config"] == {**config, "name": rig.name}
    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_records("t", 2)

    assert kafkaconnect("list").json == [rig.name]
    assert kafkaconnect("info", rig.name).json["tasks"] == [{"connector": rig.name, "task": 0}]
    assert kafkaconnect("config", rig.name).json == {**config, "name": rig.name}
    assert kafkaconnect("status", rig.name).json["connector"]["state"] == "RUNNING"
    assert kafkaconnect("tasks", rig.name).json[0]["id"] == {"connector": rig.name, "task": 0}
    assert kafkaconnect("topics", rig.name).json == {rig.name: {"topics": [rig.topic("t")]}}

    kafkaconnect("pause", rig.name)
    rig.wait_states("PAUSED", "PAUSED")
    kafkaconnect("resume", rig.name)
    rig.wait_states("RUNNING", "RUNNING")
    kafkaconnect("restart", rig.name)
    rig.wait_states("RUNNING", "RUNNING")

    assert kafkaconnect("delete", rig.name).stdout.strip() == ""
    gone = kafkaconnect("info", rig.name).stdout
    assert gone.strip() == f"Resource {rig.worker.rest_url}{rig.path} not found."


def test_a_config_with_errors_is_shown_and_not_uploaded(
    kafkaconnect: CommandLine, rig: Rig, tmp_path: Path
) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(rig.config(tasks__max="many")), encoding="utf-8")

    answer = kafkaconnect("upload", "--name", rig.name, str(file)).stdout

    found = json.loads(answer.partition("\n")[2])
    errors = {each["value"]["name"]: each["value"]["errors"] for each in found["configs"]}
    assert found["error_count"] >= 1
    assert "many" in errors["tasks.max"][0]
    assert kafkaconnect("list").json == []


def test_its_plugins_are_those_of_the_worker(kafkaconnect: CommandLine, rig: Rig) -> None:
    plugins = kafkaconnect("plugins").json
    assert rig.config()["connector.class"] in {plugin["class"] for plugin in plugins}
    assert {frozenset(plugin) for plugin in plugins} == {frozenset({"class", "type", "version"})}


def test_its_library_creates_what_its_command_line_does(python: Interpreter, rig: Rig) -> None:
    rig.create_table("t", items=1)
    python.run(
        "from kafkaconnect.connect import Connect",
        f"connect = Connect({rig.worker.rest_url!r})",
        f"config = {json.dumps({**rig.config(), 'name': rig.name})!r}",
    )

    created = json.loads(python.value(f"connect.validate_and_create({rig.name!r}, config)"))

    assert created["name"] == rig.name
    rig.wait_states("RUNNING", "RUNNING")
    assert python.value(f"connect.remove({rig.name!r})") == ""
