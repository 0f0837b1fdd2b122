"""Two hundred connectors on one worker that is killed and started again (R32)."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.harness import probe_worker
from tests.harness.kafka import KafkaBroker
from tests.harness.probe_worker import HANGING_CLASS, ProbeWorkerProcess
from tests.harness.processes import wait_for
from tests.integration.worker_rig import prefix_of

pytestmark = pytest.mark.kafka

CONNECTORS = 200
START_S = 1
"""How long each takes to start: one after the other they would need minutes."""
PATIENCE_S = 60.0


def _listing(worker: ProbeWorkerProcess) -> dict[str, Any]:
    listing: dict[str, Any] = worker.request("GET", "/connectors?expand=status").body
    return listing


def _running(worker: ProbeWorkerProcess) -> set[str]:
    return {
        name
        for name, entry in _listing(worker).items()
        if entry["status"]["connector"]["state"] == "RUNNING"
        and [task["state"] for task in entry["status"]["tasks"]] == ["RUNNING"]
    }


@pytest.mark.timeout(240)
def test_after_a_crash_all_start_side_by_side_and_one_that_hangs_delays_none(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    prefix = prefix_of(__name__)
    names = {f"c{number}" for number in range(CONNECTORS)}
    config = {
        "connector.class": HANGING_CLASS,
        "tasks.max": "1",
        "hang": probe_worker.START,
        "hang.s": str(START_S),
    }
    worker = ProbeWorkerProcess(
        kafka_broker.bootstrap, group_id=f"{prefix}group", topics_prefix=prefix, home=tmp_path
    )
    with contextlib.closing(worker):
        worker.start()
        worker.request("PUT", "/connectors/stuck/config", {**config, "hang.s": "120"})
        with ThreadPoolExecutor(4) as pool:
            paths = [f"/connectors/{name}/config" for name in names]
            answers = list(pool.map(lambda path: worker.request("PUT", path, config), paths))
        assert {answer.status for answer in answers} == {201}
        assert wait_for(lambda: _running(worker) == names, deadline_s=PATIENCE_S)

        worker.kill9()
        worker.start()

        assert set(worker.request("GET", "/connectors").body) == {*names, "stuck"}
        assert wait_for(lambda: _running(worker) == names, deadline_s=PATIENCE_S)
        assert _listing(worker)["stuck"]["status"]["connector"]["state"] == "UNASSIGNED"
