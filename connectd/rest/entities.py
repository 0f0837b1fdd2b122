"""What travels in bodies, as JSON Schema: the shapes that clients of Kafka Connect map onto types.

One schema per entity of spec kafka-connect A.2, named as there. Closed values (states, types of
plugins and of keys) come from the enums that the worker itself uses; objects of answers take no
further members, since clients map them onto closed types. ``schemas`` builds what is described
here; the tests hold both together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final

from connectd.configdef.catalogue import PluginKind
from connectd.configdef.definition import ConfigType, Importance, Width
from connectd.model.states import State
from connectd.runtime.health import HealthState

Schema = dict[str, Any]


def reference(entity: str) -> Schema:
    """The schema of an entity, by its name."""
    return {"$ref": f"#/components/schemas/{entity}"}


def _object(members: Mapping[str, Schema], *, optional: Iterable[str] = ()) -> Schema:
    """An object with these members and no other."""
    return {
        "type": "object",
        "properties": dict(members),
        "required": [name for name in members if name not in set(optional)],
        "additionalProperties": False,
    }


def _list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _map_of(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _one_of(values: type[Enum]) -> Schema:
    return {"type": "string", "enum": [each.value for each in values]}


def _or_null(kind: str) -> Schema:
    return {"type": [kind, "null"]}


_TEXT: Final[Schema] = {"type": "string"}
_NUMBER: Final[Schema] = {"type": "integer"}
_TEXTS: Final = _list_of(_TEXT)
_WORKER_ID: Final[Schema] = {"type": "string", "examples": ["10.0.0.1:8083"]}
_CONNECTOR_TYPE: Final[Schema] = {"type": "string", "enum": ["source", "sink", "unknown"]}
_SENT_VALUE: Final[Schema] = {
    "type": ["string", "number", "boolean", "null"],
    "description": "Numbers and booleans are taken as their text.",
}

_STATE: Final[dict[str, Schema]] = {
    "state": _one_of(State),
    "worker_id": _WORKER_ID,
    "version": {**_or_null("string"), "description": "The plugin's version, if it has one."},
    "trace": {"type": "string", "description": "Why it failed."},
}
_STATE_OPTIONAL: Final = ("version", "trace")

_CONFIG_KEY: Final = _object(
    {
        "name": _TEXT,
        "type": _one_of(ConfigType),
        "required": {"type": "boolean"},
        "default_value": _or_null("string"),
        "importance": _one_of(Importance),
        "documentation": _or_null("string"),
        "group": _or_null("string"),
        "width": _one_of(Width),
        "display_name": _TEXT,
        "dependents": _TEXTS,
        "order_in_group": _NUMBER,
    }
)

ENTITIES: Final[dict[str, Schema]] = {
    "ErrorMessage": _object({"error_code": _NUMBER, "message": _or_null("string")}),
    "Message": _object({"message": _TEXT}),
    "ServerInfo": _object(
        {"version": _TEXT, "commit": _TEXT, "kafka_cluster_id": _or_null("string")}
    ),
    "WorkerStatus": _object({"status": _one_of(HealthState), "message": _TEXT}),
    "Liveness": _object({"status": {"type": "string", "enum": ["live"]}}),
    "Readiness": _object(
        {
            "status": {"type": "string", "enum": ["ready", "not ready"]},
            "reasons": _list_of(_TEXT),
            "tables_degraded": _NUMBER,
        }
    ),
    "Config": _map_of(_TEXT),
    "SubmittedConfig": {
        **_map_of(_SENT_VALUE),
        "examples": [{"connector.class": "FileStreamSource", "file": "in.txt", "topic": "lines"}],
    },
    "CreateConnectorRequest": _object(
        {
            "name": _TEXT,
            "config": reference("SubmittedConfig"),
            "initial_state": {"type": "string", "enum": ["RUNNING", "PAUSED", "STOPPED"]},
        },
        optional=["initial_state"],
    ),
    "ConnectorTaskId": _object({"connector": _TEXT, "task": _NUMBER}),
    "ConnectorInfo": _object(
        {
            "name": _TEXT,
            "config": reference("Config"),
            "tasks": _list_of(reference("ConnectorTaskId")),
            "type": _CONNECTOR_TYPE,
        }
    ),
    "ConnectorState": _object(_STATE, optional=_STATE_OPTIONAL),
    "TaskState": _object({"id": _NUMBER, **_STATE}, optional=_STATE_OPTIONAL),
    "ConnectorStateInfo": _object(
        {
            "name": _TEXT,
            "connector": reference("ConnectorState"),
            "tasks": _list_of(reference("TaskState")),
            "type": _CONNECTOR_TYPE,
        }
    ),
    "ConnectorNames": _TEXTS,
    "ExpandedConnectors": _map_of(
        _object(
            {"status": reference("ConnectorStateInfo"), "info": reference("ConnectorInfo")},
            optional=["status", "info"],
        )
    ),
    "TaskInfo": _object({"id": reference("ConnectorTaskId"), "config": reference("Config")}),
    "TaskInfos": _list_of(reference("TaskInfo")),
    "TaskConfigs": _list_of(reference("SubmittedConfig")),
    "ActiveTopics": _map_of(_object({"topics": _TEXTS})),
    "ConnectorOffset": _object(
        {
            "partition": {"type": ["object", "null"]},
            "offset": {"type": ["object", "null"], "description": "null removes it."},
        },
        optional=["offset"],
    ),
    "ConnectorOffsets": _object({"offsets": _list_of(reference("ConnectorOffset"))}),
    "PluginInfo": _object(
        {"class": _TEXT, "type": _one_of(PluginKind), "version": _TEXT}, optional=["version"]
    ),
    "PluginInfos": _list_of(reference("PluginInfo")),
    "ConfigKeyInfo": _CONFIG_KEY,
    "ConfigKeyInfos": _list_of(reference("ConfigKeyInfo")),
    "ConfigValueInfo": _object(
        {
            "name": _TEXT,
            "value": _or_null("string"),
            "recommended_values": _TEXTS,
            "errors": _TEXTS,
            "visible": {"type": "boolean"},
        }
    ),
    "ConfigInfo": _object(
        {
            "definition": {"oneOf": [reference("ConfigKeyInfo"), {"type": "null"}]},
            "value": {"oneOf": [reference("ConfigValueInfo"), {"type": "null"}]},
        }
    ),
    "ConfigInfos": _object(
        {
            "name": _TEXT,
            "error_count": _NUMBER,
            "groups": _TEXTS,
            "configs": _list_of(reference("ConfigInfo")),
        }
    ),
    "LoggerLevel": _object({"level": _TEXT, "last_modified": _or_null("integer")}),
    "LoggerLevels": _map_of(reference("LoggerLevel")),
    "LoggerNames": _TEXTS,
    "LevelRequest": {
        "type": "object",
        "properties": {"level": {"type": "string", "examples": ["INFO", "DEBUG"]}},
        "required": ["level"],
    },
    "TableProgress": _object(
        {
            "tables": _list_of(
                {"type": "object", "description": "Name, state, progress and lag of one table."}
            ),
            "unanswered": _list_of(reference("UnansweredWorker")),
        },
        optional=["unanswered"],
    ),
    "UnansweredWorker": _object({"url": _TEXT, "reason": _TEXT}),
    "Description": {"type": "object", "description": "This document."},
}
"""Every entity, by its name."""
