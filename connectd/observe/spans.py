"""Every span that a worker may tell of: name, kind, attributes. ``docs/tracing.md`` is made of it.

Names follow OpenTelemetry's semantic conventions where there is one: ``http.*`` of servers for
requests (stable, 1.23), ``messaging.*`` for what goes to Kafka. What is connectd's own begins with
``connectd.``. No attribute holds a record, a key, a query or a header.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Kind(Enum):
    """What a span is to its surroundings, in OpenTelemetry's words."""

    INTERNAL = "internal"
    SERVER = "server"
    PRODUCER = "producer"


@dataclass(frozen=True)
class Attribute:
    """One fact that a span tells; ``type`` is string or int."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True)
class SpanSpec:
    """A kind of span. ``name`` comes first in the name of each, before what it is about."""

    name: str
    subject: str
    kind: Kind
    parent: str
    meaning: str
    attributes: tuple[Attribute, ...]


def _string(name: str, meaning: str) -> Attribute:
    return Attribute(name, "string", meaning)


def _int(name: str, meaning: str) -> Attribute:
    return Attribute(name, "int", meaning)


ERROR_TYPE: Final = "error.type"
CONNECTOR: Final = "connectd.connector.name"
TASK: Final = "connectd.task.number"
RECORDS: Final = "connectd.records"
PAGES: Final = "connectd.pages"
SOURCE_PARTITIONS: Final = "connectd.source_partitions"
SYSTEM: Final = "messaging.system"
OPERATION_NAME: Final = "messaging.operation.name"
OPERATION_TYPE: Final = "messaging.operation.type"
DESTINATION: Final = "messaging.destination.name"
BATCH_COUNT: Final = "messaging.batch.message_count"
METHOD: Final = "http.request.method"
STATUS_CODE: Final = "http.response.status_code"
ROUTE: Final = "http.route"
URL_PATH: Final = "url.path"
URL_SCHEME: Final = "url.scheme"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
CLIENT_ADDRESS: Final = "client.address"
PROTOCOL_VERSION: Final = "network.protocol.version"

_ERROR: Final = _string(ERROR_TYPE, "Class of the error, or the status from 500; set on failures.")
_TASK_ATTRIBUTES: Final = (
    _string(CONNECTOR, "Name of the connector."),
    _int(TASK, "Number of the task."),
)

POLL: Final = SpanSpec(
    "poll",
    "connector",
    Kind.INTERNAL,
    "none",
    "From asking a task for records until it gave some, waiting included. One that gives none is "
    "not told.",
    (
        *_TASK_ATTRIBUTES,
        _int(PAGES, "Pages that it gave."),
        _int(RECORDS, "Records in them."),
        _ERROR,
    ),
)
CONVERT: Final = SpanSpec(
    "convert",
    "connector",
    Kind.INTERNAL,
    "poll",
    "One page through transforms and converters to bytes.",
    (*_TASK_ATTRIBUTES, _int(RECORDS, "Records that are left of the page."), _ERROR),
)
SEND: Final = SpanSpec(
    "send",
    "topic",
    Kind.PRODUCER,
    "poll",
    "One page from the producer's queue until the last of its records is acknowledged.",
    (
        *_TASK_ATTRIBUTES,
        _string(SYSTEM, "Always kafka."),
        _string(OPERATION_NAME, "Always send."),
        _string(OPERATION_TYPE, "Always send."),
        _string(DESTINATION, "The topic; not set where a page has records for several."),
        _int(BATCH_COUNT, "Records of the page."),
        _ERROR,
    ),
)
COMMIT: Final = SpanSpec(
    "commit",
    "connector",
    Kind.INTERNAL,
    "none",
    "Positions on their way into the offset store, until they are durable.",
    (*_TASK_ATTRIBUTES, _int(SOURCE_PARTITIONS, "Source partitions that move."), _ERROR),
)
REQUEST: Final = SpanSpec(
    "{method, or HTTP}",
    "route",
    Kind.SERVER,
    "the caller's, by the header traceparent",
    "A request of the REST API, from its head to the last byte of the answer.",
    (
        _string(METHOD, "As it was sent; _OTHER where HTTP does not know it."),
        _string(ROUTE, "The path with names in braces; not set where there is no such path."),
        _string(URL_PATH, "The path as it was sent, without the query."),
        _string(URL_SCHEME, "http or https."),
        _int(STATUS_CODE, "Status of the answer."),
        _string(SERVER_ADDRESS, "Where the worker was reached."),
        _int(SERVER_PORT, "Its port."),
        _string(CLIENT_ADDRESS, "Who asked."),
        _string(PROTOCOL_VERSION, "Version of HTTP."),
        _ERROR,
    ),
)

SPANS: Final = (POLL, CONVERT, SEND, COMMIT, REQUEST)
"""All of them."""
