"""The status topic: keys, values, and the rules of who may overwrite whom (spec kafka-connect C.4).

``StatusTable`` holds what has been read and written. A *safe* write (UNASSIGNED, FAILED) is refused
when another worker of a later generation has spoken; a late UNASSIGNED of a task does not hide the
RUNNING of its new owner.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from connectd.model.ids import ConnectorTaskId
from connectd.model.states import State
from connectd.model.status import Status, TopicStatus
from connectd.stores import compact_json

_CONNECTOR = "status-connector-"
_TASK = "status-task-"
_TOPIC = "status-topic-"
_TOPIC_OWNER = ":connector-"

TRACE_CHARS_MAX = 100_000
"""However it is escaped, a trace of this length passes the default limit on a record's size."""

Subject = str | ConnectorTaskId
"""A connector by name, or a task."""


@dataclass(frozen=True)
class TopicKey:
    """Names the record of an active topic."""

    topic: str
    connector: str


def subject_key(subject: Subject) -> bytes:
    """Key of a connector's or task's status record."""
    if isinstance(subject, ConnectorTaskId):
        return f"{_TASK}{subject.connector}-{subject.task}".encode()
    return f"{_CONNECTOR}{subject}".encode()


def topic_key(key: TopicKey) -> bytes:
    """Key of an active topic's record."""
    return f"{_TOPIC}{key.topic}{_TOPIC_OWNER}{key.connector}".encode()


def status_value(status: Status) -> bytes:
    """Value of a status record, members in Kafka Connect's order."""
    return compact_json.dumps(
        {
            "state": status.state.value,
            "trace": None if status.trace is None else _writable(status.trace),
            "worker_id": status.worker_id,
            "generation": status.generation,
            "version": status.version,
        }
    )


def _writable(trace: str) -> str:
    """A trace that passes: of bounded length, and without halves of surrogate pairs."""
    if len(trace) > TRACE_CHARS_MAX:
        trace = f"{trace[:TRACE_CHARS_MAX]}\n\t... cut off after {TRACE_CHARS_MAX} characters"
    return trace.encode("utf-8", "replace").decode()


def topic_value(topic: TopicStatus) -> bytes:
    """Value of an active topic's record."""
    return compact_json.dumps(
        {
            "topic": {
                "name": topic.topic,
                "connector": topic.connector,
                "task": topic.task,
                "discoverTimestamp": topic.discover_timestamp_ms,
            }
        }
    )


class StatusTable:
    """Statuses and active topics by subject; see the module's docstring."""

    def __init__(self) -> None:
        self._statuses: dict[Subject, Status] = {}
        self._tasks: dict[str, set[ConnectorTaskId]] = {}  # of _statuses, by connector
        self._topics: dict[TopicKey, TopicStatus] = {}

    # -- reading --------------------------------------------------------------------------------

    def get(self, subject: Subject) -> Status | None:
        """The status, None when unknown."""
        return self._statuses.get(subject)

    def tasks(self, connector: str) -> dict[ConnectorTaskId, Status]:
        """All task statuses of a connector, by number."""
        return {task: self._statuses[task] for task in sorted(self._tasks.get(connector, ()))}

    def connectors(self) -> frozenset[str]:
        """Connectors with a status of their own or of a task."""
        return frozenset(
            subject.connector if isinstance(subject, ConnectorTaskId) else subject
            for subject in self._statuses
        )

    def topics(self, connector: str) -> tuple[TopicStatus, ...]:
        """Active topics of a connector, by name."""
        found = (topic for key, topic in self._topics.items() if key.connector == connector)
        return tuple(sorted(found, key=lambda topic: topic.topic))

    def topic(self, key: TopicKey) -> TopicStatus | None:
        """One active topic."""
        return self._topics.get(key)

    # -- writing --------------------------------------------------------------------------------

    def may_write(self, subject: Subject, status: Status, *, safe: bool) -> bool:
        """Whether the rules of a plain or safe write allow it."""
        current = self._statuses.get(subject)
        return (
            not safe
            or current is None
            or current.worker_id == status.worker_id
            or current.generation <= status.generation
        )

    def put(self, subject: Subject, status: Status | None) -> None:
        """Set or remove a status; a connector's removal takes its tasks along."""
        if status is not None:
            self._statuses[subject] = status
            if isinstance(subject, ConnectorTaskId):
                self._tasks.setdefault(subject.connector, set()).add(subject)
            return
        self._statuses.pop(subject, None)
        if isinstance(subject, ConnectorTaskId):
            self._tasks.get(subject.connector, set()).discard(subject)
            return
        for task in self._tasks.pop(subject, set()):
            del self._statuses[task]

    def put_topic(self, key: TopicKey, topic: TopicStatus | None) -> None:
        """Set or remove an active topic."""
        if topic is None:
            self._topics.pop(key, None)
        else:
            self._topics[key] = topic

    # -- records --------------------------------------------------------------------------------

    def apply(self, key: bytes | None, value: bytes | None) -> str | None:
        """Take in a record of the topic; returns why it was skipped, or None."""
        if key is None:
            return "status record has no key"
        try:
            name = key.decode()
            if name.startswith(_TOPIC):
                self._apply_topic(_parse_topic_key(name), value)
            else:
                self._apply_status(_parse_subject(name), value)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            return f"status record is not understood: {error}"
        return None

    def _apply_status(self, subject: Subject, value: bytes | None) -> None:
        if value is None:
            self.put(subject, None)
            return
        document = json.loads(value)
        status = Status(
            state=State(document["state"]),
            worker_id=str(document["worker_id"]),
            generation=int(document["generation"]),
            trace=document.get("trace"),
            version=document.get("version"),
        )
        current = self._statuses.get(subject)
        is_late = (
            isinstance(subject, ConnectorTaskId)
            and status.state is State.UNASSIGNED
            and current is not None
            and current.state is State.RUNNING
            and current.generation >= status.generation
            and current.worker_id != status.worker_id
        )
        if not is_late:
            self.put(subject, status)

    def _apply_topic(self, key: TopicKey, value: bytes | None) -> None:
        if value is None:
            self._topics.pop(key, None)
            return
        document = json.loads(value)["topic"]
        self._topics[key] = TopicStatus(
            topic=str(document["name"]),
            connector=str(document["connector"]),
            task=int(document["task"]),
            discover_timestamp_ms=int(document["discoverTimestamp"]),
        )


def _parse_subject(key: str) -> Subject:
    if key.startswith(_CONNECTOR):
        return key.removeprefix(_CONNECTOR)
    connector, _, number = key.removeprefix(_TASK).rpartition("-")
    is_number = number.isascii() and number.isdigit()
    if not key.startswith(_TASK) or not connector or not is_number:
        raise ValueError(f"unknown key {key!r}")
    return ConnectorTaskId(connector, int(number))


def _parse_topic_key(key: str) -> TopicKey:
    topic, separator, connector = key.removeprefix(_TOPIC).partition(_TOPIC_OWNER)
    if not separator:
        raise ValueError(f"unknown key {key!r}")
    return TopicKey(topic, connector)
