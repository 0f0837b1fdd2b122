"""Plugins: their lists, their keys, and validation with everything that it can say."""

from __future__ import annotations

from typing import Any

from tests.conformance.rest.steps import (
    FILE_SOURCE,
    JSON_CONVERTER,
    MOCK_SOURCE,
    SCHEMA_SOURCE,
    VERIFIABLE_SOURCE,
    Scenario,
    Step,
    file_source,
    get,
    put,
)

TRANSFORMS = "org.apache.kafka.connect.transforms"

LISTS = Scenario(
    "plugins",
    "H 59-61: the lists of plugins, and the keys of each kind",
    (
        get("/connector-plugins"),
        get("/connector-plugins?connectorsOnly=true"),
        get("/connector-plugins?connectorsOnly=false"),
        get("/connector-plugins?connectorsOnly=maybe"),
        get("/connector-plugins?connectorsOnly="),
        get(f"/connector-plugins/{FILE_SOURCE}/config"),
        get("/connector-plugins/FileStreamSource/config"),
        get("/connector-plugins/FileStreamSourceConnector/config/"),
        get(f"/connector-plugins/{MOCK_SOURCE}/config"),
        get(f"/connector-plugins/{SCHEMA_SOURCE}/config"),
        get(f"/connector-plugins/{JSON_CONVERTER}/config"),
        get("/connector-plugins/JsonConverter/config"),
        get("/connector-plugins/org.apache.kafka.connect.storage.StringConverter/config"),
        get("/connector-plugins/org.apache.kafka.connect.storage.SimpleHeaderConverter/config"),
        get(f"/connector-plugins/{TRANSFORMS}.RegexRouter/config"),
        get(f"/connector-plugins/{TRANSFORMS}.Cast$Value/config"),
        get(f"/connector-plugins/{TRANSFORMS}.predicates.TopicNameMatches/config"),
        get("/connector-plugins/Nope/config"),
        get("/connector-plugins/org.example.Nope4/config"),
        get("/connector-plugins/java.lang.String/config"),
        get("/connector-plugins/FileStreamSource/config?version=99"),
        get("/connector-plugins/FileStreamSource"),
    ),
)


def _validate(
    config: dict[str, Any], name: str, plugin: str = "FileStreamSource", **more: Any
) -> Step:
    path = f"/connector-plugins/{plugin}/config/validate"
    return put(path, config, name=name, **more)


GOOD = {"name": "val", **file_source()}

VALIDATE = Scenario(
    "validate",
    "H 62, 63: validation of keys that every connector knows",
    (
        _validate(GOOD, "a good config"),
        _validate(GOOD, "a good config, by class name", FILE_SOURCE),
        _validate({**GOOD, "connector.class": "FileStreamSource"}, "the short name as class"),
        _validate(
            {**GOOD, "connector.class": "FileStreamSource"}, "a longer path than class", FILE_SOURCE
        ),
        _validate(GOOD, "a slash at the end", "FileStreamSource"),
        _validate(file_source(), "no name"),
        _validate({**GOOD, "connector.class": MOCK_SOURCE}, "another class than the path"),
        _validate({**GOOD, "connector.class": "FileStreamSink"}, "a sink at a source's path"),
        _validate(GOOD, "an unknown path", "Nope"),
        _validate(
            {**GOOD, "connector.class": "org.example.Nope5"},
            "an unknown class",
            "org.example.Nope5",
        ),
        _validate({"name": "val", "topic": "t"}, "no class"),
        _validate({}, "nothing"),
        _validate({"connector.class": FILE_SOURCE}, "the class alone"),
        _validate({**GOOD, "tasks.max": "0"}, "tasks.max 0"),
        _validate({**GOOD, "tasks.max": "abc"}, "tasks.max abc"),
        _validate({**GOOD, "tasks.max": None}, "tasks.max null"),
        _validate({**GOOD, "topic": ""}, "an empty topic"),
        _validate({**GOOD, "batch.size": "many"}, "a batch size that is no number"),
        _validate({**GOOD, "file": None}, "file null"),
        _validate({**GOOD, "topic": None}, "topic null"),
        _validate({**GOOD, "unknown.key": "x", "another": ""}, "unknown keys"),
        _validate(
            {
                **GOOD,
                "errors.tolerance": "some",
                "errors.log.enable": "maybe",
                "errors.retry.timeout": "soon",
                "errors.retry.delay.max.ms": "-1",
                "config.action.reload": "never",
                "exactly.once.support": "perhaps",
                "transaction.boundary": "now",
                "transaction.boundary.interval.ms": "0",
                "tasks.max.enforce": "often",
            },
            "every framework key wrong",
        ),
        _validate(
            {
                **GOOD,
                "errors.tolerance": "ALL",
                "errors.log.enable": "TRUE",
                "config.action.reload": "NONE",
                "exactly.once.support": "REQUESTED",
            },
            "framework keys in other cases",
        ),
        _validate({**GOOD, "exactly.once.support": "required"}, "exactly once required"),
        _validate({**GOOD, "transaction.boundary": "connector"}, "boundaries by the connector"),
        _validate({**GOOD, "connector.plugin.version": "[0,99)"}, "a range of versions"),
        _validate({**GOOD, "connector.plugin.version": "99"}, "a version that is not there"),
        _validate({**GOOD, "connector.plugin.version": "[["}, "a version that is no range"),
        _validate({**GOOD, "topic.creation.groups": "g"}, "a topic creation group without rules"),
        _validate(
            {
                **GOOD,
                "topic.creation.default.replication.factor": "1",
                "topic.creation.default.partitions": "x",
            },
            "topic creation defaults",
        ),
        _validate({**GOOD, "predicates": "", "transforms": ""}, "empty lists"),
        _validate({"connector.class": MOCK_SOURCE, "name": "m"}, "a mock source", "MockSource"),
        _validate(
            {"connector.class": SCHEMA_SOURCE, "name": "m"}, "a schema source", "SchemaSource"
        ),
        _validate(
            {"connector.class": VERIFIABLE_SOURCE, "name": "m"},
            "a verifiable source",
            "VerifiableSource",
        ),
    ),
)

_REGEX = {
    "transforms": "r",
    "transforms.r.type": f"{TRANSFORMS}.RegexRouter",
    "transforms.r.regex": "(.*)",
    "transforms.r.replacement": "x-$1",
}
_MATCHES = {
    "predicates": "p",
    "predicates.p.type": f"{TRANSFORMS}.predicates.TopicNameMatches",
    "predicates.p.pattern": "a.*",
}

VALIDATE_TRANSFORMS = Scenario(
    "validate-transforms",
    "H 64-65: transforms and predicates by their own definitions",
    (
        _validate({**GOOD, **_REGEX}, "a transform"),
        _validate(
            {**GOOD, **_REGEX, **_MATCHES, "transforms.r.predicate": "p"}, "with a predicate"
        ),
        _validate({**GOOD, "transforms": "a"}, "no type"),
        _validate({**GOOD, "transforms": "a", "transforms.a.type": ""}, "an empty type"),
        _validate(
            {**GOOD, "transforms": "a", "transforms.a.type": f"{TRANSFORMS}.Cast"}, "an outer class"
        ),
        _validate(
            {**GOOD, "transforms": "a", "transforms.a.type": "org.example.Nope7"}, "an unknown type"
        ),
        _validate(
            {**GOOD, "transforms": "a", "transforms.a.type": "RegexRouter"}, "a short name as type"
        ),
        _validate(
            {**GOOD, "transforms": "a", "transforms.a.type": JSON_CONVERTER}, "a converter as type"
        ),
        _validate({**GOOD, "transforms": "a,a"}, "an alias twice"),
        _validate({**GOOD, "transforms": " a , b "}, "aliases with spaces"),
        _validate({**GOOD, **_REGEX, "transforms.r.regex": "("}, "a regex that is none"),
        _validate({**GOOD, **_REGEX, "transforms.r.regex": None}, "a required key null"),
        _validate({**GOOD, **_REGEX, "transforms.r.negate": "true"}, "negate without predicate"),
        _validate(
            {**GOOD, **_REGEX, "transforms.r.predicate": "nope"}, "a predicate that is not there"
        ),
        _validate({**GOOD, **_REGEX, "transforms.r.negate": "maybe"}, "negate that is no boolean"),
        _validate({**GOOD, "predicates": "p"}, "a predicate without type"),
        _validate(
            {**GOOD, "predicates": "p", "predicates.p.type": f"{TRANSFORMS}.RegexRouter"},
            "a transform as predicate",
        ),
        _validate({**GOOD, **_MATCHES, "predicates.p.pattern": "("}, "a pattern that is none"),
        _validate(
            {
                **GOOD,
                "transforms": "c",
                "transforms.c.type": f"{TRANSFORMS}.Cast$Value",
                "transforms.c.spec": "a:nope",
            },
            "a cast to no type",
        ),
    ),
)

VALIDATE_CLIENTS = Scenario(
    "validate-converters-and-clients",
    "H 66: converters of a connector and its client overrides",
    (
        _validate({**GOOD, "value.converter": JSON_CONVERTER}, "a converter"),
        _validate(
            {
                **GOOD,
                "value.converter": JSON_CONVERTER,
                "value.converter.schemas.enable": "maybe",
                "value.converter.schemas.cache.size": "-1",
            },
            "a converter's keys wrong",
        ),
        _validate(
            {
                **GOOD,
                "key.converter": "org.apache.kafka.connect.storage.StringConverter",
                "key.converter.converter.encoding": "UTF-8",
                "header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
            },
            "three converters",
        ),
        _validate({**GOOD, "value.converter": "JsonConverter"}, "a converter by its short name"),
        _validate({**GOOD, "value.converter": "org.example.Nope8"}, "an unknown converter"),
        _validate({**GOOD, "value.converter": FILE_SOURCE}, "a connector as converter"),
        _validate({**GOOD, "value.converter": ""}, "an empty converter"),
        _validate({**GOOD, "value.converter.schemas.enable": "maybe"}, "keys without a converter"),
        _validate({**GOOD, "producer.override.linger.ms": "1"}, "a producer override"),
        _validate({**GOOD, "producer.override.linger.ms": "soon"}, "a wrong producer override"),
        _validate({**GOOD, "producer.override.acks": "some"}, "a producer override of no enum"),
        _validate({**GOOD, "producer.override.unknown.key": "x"}, "an unknown producer override"),
        _validate(
            {**GOOD, "consumer.override.max.poll.records": "1"}, "a consumer override of a source"
        ),
        _validate({**GOOD, "admin.override.retries": "1"}, "an admin override"),
    ),
)

SCENARIOS = (LISTS, VALIDATE, VALIDATE_TRANSFORMS, VALIDATE_CLIENTS)
