"""The config topic as a state machine: records in, pictures out (spec kafka-connect C.2).

Eight kinds of records share one partition. Task configs become visible only through a *commit*
record that counts them: a worker that dies between writing them leaves the previous set in force.
Compaction may drop task records that a commit still counts, or put a connector's record behind
those of its tasks; both leave the connector *inconsistent*, and its tasks are generated anew.

Pure: ``ConfigLog.apply`` is fed records in order and owns nothing outside of itself. What is not
understood is skipped, and ``apply`` says so; nothing is lost by it, the record stays in the topic.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass

from connectd.model.cluster import (
    ClusterConfigState,
    Config,
    LoggerChange,
    RestartRequest,
    SessionKey,
)
from connectd.model.ids import ConnectorTaskId
from connectd.model.states import TargetState
from connectd.stores import compact_json

_CONNECTOR = "connector-"
_TARGET = "target-state-"
_TASK = "task-"
_COMMIT = "commit-"
_RESTART = "restart-connector-"
_FENCING = "tasks-fencing-"
SESSION_KEY = "session-key"
_LOGGER = "logger-cluster-"


def connector_key(connector: str) -> str:
    """Key of a connector's config record."""
    return _CONNECTOR + connector


def target_key(connector: str) -> str:
    """Key of a connector's target state record."""
    return _TARGET + connector


def task_key(task: ConnectorTaskId) -> str:
    """Key of a task's config record."""
    return f"{_TASK}{task.connector}-{task.task}"


def commit_key(connector: str) -> str:
    """Key of the record that makes a task set effective."""
    return _COMMIT + connector


def restart_key(connector: str) -> str:
    """Key of a restart request."""
    return _RESTART + connector


def config_value(config: Config) -> bytes:
    """Value of a connector or task config record."""
    return compact_json.dumps({"properties": dict(config)})


def target_value(target: TargetState) -> bytes:
    """Value of a target state record; old readers know no STOPPED and see PAUSED."""
    legacy = TargetState.PAUSED if target is TargetState.STOPPED else target
    return compact_json.dumps({"state": legacy.value, "state.v2": target.value})


def commit_value(task_count: int) -> bytes:
    """Value of a commit record."""
    return compact_json.dumps({"tasks": task_count})


def restart_value(request: RestartRequest) -> bytes:
    """Value of a restart request."""
    return compact_json.dumps(
        {"include-tasks": request.include_tasks, "only-failed": request.only_failed}
    )


def session_key_value(key: SessionKey) -> bytes:
    """Value of the record whose key is ``SESSION_KEY``."""
    return compact_json.dumps(
        {
            "key": base64.b64encode(key.key).decode("ascii"),
            "algorithm": key.algorithm,
            "creation-timestamp": key.created_ms,
        }
    )


def logger_key(namespace: str) -> str:
    """Key of the level of a logger and those below it."""
    return _LOGGER + namespace


def logger_value(level: str) -> bytes:
    """Value of that record: the level as it was asked for."""
    return compact_json.dumps({"level": level})


@dataclass(frozen=True)
class Applied:
    """What a record did: a new picture, a request to all, or a reason why it was skipped."""

    has_changed: bool = False
    restart: RestartRequest | None = None
    logger: LoggerChange | None = None
    skipped: str | None = None


_UNCHANGED = Applied()
_CHANGED = Applied(has_changed=True)


class ConfigLog:
    """Applies the records of the config topic in order."""

    def __init__(self) -> None:
        self._offset = -1
        self._connectors: dict[str, Config] = {}
        self._targets: dict[str, TargetState] = {}
        self._tasks: dict[ConnectorTaskId, Config] = {}
        self._counts: dict[str, int] = {}
        self._generations: dict[str, int] = {}
        self._applied: dict[str, Config] = {}
        self._inconsistent: set[str] = set()
        # Task configs not committed yet. An emptied entry stays: it says that the connector has
        # had task records, and every later commit is then a new generation.
        self._deferred: dict[str, dict[int, Config]] = {}
        self._session_key: SessionKey | None = None
        self._untouched = 0
        self._is_touched = False

    def is_untouched(self, end: int) -> bool:
        """Whether nothing about a connector was written before that offset, the end of the topic.

        False where records are missing: nobody knows any more what they were about.
        """
        return not self._is_touched and self._untouched == end

    def snapshot(self) -> ClusterConfigState:
        """An immutable picture of what has been applied."""
        return ClusterConfigState(
            offset=self._offset,
            connectors=dict(self._connectors),
            targets=dict(self._targets),
            task_configs=dict(self._tasks),
            task_counts=dict(self._counts),
            generations=dict(self._generations),
            applied=dict(self._applied),
            inconsistent=frozenset(self._inconsistent),
            session_key=self._session_key,
        )

    def apply(self, key: bytes | None, value: bytes | None, offset: int) -> Applied:
        """Take in one record; ``offset`` is its place in the topic."""
        self._untouched += 1
        self._is_touched |= not _is_of_the_cluster(key)
        try:
            name = _text(key)
            outcome = self._dispatch(name, None if value is None else _object(value))
        except ValueError as error:
            return Applied(skipped=str(error))
        if outcome.skipped is None:
            self._offset = offset + 1
        return outcome

    def _dispatch(self, key: str, value: Mapping[str, object] | None) -> Applied:
        if key.startswith(_TARGET):
            return self._on_target(key.removeprefix(_TARGET), value)
        if key.startswith(_CONNECTOR):
            return self._on_connector(key.removeprefix(_CONNECTOR), value)
        if key.startswith(_TASK):
            return self._on_task(key, value)
        if key.startswith(_COMMIT):
            return self._on_commit(key.removeprefix(_COMMIT), value)
        if key.startswith(_RESTART):
            return _on_restart(key.removeprefix(_RESTART), value)
        if key.startswith(_FENCING):
            return _UNCHANGED  # of exactly-once: not used here yet
        if key == SESSION_KEY:
            return self._on_session_key(value)
        if key.startswith(_LOGGER):
            return _on_logger(key.removeprefix(_LOGGER), value)
        return Applied(skipped=f"unknown record key {key!r}")

    def _on_target(self, connector: str, value: Mapping[str, object] | None) -> Applied:
        if value is None:
            self._targets.pop(connector, None)
            if connector in self._connectors:
                self._targets[connector] = TargetState.STARTED
            return _CHANGED
        state = value.get("state.v2")
        if not isinstance(state, str):
            state = value.get("state")
        try:
            self._targets[connector] = TargetState(state)
        except ValueError:
            return Applied(skipped=f"target state of {connector} is {state!r}")
        return _CHANGED

    def _on_connector(self, connector: str, value: Mapping[str, object] | None) -> Applied:
        if value is None:
            self._connectors.pop(connector, None)
            self._counts.pop(connector, None)
            self._applied.pop(connector, None)
            self._deferred.pop(connector, None)
            self._inconsistent.discard(connector)
            self._forget_tasks(connector)
            return _CHANGED
        properties = _properties(value)
        if properties is None:
            return Applied(skipped=f"config of {connector} has no properties")
        self._connectors[connector] = properties
        self._targets.setdefault(connector, TargetState.STARTED)
        return _CHANGED

    def _forget_tasks(self, connector: str) -> None:
        for task in [task for task in self._tasks if task.connector == connector]:
            del self._tasks[task]

    def _on_task(self, key: str, value: Mapping[str, object] | None) -> Applied:
        connector, _, text = key.removeprefix(_TASK).rpartition("-")
        properties = None if value is None else _properties(value)
        if not connector or not (text.isascii() and text.isdigit()) or properties is None:
            return Applied(skipped=f"task record {key!r} is not understood")
        number = int(text)
        self._deferred.setdefault(connector, {})[number] = properties
        return _UNCHANGED

    def _on_commit(self, connector: str, value: Mapping[str, object] | None) -> Applied:
        count = None if value is None else value.get("tasks")
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            return Applied(skipped=f"commit of {connector} counts {count!r} tasks")
        if connector not in self._connectors:
            # Compaction moved the connector's own record behind this one, or it was deleted.
            # Its tasks are generated anew when it appears.
            self._deferred.pop(connector, None)
            return _UNCHANGED
        deferred = self._deferred.get(connector)
        if count <= len(deferred or ()) and set(range(count)) <= set(deferred or ()):
            if deferred is not None:
                self._forget_tasks(connector)
                for number in range(count):
                    self._tasks[ConnectorTaskId(connector, number)] = deferred[number]
                self._generations[connector] = self._generations.get(connector, -1) + 1
            self._inconsistent.discard(connector)
            self._applied[connector] = self._connectors[connector]
        else:
            self._inconsistent.add(connector)
        if deferred is not None:
            self._deferred[connector] = {}
        self._counts[connector] = count
        return _CHANGED

    def _on_session_key(self, value: Mapping[str, object] | None) -> Applied:
        if value is None:
            return _UNCHANGED
        text, algorithm = value.get("key"), value.get("algorithm")
        created_ms = value.get("creation-timestamp")
        # The reason names members, never their values: one of them is a secret.
        if not isinstance(text, str) or not isinstance(algorithm, str):
            return Applied(skipped="session key has no key or no algorithm")
        if not isinstance(created_ms, int) or isinstance(created_ms, bool):
            return Applied(skipped="session key has no time of creation")
        try:
            key = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return Applied(skipped="session key is not Base64")
        self._session_key = SessionKey(key, algorithm, created_ms)
        return _CHANGED


def _on_logger(namespace: str, value: Mapping[str, object] | None) -> Applied:
    if value is None:
        return _UNCHANGED
    level = value.get("level")
    if not isinstance(level, str):
        return Applied(skipped=f"level of logger {namespace} is {level!r}")
    return Applied(logger=LoggerChange(namespace, level))


def _is_of_the_cluster(key: bytes | None) -> bool:
    """Whether a record is about the workers themselves, who write such unasked."""
    return key is not None and (key == SESSION_KEY.encode() or key.startswith(_LOGGER.encode()))


def _on_restart(connector: str, value: Mapping[str, object] | None) -> Applied:
    if value is None:
        return _UNCHANGED
    return Applied(
        restart=RestartRequest(
            connector=connector,
            only_failed=value.get("only-failed") is True,
            include_tasks=value.get("include-tasks") is True,
        )
    )


def _properties(value: Mapping[str, object]) -> Config | None:
    properties = value.get("properties")
    if not isinstance(properties, dict):
        return None
    # Values may be null strings on the wire; a config of ours has none.
    return {str(name): str(each) for name, each in properties.items() if each is not None}


def _text(key: bytes | None) -> str:
    if key is None:
        raise ValueError("record has no key")
    return key.decode()


def _object(value: bytes) -> Mapping[str, object] | None:
    try:
        document = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"record value is not JSON: {error}") from error
    if document is not None and not isinstance(document, dict):
        raise ValueError(f"record value is {type(document).__name__}, expected a JSON object")
    return document
