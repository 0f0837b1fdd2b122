"""The words in which a script is written: steps, what they wait for, and scenarios.

Texts of a step may hold ``{dir}`` (a directory of this run, the same for both workers), ``{run}``
(a word that no other run uses, for topics) and ``{worker}`` (the worker's host:port).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from tests.conformance.rest.exchange import Answer


class Worker(Enum):
    """How the worker of a scenario is set up (``sides``)."""

    PLAIN = "plain"
    STRICT = "strict"
    """No client overrides, no topic tracking, CORS, extra response headers."""
    GUARDED = "guarded"
    """Basic auth, no admin resources, no reset of topics."""


NOT_SENT: Final = "(none)"
"""The value of a header that is not to be sent."""


@dataclass(frozen=True)
class Until:
    """What a polled step waits for, and for how long it must stay so."""

    what: str
    met: Callable[[Answer], bool]
    stays_s: float = 0.0


@dataclass(frozen=True)
class Step:
    """One request. A polled one is sent until its answer is awaited; the last answer counts."""

    method: str
    path: str
    name: str
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    until: Until | None = None
    keep: str | None = None
    """A pattern: only the entries of the answer whose name it matches are compared."""
    signed: bool = False
    """Signed with the session key, as a worker signs what it sends to the leader."""


@dataclass(frozen=True)
class Scenario:
    """Steps in order, on a worker without connectors; what they leave behind is deleted."""

    name: str
    about: str
    steps: tuple[Step, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    """Written into ``{dir}`` beforehand: name to text."""
    worker: Worker = Worker.PLAIN

    def __post_init__(self) -> None:
        names = [step.name for step in self.steps]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"scenario {self.name} has two steps named {twice}; give each a name")


def request(
    method: str,
    path: str,
    json_body: Any = None,
    *,
    name: str | None = None,
    raw: str | None = None,
    headers: Mapping[str, str] | None = None,
    keep: str | None = None,
    signed: bool = False,
) -> Step:
    """A step with a JSON body, a raw one or none; its name is what it asks unless one is given."""
    body = raw
    sent = dict(headers or {})
    if json_body is not None:
        body = compact(json_body)
    if body is not None:
        sent = {"Content-Type": "application/json", **sent}
    return Step(method, path, name or f"{method} {path}", body, sent, keep=keep, signed=signed)


def get(path: str, **more: Any) -> Step:
    """GET ``path``."""
    return request("GET", path, **more)


def post(path: str, json_body: Any = None, **more: Any) -> Step:
    """POST ``path``."""
    return request("POST", path, json_body, **more)


def put(path: str, json_body: Any = None, **more: Any) -> Step:
    """PUT ``path``."""
    return request("PUT", path, json_body, **more)


def patch(path: str, json_body: Any = None, **more: Any) -> Step:
    """PATCH ``path``."""
    return request("PATCH", path, json_body, **more)


def delete(path: str, **more: Any) -> Step:
    """DELETE ``path``."""
    return request("DELETE", path, **more)


def wait(path: str, until: Until, **more: Any) -> Step:
    """GET ``path`` until the answer is as awaited."""
    step = get(path, **{"name": f"GET {path} until {until.what}", **more})
    return replace(step, until=until)


RESTARTED_WITHIN_S: Final = 1.5
"""A restart that was asked for begins within this time, even on a busy machine."""


def wait_states(
    connector: str, state: str, *tasks: str, name: str | None = None, stays_s: float = 0.0
) -> Step:
    """GET the status of ``connector`` until it and its tasks have these states."""
    what = f"{state} with tasks {list(tasks)}"

    def met(answer: Answer) -> bool:
        body = answer.body
        return (
            answer.status == 200
            and body["connector"]["state"] == state
            and [task["state"] for task in body["tasks"]] == list(tasks)
        )

    path = f"/connectors/{connector}/status"
    return wait(path, Until(what, met, stays_s), name=name or f"{connector} is {what}")


def wait_restarted(connector: str, state: str, *tasks: str, name: str) -> Step:
    """As ``wait_states``, of a restart that may not have begun yet: the states must stay."""
    return wait_states(connector, state, *tasks, name=name, stays_s=RESTARTED_WITHIN_S)


def wait_gone(connector: str) -> Step:
    """GET the status of ``connector`` until there is none."""
    until = Until("404", lambda answer: answer.status == 404)
    return wait(f"/connectors/{connector}/status", until, name=f"the status of {connector} is gone")


def wait_offset(connector: str, offset: Mapping[str, Any], name: str | None = None) -> Step:
    """GET the offsets of ``connector`` until its only offset is ``offset``."""

    def met(answer: Answer) -> bool:
        return answer.status == 200 and [each["offset"] for each in answer.body["offsets"]] == [
            offset
        ]

    until = Until(f"the offset {compact(offset)}", met)
    path = f"/connectors/{connector}/offsets"
    return wait(path, until, name=name or f"{connector} has {until.what}")


def wait_offsets(connector: str, count: int, name: str) -> Step:
    """GET the offsets of ``connector`` until there are that many."""

    def met(answer: Answer) -> bool:
        return answer.status == 200 and len(answer.body["offsets"]) == count

    return wait(f"/connectors/{connector}/offsets", Until(f"{count} offsets", met), name=name)


def wait_task_config(connector: str, key: str, value: str | None) -> Step:
    """GET the tasks of ``connector`` until the config of the first says so; None: has no such key.

    After a change of a config: only then has the change reached the tasks.
    """

    def met(answer: Answer) -> bool:
        return answer.status == 200 and answer.body[0]["config"].get(key) == value

    until = Until(f"its task has {key}={value}", met)
    return wait(f"/connectors/{connector}/tasks", until, name=f"{connector}: {until.what}")


def wait_topics(connector: str, topics: Sequence[str]) -> Step:
    """GET the active topics of ``connector`` until there are that many."""

    def met(answer: Answer) -> bool:
        return answer.status == 200 and any(
            len(entry["topics"]) == len(topics) for entry in answer.body.values()
        )

    until = Until(f"{len(topics)} topics", met)
    return wait(
        f"/connectors/{connector}/topics", until, name=f"{connector} has {len(topics)} topics"
    )


def compact(value: object) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


FILE_SOURCE: Final = "org.apache.kafka.connect.file.FileStreamSourceConnector"
MOCK_SOURCE: Final = "org.apache.kafka.connect.tools.MockSourceConnector"
SCHEMA_SOURCE: Final = "org.apache.kafka.connect.tools.SchemaSourceConnector"
VERIFIABLE_SOURCE: Final = "org.apache.kafka.connect.tools.VerifiableSourceConnector"
JSON_CONVERTER: Final = "org.apache.kafka.connect.json.JsonConverter"


def file_source(**more: Any) -> dict[str, Any]:
    """A connector that waits for a file which never comes: nothing depends on its timing."""
    return {
        "connector.class": FILE_SOURCE,
        "tasks.max": "1",
        "file": "{dir}/never.txt",
        "topic": "{run}-t",
        **more,
    }


LINES: Final = {"in.txt": "first\nsecond\n"}


def reading_source(**more: Any) -> dict[str, Any]:
    """A connector that reads the two ``LINES``; the scenario must wait until it has done so."""
    return file_source(**{"file": "{dir}/in.txt", **more})
