"""Changing a connector and what it shall do: PUT, PATCH, pause, resume, stop, restart, topics."""

from __future__ import annotations

from typing import Any

from tests.conformance.rest.steps import (
    LINES,
    MOCK_SOURCE,
    SCHEMA_SOURCE,
    Scenario,
    delete,
    file_source,
    get,
    patch,
    post,
    put,
    reading_source,
    wait_gone,
    wait_restarted,
    wait_states,
    wait_task_config,
    wait_topics,
)

PUT_CONFIG = Scenario(
    "put-config",
    "H 33-35: PUT creates and replaces",
    (
        put("/connectors/n/config", file_source()),
        wait_states("n", "RUNNING", "RUNNING"),
        put(
            "/connectors/n/config",
            file_source(**{"batch.size": "10"}),
            name="PUT another batch size",
        ),
        wait_task_config("n", "batch.size", "10"),
        get("/connectors/n/config"),
        put("/connectors/n/config", file_source(**{"batch.size": "10"}), name="PUT the same again"),
        put("/connectors/n/config/", file_source(name="n"), name="PUT with its name and a slash"),
        put("/connectors/n/config", file_source(name="m"), name="PUT with another name"),
        put(
            "/connectors/n/config",
            {"connector.class": MOCK_SOURCE, "tasks.max": "1"},
            name="PUT another class",
        ),
        wait_task_config("n", "connector.class", MOCK_SOURCE),
        wait_states("n", "RUNNING", "RUNNING", name="the other class runs"),
        get("/connectors/n"),
        put(
            "/connectors/n/config",
            {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector"},
            name="PUT a sink without topics",
        ),
        get("/connectors/n/config", name="the config is still the last good one"),
    ),
)

PATCH_CONFIG = Scenario(
    "patch-config",
    "H 36, 37: PATCH merges",
    (
        put("/connectors/p/config", file_source(**{"batch.size": "10"})),
        wait_states("p", "RUNNING", "RUNNING"),
        patch("/connectors/p/config", {"batch.size": "20", "extra": "x"}),
        wait_task_config("p", "extra", "x"),
        patch("/connectors/p/config", {"extra": None}, name="PATCH a null takes away"),
        wait_task_config("p", "extra", None),
        patch(
            "/connectors/p/config", {"never.there": None}, name="PATCH takes away what is not there"
        ),
        patch("/connectors/p/config", {}, name="PATCH nothing"),
        patch("/connectors/p/config", {"tasks.max": 1}, name="PATCH a number"),
        patch("/connectors/p/config", {"tasks.max": "0"}, name="PATCH a refused value"),
        patch("/connectors/p/config", {"topic": None}, name="PATCH a required key away"),
        patch("/connectors/p/config", {"connector.class": None}, name="PATCH the class away"),
        patch(
            "/connectors/p/config",
            {"connector.class": "org.example.Nope3"},
            name="PATCH an unknown class",
        ),
        patch("/connectors/p/config", {"name": "q"}, name="PATCH another name"),
        wait_task_config("p", "name", "q"),
        patch("/connectors/p/config", {"name": None}, name="PATCH the name away"),
        get("/connectors/p/config", name="the config without its name"),
        patch("/connectors/none/config", {}),
        patch("/connectors/none/config", {"a": "b"}, name="PATCH a key of no connector"),
        get("/connectors/p/config"),
        wait_states("p", "RUNNING", "RUNNING", name="it still runs"),
    ),
)

PAUSE = Scenario(
    "pause-and-resume",
    "H 38-40: pause and resume, each twice",
    (
        put("/connectors/pr/config", file_source()),
        wait_states("pr", "RUNNING", "RUNNING"),
        put("/connectors/pr/pause"),
        wait_states("pr", "PAUSED", "PAUSED"),
        put("/connectors/pr/pause", name="pause again"),
        put("/connectors/pr/pause/", name="pause with a slash"),
        get("/connectors/pr/tasks/0/status", name="the paused task"),
        get("/connectors?expand=status", name="the paused connector in the list"),
        put("/connectors/pr/resume"),
        wait_states("pr", "RUNNING", "RUNNING", name="it runs again"),
        put("/connectors/pr/resume", name="resume again"),
        put("/connectors/pr/pause?forward=true", name="pause with an unknown parameter"),
        wait_states("pr", "PAUSED", "PAUSED", name="it pauses again"),
        delete("/connectors/pr", name="DELETE a paused one"),
        wait_gone("pr"),
        put("/connectors/pr/resume", name="resume a deleted one"),
    ),
)

STOP = Scenario(
    "stop",
    "H 41, 42: stopped connectors have no tasks and can go on",
    (
        put("/connectors/st/config", file_source()),
        wait_states("st", "RUNNING", "RUNNING"),
        put("/connectors/st/stop"),
        wait_states("st", "STOPPED"),
        put("/connectors/st/stop", name="stop again"),
        get("/connectors/st"),
        get("/connectors/st/tasks"),
        get("/connectors/st/tasks/0/status"),
        get("/connectors?expand=status&expand=info"),
        post("/connectors/st/tasks/0/restart", name="restart a task of a stopped one"),
        post("/connectors/st/restart", name="restart a stopped one"),
        wait_restarted("st", "STOPPED", name="it is stopped after a restart"),
        post("/connectors/st/restart?includeTasks=true", name="restart a stopped one with tasks"),
        wait_restarted("st", "STOPPED", name="it is still stopped"),
        put("/connectors/st/config", file_source(**{"batch.size": "7"}), name="PUT while stopped"),
        wait_states("st", "STOPPED", name="it is stopped after PUT"),
        put("/connectors/st/pause", name="pause a stopped one"),
        wait_states("st", "PAUSED", name="it is paused"),
        put("/connectors/st/stop", name="stop a paused one"),
        wait_states("st", "STOPPED", name="it is stopped from paused"),
        put("/connectors/st/resume"),
        wait_states("st", "RUNNING", "RUNNING", name="it runs again"),
        get("/connectors/st/tasks", name="its tasks are back"),
    ),
)

RESTART = Scenario(
    "restart",
    "H 52-56: restarts, with every spelling of their flags",
    (
        put("/connectors/re/config", file_source()),
        wait_states("re", "RUNNING", "RUNNING"),
        post("/connectors/re/restart"),
        wait_restarted("re", "RUNNING", "RUNNING", name="it runs after a restart"),
        post("/connectors/re/restart?includeTasks=false&onlyFailed=false"),
        wait_restarted("re", "RUNNING", "RUNNING", name="it runs after another restart"),
        post("/connectors/re/restart?onlyFailed=true"),
        post("/connectors/re/restart?includeTasks=true&onlyFailed=true"),
        post("/connectors/re/restart?includeTasks=TRUE&onlyFailed=True"),
        post("/connectors/re/restart?includeTasks=yes"),
        wait_restarted("re", "RUNNING", "RUNNING", name="it runs after yes"),
        post("/connectors/re/restart?includeTasks="),
        wait_restarted("re", "RUNNING", "RUNNING", name="it runs after nothing"),
        post("/connectors/re/restart?includeTasks=true"),
        wait_restarted("re", "RUNNING", "RUNNING", name="it runs after a restart with tasks"),
        post("/connectors/re/restart/", name="restart with a slash"),
        wait_restarted("re", "RUNNING", "RUNNING", name="it runs after a slash"),
        post("/connectors/re/restart", {"a": 1}, name="restart with a body"),
        wait_restarted("re", "RUNNING", "RUNNING", name="it runs at last"),
        post("/connectors/re/tasks/0/restart"),
        wait_restarted("re", "RUNNING", "RUNNING", name="it runs after its task's restart"),
        post("/connectors/re/tasks/9/restart"),
        post("/connectors/re/tasks/-1/restart"),
        post("/connectors/none/tasks/0/restart"),
        get("/connectors/re/status"),
    ),
)


def _mock(mode: str) -> dict[str, Any]:
    return {
        "connector.class": MOCK_SOURCE,
        "tasks.max": "1",
        "mock_mode": mode,
        "delay_ms": "2000",
    }


FAILURES = Scenario(
    "failures",
    "H 68: failed connectors and tasks show it, and are what onlyFailed restarts",
    (
        put("/connectors/ft/config", _mock("task-failure")),
        wait_states("ft", "RUNNING", "FAILED"),
        get("/connectors/ft/tasks/0/status"),
        get("/connectors?expand=status"),
        post("/connectors/ft/restart?includeTasks=true&onlyFailed=true"),
        wait_states("ft", "RUNNING", "RUNNING", name="its task runs again"),
        wait_states("ft", "RUNNING", "FAILED", name="its task has failed again"),
        post("/connectors/ft/tasks/0/restart"),
        wait_states("ft", "RUNNING", "RUNNING", name="its task runs once more"),
        delete("/connectors/ft"),
        wait_gone("ft"),
        put("/connectors/fc/config", _mock("connector-failure")),
        wait_states("fc", "FAILED", "RUNNING"),
        get("/connectors/fc"),
        post("/connectors/fc/restart?onlyFailed=true"),
        wait_states("fc", "RUNNING", "RUNNING", name="the connector runs again"),
        wait_states("fc", "FAILED", "RUNNING", name="the connector has failed again"),
        post("/connectors/fc/restart"),
        wait_states("fc", "RUNNING", "RUNNING", name="the connector runs once more"),
        wait_states("fc", "FAILED", "RUNNING", name="the connector has failed once more"),
        put("/connectors/fc/config", file_source(), name="PUT a config that works"),
        wait_states("fc", "RUNNING", "RUNNING", name="it works at last"),
    ),
)

SCHEMA = Scenario(
    "schema-source",
    "several tasks: their ids, and changes of their number",
    (
        put(
            "/connectors/sch/config",
            {
                "connector.class": SCHEMA_SOURCE,
                "tasks.max": "2",
                "topic": "{run}-sch",
                "num.messages": "0",
                "throughput": "1000",
            },
        ),
        wait_states("sch", "RUNNING", "RUNNING", "RUNNING"),
        get("/connectors/sch/tasks"),
        get("/connectors/sch/tasks/1/status"),
        post("/connectors/sch/tasks/1/restart"),
        wait_states("sch", "RUNNING", "RUNNING", "RUNNING", name="task 1 is back"),
        patch("/connectors/sch/config", {"tasks.max": "1"}, name="fewer tasks"),
        wait_states("sch", "RUNNING", "RUNNING", name="one task"),
        patch("/connectors/sch/config", {"tasks.max": "3"}, name="more tasks"),
        wait_states("sch", "RUNNING", "RUNNING", "RUNNING", "RUNNING"),
    ),
)

TOPICS = Scenario(
    "topics",
    "H 57: topics that a connector wrote to, and their reset",
    (
        put("/connectors/tp/config", reading_source()),
        wait_states("tp", "RUNNING", "RUNNING"),
        wait_topics("tp", ["t"]),
        put("/connectors/tp/stop"),
        wait_states("tp", "STOPPED"),
        get("/connectors/tp/topics", name="they stay after a stop"),
        put("/connectors/tp/topics/reset"),
        wait_topics("tp", []),
        put("/connectors/tp/topics/reset", name="reset again"),
        get("/connectors/tp/topics/"),
        put("/connectors/none/topics/reset"),
        get("/connectors/none/topics"),
    ),
    LINES,
)

SCENARIOS = (PUT_CONFIG, PATCH_CONFIG, PAUSE, STOP, RESTART, FAILURES, SCHEMA, TOPICS)
