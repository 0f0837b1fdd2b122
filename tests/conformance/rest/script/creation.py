"""Creating, reading and deleting connectors: every success and each refusal of A.4."""

from __future__ import annotations

from tests.conformance.rest.steps import (
    LINES,
    SCHEMA_SOURCE,
    Scenario,
    delete,
    file_source,
    get,
    post,
    put,
    reading_source,
    wait_gone,
    wait_offset,
    wait_states,
)

CREATE = Scenario(
    "create",
    "H 6-8, 26-32, 72: from POST to DELETE",
    (
        get("/connectors", name="no connectors"),
        get("/connectors?expand=status&expand=info", name="no connectors, expanded"),
        post("/connectors", {"name": "s", "config": reading_source()}),
        post("/connectors", {"name": "s", "config": reading_source()}, name="POST again"),
        wait_states("s", "RUNNING", "RUNNING"),
        get("/connectors"),
        get("/connectors/s"),
        get("/connectors/s/"),
        get("/connectors/s/config"),
        get("/connectors/s/tasks"),
        get("/connectors/s/tasks/0/status"),
        get("/connectors/s/tasks/7/status"),
        get("/connectors/s/tasks/00/status"),
        get("/connectors/s/status/"),
        get("/connectors?expand=status"),
        get("/connectors?expand=info"),
        get("/connectors?expand=status&expand=info"),
        get("/connectors?expand=info&expand=status&expand=info"),
        get("/connectors?expand=foo"),
        get("/connectors?expand=foo&expand=info"),
        get("/connectors?expand=STATUS"),
        get("/connectors?expand="),
        get("/connectors?expand=status,info"),
        get("/connectors?forward=false"),
        wait_offset("s", {"position": 13}),
        delete("/connectors/s"),
        get("/connectors/s", name="GET after DELETE"),
        wait_gone("s"),
        delete("/connectors/s", name="DELETE again"),
    ),
    LINES,
)

UNKNOWN = Scenario(
    "unknown-connector",
    "H 27, 28, 37, 39, 42, 55, 73: every path of a connector that is not there",
    (
        get("/connectors/none"),
        get("/connectors/none/config"),
        get("/connectors/none/tasks"),
        get("/connectors/none/status"),
        get("/connectors/none/tasks/0/status"),
        get("/connectors/none/topics"),
        put("/connectors/none/topics/reset"),
        get("/connectors/none/offsets"),
        put("/connectors/none/pause"),
        put("/connectors/none/resume"),
        put("/connectors/none/stop"),
        post("/connectors/none/restart"),
        post("/connectors/none/restart?includeTasks=true"),
        post("/connectors/none/restart?onlyFailed=true"),
        post("/connectors/none/tasks/0/restart"),
        delete("/connectors/none"),
        delete("/connectors/none/offsets"),
        get("/connectors/no%20ne", name="GET of a name with a space"),
        get("/connectors/n%C3%A4me", name="GET of a name beyond ASCII"),
    ),
)

NAMES = Scenario(
    "names",
    "H 9, 17-19, 24, 25: names, their places and their characters",
    (
        post("/connectors", {"name": " trimmed ", "config": file_source()}, name="spaces around"),
        wait_states("trimmed", "RUNNING", "RUNNING"),
        post(
            "/connectors",
            {"name": "s2", "config": file_source(name="other")},
            name="another name in the config",
        ),
        post(
            "/connectors",
            {"name": "same", "config": file_source(name="same")},
            name="the same name in the config",
        ),
        wait_states("same", "RUNNING", "RUNNING"),
        post("/connectors", {"config": file_source()}, name="no name anywhere"),
        post("/connectors", {"name": "", "config": file_source()}, name="an empty name"),
        post("/connectors", {"name": None, "config": file_source()}, name="name null"),
        post(
            "/connectors", {"config": file_source(name="inner")}, name="a name in the config only"
        ),
        post("/connectors", {"name": "tab\there", "config": file_source()}, name="a tab inside"),
        post("/connectors", {"name": 17, "config": file_source()}, name="a number as name"),
        wait_states("17", "RUNNING", "RUNNING"),
        post("/connectors", {"name": "with space", "config": file_source()}, name="a space inside"),
        wait_states("with%20space", "RUNNING", "RUNNING", name="it runs"),
        get("/connectors/with%20space"),
        get("/connectors/with+space", name="a plus is no space"),
        get("/connectors/a%2Fb", name="a slash"),
        put("/connectors/a%2Fb/config", file_source(), name="PUT of a name with a slash"),
        get("/connectors/a%5Cb", name="a backslash"),
        get("/connectors/a%25b", name="a percent sign"),
        get("/connectors/%2E", name="a dot"),
        delete("/connectors/with%20space"),
        post("/connectors", {"name": "Grüße-✓", "config": file_source()}, name="beyond ASCII"),
        wait_states("Gr%C3%BC%C3%9Fe-%E2%9C%93", "RUNNING", "RUNNING", name="it runs too"),
        get("/connectors/Gr%C3%BC%C3%9Fe-%E2%9C%93/config"),
        put(
            "/connectors/semi%3Bcolon%3Fq/config", file_source(), name="semicolon and question mark"
        ),
        wait_states("semi%3Bcolon%3Fq", "RUNNING", "RUNNING", name="that runs as well"),
    ),
)

VALUES = Scenario(
    "values",
    "H 24, 25: values that are no texts",
    (
        post(
            "/connectors",
            {"name": "v", "config": file_source(**{"tasks.max": 2, "batch.size": 50, "x": True})},
            name="numbers and booleans",
        ),
        wait_states("v", "RUNNING", "RUNNING"),
        get("/connectors/v/config"),
        put("/connectors/v2/config", file_source(x=1.50, y=1e3, z=False), name="floats"),
        post("/connectors", {"name": "v3", "config": file_source(x=None)}, name="a null"),
        post(
            "/connectors",
            {"name": "v3", "config": file_source(**{"tasks.max": None})},
            name="tasks.max null",
        ),
        post(
            "/connectors",
            {"name": "v4", "config": {**file_source(), " padded ": "  text  "}},
            name="spaces in key and value",
        ),
        get("/connectors/v4/config"),
        post(
            "/connectors",
            {"name": "v5", "config": {**file_source(), "": "empty key", "empty": ""}},
            name="an empty key",
        ),
        *(wait_states(name, "RUNNING", "RUNNING") for name in ("v2", "v4", "v5")),
        get("/connectors?expand=info"),
    ),
)

REFUSED = Scenario(
    "refused",
    "H 10, 11, 14-16: configs that POST and PUT refuse",
    (
        post("/connectors", {"name": "r", "config": {}}, name="POST an empty config"),
        post("/connectors", {"name": "r", "config": {"tasks.max": "1"}}, name="POST without class"),
        post(
            "/connectors", {"name": "r", "config": {"connector.class": ""}}, name="POST empty class"
        ),
        post(
            "/connectors",
            {"name": "r", "config": {"connector.class": "org.example.Nope1"}},
            name="POST an unknown class",
        ),
        post(
            "/connectors",
            {
                "name": "r",
                "config": file_source(
                    **{"connector.class": "org.apache.kafka.connect.json.JsonConverter"}
                ),
            },
            name="POST a class that is no connector",
        ),
        post(
            "/connectors",
            {"name": "r", "config": {"connector.class": "FileStreamSource", "file": "x"}},
            name="POST without topic",
        ),
        post(
            "/connectors",
            {"name": "r", "config": {**file_source(), "topic": ""}},
            name="empty topic",
        ),
        post(
            "/connectors",
            {"name": "r", "config": file_source(**{"tasks.max": "0"})},
            name="tasks.max 0",
        ),
        post(
            "/connectors",
            {"name": "r", "config": file_source(**{"tasks.max": "abc"})},
            name="tasks.max abc",
        ),
        post(
            "/connectors",
            {"name": "r", "config": file_source(**{"tasks.max": ""})},
            name="tasks.max empty",
        ),
        post(
            "/connectors",
            {"name": "r", "config": file_source(**{"tasks.max": "99999999999"})},
            name="tasks.max beyond INT",
        ),
        post(
            "/connectors",
            {
                "name": "r",
                "config": {
                    "connector.class": "FileStreamSource",
                    "tasks.max": "-1",
                    "errors.tolerance": "some",
                    "config.action.reload": "never",
                },
            },
            name="POST with many errors",
        ),
        put("/connectors/r/config", {}, name="PUT an empty config"),
        put(
            "/connectors/r/config",
            {"connector.class": "org.example.Nope2"},
            name="PUT an unknown class",
        ),
        put("/connectors/r/config", file_source(name="m"), name="PUT another name"),
        put("/connectors/r/config", file_source(**{"tasks.max": "0"}), name="PUT tasks.max 0"),
        get("/connectors", name="nothing was created"),
    ),
)

ALIASES = Scenario(
    "aliases",
    "A.7: the short names of a class",
    (
        put("/connectors/al-1/config", file_source(**{"connector.class": "FileStreamSource"})),
        put(
            "/connectors/al-2/config",
            file_source(**{"connector.class": "FileStreamSourceConnector"}),
        ),
        put("/connectors/al-3/config", file_source(**{"connector.class": "filestreamsource"})),
        put(
            "/connectors/al-4/config",
            {
                "connector.class": SCHEMA_SOURCE,
                "tasks.max": "1",
                "topic": "{run}-al",
                "num.messages": "3",
                "throughput": "1000",
            },
        ),
        wait_states("al-1", "RUNNING", "RUNNING"),
        wait_states("al-2", "RUNNING", "RUNNING"),
        wait_offset("al-4", {"seqno": 2}),
        get("/connectors/al-1"),
        get("/connectors/al-1/tasks"),
        get("/connectors/al-2/status"),
    ),
)

INITIAL_STATES = Scenario(
    "initial-states",
    "H 20, 21: the state that a connector is created in",
    (
        post(
            "/connectors",
            {"name": "i-stopped", "config": file_source(), "initial_state": "STOPPED"},
        ),
        post(
            "/connectors",
            {"name": "i-paused", "config": file_source(), "initial_state": "paused"},
            name="POST paused in lower case",
        ),
        post(
            "/connectors",
            {"name": "i-running", "config": file_source(), "initial_state": "RUNNING"},
            name="POST running",
        ),
        post(
            "/connectors",
            {"name": "i-null", "config": file_source(), "initial_state": None},
            name="POST null",
        ),
        wait_states("i-stopped", "STOPPED"),
        wait_states("i-paused", "PAUSED"),
        wait_states("i-running", "RUNNING", "RUNNING"),
        wait_states("i-null", "RUNNING", "RUNNING"),
        get("/connectors/i-stopped"),
        get("/connectors/i-stopped/tasks"),
        get("/connectors/i-paused/tasks"),
        put("/connectors/i-stopped/resume"),
        wait_states("i-stopped", "RUNNING", "RUNNING"),
        put("/connectors/i-paused/resume"),
        wait_states("i-paused", "RUNNING", "RUNNING"),
    ),
)

SCENARIOS = (CREATE, UNKNOWN, NAMES, VALUES, REFUSED, ALIASES, INITIAL_STATES)
