"""schemathesis: thousands of requests made from the API's own description, and never a 500.

``CONNECTD_FUZZ_SEED=7`` repeats or varies a run; ``CONNECTD_FUZZ_S=600`` goes on for ten minutes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.client_env import ClientEnv
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import wait_for
from tests.harness.worker import WorkerProcess

SEED = int(os.environ.get("CONNECTD_FUZZ_SEED", "4301"))
SECONDS = int(os.environ.get("CONNECTD_FUZZ_S", "0"))
EXAMPLES_PER_OPERATION = 40
SHORT_RUN_WITHIN_S = 240.0
MARGIN_S = 120.0

HERE = Path(__file__).parent

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(SECONDS + SHORT_RUN_WITHIN_S + MARGIN_S)]


@pytest.fixture
def worker(kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path) -> Iterator[WorkerProcess]:
    """A worker of its own: what is left of it after this run is of no use to others."""
    with WorkerProcess(
        kafka_broker.bootstrap,
        group_id=f"{kafka_prefix}group",
        topics_prefix=kafka_prefix,
        home=tmp_path / "worker",
        properties={"offset.storage.partitions": "1", "status.storage.partitions": "1"},
    ) as started:
        yield started


def inhabit(worker: WorkerProcess, prefix: str, home: Path) -> dict[str, Any]:
    """Connectors that run, fail and are stopped; returns what ``fuzz_hooks`` may know of them."""
    file = home / "lines.txt"
    file.write_text("one\ntwo\n", encoding="utf-8")
    mock = {"connector.class": "MockSource", "tasks.max": "2"}
    lines = {
        "connector.class": "FileStreamSource",
        "file": str(file),
        "topic": f"{prefix}lines",
    }
    connectors: dict[str, dict[str, str]] = {
        "mock": mock,
        "lines": lines,
        "failing": {**mock, "mock_mode": "task-failure", "delay_ms": "1"},
    }
    for name, config in connectors.items():
        assert worker.request("PUT", f"/connectors/{name}/config", config).status == 201
    assert wait_for(lambda: has_offsets(worker), deadline_s=30.0)
    assert worker.request("PUT", "/connectors/lines/stop").status == 204
    plugins = worker.request("GET", "/connector-plugins?connectorsOnly=false").body
    classes = sorted({plugin["class"] for plugin in plugins})
    table = {"connector.class": "connectd.DynamoDBSource", "aws.region": "eu-west-1"}
    return {
        "connectors": list(connectors),
        "plugins": [*classes, "FileStreamSource", "MockSource"],
        "classes": classes,
        "loggers": ["root", "connectd", "connectd.runtime"],
        "configs": [*connectors.values(), table],
        "harmless_configs": [mock, lines],
        "partitions": [{"filename": str(file)}, {"filename": 1}, {"x": "y"}, {}, None],
    }


def has_offsets(worker: WorkerProcess) -> bool:
    """Whether the lines of the file have been read and committed."""
    answer = worker.request("GET", "/connectors/lines/offsets")
    return answer.status == 200 and bool(answer.body["offsets"])


def test_no_request_is_answered_with_500_or_otherwise_than_described(
    clients: ClientEnv, worker: WorkerProcess, kafka_prefix: str, tmp_path: Path
) -> None:
    facts = tmp_path / "facts.json"
    facts.write_text(json.dumps(inhabit(worker, kafka_prefix, tmp_path)), encoding="utf-8")
    print(f"schemathesis: seed {SEED}")

    answer = clients.run(
        "schemathesis",
        *("--config-file", str(HERE / "schemathesis.toml"), "run", "--no-color"),
        f"{worker.rest_url}/connectd/openapi.json",
        *("--seed", str(SEED), "--max-examples", str(EXAMPLES_PER_OPERATION)),
        *(("--max-time", str(SECONDS)) if SECONDS else ()),
        env={
            "SCHEMATHESIS_HOOKS": str(HERE / "fuzz_hooks.py"),
            "CONNECTD_FUZZ_FACTS": str(facts),
        },
        cwd=tmp_path,
        deadline_s=SECONDS + SHORT_RUN_WITHIN_S,
    )

    assert answer.exit_code == 0, answer.stdout + answer.stderr
    print("\n".join(answer.stdout.splitlines()[-20:]))
    assert f"Seed: {SEED}" in answer.stdout
    assert worker.request("GET", "/health").status == 200
