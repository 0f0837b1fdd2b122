"""Workers that are set up otherwise: what they allow, and what they add to their answers."""

from __future__ import annotations

import base64

from tests.conformance.rest.steps import (
    NOT_SENT,
    Scenario,
    Worker,
    file_source,
    get,
    post,
    put,
    request,
    wait_states,
)

GOOD = {"name": "val", **file_source()}
UI = {"Origin": "https://ui.example"}
_ASKS_FOR_PUT = {"Access-Control-Request-Method": "PUT"}


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


_VALIDATE = "/connector-plugins/FileStreamSource/config/validate"

STRICT = Scenario(
    "strict-worker",
    "H 58, 67: no topic tracking, no client overrides",
    (
        put("/connectors/sw/config", file_source()),
        wait_states("sw", "RUNNING", "RUNNING"),
        get("/connectors/sw/topics"),
        put("/connectors/sw/topics/reset"),
        get("/connectors/none/topics"),
        put(_VALIDATE, {**GOOD, "producer.override.linger.ms": "1"}, name="validate an override"),
        put(
            _VALIDATE,
            {**GOOD, "producer.override.linger.ms": "1", "producer.override.acks": "all"},
            name="validate two overrides",
        ),
        post(
            "/connectors",
            {"name": "sw2", "config": file_source(**{"producer.override.linger.ms": "1"})},
            name="POST with an override",
        ),
    ),
    worker=Worker.STRICT,
)

CORS = Scenario(
    "cors",
    "A.1.2: other origins, and headers on every answer",
    (
        get("/", name="no origin"),
        get("/", headers=UI, name="the allowed origin"),
        get("/", headers={"Origin": "https://evil.example"}, name="another origin"),
        get("/connectors/none", headers=UI, name="an error for the allowed origin"),
        get("/nope", headers=UI, name="no route for the allowed origin"),
        request("OPTIONS", "/connectors", headers={**UI, **_ASKS_FOR_PUT}, name="preflight"),
        request(
            "OPTIONS",
            "/connectors",
            headers={**UI, "Access-Control-Request-Method": "DELETE"},
            name="preflight of another method",
        ),
        request(
            "OPTIONS",
            "/connectors",
            headers={**UI, **_ASKS_FOR_PUT, "Access-Control-Request-Headers": "content-type"},
            name="preflight with a header",
        ),
        request(
            "OPTIONS",
            "/connectors",
            headers={"Origin": "https://evil.example", **_ASKS_FOR_PUT},
            name="preflight of another origin",
        ),
        request("OPTIONS", "/connectors", headers=UI, name="OPTIONS of the allowed origin"),
        put("/connectors/none/pause", headers=UI, name="PUT of the allowed origin"),
    ),
    worker=Worker.STRICT,
)

PLAIN_LOGIN = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";'
)
NOBODY = {"Authorization": NOT_SENT}
_TASK = [{"task.class": "org.apache.kafka.connect.file.FileStreamSourceTask"}]

LOGIN = Scenario(
    "login",
    "A.1.7: Basic authentication",
    (
        get("/", headers=NOBODY, name="nobody"),
        get("/health", headers=NOBODY, name="health for nobody"),
        get("/connectors", headers=NOBODY, name="connectors for nobody"),
        get("/nope", headers=NOBODY, name="no route for nobody"),
        post(
            "/connectors",
            {"name": "lo", "config": file_source()},
            headers=NOBODY,
            name="POST of nobody",
        ),
        get("/", headers={"Authorization": _basic("admin", "wrong")}, name="a wrong password"),
        get("/", headers={"Authorization": _basic("nobody", "secret")}, name="a wrong user"),
        get("/", headers={"Authorization": _basic("admin", "")}, name="no password"),
        get("/", headers={"Authorization": "Bearer token"}, name="a bearer"),
        get("/", headers={"Authorization": "Basic"}, name="no credentials"),
        get("/", headers={"Authorization": "Basic !!!"}, name="credentials that are no base64"),
        get("/", headers={"Authorization": "Basic YWRtaW4="}, name="credentials without a colon"),
        get("/"),
        get("/", headers={"Authorization": _basic("colon", "a:b")}, name="a colon in the password"),
        post("/connectors/none/tasks", _TASK, headers=NOBODY, name="tasks by nobody, unsigned"),
        put("/connectors/none/fence", headers=NOBODY, name="fence by nobody, unsigned"),
    ),
    worker=Worker.GUARDED,
)

GUARDED = Scenario(
    "guarded-worker",
    "no admin resources, no reset of topics, the policy Principal",
    (
        put("/connectors/gu/config", file_source()),
        wait_states("gu", "RUNNING", "RUNNING"),
        get("/connectors/gu/topics"),
        put("/connectors/gu/topics/reset"),
        get("/admin/loggers"),
        get("/admin/loggers/root"),
        put("/admin/loggers/root", {"level": "INFO"}),
        put(_VALIDATE, {**GOOD, "producer.override.linger.ms": "1"}, name="validate an override"),
        put(
            _VALIDATE,
            {
                **GOOD,
                "producer.override.sasl.mechanism": "PLAIN",
                "producer.override.security.protocol": "SASL_PLAINTEXT",
                "producer.override.sasl.jaas.config": PLAIN_LOGIN,
            },
            name="validate overrides of the login",
        ),
    ),
    worker=Worker.GUARDED,
)

SCENARIOS = (STRICT, CORS, LOGIN, GUARDED)
