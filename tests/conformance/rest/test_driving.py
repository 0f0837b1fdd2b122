"""How a scenario is played: what is sent, what is waited for, what is written down."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from tests.conformance.rest import driving
from tests.conformance.rest.driving import WAITED_IN_VAIN, Driver
from tests.conformance.rest.exchange import Answer
from tests.conformance.rest.internal_topics import InternalTopics
from tests.conformance.rest.steps import (
    NOT_SENT,
    Scenario,
    Step,
    Until,
    get,
    post,
    put,
    wait,
    wait_states,
)
from tests.harness.topics import TopicReader, TopicRecord

SESSION_KEY = b'{"key":"%s","algorithm":"HmacSHA256"}' % base64.b64encode(b"secret")


class Topics:
    """Stands for a reader of the internal topics."""

    def __init__(self) -> None:
        self.arriving = [record("configs", b"session-key", SESSION_KEY)]

    def read_to_end(self) -> Iterator[TopicRecord]:
        while self.arriving:
            yield self.arriving.pop(0)


def record(topic: str, key: bytes, value: bytes | None) -> TopicRecord:
    """A record of an internal topic."""
    return TopicRecord(f"p-connect-{topic}", 0, 0, key, value)


class Worker:
    """Stands for a worker: answers in turn, the last answer for ever; no connectors."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[str, str, bytes | None, dict[str, str]]] = []

    def send(
        self, address: str, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Answer:
        if (method, path) == ("GET", "/connectors"):
            return Answer(200, {}, [])
        self.sent.append((method, path, body, dict(headers)))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def played(
    monkeypatch: pytest.MonkeyPatch, directory: Path, worker: Worker, *steps: Step, **more: Any
) -> dict[str, Any]:
    """The transcript of a scenario of these steps."""
    topics = more.pop("topics", Topics())
    monkeypatch.setattr(driving, "send", worker.send)
    driver = Driver(
        address="127.0.0.1:8083",
        run="run-1",
        directory=directory,
        topics=InternalTopics(cast("TopicReader", topics), "p-"),
        patience_s=0.3,
        **more,
    )
    return driver.play(Scenario("one", "", steps, {"in.txt": "text"}))


OK = Answer(200, {}, {"n": 1})


def test_placeholders_are_filled_in_and_come_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    worker = Worker(
        Answer(200, {}, {"f": f"{tmp_path}/in.txt", "t": "run-1-t", "w": "127.0.0.1:8083"})
    )
    step = put("/connectors/{run}-c/config", {"file": "{dir}/in.txt"})
    transcript = played(monkeypatch, tmp_path, worker, step)
    method, path, body, _ = worker.sent[0]
    assert (method, path) == ("PUT", "/connectors/run-1-c/config")
    assert body == f'{{"file":"{tmp_path}/in.txt"}}'.encode()
    assert (tmp_path / "in.txt").read_text() == "text"
    entry = transcript["steps"][0]
    assert entry["answer"]["body"] == {"f": "<dir>/in.txt", "t": "<run>-t", "w": "<worker>"}
    assert entry["body"] == {"file": "{dir}/in.txt"}


def test_headers_of_the_worker_and_of_the_step_are_sent_but_for_those_that_are_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    worker = Worker(OK)
    login = {"Authorization": "Basic x"}
    steps = (
        post("/a", {}),
        post("/b", {}, headers={"Content-Type": NOT_SENT, "Authorization": NOT_SENT}),
    )
    played(monkeypatch, tmp_path, worker, *steps, headers=login)
    assert [headers for *_, headers in worker.sent] == [
        {"Authorization": "Basic x", "Content-Type": "application/json"},
        {},
    ]


def test_a_signed_step_is_signed_with_the_session_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    worker = Worker(OK)
    played(monkeypatch, tmp_path, worker, post("/a", [], signed=True))
    signature = worker.sent[0][3]["X-Connect-Authorization"]
    assert base64.b64decode(signature) == hmac.new(b"secret", b"[]", hashlib.sha256).digest()


def test_a_polled_step_has_the_answer_that_was_awaited(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    worker = Worker(Answer(404, {}, None), Answer(404, {}, None), OK)
    step = wait("/x", Until("200", lambda answer: answer.status == 200))
    transcript = played(monkeypatch, tmp_path, worker, step)
    assert transcript["steps"][0]["answer"]["status"] == 200
    assert len(worker.sent) == 3
    assert WAITED_IN_VAIN not in transcript["steps"][0]


def test_a_wait_in_vain_is_written_down(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    running = {"connector": {"state": "FAILED"}, "tasks": []}
    step = wait_states("c", "RUNNING")
    transcript = played(monkeypatch, tmp_path, Worker(Answer(200, {}, running)), step)
    assert transcript["steps"][0][WAITED_IN_VAIN] == "RUNNING with tasks []"


def test_what_must_stay_so_is_asked_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    worker = Worker(OK, Answer(404, {}, None), OK)
    step = wait("/x", Until("200", lambda answer: answer.status == 200, stays_s=0.1))
    transcript = played(monkeypatch, tmp_path, worker, step)
    assert WAITED_IN_VAIN not in transcript["steps"][0]
    assert len(worker.sent) > 3


def test_a_worker_that_is_about_to_rebalance_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    momentary = "Request cannot be completed because a rebalance is expected"
    worker = Worker(Answer(409, {}, {"error_code": 409, "message": momentary}), OK)
    transcript = played(monkeypatch, tmp_path, worker, get("/x"))
    assert transcript["steps"][0]["answer"]["status"] == 200


def test_records_are_of_this_scenario_and_in_order_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    topics = Topics()

    class Writing(Worker):
        """Writes its records when it is asked."""

        def send(self, *asked: Any) -> Answer:
            if asked[2] != "/x":
                return super().send(*asked)
            topics.arriving += [
                record("configs", b"connector-c", b'{"properties":{"b":"1","a":"2"}}'),
                record("configs", b"task-c-0", b'{"properties":{}}'),
                record("configs", b"commit-c", b'{"tasks": 1}'),
                record("offsets", b'["c",{"p":1}]', b'{"o":1}'),
                record("offsets", b'["c",{"p":1}]', b'{"o":2}'),
                record("status", b"status-connector-c", b'{"state":"RUNNING","generation":3}'),
                record("status", b"status-connector-c", b'{"state":"RUNNING","generation":4}'),
                record("status", b"status-connector-c", None),
            ]
            return super().send(*asked)

    topics.arriving.append(record("configs", b"connector-before", None))
    transcript = played(monkeypatch, tmp_path, Writing(OK), get("/x"), topics=topics)
    assert transcript["records"] == {
        "configs": {
            "c": [
                {"key": "connector-c", "value": {"properties": {"b": "1", "a": "2"}}},
                {"key": "task-c-0", "value": {"properties": {}}},
                {"key": "commit-c", "value": '{"tasks":1} (not compact)'},
            ]
        },
        "offsets": {'["c",{"p":1}]': '{"o":2}'},
        "statuses": {
            "status-connector-c": ['{"state":"RUNNING","generation":"<generation>"}', None]
        },
    }
