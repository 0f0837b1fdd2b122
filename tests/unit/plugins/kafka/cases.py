"""Configs that were sent to a worker of Kafka: ``PUT /connector-plugins/{class}/config/validate``.

Those whose answers differ here by decision are not among them; they have tests of their own.
"""

from __future__ import annotations

from typing import Final

FILE: Final = "org.apache.kafka.connect.file.FileStreamSourceConnector"
TRANSFORMS: Final = "org.apache.kafka.connect.transforms"
JSON: Final = "org.apache.kafka.connect.json.JsonConverter"

BASE: Final[dict[str, str | None]] = {
    "name": "golden",
    "connector.class": "FileStreamSource",
    "topic": "t",
}
"""A good config; every case is this one with some changes."""

Changes = dict[str, str | None]


def _a(type_name: str | None, **settings: str | None) -> Changes:
    """A config with one transform, of the alias ``a``."""
    own = {f"transforms.a.{name.replace('_', '.')}": text for name, text in settings.items()}
    return {"transforms": "a", "transforms.a.type": type_name, **own}


def _router(**settings: str | None) -> Changes:
    return _a("RegexRouter", **{"regex": "x", "replacement": "y", **settings})


CASES: Final[dict[str, Changes]] = {
    "good": {},
    "class in full": {"connector.class": FILE},
    "unknown keys": {"zzz.b": "1", "made.up": "2"},
    # -- the framework's keys ---------------------------------------------------------------------
    "name missing": {"name": "DELETE"},
    "name null": {"name": None},
    "name empty": {"name": ""},
    "name blank": {"name": "  "},
    "name with spaces around": {"name": " a "},
    "name with control characters": {"name": "a\tb\n\u0085\u007fc"},
    "tasks.max no number": {"tasks.max": "abc"},
    "tasks.max zero": {"tasks.max": "0"},
    "tasks.max negative": {"tasks.max": "-1"},
    "tasks.max too large": {"tasks.max": "99999999999"},
    "tasks.max empty": {"tasks.max": ""},
    "tasks.max with spaces": {"tasks.max": " 3 "},
    "tasks.max.enforce": {"tasks.max.enforce": "maybe"},
    "words and numbers": {
        "config.action.reload": "RESTART",
        "errors.tolerance": "ALL",
        "errors.retry.timeout": "-2",
        "errors.retry.delay.max.ms": "x",
        "errors.log.enable": "1",
        "errors.log.include.messages": " TRUE ",
    },
    "words that nobody knows": {
        "exactly.once.support": "foo",
        "transaction.boundary": "bar",
        "transaction.boundary.interval.ms": "x",
    },
    "empty words": {
        "exactly.once.support": "",
        "transaction.boundary": " ",
        "transaction.boundary.interval.ms": "",
        "offsets.storage.topic": "",
    },
    "boundary by the connector": {
        "transaction.boundary": "Connector",
        "transaction.boundary.interval.ms": "-1",
    },
    "exactly once": {"exactly.once.support": "REQUIRED", "file": "/in.txt"},
    "topic creation": {
        "topic.creation.groups": "a,a",
        "topic.creation.default.partitions": "x",
        "topic.creation.a.include": "[",
    },
    "nulls": {
        "zzz": None,
        "tasks.max": None,
        "errors.tolerance": None,
        "key.converter": None,
        "value.converter.foo": None,
        "transforms": None,
        "connector.plugin.version": None,
        "topic.creation.default.partitions": None,
    },
    "nulls of many names": dict.fromkeys(
        [
            *("alpha", "beta", "gamma", "delta", "eps", "FooBar", "zeta.1", "a.b.c.d", "x"),
            *("producer.override.q", "key.converter.zz"),
        ]
    ),
    # -- the connector's keys ---------------------------------------------------------------------
    "topic missing": {"topic": "DELETE"},
    "topic blank": {"topic": " "},
    "batch.size no number": {"batch.size": "abc"},
    # -- versions ---------------------------------------------------------------------------------
    "version of the connector": {"connector.plugin.version": " 4.3.1 "},
    "version of the connector as a range": {"connector.plugin.version": "[4.0,5)"},
    "latest version of the connector": {"connector.plugin.version": "latest"},
    # -- converters -------------------------------------------------------------------------------
    "converters": {
        "value.converter": "JsonConverter",
        "key.converter": "StringConverter",
        "header.converter": "SimpleHeaderConverter",
        "header.converter.a": "b",
    },
    "settings of converters": {
        "key.converter": JSON,
        "key.converter.schemas.enable": "maybe",
        "key.converter.foo": "bar",
        "value.converter": "ByteArrayConverter",
        "header.converter": "JsonConverter",
    },
    "nulls among the settings of a converter": {
        "key.converter": "JsonConverter",
        "key.converter.schemas.enable": None,
        "key.converter.zz": None,
    },
    "settings without a converter": {"value.converter.schemas.enable": "maybe"},
    "unknown converter": {"value.converter": "Nope"},
    "blank converters": {"key.converter": "", "value.converter": " "},
    "header converter null": {"header.converter": None},
    "converter with spaces around": {"key.converter": f" {JSON} "},
    "classes that are no converters": {
        "key.converter": f"{TRANSFORMS}.Cast$Key",
        "value.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
        "header.converter": f"{TRANSFORMS}.predicates.RecordIsTombstone",
    },
    "a connector as a converter": {"key.converter": FILE},
    "interfaces as converters": {
        "key.converter": "org.apache.kafka.connect.storage.Converter",
        "header.converter": "org.apache.kafka.connect.storage.Converter",
    },
    "version of a converter": {
        "key.converter": "JsonConverter",
        "key.converter.plugin.version": "2",
        "key.converter.schemas.enable": "maybe",
    },
    "version of a converter as a range": {
        "key.converter": "JsonConverter",
        "key.converter.plugin.version": "[4,5)",
    },
    "version of a converter that cannot be read": {
        "key.converter": "JsonConverter",
        "key.converter.plugin.version": "[[",
    },
    "version without a converter": {"header.converter.plugin.version": "2"},
    "unreadable version without a converter": {"key.converter.plugin.version": "[["},
    # -- transforms and predicates ----------------------------------------------------------------
    "transform without type": {"transforms": "a"},
    "transform with type null": _a(None),
    "transform with empty type": _a(""),
    "transform of unknown type": _a("Nope"),
    "transform with a nested class": _a(f"{TRANSFORMS}.Cast$Key", spec="int8"),
    "transform with the class around": _a(f"{TRANSFORMS}.Cast"),
    "short names of nested classes": {
        "transforms": "a,b,c",
        "transforms.a.type": "Cast",
        "transforms.b.type": "Cast$Key",
        "transforms.c.type": "Key",
    },
    "transform with spaces around its type": _a(" Filter "),
    "predicate as a transform": _a(f"{TRANSFORMS}.predicates.RecordIsTombstone"),
    "connector as a transform": _a(FILE),
    "interface as a transform": _a(f"{TRANSFORMS}.Transformation"),
    "keys of a transform": _a("RegexRouter", regex="x", zzz="1"),
    "nulls of a transform": _router(replacement=None, predicate=None, zz=None),
    "negate without predicate": _router(negate="true"),
    "negate of the wrong form": {
        **_router(negate="maybe", predicate="p"),
        "predicates": "p",
        "predicates.p.type": "RecordIsTombstone",
    },
    "negate and no type": {"transforms": "a", "transforms.a.negate": "true"},
    "negate and unknown type": _a("Nope", negate="true"),
    "negate and the class around": _a(f"{TRANSFORMS}.Cast", negate="true"),
    "negate and wrong version": _a("Filter", negate="true", plugin_version="1"),
    "version of a transform": _router(plugin_version="1"),
    "unreadable version of a transform": _router(plugin_version="[["),
    "latest version of a transform": _router(plugin_version="latest"),
    "version of a transform null": _router(plugin_version=None),
    "alias twice": {**_a(f"{TRANSFORMS}.Cast$Key", spec="int8"), "transforms": "a,a"},
    "empty alias": {**_router(), "transforms": "a,,b"},
    "aliases with spaces around": {"transforms": " a , b ", "predicates": " p "},
    "alias that is not listed": {"transforms.a.type": "Filter"},
    "transforms and predicates": {
        "transforms": "b,a",
        "transforms.a.type": "Filter",
        "transforms.a.predicate": "a",
        "transforms.b.type": f"{TRANSFORMS}.TimestampConverter$Value",
        "transforms.b.target.type": "string",
        "predicates": "a,c,d",
        "predicates.a.type": "HasHeaderKey",
        "predicates.c.type": f"{TRANSFORMS}.predicates.Predicate",
        "predicates.d.type": f"{TRANSFORMS}.Cast$Key",
    },
    "version of a predicate": {
        "predicates": "a",
        "predicates.a.type": "RecordIsTombstone",
        "predicates.a.plugin.version": "2",
    },
    # -- settings of clients ----------------------------------------------------------------------
    "overrides": {
        "producer.override.linger.ms": "-1",
        "producer.override.acks": "all",
        "producer.override.zzz": "1",
        "producer.override.sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required hush;"
        ),
        "producer.override.ssl.keystore.password": "hush",
        "admin.override.client.id": "x",
        "consumer.override.group.id": "y",
    },
    "overrides of many names": {
        f"producer.override.{name}": "1"
        for name in (
            *("linger.ms", "send.buffer.bytes", "batch.size", "zzz", "retries", "client.id"),
            *("a", "b", "c", "d", "e", "f", "g", "max.block.ms"),
        )
    },
    "overrides of one who creates topics": {
        "topic.creation.default.partitions": "1",
        "producer.override.linger.ms": "5",
        "admin.override.client.id": "x",
        "admin.override.retries": "3",
        "consumer.override.group.id": "y",
    },
    "overrides null": {"producer.override.acks": None, "producer.override.zzz": None},
}
"""What each config has otherwise than ``BASE``; ``DELETE`` takes a key away."""


def config_of(changes: Changes) -> Changes:
    """The config of a case."""
    return {name: text for name, text in {**BASE, **changes}.items() if text != "DELETE"}
