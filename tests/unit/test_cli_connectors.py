"""``connectd connectors apply`` and ``connectd health``: against a scripted worker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from connectd import cli
from connectd.aio.clock import LoopClock
from connectd.cli import health
from connectd.cli.applying import Applying, Outcome, Result
from connectd.cli.worker_api import Answer, WorkerApi
from connectd.configdef.connector_file import ConnectorFile
from connectd.errors import ConnectdError, TransientNetworkError
from connectd.model.states import TargetState
from connectd.rest import probes
from tests.harness.processes import free_ports
from tests.kit.virtual_time import run_virtual

CapSys = pytest.CaptureFixture[str]
Config = dict[str, str | None]
REBALANCE = Answer(409, {"error_code": 409, "message": "a rebalance is expected"})
AWAY = TransientNetworkError("no worker answers")


class Worker:
    """A group's connectors; ``trouble`` is what the next requests get instead of an answer."""

    def __init__(self, connectors: dict[str, Config] | None = None) -> None:
        self.connectors = dict(connectors or {})
        self.refuses: dict[str, Answer] = {}
        self.trouble: list[Answer | Exception] = []
        self.asked: list[str] = []
        self.deadlines_s: list[float] = []
        self.created_as: dict[str, object] = {}

    async def ask(self, method: str, path: str, body: object, deadline_s: float) -> Answer:
        self.deadlines_s.append(deadline_s)
        self.asked.append(f"{method} {path}")
        if self.trouble:
            trouble = self.trouble.pop(0)
            if isinstance(trouble, Exception):
                raise trouble
            return trouble
        if path == "/health":
            return Answer(200, {"status": "healthy"})
        if path == "/connectors":
            return self._create(body) if method == "POST" else Answer(200, list(self.connectors))
        name = path.split("/")[2]
        if method == "DELETE":
            del self.connectors[name]
            return Answer(204, None)
        if method == "GET":
            found = self.connectors.get(name)
            return Answer(404, {"message": "not found"}) if found is None else Answer(200, found)
        return self._put(name, body)

    def _create(self, body: Any) -> Answer:
        self.created_as[body["name"]] = body["initial_state"]
        return self._put(body["name"], body["config"])

    def _put(self, name: str, config: Any) -> Answer:
        if name in self.refuses:
            return self.refuses[name]
        is_new = name not in self.connectors
        self.connectors[name] = dict(config)
        return Answer(201 if is_new else 200, {"name": name})

    @property
    def writes(self) -> list[str]:
        return [each for each in self.asked if not each.startswith("GET ")]


def file(name: str, target: TargetState | None = None, **config: str) -> ConnectorFile:
    return ConnectorFile(f"{name}.json", name, {"name": name, **config}, target)


def apply(
    worker: Worker,
    *files: ConnectorFile,
    deletes: bool = False,
    deadline_s: float = 300.0,
) -> list[tuple[str, Outcome]]:
    told: list[Result] = []

    async def run() -> list[Result]:
        work = Applying(worker.ask, LoopClock(), deadline_s=deadline_s, tell=told.append)
        return await work.run(files, deletes_unlisted=deletes)

    results = run_virtual(run())
    assert told == results
    return [(result.name, result.outcome) for result in results]


def test_what_is_missing_is_created_and_what_differs_is_changed() -> None:
    worker = Worker({"b": {"name": "b", "x": "1"}, "c": {"name": "c"}})

    assert apply(worker, file("a"), file("b", x="2"), file("c")) == [
        ("a", Outcome.CREATED), ("b", Outcome.CHANGED), ("c", Outcome.UNCHANGED),
    ]  # fmt: skip
    assert worker.writes == ["PUT /connectors/a/config", "PUT /connectors/b/config"]


def test_a_second_run_touches_nothing() -> None:
    worker = Worker()
    apply(worker, file("a", x="1"), file("b"))
    writes = len(worker.writes)

    assert {outcome for _, outcome in apply(worker, file("a", x="1"), file("b"))} == {
        Outcome.UNCHANGED
    }
    assert len(worker.writes) == writes


def test_a_state_is_given_to_new_connectors_only() -> None:
    worker = Worker({"b": {"name": "b"}})
    apply(worker, file("a", TargetState.PAUSED), file("b", TargetState.STOPPED, x="1"))
    assert worker.created_as == {"a": "PAUSED"}


def test_others_are_kept_and_named_unless_they_are_to_go() -> None:
    worker = Worker({"old": {"name": "old"}})

    assert apply(worker, file("a"))[1] == ("old", Outcome.KEPT)
    assert apply(worker, file("a"), deletes=True)[1] == ("old", Outcome.DELETED)
    assert list(worker.connectors) == ["a"]


def test_one_that_is_refused_does_not_keep_the_others_away() -> None:
    worker = Worker()
    worker.refuses["a"] = Answer(400, {"message": "Connector configuration is invalid"})

    assert apply(worker, file("a"), file("b")) == [
        ("a", Outcome.REFUSED), ("b", Outcome.CREATED),
    ]  # fmt: skip
    assert worker.writes.count("PUT /connectors/a/config") == 1


def test_a_worker_that_starts_is_waited_for() -> None:
    worker = Worker()
    worker.trouble = [AWAY, AWAY, Answer(503, {"status": "starting"}), REBALANCE]
    assert apply(worker, file("a")) == [("a", Outcome.CREATED)]


def test_a_rebalance_is_waited_for_as_long_as_there_is_time() -> None:
    worker = Worker()
    worker.refuses["a"] = REBALANCE
    assert apply(worker, file("a"), deadline_s=100) == [("a", Outcome.REFUSED)]
    assert len(worker.writes) > 15


@pytest.mark.parametrize(
    "trouble",
    [
        Answer(500, {"message": "IO Error trying to forward REST request: http://w1:8083/: gone"}),
        Answer(502, None),
        Answer(503, {"message": "still starting"}),
        Answer(504, None),
        AWAY,
    ],
    ids=lambda each: str(getattr(each, "status", "away")),
)
def test_a_leader_that_dies_is_waited_for_as_long_as_there_is_time(
    trouble: Answer | Exception,
) -> None:
    worker = Worker()
    worker.trouble = [Answer(200, None), Answer(200, []), Answer(404, {"message": "not found"})]
    worker.trouble += [trouble] * 20
    assert apply(worker, file("a"), file("b")) == [("a", Outcome.CREATED), ("b", Outcome.CREATED)]


def test_what_was_done_though_the_answer_was_lost_is_not_done_again() -> None:
    lost = Answer(500, {"message": "IO Error trying to forward REST request: closed"})
    worker = Worker({"a": {"name": "a"}})
    worker.trouble = [Answer(200, None), Answer(200, []), Answer(404, {"message": "not found"})]
    worker.trouble += [lost]
    assert apply(worker, file("a")) == [("a", Outcome.UNCHANGED)]
    assert worker.writes == ["PUT /connectors/a/config"]


def test_a_worker_that_fails_again_and_again_is_believed() -> None:
    worker = Worker()
    worker.refuses["a"] = Answer(500, {"message": "no disk"})
    assert apply(worker, file("a"), deadline_s=10_000) == [("a", Outcome.REFUSED)]
    assert len(worker.writes) == 5


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (AWAY, "no worker answers"),
        (Answer(503, {"message": "still starting up"}), "still starting up"),
        (Answer(502, None), "the worker answers 502"),
    ],
)
def test_the_deadline_ends_it_with_what_was_heard_last(
    trouble: Answer | Exception, words: str
) -> None:
    worker = Worker()
    worker.trouble = [trouble] * 1000
    with pytest.raises(ConnectdError, match=f"not ready within 60 s.*{words}"):
        apply(worker, file("a"), deadline_s=60)


def test_a_missing_login_is_told_at_once() -> None:
    worker = Worker()
    worker.trouble = [Answer(200, {}), Answer(401, {"message": "User cannot access"})]
    with pytest.raises(ConnectdError, match="cannot access; set CONNECTD_USER"):
        apply(worker, file("a"))
    assert worker.asked == ["GET /health", "GET /connectors"]


def test_no_question_takes_longer_than_there_is_time() -> None:
    worker = Worker()
    worker.trouble = [AWAY, AWAY]
    apply(worker, file("a"), deadline_s=60)
    assert worker.deadlines_s[0] == 60
    assert worker.deadlines_s[2] < 60 - 0.5 * 0.5  # two pauses later, whatever their jitter


STARTING = Answer(503, {"status": "not ready"})
WELL = Answer(200, {"status": "ready"})


@pytest.mark.parametrize(
    ("heard", "found", "took_s"),
    [
        ([WELL], WELL, 0.0),
        ([AWAY, AWAY, STARTING, WELL], WELL, 1.5),
        ([STARTING, Answer(404, None)], Answer(404, None), 0.5),  # that stays
        ([STARTING] * 100, STARTING, 9.5),
        ([AWAY] * 19 + [STARTING], STARTING, 9.5),
    ],
)
def test_health_waits_for_a_worker_that_is_well_and_no_longer_than_asked(
    heard: list[Answer | Exception], found: Answer, took_s: float
) -> None:
    left = iter(heard)

    async def ask(deadline_s: float) -> Answer:
        assert 0 < deadline_s <= 10
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def work() -> tuple[Answer, float]:
        clock = LoopClock()
        began_s = clock.monotonic()
        return await health.when_well(ask, clock, 10), clock.monotonic() - began_s

    answer, waited_s = run_virtual(work())
    assert answer == found
    assert waited_s == pytest.approx(took_s)


def test_health_says_that_nobody_answered_last() -> None:
    async def ask(deadline_s: float) -> Answer:
        raise AWAY

    with pytest.raises(TransientNetworkError):
        run_virtual(health.when_well(ask, LoopClock(), 10))


class TestCommand:
    @pytest.fixture
    def nobody(self) -> str:
        return f"http://127.0.0.1:{free_ports(1)[0]}"

    def run(self, *arguments: object) -> int:
        return cli.main(list(map(str, arguments)))

    def test_nobody_there(self, nobody: str, tmp_path: Path, capsys: CapSys) -> None:
        (tmp_path / "a.json").write_text(json.dumps({"name": "a"}))
        assert self.run("connectors", "apply", "--url", nobody, "--deadline", 0.1, tmp_path) == 1
        assert "not ready within 0.1 s: no worker answers at" in capsys.readouterr().err

    def test_nothing_to_keep(self, nobody: str, tmp_path: Path, capsys: CapSys) -> None:
        arguments = ("connectors", "apply", "--url", nobody, "--delete-unlisted", tmp_path)
        assert self.run(*arguments) == 2
        assert "would delete every connector" in capsys.readouterr().err

    @pytest.mark.parametrize("more", [(), ("--ready", "--wait", "0.1")])
    def test_health_of_nobody(self, nobody: str, more: tuple[str, ...], capsys: CapSys) -> None:
        assert self.run("health", "--url", nobody, *more) == 1
        assert "no worker answers" in capsys.readouterr().err

    @pytest.mark.parametrize("arguments", [(), ("--ready",)])
    def test_health_needs_no_login(
        self, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: CapSys
    ) -> None:
        """The health check of an image has none, whatever the worker asks of others."""

        def ask(_self: WorkerApi, method: str, path: str, body: object = None) -> Answer:
            assert (method, body) == ("GET", None)
            is_open = path in probes.PATHS
            return Answer(200, {"status": path}) if is_open else Answer(401, {"message": "login"})

        monkeypatch.setattr(WorkerApi, "ask", ask)
        assert self.run("health", *arguments) == 0
        assert capsys.readouterr().out == f"{probes.READY if arguments else probes.LIVE}\n"
        assert self.run("health", "--path", "/health") == 1

    def test_health_says_why_a_worker_is_not_ready(
        self, monkeypatch: pytest.MonkeyPatch, capsys: CapSys
    ) -> None:
        told = {"status": "not ready", "reasons": ["The worker is ending."], "tables_degraded": 0}
        monkeypatch.setattr(WorkerApi, "ask", lambda *_: Answer(503, told))
        assert self.run("health", "--ready") == 1
        assert capsys.readouterr().out == "not ready: The worker is ending.\n"
