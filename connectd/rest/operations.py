"""Every operation of the API, as data: what it takes, what it answers, and with which status.

The document of ``openapi`` is made of the route table and of this list; a route without an entry
here, or an entry without a route, fails the tests. Order of entries: that of spec kafka-connect A.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True)
class Answer:
    """A success: what it means, and the entities of which one is its body (none: it has none).

    ``text_type`` is the media type of a body that is no JSON.
    """

    meaning: str
    entities: tuple[str, ...] = ()
    has_location: bool = False
    text_type: str | None = None


@dataclass(frozen=True)
class Query:
    """A query parameter."""

    name: str
    schema: Mapping[str, Any]
    meaning: str


@dataclass(frozen=True)
class Operation:
    """One method of one path.

    ``errors`` are the statuses with an error body beyond those that every operation may answer.
    ``body`` is the entity of the request; an operation without one ignores what is sent.
    """

    name: str
    summary: str
    answers: Mapping[int, Answer]
    errors: tuple[int, ...] = ()
    query: tuple[Query, ...] = ()
    body: str | None = None
    is_internal: bool = False
    headers: tuple[str, ...] = field(default=())


_FLAG: Final = {"type": "boolean", "default": False}
_FORWARD: Final = Query("forward", {"type": "boolean"}, "Set by workers that pass a request on.")
_SIGNED: Final = ("X-Connect-Request-Signature-Algorithm", "X-Connect-Authorization")

_NOT_FOUND, _CONFLICT = 404, 409
_CHANGE: Final = (_NOT_FOUND, _CONFLICT)
_ACCEPTED: Final = {202: Answer("It is wanted now; the worker goes there.")}
_DONE: Final = {204: Answer("It is done.")}


def _ok(entity: str, meaning: str = "") -> dict[int, Answer]:
    return {200: Answer(meaning or entity, (entity,))}


_WORKER: Final = {
    ("GET", "/"): Operation("getWorker", "What this worker is", _ok("ServerInfo")),
    ("GET", "/health"): Operation(
        "getHealth",
        "Whether this worker handles requests",
        {
            200: Answer("healthy", ("WorkerStatus",)),
            500: Answer("unhealthy", ("WorkerStatus",)),
            503: Answer("starting", ("WorkerStatus",)),
        },
    ),
}

_CONNECTORS: Final = {
    ("GET", "/connectors"): Operation(
        "listConnectors",
        "Names of all connectors, or what is known of each",
        {200: Answer("Names, or an object by name", ("ConnectorNames", "ExpandedConnectors"))},
        query=(
            Query(
                "expand",
                {"type": "array", "items": {"type": "string", "enum": ["status", "info"]}},
                "What to tell of each connector; may be repeated.",
            ),
        ),
    ),
    ("POST", "/connectors"): Operation(
        "createConnector",
        "Create a connector",
        {201: Answer("Created", ("ConnectorInfo",), has_location=True)},
        errors=(_CONFLICT,),
        query=(_FORWARD,),
        body="CreateConnectorRequest",
    ),
    ("GET", "/connectors/{name}"): Operation(
        "getConnector", "Its config and tasks", _ok("ConnectorInfo"), errors=_CHANGE
    ),
    ("DELETE", "/connectors/{name}"): Operation(
        "deleteConnector", "Delete it; its offsets stay", _DONE, errors=_CHANGE, query=(_FORWARD,)
    ),
    ("GET", "/connectors/{name}/config"): Operation(
        "getConfig", "Its config", _ok("Config"), errors=_CHANGE
    ),
    ("PUT", "/connectors/{name}/config"): Operation(
        "putConfig",
        "Create it, or replace its config",
        {
            200: Answer("Replaced", ("ConnectorInfo",)),
            201: Answer("Created", ("ConnectorInfo",), has_location=True),
        },
        errors=(_CONFLICT,),
        query=(_FORWARD,),
        body="SubmittedConfig",
    ),
    ("PATCH", "/connectors/{name}/config"): Operation(
        "patchConfig",
        "Change some keys of its config; null removes one",
        _ok("ConnectorInfo"),
        errors=_CHANGE,
        query=(_FORWARD,),
        body="SubmittedConfig",
    ),
    ("GET", "/connectors/{name}/status"): Operation(
        "getStatus", "What it and its tasks do", _ok("ConnectorStateInfo"), errors=(_NOT_FOUND,)
    ),
    ("PUT", "/connectors/{name}/pause"): Operation(
        "pauseConnector", "Pause it and its tasks", _ACCEPTED, errors=_CHANGE
    ),
    ("PUT", "/connectors/{name}/resume"): Operation(
        "resumeConnector", "Let it run", _ACCEPTED, errors=_CHANGE
    ),
    ("PUT", "/connectors/{name}/stop"): Operation(
        "stopConnector", "End its tasks; it stays", _DONE, errors=_CHANGE, query=(_FORWARD,)
    ),
    ("POST", "/connectors/{name}/restart"): Operation(
        "restartConnector",
        "Restart it, its tasks, or what has failed of them",
        {
            202: Answer("What is being restarted", ("ConnectorStateInfo",)),
            204: Answer("The connector without its tasks has been restarted"),
        },
        errors=_CHANGE,
        query=(
            Query("includeTasks", _FLAG, "Restart tasks too."),
            Query("onlyFailed", _FLAG, "Restart only what has failed."),
            _FORWARD,
        ),
    ),
    ("GET", "/connectors/{name}/topics"): Operation(
        "getTopics", "Topics it has written to", _ok("ActiveTopics"), errors=(403,)
    ),
    ("PUT", "/connectors/{name}/topics/reset"): Operation(
        "resetTopics", "Forget these topics", _ACCEPTED, errors=(403,)
    ),
}

_TASKS: Final = {
    ("GET", "/connectors/{name}/tasks"): Operation(
        "listTasks", "Its tasks and their configs", _ok("TaskInfos"), errors=_CHANGE
    ),
    ("POST", "/connectors/{name}/tasks"): Operation(
        "putTasks",
        "For workers: the configs that a connector computed for its tasks",
        _DONE,
        errors=(403, *_CHANGE, 503),
        query=(_FORWARD,),
        body="TaskConfigs",
        is_internal=True,
        headers=_SIGNED,
    ),
    ("PUT", "/connectors/{name}/fence"): Operation(
        "fenceTasks",
        "For workers: keep earlier generations of its tasks from writing",
        _DONE,
        errors=(403, *_CHANGE, 503),
        query=(_FORWARD,),
        is_internal=True,
        headers=_SIGNED,
    ),
    ("GET", "/connectors/{name}/tasks/{task}/status"): Operation(
        "getTaskStatus", "What a task does", _ok("TaskState"), errors=(_NOT_FOUND,)
    ),
    ("POST", "/connectors/{name}/tasks/{task}/restart"): Operation(
        "restartTask", "Restart a task", _DONE, errors=_CHANGE, query=(_FORWARD,)
    ),
}

_OFFSETS: Final = {
    ("GET", "/connectors/{name}/offsets"): Operation(
        "getOffsets", "Its stored positions", _ok("ConnectorOffsets"), errors=_CHANGE
    ),
    ("PATCH", "/connectors/{name}/offsets"): Operation(
        "patchOffsets",
        "Change positions of a stopped connector",
        _ok("Message"),
        errors=_CHANGE,
        query=(_FORWARD,),
        body="ConnectorOffsets",
    ),
    ("DELETE", "/connectors/{name}/offsets"): Operation(
        "deleteOffsets",
        "Forget the positions of a stopped connector",
        _ok("Message"),
        errors=_CHANGE,
        query=(_FORWARD,),
    ),
}

_PLUGINS: Final = {
    ("GET", "/connector-plugins"): Operation(
        "listPlugins",
        "Installed plugins",
        _ok("PluginInfos"),
        query=(Query("connectorsOnly", {"type": "boolean", "default": True}, "Connectors alone."),),
    ),
    ("GET", "/connector-plugins/{name}/config"): Operation(
        "getPluginConfig",
        "The keys that a plugin accepts",
        _ok("ConfigKeyInfos"),
        errors=(_NOT_FOUND,),
        query=(Query("version", {"type": "string"}, "A version range of the plugin."),),
    ),
    ("PUT", "/connector-plugins/{name}/config/validate"): Operation(
        "validateConfig",
        "Check a config without using it",
        _ok("ConfigInfos"),
        body="SubmittedConfig",
    ),
}

_LOGGERS: Final = {
    ("GET", "/admin/loggers"): Operation(
        "listLoggers", "Loggers with a level of their own", _ok("LoggerLevels")
    ),
    ("GET", "/admin/loggers/{logger}"): Operation(
        "getLogger", "The level of a logger", _ok("LoggerLevel"), errors=(_NOT_FOUND,)
    ),
    ("PUT", "/admin/loggers/{logger}"): Operation(
        "putLogger",
        "Set the level of a logger and of those below it",
        {
            200: Answer("Loggers with a new level", ("LoggerNames",)),
            204: Answer("It will be set on every worker"),
        },
        errors=(_NOT_FOUND,),
        query=(
            Query(
                "scope",
                {"type": "string", "enum": ["worker", "cluster"], "default": "worker"},
                "Where to set it.",
            ),
        ),
        body="LevelRequest",
    ),
}

_OWN: Final = {
    ("GET", "/connectd/connectors/{name}/tables"): Operation(
        "getTables",
        "Progress of its tables, on whichever workers they are",
        _ok("TableProgress"),
        errors=(_NOT_FOUND,),
    ),
    ("GET", "/connectd/health/live"): Operation(
        "getLiveness", "Whether the worker's event loop turns", _ok("Liveness", "It does")
    ),
    ("GET", "/connectd/health/ready"): Operation(
        "getReadiness",
        "Whether requests may come here",
        {
            200: Answer("ready", ("Readiness",)),
            503: Answer("not ready", ("Readiness",)),
        },
    ),
    ("GET", "/metrics"): Operation(
        "getMetrics",
        "The worker's metrics, as Prometheus reads them",
        {200: Answer("See docs/metrics.md", text_type="text/plain")},
    ),
    ("GET", "/connectd/openapi.json"): Operation(
        "getDescription", "This description", _ok("Description")
    ),
}

OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    **_WORKER,
    **_CONNECTORS,
    **_TASKS,
    **_OFFSETS,
    **_PLUGINS,
    **_LOGGERS,
    **_OWN,
}
"""Every operation, by method and path."""
