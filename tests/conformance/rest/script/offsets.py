"""Offsets: reading, altering and resetting them, with every refusal of A.6 and F.4."""

from __future__ import annotations

from typing import Any

from tests.conformance.rest.steps import (
    LINES,
    SCHEMA_SOURCE,
    Scenario,
    Step,
    delete,
    file_source,
    get,
    patch,
    put,
    reading_source,
    wait_offset,
    wait_offsets,
    wait_states,
)

PARTITION = {"filename": "{dir}/in.txt"}


def _alter(connector: str, partition: Any, offset: Any, name: str) -> Step:
    body = {"offsets": [{"partition": partition, "offset": offset}]}
    return patch(f"/connectors/{connector}/offsets", body, name=name)


ALTER = Scenario(
    "offsets",
    "H 43-49: from the first commit to the reset",
    (
        put("/connectors/of/config", reading_source()),
        wait_states("of", "RUNNING", "RUNNING"),
        wait_offset("of", {"position": 13}),
        get("/connectors/of/offsets/"),
        _alter("of", PARTITION, {"position": 0}, "PATCH while it runs"),
        patch("/connectors/of/offsets", {"offsets": []}, name="PATCH nothing while it runs"),
        delete("/connectors/of/offsets", name="DELETE while it runs"),
        put("/connectors/of/pause"),
        wait_states("of", "PAUSED", "PAUSED"),
        _alter("of", PARTITION, {"position": 0}, "PATCH while it is paused"),
        delete("/connectors/of/offsets", name="DELETE while it is paused"),
        put("/connectors/of/stop"),
        wait_states("of", "STOPPED"),
        patch("/connectors/of/offsets", {"offsets": []}, name="PATCH nothing"),
        patch("/connectors/of/offsets", {"offsets": None}, name="PATCH null"),
        patch("/connectors/of/offsets", {}, name="PATCH an empty object"),
        _alter("of", PARTITION, {"position": 6}, "PATCH"),
        wait_offsets("of", 1, name="the altered offset"),
        _alter("of", PARTITION, {"position": "x"}, "PATCH a text as position"),
        _alter("of", PARTITION, {"position": "6"}, "PATCH a number in a text"),
        _alter("of", PARTITION, {"position": -1}, "PATCH a negative position"),
        _alter("of", PARTITION, {"position": 1.5}, "PATCH a broken position"),
        _alter("of", PARTITION, {"position": None}, "PATCH position null"),
        _alter("of", PARTITION, {"elsewhere": 1}, "PATCH an offset without position"),
        _alter("of", PARTITION, {}, "PATCH an empty offset"),
        _alter("of", {"name": "x"}, {"position": 1}, "PATCH a partition without filename"),
        _alter("of", {}, {"position": 1}, "PATCH an empty partition"),
        _alter("of", None, {"position": 1}, "PATCH partition null"),
        _alter("of", {"filename": 7}, {"position": 1}, "PATCH a number as filename"),
        _alter("of", {"filename": "{dir}/other"}, {"position": 1}, "PATCH an unknown partition"),
        _alter("of", {"filename": "{dir}/gone"}, None, "PATCH an unknown partition away"),
        patch(
            "/connectors/of/offsets",
            {
                "offsets": [
                    {"partition": PARTITION, "offset": {"position": 3}},
                    {"partition": PARTITION, "offset": {"position": 4}},
                ]
            },
            name="PATCH one partition twice",
        ),
        patch(
            "/connectors/of/offsets",
            {"offsets": [{"offset": {"position": 3}}]},
            name="PATCH no partition",
        ),
        patch(
            "/connectors/of/offsets",
            {"offsets": [{"partition": PARTITION}]},
            name="PATCH no offset",
        ),
        wait_offsets("of", 2, name="what is left"),
        patch("/connectors/of/offsets", {"offsets": [None]}, name="PATCH an entry null"),
        delete("/connectors/of/offsets"),
        wait_offsets("of", 0, name="nothing after the reset"),
        delete("/connectors/of/offsets", name="DELETE again"),
        _alter("of", PARTITION, {"position": 6}, "PATCH after the reset"),
        put("/connectors/of/resume"),
        wait_states("of", "RUNNING", "RUNNING", name="it runs again"),
        wait_offset("of", {"position": 13}, name="it reads on from there"),
        get("/connectors/of/offsets?x=y", name="GET with an unknown parameter"),
    ),
    LINES,
)

OTHER = Scenario(
    "offsets-of-schema-source",
    "A.6: a connector without checks of its own",
    (
        put(
            "/connectors/os/config",
            {
                "connector.class": SCHEMA_SOURCE,
                "tasks.max": "1",
                "topic": "{run}-os",
                "num.messages": "5",
                "throughput": "1000",
            },
        ),
        wait_states("os", "RUNNING", "RUNNING"),
        wait_offset("os", {"seqno": 4}),
        put("/connectors/os/stop"),
        wait_states("os", "STOPPED"),
        _alter("os", {"id": 0}, {"seqno": 2}, "PATCH"),
        wait_offsets("os", 1, name="the altered offset"),
        _alter("os", {"any": "thing"}, {"at": True, "more": "text", "half": 0.5}, "PATCH anything"),
        wait_offsets("os", 2, name="anything is kept"),
        _alter("os", {"any": {"deep": 1}}, {"at": 1}, "PATCH a nested partition"),
        _alter("os", {"any": "thing"}, {"at": [1]}, "PATCH a nested offset"),
        _alter("os", {"any": "thing"}, None, "PATCH one away"),
        wait_offsets("os", 1, name="one is left"),
        delete("/connectors/os/offsets"),
        wait_offsets("os", 0, name="nothing after the reset"),
    ),
)

BEFORE_ANY = Scenario(
    "offsets-before-any",
    "A.6: a connector that never ran",
    (
        put("/connectors/on/config", file_source(file="{dir}/never.txt")),
        wait_states("on", "RUNNING", "RUNNING"),
        put("/connectors/on/stop"),
        wait_states("on", "STOPPED"),
        patch("/connectors/none/offsets", {"offsets": [{"partition": {"a": 1}, "offset": None}]}),
        patch("/connectors/none/offsets", {"offsets": []}, name="PATCH nothing of no connector"),
        delete("/connectors/none/offsets"),
        get("/connectors/none/offsets"),
        delete("/connectors/on/offsets"),
    ),
)

SCENARIOS = (ALTER, OTHER, BEFORE_ANY)
