"""The worker's image, built without an engine: what it has, and that a worker runs from it.

The stages for Spark are built by hand (``python -m tests.image.building spark``): half a gigabyte
and more than a minute. What differs in them is tested by ``tests/unit/spark_jobs``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import connectd
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import ManagedProcess, free_ports
from tests.harness.worker import NO_CREDENTIALS_FROM_OUTSIDE, rest_request
from tests.image import audit, building, dockerfile
from tests.image.building import Build
from tests.image.locks import LOCKED

pytestmark = pytest.mark.timeout(900)

START_DEADLINE_S = 60.0
STOP_DEADLINE_S = 60.0


@pytest.fixture(scope="module")
def image() -> Iterator[Build]:
    """Built once for all; lasts about a minute, since what is fetched is kept by pip."""
    with tempfile.TemporaryDirectory(prefix="connectd-image-") as root:
        build = Build(Path(root), dockerfile.read())
        build.make("worker")
        yield build


@pytest.fixture(scope="module")
def sbom(image: Build) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((image.root / building.SBOM).read_text(encoding="utf-8"))
    return found


def test_every_run_line_of_the_worker_was_carried_out(image: Build) -> None:
    file = dockerfile.read()
    lines = {
        each.text
        for stage in ("build", "worker")
        for each in file.instructions(stage)
        if each.word == "RUN"
    }
    assert set(image.ran) == lines


def test_the_entry_point_starts(image: Build) -> None:
    command = dockerfile.read().last("worker", "ENTRYPOINT").command
    answer = image.run("worker", *command, "--version")
    assert answer.stdout == f"connectd {connectd.__version__}\n", answer.stderr


def test_it_has_the_compiled_tier_where_this_machine_can_compile(image: Build) -> None:
    code = "from connectd.connectors.dynamodb import tiers; print(tiers.active().value)"
    tier = "compiled" if shutil.which("gcc") else "portable"
    answer = image.run("worker", "python", "-c", code)
    assert answer.stdout == f"{tier}\n", answer.stderr


def test_there_is_no_pip_and_nothing_but_what_runs(image: Build) -> None:
    programs = {each.name for each in (image.root / "opt/connectd/bin").iterdir()}
    assert {"connectd", "python"} <= programs
    assert {each for each in programs if each.startswith(("pip", "easy_install"))} == set()
    assert image.run("worker", "python", "-c", "import pip").returncode == 1
    assert image.run("worker", "python", "-c", "import pyspark").returncode == 1


def test_what_is_installed_fits_together(image: Build) -> None:
    pip = str(image.root / "opt/build/bin/pip")
    answer = image.run("build", pip, "--python", image.place("/opt/connectd/bin/python"), "check")
    assert "No broken requirements found" in answer.stdout, answer.stderr


def test_its_file_listens_where_others_can_reach_it(image: Build) -> None:
    text = (image.root / "etc/connectd/worker.properties").read_text(encoding="utf-8")
    assert "\nlisteners=http://:8083\n" in text


def test_the_bill_of_materials_names_everything_that_is_in_it(sbom: dict[str, Any]) -> None:
    assert sbom["bomFormat"] == "CycloneDX"
    own = sbom["metadata"]["component"]
    assert (own["name"], own["version"]) == ("connectd", connectd.__version__)
    assert all(each["purl"].startswith("pkg:pypi/") for each in sbom["components"])
    assert "timestamp" not in sbom["metadata"], "the same image has the same bill"


def test_versions_are_the_locked_ones_and_licences_are_agreed_to(sbom: dict[str, Any]) -> None:
    assert audit.problems(sbom, LOCKED / "worker.txt") == []


def test_no_licence_is_said_elsewhere_that_is_said_there(sbom: dict[str, Any]) -> None:
    silent = {each.name for each in audit.components(sbom) if not each.licences}
    assert silent == set(audit.SAID_ELSEWHERE)


@pytest.mark.kafka
def test_a_worker_runs_from_it_and_its_health_check_says_so(
    image: Build, kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path
) -> None:
    file = dockerfile.read()
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    env = {
        **image.environ("worker"),
        **NO_CREDENTIALS_FROM_OUTSIDE,
        "CONNECT_BOOTSTRAP_SERVERS": kafka_broker.bootstrap,
        "CONNECT_GROUP_ID": f"{kafka_prefix}group",
        "CONNECT_LISTENERS": url,
        **{
            f"CONNECT_{kind.upper()}_STORAGE_TOPIC": f"{kafka_prefix}{kind}"
            for kind in ("config", "offset", "status")
        },
    }
    entry = image.place("/opt/connectd/bin/connectd")
    arguments = [image.place(word) for word in file.last("worker", "CMD").command]
    health = [entry, *file.last("worker", "HEALTHCHECK").command[1:]]
    worker = ManagedProcess(
        "a worker of the image",
        [entry, *arguments],
        log_path=tmp_path / "worker.log",
        env=env,
        cwd=image.root,
    )
    worker.start()
    try:
        asking = {**env, "CONNECTD_URL": url}
        worker.wait_until(
            lambda: all(_code(each, asking) == 0 for each in (health, [*health, "--ready"])),
            what="health checks that end with 0",
            deadline_s=START_DEADLINE_S,
        )
        plugins = rest_request(f"{url}/connector-plugins", "GET").body
        worker.stop(grace_s=STOP_DEADLINE_S)
    finally:
        worker.stop(grace_s=STOP_DEADLINE_S)

    assert "connectd.DynamoDBSource" in {each["class"] for each in plugins}
    assert _code(health, {**env, "CONNECTD_URL": url}) == 1


def _code(command: list[str], env: dict[str, str]) -> int:
    return subprocess.run(
        command, env={**os.environ, **env}, capture_output=True, timeout=START_DEADLINE_S
    ).returncode
