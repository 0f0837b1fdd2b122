"""The differences that are meant, each with its reason; the words are those of ``differences``."""

from __future__ import annotations

import re
from typing import Final

from tests.conformance.rest.comparison import ABSENT, Difference
from tests.conformance.rest.differences import ANYTHING, Known

_ONLY_HERE: Final = ("connectd.", "io.confluent.connect.")
"""Packages of plugins that come with connectd and not with Apache Kafka."""

_FLEETING: Final = re.compile(r'"state":"(?:UNASSIGNED|RESTARTING)"')
_TRACE: Final = re.compile(r'"trace":"(?:[^"\\]|\\.)*"')


def _differs_in_fleeting_states(difference: Difference) -> bool:
    """Whether histories of a status are equal without states that last moments, and traces."""
    real, ours = difference.real, difference.ours
    if not isinstance(real, list) or not isinstance(ours, list):
        return False
    return _told(real) == _told(ours)


def _differs_in_plugins_of_ours(difference: Difference) -> bool:
    """Whether lists of classes are equal without those that exist only here."""
    ours = difference.ours
    return isinstance(ours, list) and difference.real == [
        name for name in ours if not str(name).startswith(_ONLY_HERE)
    ]


def _told(history: list[str | None]) -> list[str | None]:
    told: list[str | None] = []
    for text in history:
        plain = None if text is None else _TRACE.sub('"trace":"<trace>"', text)
        if plain is not None and _FLEETING.search(plain):
            continue
        if not told or told[-1] != plain:
            told.append(plain)
    return told


_R12: Final = (
    "a body that is no JSON, or JSON of another shape, is the client's mistake: 400 and words "
    "about the body, where Java's 500 names classes of its own (field case R12)"
)

_REQUESTS: Final = (
    *(
        Known(_R12, scenario="bodies", place=place, real=real, ours=ours)
        for place, real, ours in (
            ("status", 500, 400),
            ("body.error_code", 500, 400),
            ("body.message", ANYTHING, ANYTHING),
        )
    ),
    *(
        Known(
            "a PATCH without a body is refused before anybody looks for the connector",
            scenario="bodies",
            step="PATCH config without a body",
            place=place,
            real=404,
            ours=400,
        )
        for place in ("status", "body.error_code")
    ),
    *(
        Known(
            _R12,
            scenario="between-workers",
            step=step,
            place=place,
        )
        for step in ("tasks malformed", "tasks as an object")
        for place in ("status", "body.error_code", "body.message")
    ),
    Known(
        "an error's body is JSON, and its header says so also where the Java worker's does not",
        place="headers.content-type",
        real=ABSENT,
        ours="application/json",
    ),
    Known(
        "405 names the methods that are allowed, as HTTP asks (RFC 9110, 15.5.6)",
        place="headers.allow",
        real=ABSENT,
    ),
)

_JETTY: Final = (
    "what the HTTP server of the Java worker refuses gets a page of HTML; here every error is "
    "JSON, for a client that parses it"
)
_R01: Final = (
    "the HTTP server of the Java worker refuses paths with an escaped slash, backslash or percent "
    "sign; here a name may have any character, and every path works with its percent-encoded form "
    "(field case R01)"
)

_PATHS: Final = (
    Known(_JETTY, place="body", real="<html>"),
    Known(_JETTY, place="headers.content-type", real="text/html*", ours="application/json"),
    Known(_JETTY, place="headers.cache-control", ours=ABSENT),
    *(
        Known(_R01, scenario="names", step=step, place="status", real=400, ours=404)
        for step in ("a slash", "a backslash", "a percent sign", "a dot")
    ),
    *(
        Known(_R01, scenario="names", step="PUT of a name with a slash", place=place)
        for place in ("status", "headers.content-type", "headers.location", "body")
    ),
    Known(
        "a semicolon stays escaped: servers drop what stands behind one, so that Java's URL leads "
        "to another connector",
        scenario="names",
        step="semicolon and question mark",
        place="headers.location",
        real="*/semi;colon%3Fq",
        ours="*/semi%3Bcolon%3Fq",
    ),
    *(
        Known(
            _R01,
            scenario="names",
            step="records",
            place=place,
            real=ABSENT,
        )
        for place in ("configs.a/b", "statuses.status-connector-a/b", "statuses.status-task-a/b-0")
    ),
)

_R05: Final = (
    "validation answers 200 with errors at their keys whatever is wrong; Java's is 500 here and "
    "its message holds the whole config (field case R05)"
)

_VALIDATION: Final = (
    *(
        Known(_R05, scenario="validate*", step=step, place=place)
        for step in (
            "an unknown class",
            "no class",
            "nothing",
            "a version that is no range",
            "a wrong producer override",
        )
        for place in (
            "status",
            "body.error_code",
            "body.message",
            "body.name",
            "body.error_count",
            "body.groups",
            "body.configs",
        )
    ),
    *(
        Known(
            "a null is refused for every key; Java forgets those of the connector itself, creates "
            "it, and fails it at its start",
            scenario="validate",
            step=f"{key} null",
            place=place,
        )
        for key in ("file", "topic")
        for place in (f"body.configs[{key}].value.errors", "body.error_count")
    ),
    *(
        Known(
            "the words about a pattern are those of Python's patterns",
            scenario="validate-transforms",
            step=step,
            place=f"body.configs[{key}].value.errors",
        )
        for step, key in (
            ("a short name as type", "transforms.a.regex"),
            ("a regex that is none", "transforms.r.regex"),
            ("a required key null", "transforms.r.regex"),
            ("a pattern that is none", "predicates.p.pattern"),
        )
    ),
    *(
        Known(
            "a transform whose predicate is not there would fail every task: the error stands at "
            "its key before (field case R09)",
            scenario="validate-transforms",
            step="a predicate that is not there",
            place=place,
        )
        for place in ("body.configs[transforms.r.predicate].value.errors", "body.error_count")
    ),
    *(
        Known(
            "acks other than all would lose acknowledged records: refused (DESIGN, promise 1)",
            scenario="validate-converters-and-clients",
            step="a producer override of no enum",
            place=place,
        )
        for place in ("body.configs[producer.override.acks].value.errors", "body.error_count")
    ),
    *(
        Known(
            "messages do not echo a config's values, which may be secrets (X05)",
            scenario=scenario,
            step=step,
            place="body.message",
            real="Connector config {*} contains no connector type",
            ours="Connector config {*} contains no connector type",
        )
        for scenario, step in (
            ("refused", "POST without class"),
            ("patch-config", "PATCH the class away"),
        )
    ),
)

_SECRETS: Final = tuple(
    Known(
        "what a placeholder stands for is shown nowhere, errors included (X01, X05)",
        scenario="config-providers",
        step=step,
        place=place,
        real=real,
        ours="*${file:<dir>/secrets.properties:*",
    )
    for step, place, real in (
        ("validate a good placeholder", "body.configs[topic].value.value", "a-secret-topic"),
        ("a secret that is refused", "body.message", "*a-secret-word*"),
        ("a secret as class", "body.message", "*a-secret-word*"),
    )
)

_NO_SINKS: Final = "there are source connectors only, and no sinks yet"

_PLUGINS: Final = (
    Known(_NO_SINKS, place="body[org.apache.kafka.connect.* sink]", ours=ABSENT),
    Known(
        _NO_SINKS,
        scenario="put-config",
        step="PUT a sink without topics",
        place="body.message",
    ),
    *(
        Known(
            "lists have the plugins that come with connectd", place=f"body[{package}*]", real=ABSENT
        )
        for package in _ONLY_HERE
    ),
    Known(
        "the DynamoDB source exists only here, under the name of the Java one that it replaces",
        place="body[com.trustpilot.connector.dynamodb.DynamoDBSourceConnector source]",
        real=ABSENT,
    ),
    Known(
        "plugins that come with connectd are recommended too",
        place="*.recommended_values",
        when=_differs_in_plugins_of_ours,
    ),
    *(
        Known(
            "a class that is no plugin is an unknown plugin; Java tries to make one of it",
            scenario="plugins",
            step="GET /connector-plugins/java.lang.String/config",
            place=place,
        )
        for place in ("status", "body.error_code", "body.message")
    ),
)

_OFFSETS: Final = (
    *(
        Known(
            "a wrong partition or offset is the client's mistake: 400, where Java says 500",
            scenario="offsets*",
            step=step,
            place=place,
            real=500,
            ours=400,
        )
        for step in ("PATCH *",)
        for place in ("status", "body.error_code")
    ),
    *(
        Known(
            "the words about a wrong partition or offset are ours; Java's speak of its classes",
            scenario="offsets*",
            step=step,
            place="body.message",
        )
        for step in (
            "PATCH partition null",
            "PATCH no partition",
            "PATCH an entry null",
            "PATCH a nested partition",
            "PATCH a nested offset",
        )
    ),
)

_LIFE: Final = (
    *(
        Known(
            "a stopped connector has no tasks: 404; Java speaks of a rebalance that is not there, "
            "and clients try again and again (field case R16)",
            scenario="stop",
            step="restart a task of a stopped one",
            place=place,
        )
        for place in ("status", "body.error_code", "body.message")
    ),
    Known(
        "a failure's class is one of Python's, and it has words",
        scenario="failures",
        place="*trace",
        real="java.lang.RuntimeException",
    ),
    Known(
        "the Java worker says UNASSIGNED at every end of a life, also before the record that takes "
        "the status away; here it is said when nothing runs for a while, and RESTARTING may be "
        "overtaken by RUNNING before it is written. Nor does an identical PUT begin a new life "
        "(R17). Where something failed, the traces are those of Python",
        step="records",
        place="statuses.status-*",
        when=_differs_in_fleeting_states,
    ),
    *(
        Known(
            "the Java worker wakes a paused task to end it, and says RUNNING of it",
            scenario=scenario,
            step="records",
            place=place,
        )
        for scenario, place in (
            ("pause-and-resume", "statuses.status-task-pr-0"),
            ("offsets", "statuses.status-task-of-0"),
        )
    ),
    Known(
        "fencing has nothing to fence before there are exactly-once sources: no count is written",
        scenario="between-workers",
        step="records",
        place="configs.in[tasks-fencing-in*",
        ours=ABSENT,
    ),
    *(
        Known(
            "an empty level is none: 400; in Java it is 500",
            scenario="loggers",
            step="PUT an empty level",
            place=place,
        )
        for place in ("status", "body.error_code")
    ),
)

_LOGIN: Final = (
    Known(
        "401 has the error body of every other error, for a client that parses it",
        scenario="login",
        place="body",
        real="User cannot access the resource.",
    ),
    Known(
        "401 names the way to log in, as HTTP asks (RFC 9110, 15.5.2)",
        scenario="login",
        place="headers.www-authenticate",
        real=ABSENT,
    ),
    *(
        Known(
            "credentials that cannot be read are wrong ones: 401; in Java it is 500",
            scenario="login",
            step="credentials that are no base64",
            place=place,
        )
        for place in ("status", "body.error_code", "body.message")
    ),
)

BY_SUBJECT: Final[dict[str, tuple[Known, ...]]] = {
    "requests": _REQUESTS,
    "paths and names": _PATHS,
    "validation": _VALIDATION,
    "secrets": _SECRETS,
    "plugins": _PLUGINS,
    "offsets": _OFFSETS,
    "lifecycles and logs": _LIFE,
    "login": _LOGIN,
}

KNOWN: Final = tuple(each for entries in BY_SUBJECT.values() for each in entries)
