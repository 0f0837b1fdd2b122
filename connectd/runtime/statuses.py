"""What the world is told about connectors and tasks: the only writer of statuses on this worker.

Every life of a connector or task gets a ``StatusPen`` of its own. The pen follows the machine of
``model.states`` and writes what it says; taken away (``revoke``), it writes no more, so that an
abandoned or replaced life cannot overwrite its successor. Statuses of what is no longer configured
are never written, and ``clean_up`` removes those that are there (spec kafka-connect C.4, D.1.1).

The records of one life, as a real worker writes them: RUNNING when it has started, PAUSED,
RUNNING, STOPPED as it is told, FAILED with a trace, and UNASSIGNED at the end; RESTARTING, in
between, only for a restart with flags. A first life shows nothing before it has started, except
that a start which takes long says UNASSIGNED: nobody could tell it from a forgotten connector.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from connectd.aio import clock as clocks
from connectd.errors import ConnectdError, FatalTaskError
from connectd.model.cluster import ClusterConfigState
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import LifecycleEvent, State, next_state
from connectd.model.status import Status, TopicStatus
from connectd.observe import redaction
from connectd.runtime.membership import Membership
from connectd.stores import protocols

_log = structlog.get_logger(__name__)

_SAFE = frozenset({State.UNASSIGNED, State.FAILED})
"""Written only over what is ours or older: another worker may have taken over meanwhile."""

_RUNS_NOTHING = frozenset({State.UNASSIGNED, State.RESTARTING})
"""No plugin runs in these states, so that they carry no version of one."""

LATE_S = 1.0
"""A first life that has no status after this says that it is UNASSIGNED."""

_CAUSES_MAX = 5
"""Causes of causes that are worth a place in a sentence; the trace has all."""

_AFTER_A_SURVIVED_FAILURE = frozenset(
    {LifecycleEvent.STARTED, LifecycleEvent.PAUSED, LifecycleEvent.RESUMED}
)


class CarriedError(FatalTaskError):
    """An error of another process of this worker, with the trace that was written there."""

    def __init__(self, summary: str, trace: str) -> None:
        super().__init__(summary)
        self.trace = trace


def trace_of(error: BaseException) -> str:
    """The ``trace`` of a failure: ``<class>: <message>`` first, then the traceback with causes.

    Bounded, and without secrets: statuses are read by everybody.
    """
    if isinstance(error, CarriedError):
        return redaction.redact_text(error.trace)
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    text = f"{name}: {error}\n{''.join(traceback.format_exception(error))}"
    return redaction.redact_text(text).rstrip()


def summary_of(error: BaseException) -> str:
    """One sentence about a failure: its own text, then what its causes add to that.

    Kafka's texts may say nothing without their cause ("Tolerance exceeded in error handler").
    Without secrets, as a trace.
    """
    text, cause = str(error) or type(error).__name__, error.__cause__
    for _ in range(_CAUSES_MAX):
        if cause is None:
            break
        found = str(cause)
        if not isinstance(cause, ConnectdError):
            found = f"{type(cause).__name__}: {found}" if found else type(cause).__name__
        if found not in text and repr(cause) not in text:
            text = f"{text}: {found}"
        cause = cause.__cause__
    return redaction.redact_text(text)


Subject = str | ConnectorTaskId
"""A connector by name, or a task."""


@dataclass(frozen=True)
class Entry:
    """What a pen writes: a state, why it is FAILED, and the version of the plugin that runs."""

    state: State
    trace: str | None = None
    version: str | None = None


class StatusPen:
    """Writes the status of one life of a connector or task, until it is revoked.

    A failure that a task survives (``TaskContext.report_failure``) stays visible: FAILED is left
    only by a restart, a stop or an end, whatever the other inputs of the task do. ``version`` is
    set by the life as soon as it knows which plugin it runs. ``on_state`` hears of every state that
    is written, and may have a sentence to add to the trace of a failure.
    """

    def __init__(
        self,
        subject: Subject,
        state: State,
        write: Callable[[Entry], None],
    ) -> None:
        self.state = state
        self.version: str | None = None
        self.on_state: Callable[[State], str | None] | None = None
        self._log_fields = (
            {"connector": subject.connector, "task": subject.task}
            if isinstance(subject, ConnectorTaskId)
            else {"connector": subject}
        )
        self._write = write
        self._is_revoked = False
        self._late: asyncio.TimerHandle | None = None

    def report(self, event: LifecycleEvent, error: BaseException | None = None) -> None:
        """Take an event to the next state and write it.

        Raises:
            InvariantError: the event cannot happen in the state reached.
        """
        if self._is_revoked:
            return
        self._speak_no_more_late()
        if self.state is State.FAILED and event in _AFTER_A_SURVIVED_FAILURE:
            return
        if self.state is State.PAUSED and event is LifecycleEvent.STARTED:
            event = LifecycleEvent.RESUMED  # created paused: its start comes with the resume
        before, self.state = self.state, next_state(self.state, event)
        note = None if self.on_state is None else self.on_state(self.state)
        trace = None
        if self.state is State.FAILED:
            trace = None if error is None else trace_of(error)
            trace = f"{trace}\n{note}" if trace and note else trace
            reason = "" if error is None else summary_of(error)
            _log.error("failed", was=before.value, error=reason, **self._log_fields)
        elif self.state is not before:
            _log.info("state changed", was=before.value, state=self.state.value, **self._log_fields)
        version = None if self.state in _RUNS_NOTHING else self.version
        self._write(Entry(self.state, trace, version))

    def revoke(self) -> None:
        """Take the pen away: nothing is written with it any more."""
        self._is_revoked = True
        self._speak_no_more_late()

    def speak_late(self, delay_s: float = LATE_S) -> None:
        """Write the state as it is if nothing was reported by then. Only on the loop."""
        loop = asyncio.get_running_loop()
        self._late = loop.call_later(delay_s, self._write, Entry(self.state))

    def _speak_no_more_late(self) -> None:
        if self._late is not None:
            self._late.cancel()


class StatusReporter:
    """Hands out pens, remembers active topics, and removes what is obsolete.

    ``snapshot`` gives the current picture of the config topic.
    """

    def __init__(
        self,
        store: protocols.StatusStore,
        membership: Membership,
        clock: clocks.Clock,
        snapshot: Callable[[], ClusterConfigState],
        *,
        tracks_topics: bool = True,
    ) -> None:
        self._store = store
        self._membership = membership
        self._clock = clock
        self._snapshot = snapshot
        self._tracks_topics = tracks_topics
        self._known_topics: dict[str, set[str]] = {}
        self._said: dict[str, dict[Subject, Status]] = {}  # by connector

    def connector_pen(self, connector: str, *, keeps_failure: bool = False) -> StatusPen:
        """A pen for a new life of a connector.

        What an earlier life has left behind is not true any more: it becomes UNASSIGNED at once,
        except RESTARTING, and FAILED if ``keeps_failure``; these stay until the new life has
        something to say.
        """

        def write(entry: Entry) -> None:
            if connector in self._snapshot().connectors:
                is_safe = entry.state in _SAFE
                self._store.put_connector(connector, self._say(connector, entry), safe=is_safe)

        return self._new_pen(connector, self.shown(connector), write, keeps_failure=keeps_failure)

    def task_pen(self, task: ConnectorTaskId, *, keeps_failure: bool = False) -> StatusPen:
        """A pen for a new life of a task, likewise."""

        def write(entry: Entry) -> None:
            if task in self._snapshot().tasks(task.connector):
                self._store.put_task(task, self._say(task, entry), safe=entry.state in _SAFE)

        return self._new_pen(task, self.shown_task(task), write, keeps_failure=keeps_failure)

    # -- what is known --------------------------------------------------------------------------

    def shown(self, connector: str) -> Status | None:
        """The status of a connector; what this worker has said counts before it is read back."""
        return self._latest(connector, self._store.connector(connector))

    def shown_task(self, task: ConnectorTaskId) -> Status | None:
        """The status of a task, likewise."""
        return self._latest(task, self._store.task(task))

    def shown_tasks(self, connector: str) -> dict[ConnectorTaskId, Status]:
        """The statuses of a connector's tasks, likewise, in order."""
        read = self._store.tasks(connector)
        return {task: self._latest(task, status) or status for task, status in read.items()}

    def _latest(self, subject: Subject, read: Status | None) -> Status | None:
        # Another worker may have spoken since, or taken the status away.
        if read is None or read.worker_id != self._membership.worker_id:
            return read
        return self._said.get(_owner(subject), {}).get(subject, read)

    def _say(self, subject: Subject, entry: Entry) -> Status:
        status = Status(
            state=entry.state,
            worker_id=self._membership.worker_id,
            generation=self._membership.assignment.generation,
            trace=entry.trace,
            version=entry.version,
        )
        self._said.setdefault(_owner(subject), {})[subject] = status
        return status

    # -- pens -----------------------------------------------------------------------------------

    def _new_pen(
        self,
        subject: Subject,
        shown: Status | None,
        write: Callable[[Entry], None],
        *,
        keeps_failure: bool,
    ) -> StatusPen:
        if shown is None:
            pen = StatusPen(subject, State.UNASSIGNED, write)
            pen.speak_late()
            return pen
        if shown.state is State.RESTARTING:
            return StatusPen(subject, State.RESTARTING, write)
        if shown.state is not State.UNASSIGNED and not (
            keeps_failure and shown.state is State.FAILED
        ):
            write(Entry(State.UNASSIGNED))
        return StatusPen(subject, State.UNASSIGNED, write)

    def on_topic(self, task: ConnectorTaskId, topic: str) -> None:
        """Remember that a task has written to a topic (KIP-558)."""
        connector = task.connector
        known = self._known_topics.setdefault(connector, set())
        if not self._tracks_topics or topic in known:
            return
        if connector not in self._snapshot().connectors:
            return
        known.add(topic)
        now_ms = clocks.wall_ms(self._clock)
        self._store.put_topic(TopicStatus(topic, connector, task.task, now_ms))

    def reset_topics(self, connector: str) -> None:
        """Forget the active topics of a connector; the next record of each brings it back."""
        self._known_topics.pop(connector, None)
        self._store.delete_topics(connector)

    def clean_up(self, snapshot: ClusterConfigState) -> None:
        """Remove statuses of connectors and tasks that are not configured any more."""
        for connector in self._store.connectors():
            if connector not in snapshot.connectors:
                self.reset_topics(connector)
                self._store.put_connector(connector, None)
                continue
            count = snapshot.task_counts.get(connector, 0)
            for task in self._store.tasks(connector):
                if task.task >= count:
                    self._store.put_task(task, None)

    def forget_gone(self, snapshot: ClusterConfigState) -> None:
        """Forget what was said of connectors and tasks that are not configured any more."""
        for connector in self._said.keys() - snapshot.connectors.keys():
            del self._said[connector]
        for connector, said in self._said.items():
            count = snapshot.task_counts.get(connector, 0)
            for subject in list(said):
                if isinstance(subject, ConnectorTaskId) and subject.task >= count:
                    del said[subject]


def _owner(subject: Subject) -> str:
    return subject.connector if isinstance(subject, ConnectorTaskId) else subject
