"""The value of a record: the item's document and where it comes from.

Two envelopes (DESIGN section 8), both structs of the same names:

* ``1.0`` is what the Java releases write (spec dynamodb-connector 4.2): every field required,
  ``source.init_sync`` is a boolean beside ``init_sync_state`` and ``init_sync_count``, top-level
  attribute names are sanitised, and a deletion's document holds the key attributes.
* ``0.1`` is what their documentation promises: ``source.init_sync`` is the state as text,
  ``source.version``, ``op`` and ``ts_ms`` are optional (which is why Avro's JSON wraps them there),
  names stay as they are, and a deletion's document is empty.

In both a deletion is followed by a tombstone, which is not a value and therefore not made here.
Options add fields: ``old_document`` after ``document`` (the name and place of the forks), and
``user_identity`` at the end, which tells time-to-live deletions from those of people (field case
S16). Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Literal

import orjson

from connectd.connectors.dynamodb.document import DocumentForm
from connectd.errors import ConvertError
from connectd.model.schema import (
    BOOLEAN,
    INT64,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    Field,
    Schema,
    SchemaType,
    Struct,
)

EnvelopeVersion = Literal["0.1", "1.0"]

_NAMESPACE = "com.trustpilot.connector.dynamodb"

DOCUMENT = Schema(SchemaType.STRING, name=f"{_NAMESPACE}.json", version=1)
OLD_DOCUMENT = Schema(
    SchemaType.STRING, optional=True, name=f"{_NAMESPACE}.json.optional", version=1
)
USER_IDENTITY = Schema(
    SchemaType.STRUCT,
    optional=True,
    name=f"{_NAMESPACE}.user_identity",
    fields=(Field("type", OPTIONAL_STRING), Field("principal_id", OPTIONAL_STRING)),
)


class Operation(Enum):
    """What happened to the item, under the letters of the envelope."""

    READ = "r"
    CREATE = "c"
    UPDATE = "u"
    DELETE = "d"


_OPERATION_BY_EVENT = {
    "INSERT": Operation.CREATE,
    "MODIFY": Operation.UPDATE,
    "REMOVE": Operation.DELETE,
}


def operation_of(event_name: str) -> Operation:
    """The operation of a stream record.

    Raises:
        ConvertError: DynamoDB Streams has no such event.
    """
    operation = _OPERATION_BY_EVENT.get(event_name)
    if operation is None:
        raise ConvertError(
            f"reading a stream record: found event name {event_name!r}, "
            f"expected one of {', '.join(_OPERATION_BY_EVENT)}"
        )
    return operation


class InitSyncState(Enum):
    """How far the initial scan of a table is, as messages and stored offsets spell it."""

    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    SKIPPED = "SKIPPED"


@dataclass(frozen=True)
class SourceInfo:
    """What ``source`` says about the table when a record is made.

    Times are milliseconds since the epoch. ``init_sync_start_ms`` is that of the latest initial
    scan and stays on all stream records after it; end and count are None while the scan runs.
    """

    table_name: str
    init_sync_state: InitSyncState
    init_sync_start_ms: int
    init_sync_end_ms: int | None = None
    init_sync_count: int | None = None


@dataclass(frozen=True)
class RecordFacts:
    """Everything about one record except its key and its documents."""

    operation: Operation
    created_ms: int
    user_identity: bytes | None = None


@dataclass(frozen=True)
class EnvelopeSettings:
    """Which envelope a connector writes, and its options.

    ``old_image`` adds ``old_document``, null where the stream carries no old image;
    ``user_identity`` adds the struct of that name, null for a user's own change.
    """

    version: EnvelopeVersion = "0.1"
    document: DocumentForm = "typed"
    old_image: bool = False
    user_identity: bool = False

    @property
    def sanitises_names(self) -> bool:
        """Whether key fields and top-level attributes get Avro-friendly names."""
        return self.version == "1.0"

    @property
    def deletes_carry_keys(self) -> bool:
        """Whether the document of a deletion holds the key attributes, or is empty."""
        return self.version == "1.0"

    @cached_property
    def source_schema(self) -> Schema:
        """The schema of ``source``."""
        if self.version == "1.0":
            fields: tuple[Field, ...] = (
                Field("version", STRING),
                Field("table_name", STRING),
                Field("init_sync", BOOLEAN),
                Field("init_sync_state", STRING),
                Field("init_sync_start", INT64),
                Field("init_sync_end", OPTIONAL_INT64),
                Field("init_sync_count", OPTIONAL_INT64),
            )
        else:
            fields = (
                Field("version", OPTIONAL_STRING),
                Field("table_name", STRING),
                Field("init_sync", STRING),
                Field("init_sync_start", INT64),
                Field("init_sync_end", OPTIONAL_INT64),
            )
        return Schema(SchemaType.STRUCT, name=f"{_NAMESPACE}.source", fields=fields)

    @cached_property
    def value_schema(self) -> Schema:
        """The schema of the value."""
        is_strict = self.version == "1.0"
        fields = [Field("version", STRING), Field("document", DOCUMENT)]
        if self.old_image:
            fields.append(Field("old_document", OLD_DOCUMENT))
        fields.append(Field("source", self.source_schema))
        fields.append(Field("op", STRING if is_strict else OPTIONAL_STRING))
        fields.append(Field("ts_ms", INT64 if is_strict else OPTIONAL_INT64))
        if self.user_identity:
            fields.append(Field("user_identity", USER_IDENTITY))
        return Schema(SchemaType.STRUCT, name=f"{_NAMESPACE}.envelope", fields=tuple(fields))

    def source(self, info: SourceInfo, *, is_read: bool) -> Struct:
        """The value of ``source``; ``is_read`` marks records of the initial scan."""
        if self.version == "1.0":
            has_ended = info.init_sync_end_ms is not None
            return Struct(
                self.source_schema,
                (
                    self.version,
                    info.table_name,
                    is_read,
                    info.init_sync_state.value,
                    info.init_sync_start_ms,
                    info.init_sync_end_ms,
                    info.init_sync_count if has_ended else None,
                ),
            )
        return Struct(
            self.source_schema,
            (
                self.version,
                info.table_name,
                info.init_sync_state.value,
                info.init_sync_start_ms,
                info.init_sync_end_ms,
            ),
        )

    def value(
        self, info: SourceInfo, facts: RecordFacts, document: str, old_document: str | None = None
    ) -> Struct:
        """The value of a record.

        Raises:
            ConvertError: the user identity is asked for and is not a JSON object.
        """
        return self.values(info, facts)(document, old_document)

    def values(self, info: SourceInfo, facts: RecordFacts) -> Callable[[str, str | None], Struct]:
        """What makes values of documents, for all records with these facts.

        Raises:
            ConvertError: as ``value``.
        """
        behind: list[object] = [
            self.source(info, is_read=facts.operation is Operation.READ),
            facts.operation.value,
            facts.created_ms,
        ]
        if self.user_identity:
            behind.append(_identity_struct(facts.user_identity))
        schema, version = self.value_schema, self.version
        if self.old_image:
            return lambda document, old: Struct(schema, (version, document, old, *behind))
        return lambda document, old: Struct(schema, (version, document, *behind))


def _identity_struct(identity_json: bytes | None) -> Struct | None:
    """Reads both spellings of the members: the API's (``Type``) and its examples' (``type``)."""
    if identity_json is None:
        return None
    try:
        identity: Any = orjson.loads(identity_json)
        kind = identity.get("Type", identity.get("type"))
        principal = identity.get("PrincipalId", identity.get("principalId"))
    except (ValueError, AttributeError) as error:
        raise ConvertError(
            f"reading userIdentity of a stream record: {error}; expected a JSON object"
        ) from error
    if not all(member is None or isinstance(member, str) for member in (kind, principal)):
        raise ConvertError("reading userIdentity of a stream record: expected members of text")
    return Struct(USER_IDENTITY, (kind, principal))
