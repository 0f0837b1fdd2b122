"""Config providers in a real worker: the values run, the references are seen (X01, case 90)."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import Rig

pytestmark = pytest.mark.kafka

FILE_SECRET = "f1le-s3cret/planted+1"
DIRECTORY_SECRET = "d1r-s3cret-planted"
ENV_SECRET = "env-s3cret-planted"
WORKER_SECRET = "w0rker-s3cret-by-reference"
ROTATED = "r0tated-s3cret-planted"
SECRETS = [FILE_SECRET, DIRECTORY_SECRET, ENV_SECRET, WORKER_SECRET, ROTATED]
JAVA = "org.apache.kafka.common.config.provider."
VALIDATE = "/connector-plugins/connectd.DynamoDBSource/config/validate"


@pytest.fixture
def rig(
    kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Rig]:
    monkeypatch.setenv("PROBE_SECRET", ENV_SECRET)
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "token").write_text(DIRECTORY_SECRET)
    (secrets / "aws.properties").write_text(f"key={FILE_SECRET}\nworker={WORKER_SECRET}\n")
    properties = {
        "connectd.log.level": "DEBUG",
        "config.providers": "file,dir,env",
        "config.providers.file.class": f"{JAVA}FileConfigProvider",
        "config.providers.file.param.allowed.paths": str(secrets),
        "config.providers.dir.class": f"{JAVA}DirectoryConfigProvider",
        "config.providers.env.class": f"{JAVA}EnvVarConfigProvider",
        "config.providers.env.param.allowlist.pattern": "PROBE_.*",
        "ssl.key.password": f"${{file:{secrets}/aws.properties:worker}}",
    }
    with Rig(kafka_broker, kafka_prefix, tmp_path, properties=properties) as rig:
        yield rig


def found_in(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text or json.dumps(secret)[1:-1] in text]


def test_what_a_provider_knows_is_used_and_shown_nowhere(rig: Rig, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    rig.create_table("t", items=3)
    config = {
        **rig.config(),
        "aws.secret.key": f"${{file:{secrets}/aws.properties:key}}",
        "aws.access.key.id": f"AKIA${{dir:{secrets}:token}}",
        "my.note": "${env:PROBE_SECRET}",
    }
    # An error that repeats what it was given, as services do.
    message = f"bad signature by {FILE_SECRET}, not {DIRECTORY_SECRET} of {ENV_SECRET}"
    rig.control.inject(operation="Scan", error="ValidationException", message=message)

    checked = rig.expect(200, "PUT", VALIDATE, {**config, "name": "c"})
    wrong = {**config, "name": "c", "tasks.max": config["aws.secret.key"]}
    refused = rig.expect(400, "POST", "/connectors", {"name": "c", "config": wrong})
    created = rig.expect(201, "PUT", f"{rig.path}/config", config)
    rig.wait_states("RUNNING", "FAILED")
    trace = rig.status()["tasks"][0]["trace"]
    rig.expect(204, "POST", f"{rig.path}/tasks/0/restart")
    rig.wait_equal("t")

    assert "bad signature by [hidden], not [hidden] of [hidden]" in trace
    assert f"Invalid value {config['aws.secret.key']} for configuration" in json.dumps(refused.body)
    assert rig.expect(200, "GET", f"{rig.path}/config").body == {**config, "name": "c"}
    tasks = rig.expect(200, "GET", f"{rig.path}/tasks").body
    assert tasks[0]["config"]["aws.secret.key"] == config["aws.secret.key"]
    assert tasks[0]["config"]["aws.access.key.id"] == config["aws.access.key.id"]
    answers = [checked, refused, created] + [
        rig.expect(200, "GET", path)
        for path in (
            "/", "/connectors?expand=status&expand=info", rig.path, f"{rig.path}/config",
            f"{rig.path}/status", f"{rig.path}/tasks", f"{rig.path}/tasks/0/status",
            f"{rig.path}/offsets", f"{rig.path}/topics", f"/connectd{rig.path}/tables", "/health",
        )
    ]  # fmt: skip
    for answer in answers:
        assert found_in(json.dumps(answer.body, ensure_ascii=False)) == []
    assert rig.worker.sigterm() == 0
    for kind in ("configs", "offsets", "status"):
        records = rig.internal(kind)
        assert records
        assert found_in("".join(f"{record.key!r}{record.value!r}" for record in records)) == []
    assert rig.log_lines()
    assert found_in(rig.log_text()) == []


def test_a_secret_that_changes_is_taken_up_by_a_restart(rig: Rig, tmp_path: Path) -> None:
    path = tmp_path / "secrets" / "aws.properties"
    rig.create_table("t", items=3)
    rig.expect(
        201, "PUT", f"{rig.path}/config", rig.config(aws__secret__key=f"${{file:{path}:key}}")
    )
    rig.wait_equal("t")

    path.unlink()
    failed = rig.expect(500, "POST", f"{rig.path}/tasks/0/restart").body
    assert failed["message"] == "Failed to start task: c-0"
    rig.wait_states("RUNNING", "FAILED")
    trace = rig.status()["tasks"][0]["trace"]
    assert f"Could not read properties from file {path}" in trace

    path.write_text(f"key={ROTATED}\n")
    rig.expect(202, "POST", f"{rig.path}/restart?includeTasks=true&onlyFailed=true")
    rig.wait_states("RUNNING", "RUNNING")
    rig.put("t", 99)
    rig.wait_equal("t")
    assert found_in(rig.log_text()) == []


def test_a_path_that_is_not_allowed_stays_a_reference(rig: Rig) -> None:
    note = "${file:/etc/passwd:root} ${env:HOME}"
    config = rig.config(my__note=note)
    rig.expect(201, "PUT", f"{rig.path}/config", config)
    rig.wait_states("RUNNING")
    assert rig.expect(200, "GET", f"{rig.path}/config").body["my.note"] == note


def test_a_file_that_nobody_can_read_to_its_end_holds_up_its_request_only(
    rig: Rig, tmp_path: Path
) -> None:
    """Opening a pipe without a writer waits for ever, as a file on a dead server does."""
    pipe = tmp_path / "secrets" / "pipe.properties"
    os.mkfifo(pipe)
    rig.create_table("t", items=1)
    hanging = {**rig.config(), "name": "hangs", "aws.secret.key": f"${{file:{pipe}:key}}"}
    answers = []

    def ask() -> None:
        answers.append(rig.worker.request("PUT", "/connectors/hangs/config", hanging))

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for thread in asking:
        thread.start()
    rig.create()
    rig.wait_equal("t")
    assert any(thread.is_alive() for thread in asking)
    for thread in asking:
        thread.join()

    assert [answer.status for answer in answers] == [500] * 3
    assert f"no answer for the path '{pipe}' after 10 s" in answers[0].body["message"]
    assert rig.states() == ("RUNNING", "RUNNING")
    assert rig.worker.sigterm() == 0
