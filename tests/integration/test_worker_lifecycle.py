"""Pause, resume, stop, restart, change and delete over REST, with data on its way.

Whether a task was restarted is seen from outside: a task that starts asks for new iterators.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from tests.integration.worker_rig import Rig

pytestmark = pytest.mark.kafka

PROMPT_S = 20.0
"""Within this a state must change; the worker itself polls nothing that takes longer."""


def in_sync(rig: Rig, items: int = 3) -> None:
    """A connector whose one table ``t`` has been copied and is followed, at rest."""
    rig.create_table("t", items=items)
    rig.create()
    rig.wait_following("t")
    rig.wait_equal("t")


def calls(rig: Rig, operation: str) -> int:
    count: int = rig.control.counts().get(operation, 0)
    return count


def task_starts(rig: Rig) -> int:
    return calls(rig, "GetShardIterator")


def arrives(rig: Rig, number: int) -> None:
    """An item that is written now comes through."""
    rig.put("t", number)
    rig.wait(lambda: f"k{number}" in keys(rig), f"k{number} in the topic")


def keys(rig: Rig) -> list[str]:
    return [record.key_json["id"] for record in rig.records("t")]


def wait_reads(rig: Rig, count: int) -> None:
    """Let the task read the stream so many times more: what is new has then been seen."""
    before = calls(rig, "GetRecords")
    rig.wait(lambda: calls(rig, "GetRecords") >= before + count, f"{count} reads of the stream")


# -- pause, resume, stop -----------------------------------------------------------------------


def test_an_idle_task_is_paused_promptly_and_what_comes_meanwhile_is_sent_after_it(
    rig: Rig,
) -> None:
    in_sync(rig)
    began = time.monotonic()

    rig.expect(202, "PUT", f"{rig.path}/pause")

    rig.wait_states("PAUSED", "PAUSED")
    assert time.monotonic() - began < PROMPT_S
    rig.put("t", 7)
    wait_reads(rig, 3)
    assert "k7" not in keys(rig)

    rig.expect(202, "PUT", f"{rig.path}/resume")

    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_equal("t")
    assert rig.ops("t").count("r") == 3


def test_a_scan_that_is_paused_goes_on_where_it_was(rig: Rig) -> None:
    rig.create_table("t", items=200)
    rig.control.latency(operation="Scan", delay_s=0.05)
    rig.create(init__sync__page__size="5")
    rig.wait(lambda: rig.row("t").get("items_scanned", 0) >= 20, "a part of the scan")

    rig.expect(202, "PUT", f"{rig.path}/pause")

    rig.wait_states("PAUSED", "PAUSED")
    rig.wait(lambda: len(keys(rig)) == len(keys(rig)), "what was under way to arrive")
    assert len(keys(rig)) < 200
    rig.expect(202, "PUT", f"{rig.path}/resume")
    rig.wait_following("t")
    rig.wait_equal("t")
    assert rig.ops("t") == ["r"] * 200


def test_a_paused_connector_stays_paused_over_a_restart_of_its_tasks(rig: Rig) -> None:
    in_sync(rig)
    rig.expect(202, "PUT", f"{rig.path}/pause")
    rig.wait_states("PAUSED", "PAUSED")

    rig.expect(202, "POST", f"{rig.path}/restart?includeTasks=true")

    rig.wait_states("PAUSED", "PAUSED")
    rig.put("t", 7)
    rig.expect(202, "PUT", f"{rig.path}/resume")
    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_equal("t")


def test_a_stopped_connector_has_no_tasks_reads_nothing_and_goes_on_where_it_was(
    rig: Rig,
) -> None:
    in_sync(rig)

    rig.expect(204, "PUT", f"{rig.path}/stop")

    rig.wait_states("STOPPED")
    assert rig.expect(200, "GET", f"{rig.path}/tasks").body == []
    reads = calls(rig, "GetRecords")
    for number in range(10, 15):
        rig.put("t", number)
    assert rig.ops("t").count("c") == 0
    assert calls(rig, "GetRecords") == reads

    rig.expect(202, "PUT", f"{rig.path}/resume")

    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_equal("t")
    assert sorted(rig.ops("t")) == ["c"] * 5 + ["r"] * 3


def test_a_connector_can_be_created_stopped(rig: Rig) -> None:
    rig.create_table("t", items=2)
    rig.control.clear_journal()
    body = {"name": rig.name, "config": rig.config(), "initial_state": "STOPPED"}

    rig.expect(201, "POST", "/connectors", body)

    rig.wait_states("STOPPED")
    assert calls(rig, "Scan") == 0
    rig.expect(202, "PUT", f"{rig.path}/resume")
    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_equal("t")


# -- configs -----------------------------------------------------------------------------------


def test_an_identical_config_restarts_nothing(rig: Rig) -> None:
    in_sync(rig)
    before = task_starts(rig)

    rig.expect(200, "PUT", f"{rig.path}/config", rig.config())

    arrives(rig, 7)
    assert task_starts(rig) == before
    assert rig.states() == ("RUNNING", "RUNNING")


def test_a_changed_config_takes_effect_in_new_tasks_without_a_new_scan(rig: Rig) -> None:
    in_sync(rig)
    before = task_starts(rig)
    config = rig.config(tombstones__on__delete="false")

    rig.expect(200, "PUT", f"{rig.path}/config", config)

    rig.wait(lambda: task_starts(rig) > before, "a new task")
    rig.control.delete(table="t", key={"id": {"S": "k0"}})
    rig.wait(lambda: "d" in rig.ops("t"), "the delete")
    arrives(rig, 7)
    assert [record for record in rig.records("t") if record.value is None] == []
    assert rig.ops("t").count("r") == 3


# -- restarts ----------------------------------------------------------------------------------


def test_a_plain_restart_is_of_the_connector_alone(rig: Rig) -> None:
    in_sync(rig)
    before = task_starts(rig)

    rig.expect(204, "POST", f"{rig.path}/restart")

    rig.wait_states("RUNNING", "RUNNING")
    arrives(rig, 7)
    assert task_starts(rig) == before


def test_a_restart_with_tasks_answers_what_it_does_and_does_it(rig: Rig) -> None:
    in_sync(rig)
    before = task_starts(rig)

    answer = rig.expect(202, "POST", f"{rig.path}/restart?includeTasks=true")

    assert answer.body["connector"]["state"] == "RESTARTING"
    assert [task["state"] for task in answer.body["tasks"]] == ["RESTARTING"]
    rig.wait(lambda: task_starts(rig) > before, "a new task")
    rig.wait_states("RUNNING", "RUNNING")
    arrives(rig, 7)
    assert rig.ops("t").count("r") == 3


def test_a_restart_of_what_has_failed_leaves_alone_what_runs(rig: Rig) -> None:
    in_sync(rig)
    before = task_starts(rig)

    answer = rig.expect(202, "POST", f"{rig.path}/restart?includeTasks=true&onlyFailed=true")

    assert answer.body["connector"]["state"] == "RUNNING"
    assert [task["state"] for task in answer.body["tasks"]] == ["RUNNING"]
    arrives(rig, 7)
    assert task_starts(rig) == before


def test_one_task_can_be_restarted(rig: Rig) -> None:
    in_sync(rig)
    before = task_starts(rig)

    rig.expect(204, "POST", f"{rig.path}/tasks/0/restart")

    rig.wait(lambda: task_starts(rig) > before, "a new task")
    rig.wait_states("RUNNING", "RUNNING")
    rig.expect(404, "POST", f"{rig.path}/tasks/1/restart")
    arrives(rig, 7)


# -- all of it --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_storm_of_requests_ends_in_what_was_asked_for_last_and_loses_nothing(
    rig: Rig, seed: int
) -> None:
    dice = random.Random(seed)
    for table in ("t", "u"):
        rig.create_table(table, items=60)
    rig.control.latency(operation="Scan", delay_s=0.02)

    def config() -> dict[str, str]:
        page = dice.choice(["5", "7"])
        return rig.config(init__sync__page__size=page, tasks__max=dice.choice(["1", "2"]))

    requests: list[Callable[[], tuple[str, str, object]]] = [
        lambda: ("PUT", f"{rig.path}/config", config()),
        lambda: ("PUT", f"{rig.path}/pause", None),
        lambda: ("PUT", f"{rig.path}/resume", None),
        lambda: ("PUT", f"{rig.path}/stop", None),
        lambda: ("POST", f"{rig.path}/restart?includeTasks=true", None),
        lambda: ("POST", f"{rig.path}/restart", None),
        lambda: ("POST", f"{rig.path}/tasks/0/restart", None),
        lambda: ("DELETE", rig.path, None),
    ]
    for number in range(40):
        method, path, body = dice.choice(requests)()
        answer = rig.worker.request(method, path, body)
        assert answer.status < 400 or answer.status in (404, 409, 500), answer
        for table in ("t", "u"):
            rig.put(table, 100 + number)

    rig.worker.request("PUT", f"{rig.path}/config", rig.config(tasks__max="2"))
    rig.expect(202, "PUT", f"{rig.path}/resume")

    rig.wait_states("RUNNING", "RUNNING", "RUNNING")
    for table in ("t", "u"):
        rig.wait_following(table)
        rig.wait_equal(table)


# -- the end -----------------------------------------------------------------------------------


def test_a_deleted_connector_is_gone_and_reads_no_more(rig: Rig) -> None:
    in_sync(rig)
    rig.expect(204, "DELETE", rig.path)

    rig.expect(404, "GET", rig.path)
    rig.expect(404, "GET", f"{rig.path}/offsets")
    rig.expect(404, "DELETE", rig.path)
    rig.wait(lambda: rig.status() is None, "its status to go")
    reads = calls(rig, "GetRecords")
    rig.put("t", 7)
    assert "k7" not in keys(rig)  # reading the topic takes longer than several polls
    assert calls(rig, "GetRecords") == reads


def test_a_connector_of_the_same_name_goes_on_where_the_deleted_one_was_and_the_log_says_so(
    rig: Rig,
) -> None:
    in_sync(rig)
    rig.expect(204, "DELETE", rig.path)
    rig.wait(lambda: rig.status() is None, "its status to go")
    rig.put("t", 7)

    rig.create()

    rig.wait_table("t", "SYNC")
    rig.wait_equal("t")
    assert sorted(rig.ops("t")) == ["c", "r", "r", "r"]
    created = [
        line["stored_offsets"]
        for line in rig.log_lines()
        if line["event"] == "connector created" and line["connector"] == rig.name
    ]
    assert created[0] == 0
    assert created[1] > 0
    assert any(
        line["event"] == "connector deleted, its offsets are kept" for line in rig.log_lines()
    )
