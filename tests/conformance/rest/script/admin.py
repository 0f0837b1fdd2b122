"""Loggers, and what workers ask of each other."""

from __future__ import annotations

from tests.conformance.rest.steps import (
    Scenario,
    file_source,
    get,
    post,
    put,
    wait_states,
)

OWN = r"conformance\..*|root"
"""The loggers of this script; every other one belongs to the worker's own code."""

LOGGERS = Scenario(
    "loggers",
    "H 74-77: levels, one by one, by prefix, in the whole cluster",
    (
        get("/admin/loggers", keep=OWN),
        get("/admin/loggers/", keep=OWN),
        get("/admin/loggers/root"),
        get("/admin/loggers/ROOT"),
        get("/admin/loggers/conformance.unknown"),
        put("/admin/loggers/conformance.a", {"level": "DEBUG"}),
        get("/admin/loggers/conformance.a"),
        put("/admin/loggers/conformance.a", {"level": "DEBUG"}, name="PUT the same level again"),
        put("/admin/loggers/conformance.a.b", {"level": "warn"}, name="PUT in lower case"),
        put("/admin/loggers/conformance.ab", {"level": "TRACE"}),
        put("/admin/loggers/conformance.a", {"level": "ERROR"}, name="PUT of a prefix"),
        get("/admin/loggers/conformance.a.b", name="a child of the prefix"),
        get("/admin/loggers/conformance.ab", name="a sibling with the same prefix"),
        get("/admin/loggers", keep=OWN, name="GET all of ours"),
        put("/admin/loggers/conformance.off", {"level": "OFF"}),
        put("/admin/loggers/conformance.fatal", {"level": "FATAL"}),
        put("/admin/loggers/conformance.all", {"level": "ALL"}),
        put("/admin/loggers/conformance.info", {"level": "INFO"}),
        put("/admin/loggers/conformance.scoped?scope=worker", {"level": "INFO"}),
        put("/admin/loggers/conformance.scoped?scope=WORKER", {"level": "WARN"}),
        put("/admin/loggers/conformance.scoped?scope=universe", {"level": "INFO"}),
        put("/admin/loggers/conformance.scoped?scope=", {"level": "INFO"}),
        put("/admin/loggers/conformance.cluster?scope=cluster", {"level": "DEBUG"}),
        put("/admin/loggers/conformance.cluster?scope=Cluster", {"level": "debug"}),
        put(
            "/admin/loggers/conformance.cluster?scope=cluster",
            {"level": "HIGH"},
            name="PUT no level to all",
        ),
        put("/admin/loggers/conformance.cluster?scope=cluster", {}, name="PUT nothing to all"),
        put("/admin/loggers/root", {}),
        put("/admin/loggers/root", {"level": "HIGH"}, name="PUT no level"),
        put("/admin/loggers/root", {"level": ""}, name="PUT an empty level"),
        put("/admin/loggers/root", {"level": None}, name="PUT level null"),
        put("/admin/loggers/root", {"level": 7}, name="PUT a number as level"),
        put("/admin/loggers/root", {"LEVEL": "INFO"}, name="PUT another member"),
        put("/admin/loggers/root", {"level": "INFO", "more": "x"}, keep=OWN, name="PUT root"),
        get("/admin/loggers/root", name="root after PUT"),
        put("/admin/loggers/Root", {"level": "INFO"}, keep=OWN, name="PUT root in another case"),
        put(
            "/admin/loggers/conformance.slash/",
            {"level": "INFO"},
            name="PUT with a slash at the end",
        ),
        put("/admin/loggers/conformance%20space", {"level": "INFO"}, name="PUT with a space"),
    ),
)

SIGNED = {"X-Connect-Request-Signature-Algorithm": "HmacSHA256", "X-Connect-Authorization": "AAAA"}
_TASK = [
    {
        "task.class": "org.apache.kafka.connect.file.FileStreamSourceTask",
        "file": "x",
        "topic": "{run}-t",
    }
]

INTERNAL = Scenario(
    "between-workers",
    "A.9, H 79-81: requests that workers send each other",
    (
        put("/connectors/in/config", file_source()),
        wait_states("in", "RUNNING", "RUNNING"),
        post("/connectors/in/tasks", _TASK, name="tasks unsigned"),
        put("/connectors/in/fence", name="fence unsigned"),
        post(
            "/connectors/in/tasks",
            _TASK,
            headers={"X-Connect-Authorization": "AAAA"},
            name="tasks without an algorithm",
        ),
        post(
            "/connectors/in/tasks",
            _TASK,
            headers={"X-Connect-Request-Signature-Algorithm": "HmacSHA256"},
            name="tasks without a signature",
        ),
        post("/connectors/in/tasks", _TASK, headers=SIGNED, name="tasks badly signed"),
        put("/connectors/in/fence", headers=SIGNED, name="fence badly signed"),
        post(
            "/connectors/in/tasks",
            _TASK,
            headers={**SIGNED, "X-Connect-Request-Signature-Algorithm": "HmacMD5"},
            name="tasks signed by a weak algorithm",
        ),
        post(
            "/connectors/in/tasks",
            _TASK,
            headers={**SIGNED, "X-Connect-Request-Signature-Algorithm": "Rot13"},
            name="tasks signed by no algorithm",
        ),
        post(
            "/connectors/in/tasks",
            _TASK,
            headers={**SIGNED, "X-Connect-Authorization": "not base64!"},
            name="tasks signed with no base64",
        ),
        post("/connectors/none/tasks", _TASK, name="tasks of no connector unsigned"),
        post("/connectors/none/tasks", _TASK, signed=True, name="tasks of no connector"),
        put("/connectors/none/fence", signed=True, name="fence of no connector"),
        post("/connectors/in/tasks", raw="{", signed=True, name="tasks malformed"),
        post("/connectors/in/tasks", raw="{}", signed=True, name="tasks as an object"),
        put("/connectors/in/fence", signed=True, name="fence"),
        put("/connectors/in/stop"),
        wait_states("in", "STOPPED"),
        post("/connectors/in/tasks", _TASK, signed=True, name="tasks of a stopped one"),
        put("/connectors/in/fence", signed=True, name="fence of a stopped one"),
        put(
            "/connectors/in/config?forward=false",
            file_source(),
            name="PUT that may not be forwarded",
        ),
        put("/connectors/in/stop?forward=false"),
    ),
)

PROVIDERS = Scenario(
    "config-providers",
    "H 90, X01: placeholders are resolved at the last moment and never echoed",
    (
        put("/connectors/cp/config", file_source(topic="${file:{dir}/secrets.properties:topic}")),
        wait_states("cp", "RUNNING", "RUNNING"),
        get("/connectors/cp"),
        get("/connectors/cp/tasks"),
        get("/connectors?expand=info"),
        put(
            "/connector-plugins/FileStreamSource/config/validate",
            {"name": "v", **file_source(topic="${file:{dir}/secrets.properties:topic}")},
            name="validate a good placeholder",
        ),
        put(
            "/connectors/cp2/config",
            file_source(topic="${file:{dir}/secrets.properties:nothing}"),
            name="a key that the file lacks",
        ),
        put(
            "/connectors/cp3/config",
            file_source(topic="${file:{dir}/none.properties:topic}"),
            name="a file that is not there",
        ),
        put(
            "/connectors/cp4/config", file_source(topic="${vault:a:b}"), name="an unknown provider"
        ),
        put(
            "/connectors/cp5/config",
            file_source(topic="${env:CONFORMANCE_TOPIC}"),
            name="the environment",
        ),
        put(
            "/connectors/cp6/config",
            file_source(topic="${directory:{dir}:topic.txt}"),
            name="a directory",
        ),
        put(
            "/connectors/cp7/config",
            file_source(**{"tasks.max": "${file:{dir}/secrets.properties:word}"}),
            name="a secret that is refused",
        ),
        put(
            "/connectors/cp8/config",
            file_source(**{"connector.class": "${file:{dir}/secrets.properties:word}"}),
            name="a secret as class",
        ),
    ),
    {
        "secrets.properties": "topic=a-secret-topic\nword=a-secret-word\n",
        "topic.txt": "another-secret-topic",
    },
)

SCENARIOS = (LOGGERS, INTERNAL, PROVIDERS)
