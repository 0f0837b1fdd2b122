"""bkkt: connectors as manifests in a repository, compared with the worker and applied to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.client_env import ClientEnv, CommandAnswer
from tests.integration.worker_rig import Rig

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

SETTINGS_FILE = ("--config", "connectctl.yaml")
ENV = ("--env", "dev")
NAME_OF_A_MANIFEST = "dev.shop.items.source.dynamodb.cdc.0"
"""bkkt tells environment, domain, kind and system from the name, and stores manifests by them."""

SETTINGS = """\
version: 1
connectors_root: connectors
default_cluster: local
clusters:
  local:
    dev:
      connect:
        scheme: http
        port: {port}
        hosts: ["127.0.0.1"]
naming:
  enabled: true
  strict: true
  rules:
    - id: sources
      applies_to:
        type: [source]
      template: "{{env}}.{{domain}}.{{dataset}}.source.{{system}}.{{mode}}.{{index}}"
"""


class CommandLine:
    """``bkkt`` in a repository of its own; its words go to standard error, documents to output."""

    def __init__(self, clients: ClientEnv, repository: Path, port: int) -> None:
        self._clients = clients
        self.repository = repository
        settings = repository / "connectctl.yaml"
        settings.write_text(SETTINGS.format(port=port), encoding="utf-8")

    def __call__(self, *arguments: str) -> CommandAnswer:
        answer = self._clients.run("bkkt", *SETTINGS_FILE, *arguments, *ENV, cwd=self.repository)
        assert answer.exit_code == 0, answer
        return answer

    def connect(self, *arguments: str) -> CommandAnswer:
        """One of its direct requests."""
        return self("connect", *arguments)

    def write(self, name: str, document: object) -> str:
        """A file of the repository."""
        (self.repository / name).write_text(json.dumps(document), encoding="utf-8")
        return name


@pytest.fixture
def bkkt(clients: ClientEnv, rig: Rig, tmp_path: Path) -> CommandLine:
    return CommandLine(clients, tmp_path, rig.worker.rest_port)


def test_direct_requests_go_through_a_whole_life(bkkt: CommandLine, rig: Rig) -> None:
    rig.create_table("t", items=2)
    config = rig.config()
    file = bkkt.write("connector.json", {"name": rig.name, "config": config})
    this = ("--names", rig.name, "--yes")

    bkkt.connect("create", file)
    waits = ("--until-healthy", "--watch", "--timeout-seconds", "20", "--interval-seconds", "1")
    assert "healthy (RUNNING)" in bkkt.connect("status", *waits).stderr
    shown = bkkt.connect("status", "--json").json["targets"][0]["connectors"][0]
    assert shown["name"] == rig.name
    assert shown["status"]["ok"] is True
    assert shown["status"]["task_states"] == ["RUNNING"]

    bkkt.connect("patch", *this, "--set", "tasks.max=2")
    assert rig.expect(200, "GET", f"{rig.path}/config").body["tasks.max"] == "2"
    bkkt.connect("update", file)
    assert rig.expect(200, "GET", f"{rig.path}/config").body == {**config, "name": rig.name}

    bkkt.connect("pause", *this)
    rig.wait_states("PAUSED", "PAUSED")
    bkkt.connect("resume", *this)
    rig.wait_states("RUNNING", "RUNNING")
    restarted = bkkt.connect("restart", *this, "--scope", "all", "--json").json
    assert restarted["counts"]["restarted"] == 1
    rig.wait_states("RUNNING", "RUNNING")
    bkkt.connect("stop", *this)
    rig.wait_states("STOPPED")
    bkkt.connect("delete", *this)
    assert rig.expect(200, "GET", "/connectors").body == []


def test_what_it_finds_out_about_a_worker(bkkt: CommandLine, rig: Rig) -> None:
    rig.create_table("t")
    rig.create()
    rig.wait_states("RUNNING", "RUNNING")

    plugins = bkkt.connect("plugins", "inventory", "--json").json["plugins"]
    assert rig.config()["connector.class"] in {plugin["class"] for plugin in plugins}
    endpoint = bkkt.connect("endpoints", "--json", "--name", rig.name).json["endpoints"][0]
    assert endpoint["healthy"] is True
    assert {check["status_code"] for check in endpoint["checks"]} == {200}
    workers = bkkt.connect("workers", "inventory", "--json").json["workers"]
    assert [worker["healthy"] for worker in workers] == [True]


def test_stored_positions_are_read_and_patched(bkkt: CommandLine, rig: Rig) -> None:
    rig.create_table("t", items=1)
    rig.create()
    rig.wait_following("t")
    rig.expect(204, "PUT", f"{rig.path}/stop")
    rig.wait_states("STOPPED")

    read = bkkt.connect("offsets", "get", "--name", rig.name).json["offsets"]
    assert read == rig.expect(200, "GET", f"{rig.path}/offsets").body

    again = bkkt.write("offsets.json", {"offsets": [{**read["offsets"][0], "offset": None}]})
    bkkt.connect("offsets", "patch", "--name", rig.name, "--json-file", again, "--yes")
    left = rig.expect(200, "GET", f"{rig.path}/offsets").body["offsets"]
    assert read["offsets"][0] not in left


def test_manifests_are_exported_checked_applied_and_compared(bkkt: CommandLine, rig: Rig) -> None:
    rig.create_table("t", items=2)
    rig.name = NAME_OF_A_MANIFEST
    rig.create()
    rig.wait_states("RUNNING", "RUNNING")

    bkkt("export", rig.name)
    manifest = str(next(bkkt.repository.rglob(f"{rig.name}.json")))
    bkkt("validate-connect", manifest)
    rig.expect(204, "DELETE", rig.path)

    apply = ("apply", "--no-smoke", manifest)
    bkkt(*apply)
    rig.wait_states("RUNNING", "RUNNING")
    assert rig.expect(200, "GET", f"{rig.path}/config").body == {**rig.config(), "name": rig.name}
    assert "No drift detected" in bkkt("drift").stdout

    changed: dict[str, Any] = rig.config(tasks__max="2")
    rig.expect(200, "PUT", f"{rig.path}/config", changed)
    assert "Different keys: `tasks.max`" in bkkt("drift").stdout
    bkkt(*apply)
    assert "No drift detected" in bkkt("diff", manifest).stdout


def test_a_manifest_with_errors_is_refused_before_it_is_applied(
    bkkt: CommandLine, clients: ClientEnv, rig: Rig
) -> None:
    rig.create_table("t")
    rig.name = NAME_OF_A_MANIFEST
    rig.create()
    bkkt("export", rig.name)
    manifest = next(bkkt.repository.rglob(f"{rig.name}.json"))
    manifest.write_text(json.dumps({"name": rig.name, "config": {"tasks.max": "many"}}))

    answer = clients.run(
        "bkkt",
        *(*SETTINGS_FILE, "validate-connect", str(manifest), *ENV),
        cwd=bkkt.repository,
    )

    assert answer.exit_code != 0
    assert "Invalid value many for configuration tasks.max" in answer.stderr
