"""Workers that are set up otherwise: what they allow, and what they add to their answers."""

from __future__ import annotations

from tests.conformance.rest.script.creation import LINES
from tests.conformance.rest.steps import (
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
    LINES,
    Worker.STRICT,
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

SCENARIOS = (STRICT, CORS)
