"""Pens write what the machine says, and only while they may."""

from __future__ import annotations

import asyncio

import pytest

from connectd.aio.clock import LoopClock
from connectd.errors import ConfigError, InvariantError
from connectd.model.cluster import ClusterConfigState
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import LifecycleEvent, State
from connectd.model.status import Status, TopicStatus
from connectd.runtime.membership import SoleMember
from connectd.runtime.statuses import LATE_S, Entry, StatusPen, StatusReporter, trace_of
from connectd.stores.memory import MemoryStatusStore
from tests.kit.virtual import virtual

E, S = LifecycleEvent, State
TASK = ConnectorTaskId("a", 0)


class Desk:
    """A reporter over a memory store, with a picture that tests may change."""

    def __init__(self) -> None:
        self.snapshot = ClusterConfigState(
            connectors={"a": {}}, task_configs={TASK: {}}, task_counts={"a": 1}
        )
        self.store = MemoryStatusStore()
        self.member = SoleMember("http://me:8083/", self.store)
        self.reporter = StatusReporter(
            self.store, self.member, LoopClock(wall_anchor_s=5.0), lambda: self.snapshot
        )


def _pen(written: list[Entry], state: State = S.UNASSIGNED) -> StatusPen:
    return StatusPen("a", state, written.append)


def test_a_pen_follows_the_machine_and_refuses_what_cannot_happen() -> None:
    written: list[Entry] = []
    pen = _pen(written)
    pen.report(E.STARTED)
    pen.report(E.PAUSED)
    with pytest.raises(InvariantError):
        pen.report(E.PAUSED)
    assert written == [Entry(S.RUNNING), Entry(S.PAUSED)]


def test_a_revoked_pen_writes_nothing() -> None:
    written: list[Entry] = []
    pen = _pen(written)
    pen.revoke()
    pen.report(E.STARTED)
    pen.report(E.FAILED, ValueError("late"))
    assert written == []


@pytest.mark.parametrize("event", [E.STARTED, E.PAUSED, E.RESUMED])
def test_a_failure_that_was_survived_stays_visible(event: LifecycleEvent) -> None:
    written: list[Entry] = []
    pen = _pen(written)
    pen.report(E.FAILED, ValueError("one table"))
    pen.report(event)
    assert [entry.state for entry in written] == [S.FAILED]
    pen.report(E.SHUT_DOWN)
    assert pen.state is S.UNASSIGNED


def test_what_was_created_paused_starts_when_it_is_resumed() -> None:
    written: list[Entry] = []
    pen = _pen(written)
    pen.report(E.PAUSED)
    pen.report(E.STARTED)
    assert [entry.state for entry in written] == [S.PAUSED, S.RUNNING]


def test_a_trace_begins_with_class_and_message_and_tells_the_cause() -> None:
    try:
        try:
            raise OSError("socket gone")
        except OSError as cause:
            raise ConfigError("no such role") from cause
    except ConfigError as error:
        trace = trace_of(error)
    assert trace.splitlines()[0] == "connectd.errors.ConfigError: no such role"
    assert "OSError: socket gone" in trace
    assert "Traceback" in trace
    assert trace_of(ValueError("x")).startswith("ValueError: x\n")


def test_a_trace_is_bounded() -> None:
    trace = trace_of(ValueError("x" * 1_000_000))
    assert len(trace) < 40_000
    assert trace.startswith("ValueError: x")


@virtual
async def test_a_new_life_takes_back_what_an_earlier_one_has_left() -> None:
    desk = Desk()
    desk.store.put_task(TASK, Status(S.RUNNING, "killed:8083", 3))
    await desk.member.join(desk.snapshot)
    pen = desk.reporter.task_pen(TASK)
    assert desk.store.task(TASK) == Status(S.UNASSIGNED, "me:8083", 5)
    pen.report(E.STARTED)
    assert desk.store.task(TASK) == Status(S.RUNNING, "me:8083", 5)


@virtual
async def test_a_first_life_says_nothing_before_it_has_started_unless_it_takes_long() -> None:
    desk = Desk()
    await desk.member.join(desk.snapshot)
    quick, slow = desk.reporter.connector_pen("a"), desk.reporter.task_pen(TASK)
    assert desk.store.connectors() == frozenset()
    quick.report(E.STARTED)
    await asyncio.sleep(LATE_S + 0.1)
    assert desk.store.connector("a") == Status(S.RUNNING, "me:8083", 1)
    assert desk.store.task(TASK) == Status(S.UNASSIGNED, "me:8083", 1)
    slow.report(E.STARTED)
    assert desk.store.task(TASK) == Status(S.RUNNING, "me:8083", 1)


@virtual
async def test_a_life_that_ends_early_does_not_speak_late() -> None:
    desk = Desk()
    await desk.member.join(desk.snapshot)
    desk.reporter.task_pen(TASK).revoke()
    await asyncio.sleep(LATE_S + 0.1)
    assert desk.store.task(TASK) is None


@virtual
async def test_a_failure_may_be_kept_in_sight_until_the_new_life_has_something_to_say() -> None:
    desk = Desk()
    await desk.member.join(desk.snapshot)
    failed = Status(S.FAILED, "me:8083", 1, "Error: why")
    desk.store.put_task(TASK, failed)
    pen = desk.reporter.task_pen(TASK, keeps_failure=True)
    await asyncio.sleep(LATE_S + 0.1)
    assert desk.store.task(TASK) == failed
    pen.report(E.STARTED)
    assert desk.store.task(TASK) == Status(S.RUNNING, "me:8083", 1)
    desk.store.put_task(TASK, failed)
    desk.reporter.task_pen(TASK)
    assert desk.store.task(TASK) == Status(S.UNASSIGNED, "me:8083", 1)


@virtual
async def test_what_was_said_last_counts_before_it_can_be_read_back() -> None:
    """A store shows what it has read; a restart is quicker than that."""
    desk = Desk()
    await desk.member.join(desk.snapshot)
    pen = desk.reporter.task_pen(TASK)
    pen.report(E.STARTED)
    written: list[State] = []
    with pytest.MonkeyPatch.context() as slow_store:  # it has nothing to read back yet
        slow_store.setattr(
            desk.store, "put_task", lambda task, status, **_: written.append(status.state)
        )
        pen.report(E.RESTARTED)
        pen.revoke()
        new = desk.reporter.task_pen(TASK)
    assert written == [S.RESTARTING]
    assert new.state is S.RESTARTING


@virtual
async def test_what_another_worker_says_counts_more_than_what_was_said_here() -> None:
    desk = Desk()
    await desk.member.join(desk.snapshot)
    desk.reporter.task_pen(TASK).report(E.SHUT_DOWN)
    desk.store.put_task(TASK, Status(S.RUNNING, "other:8083", 1))
    desk.reporter.task_pen(TASK)
    status = desk.store.task(TASK)
    assert status is not None
    assert (status.state, status.worker_id) == (S.UNASSIGNED, "me:8083")


def test_the_version_of_a_plugin_is_shown_while_it_runs() -> None:
    """KIP-891, as a worker of Kafka 4.3 does it."""
    written: list[Entry] = []
    pen = _pen(written)
    pen.version = "1.2"
    for event in (E.STARTED, E.RESTARTED, E.STARTED, E.FAILED, E.SHUT_DOWN):
        pen.report(event)
    shown = [entry.version for entry in written]
    assert shown == ["1.2", None, "1.2", "1.2", None]


@virtual
async def test_restarting_stays_visible_until_the_new_life_has_started() -> None:
    desk = Desk()
    await desk.member.join(desk.snapshot)
    desk.store.put_connector("a", Status(S.RESTARTING, "me:8083", 1))
    pen = desk.reporter.connector_pen("a")
    status = desk.store.connector("a")
    assert status is not None
    assert status.state is S.RESTARTING
    pen.report(E.STARTED)
    status = desk.store.connector("a")
    assert status is not None
    assert status.state is S.RUNNING


@virtual
async def test_a_failure_is_not_written_over_the_status_of_a_newer_generation() -> None:
    desk = Desk()
    await desk.member.join(desk.snapshot)
    pen = desk.reporter.task_pen(TASK)
    pen.report(E.STARTED)
    newer = Status(S.RUNNING, "other:8083", 99)
    desk.store.put_task(TASK, newer)
    pen.report(E.FAILED, ValueError("zombie"))
    assert desk.store.task(TASK) == newer


@virtual
async def test_statuses_of_what_is_no_longer_configured_are_neither_written_nor_kept() -> None:
    desk = Desk()
    await desk.member.join(desk.snapshot)
    connector, task = desk.reporter.connector_pen("a"), desk.reporter.task_pen(TASK)
    connector.report(E.STARTED)
    task.report(E.STARTED)
    desk.reporter.on_topic(TASK, "t1")
    desk.snapshot = ClusterConfigState(connectors={"a": {}}, task_counts={"a": 0})
    desk.reporter.clean_up(desk.snapshot)
    task.report(E.SHUT_DOWN)
    assert desk.store.task(TASK) is None
    assert desk.store.connector("a") is not None
    desk.snapshot = ClusterConfigState()
    desk.reporter.clean_up(desk.snapshot)
    connector.report(E.SHUT_DOWN)
    desk.reporter.on_topic(TASK, "t2")
    assert desk.store.connectors() == frozenset()
    assert desk.store.topics("a") == ()


@virtual
async def test_a_topic_is_remembered_once_and_again_after_a_reset() -> None:
    desk = Desk()
    written: list[TopicStatus] = []
    put_topic = desk.store.put_topic

    def count(topic: TopicStatus) -> None:
        written.append(topic)
        put_topic(topic)

    desk.store.put_topic = count  # type: ignore[method-assign]
    desk.reporter.on_topic(TASK, "t1")
    desk.reporter.on_topic(TASK, "t1")
    assert written == [TopicStatus("t1", "a", 0, 5000)]
    desk.reporter.reset_topics("a")
    assert desk.store.topics("a") == ()
    desk.reporter.on_topic(TASK, "t1")
    assert len(written) == 2


@virtual
async def test_topics_are_not_remembered_when_tracking_is_off() -> None:
    desk = Desk()
    reporter = StatusReporter(
        desk.store, desk.member, LoopClock(), lambda: desk.snapshot, tracks_topics=False
    )
    reporter.on_topic(TASK, "t1")
    assert desk.store.topics("a") == ()
