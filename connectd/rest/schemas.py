"""What the herder answers, as JSON: member names and order of Kafka Connect (spec A.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connectd.model.ids import ConnectorTaskId
from connectd.model.record import SourceOffset, SourcePartition
from connectd.model.status import Status
from connectd.observe.levels import LoggerLevel
from connectd.runtime.herder import WorkerInfo
from connectd.runtime.views import (
    ConnectorInfo,
    ConnectorListing,
    ConnectorStatusInfo,
    TaskInfo,
)


def worker_info(info: WorkerInfo) -> dict[str, Any]:
    """ServerInfo."""
    return {
        "version": info.version,
        "commit": info.commit,
        "kafka_cluster_id": info.kafka_cluster_id,
    }


def task_id(task: ConnectorTaskId) -> dict[str, Any]:
    """ConnectorTaskId."""
    return {"connector": task.connector, "task": task.task}


def connector_info(info: ConnectorInfo) -> dict[str, Any]:
    """ConnectorInfo; no member more, since clients map it onto closed types."""
    return {
        "name": info.name,
        "config": dict(info.config),
        "tasks": [task_id(task) for task in info.tasks],
        "type": info.type,
    }


def task_info(info: TaskInfo) -> dict[str, Any]:
    """TaskInfo."""
    return {"id": task_id(info.id), "config": dict(info.config)}


def _state(status: Status) -> dict[str, Any]:
    members: dict[str, Any] = {
        "state": status.state.value,
        "worker_id": status.worker_id,
        "version": status.version,
    }
    if status.trace:
        members["trace"] = status.trace
    return members


def task_state(task: ConnectorTaskId, status: Status) -> dict[str, Any]:
    """The state of a task."""
    return {"id": task.task, **_state(status)}


def connector_status(info: ConnectorStatusInfo) -> dict[str, Any]:
    """ConnectorStateInfo; the connector's own member holds strings only."""
    return {
        "name": info.name,
        "connector": _state(info.connector),
        "tasks": [task_state(task, status) for task, status in info.tasks],
        "type": info.type,
    }


def listing(entry: ConnectorListing) -> dict[str, Any]:
    """One connector of ``GET /connectors?expand=…``: the members that were asked for."""
    members: dict[str, Any] = {}
    if entry.status is not None:
        members["status"] = connector_status(entry.status)
    if entry.info is not None:
        members["info"] = connector_info(entry.info)
    return members


def logger_level(level: LoggerLevel) -> dict[str, Any]:
    """LoggerLevel."""
    return {"level": level.level, "last_modified": level.last_modified_ms}


def offsets(stored: Mapping[SourcePartition, SourceOffset]) -> dict[str, Any]:
    """ConnectorOffsets."""
    return {
        "offsets": [
            {"partition": partition.to_dict(), "offset": dict(offset)}
            for partition, offset in stored.items()
        ]
    }
