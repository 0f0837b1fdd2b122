"""Root, health, routes that do not exist, methods, content types, bodies that are no JSON."""

from __future__ import annotations

from tests.conformance.rest.steps import (
    NOT_SENT,
    Scenario,
    compact,
    delete,
    file_source,
    get,
    patch,
    post,
    put,
    request,
    wait_states,
)

ROOT = Scenario(
    "root-and-health",
    "A.3: what the worker says of itself",
    (
        get("/"),
        get("/health"),
        get("/health/"),
        get("/?pretty=true"),
        request("HEAD", "/"),
        request("HEAD", "/health"),
        get("/", name="GET / for anything", headers={"Accept": "*/*"}),
        get(
            "/",
            name="GET / for JSON in UTF-8",
            headers={"Accept": "application/json; charset=utf-8"},
        ),
    ),
)

ROUTES = Scenario(
    "routes",
    "A.1.3: paths that nobody serves, and trailing slashes",
    (
        get("/nope"),
        post("/nope", {}),
        get("/connectors/a/b/c/d"),
        get("/connectors/"),
        get("/connector-plugins/"),
        get("/admin"),
        get("/admin/"),
        get("/admin/loggers/root/deeper"),
        get("/connectors/none/tasks/zero/status"),
        get("/connectors/none/tasks/-1/status"),
        get("/connectors/none/tasks/99999999999/status"),
        post("/connectors/none/tasks/zero/restart"),
        get("/connectors/none/tasks-config"),
        get("/CONNECTORS"),
        get("//connectors"),
        get("/connectors/none/../none"),
        get("/openapi.json"),
        get("/docs"),
    ),
)

METHODS = Scenario(
    "methods",
    "A.1.3: methods that a path does not know, OPTIONS and HEAD",
    (
        post("/", {}),
        put("/", {}),
        delete("/"),
        put("/connectors", {}),
        delete("/connectors"),
        patch("/connectors", {}),
        post("/connectors/none", {}),
        put("/connectors/none", {}),
        patch("/connectors/none", {}),
        delete("/connectors/none/config"),
        post("/connectors/none/config", {}),
        post("/connectors/none/status"),
        get("/connectors/none/pause"),
        post("/connectors/none/pause"),
        get("/connectors/none/resume"),
        get("/connectors/none/stop"),
        get("/connectors/none/restart"),
        put("/connectors/none/restart"),
        get("/connectors/none/tasks/0/restart"),
        get("/connectors/none/fence"),
        get("/connectors/none/topics/reset"),
        put("/connectors/none/offsets", {"offsets": []}),
        post("/connector-plugins", {}),
        post("/connector-plugins/none/config/validate", {}),
        get("/connector-plugins/none/config/validate"),
        post("/admin/loggers", {}),
        delete("/admin/loggers/root"),
        request("HEAD", "/connectors"),
        request("OPTIONS", "/connectors"),
        request("OPTIONS", "/connectors/none/config"),
        request("OPTIONS", "/"),
        request("TRACE", "/"),
        request("BREW", "/"),
    ),
)

_CREATE = compact({"name": "mime", "config": file_source()})

CONTENT_TYPES = Scenario(
    "content-types",
    "A.1.2: bodies of other types, answers of other types",
    (
        post(
            "/connectors",
            raw=_CREATE,
            headers={"Content-Type": NOT_SENT},
            name="POST without a type",
        ),
        post(
            "/connectors", raw=_CREATE, headers={"Content-Type": "text/plain"}, name="POST as text"
        ),
        post(
            "/connectors",
            raw=_CREATE,
            headers={"Content-Type": "application/xml"},
            name="POST as XML",
        ),
        post(
            "/connectors",
            raw="name=mime",
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            name="POST as a form",
        ),
        post("/connectors", raw=_CREATE, headers={"Content-Type": "json"}, name="POST as no type"),
        put(
            "/connectors/mime/config",
            raw="{}",
            headers={"Content-Type": "text/plain"},
            name="PUT config as text",
        ),
        put(
            "/admin/loggers/root",
            raw='{"level":"INFO"}',
            headers={"Content-Type": "text/plain"},
            name="PUT level as text",
        ),
        post(
            "/connectors",
            raw=_CREATE,
            headers={"Content-Type": "application/json; charset=utf-8"},
            name="POST as JSON in UTF-8",
        ),
        wait_states("mime", "RUNNING", "RUNNING"),
        get("/connectors", name="GET as HTML", headers={"Accept": "text/html"}),
        get(
            "/connectors",
            name="GET as XML or JSON",
            headers={"Accept": "application/xml, application/json;q=0.5"},
        ),
        get("/connectors", name="GET as any application", headers={"Accept": "application/*"}),
        get("/connectors/none", name="GET of nothing as HTML", headers={"Accept": "text/html"}),
        get("/nope", name="GET of no route as HTML", headers={"Accept": "text/html"}),
    ),
)

BODIES = Scenario(
    "bodies",
    "A.1.3: bodies that are no JSON, or JSON of another shape",
    (
        post("/connectors", name="POST without a body"),
        post("/connectors", raw="", name="POST an empty body"),
        post("/connectors", raw="null", name="POST null"),
        post("/connectors", raw="{", name="POST an open brace"),
        post("/connectors", raw="{]", name="POST malformed JSON"),
        post("/connectors", raw="not json", name="POST a word"),
        post("/connectors", raw="[]", name="POST a list"),
        post("/connectors", raw='"text"', name="POST a text"),
        post("/connectors", raw="17", name="POST a number"),
        post("/connectors", raw="{}", name="POST an empty object"),
        post("/connectors", {"name": "b"}, name="POST without config"),
        post("/connectors", {"name": "b", "config": None}, name="POST config null"),
        post("/connectors", {"name": "b", "config": []}, name="POST config list"),
        post("/connectors", {"name": "b", "config": "x"}, name="POST config text"),
        post(
            "/connectors",
            {"name": "b", "config": {"connector.class": {"a": 1}}},
            name="POST a nested config value",
        ),
        post(
            "/connectors",
            {"name": "b", "config": {"connector.class": ["a"]}},
            name="POST a list as config value",
        ),
        post(
            "/connectors",
            {"name": {"a": 1}, "config": {}},
            name="POST an object as name",
        ),
        post(
            "/connectors",
            {"name": "b", "config": {}, "extra": 1},
            name="POST an unknown member",
        ),
        post(
            "/connectors",
            {"name": "b", "config": file_source(), "initial_state": "FOO"},
            name="POST an unknown initial state",
        ),
        post(
            "/connectors",
            {"name": "b", "config": file_source(), "initial_state": 7},
            name="POST a number as initial state",
        ),
        put("/connectors/b/config", name="PUT config without a body"),
        put("/connectors/b/config", raw="null", name="PUT config null"),
        put("/connectors/b/config", raw="[1]", name="PUT config list"),
        put("/connectors/b/config", raw="{", name="PUT config malformed"),
        put("/connectors/b/config", {"a": {"b": 1}}, name="PUT config nested"),
        patch("/connectors/b/config", name="PATCH config without a body"),
        patch("/connectors/b/config", raw="[]", name="PATCH config list"),
        patch("/connectors/b/offsets", name="PATCH offsets without a body"),
        patch("/connectors/b/offsets", raw="[]", name="PATCH offsets list"),
        patch("/connectors/b/offsets", raw="{", name="PATCH offsets malformed"),
        patch("/connectors/b/offsets", {"offsets": "x"}, name="PATCH offsets text"),
        patch("/connectors/b/offsets", {"other": []}, name="PATCH offsets unknown member"),
        patch("/connectors/b/offsets", {"offsets": [{"x": 1}]}, name="PATCH offsets entry"),
        put("/admin/loggers/root", name="PUT level without a body"),
        put("/admin/loggers/root", raw="[]", name="PUT level list"),
        put("/connector-plugins/none/config/validate", name="validate without a body"),
        put("/connector-plugins/none/config/validate", raw="[]", name="validate list"),
        put("/connector-plugins/none/config/validate", raw="null", name="validate null"),
        get("/connectors", name="nothing was created"),
    ),
)

SCENARIOS = (ROOT, ROUTES, METHODS, CONTENT_TYPES, BODIES)
