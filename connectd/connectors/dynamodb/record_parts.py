"""What every road from raw items to records has in common: the parts of one record. Pure."""

from __future__ import annotations

from connectd.connectors.dynamodb.decode import Raw, StreamRecord
from connectd.connectors.dynamodb.envelope import (
    Operation,
    RecordFacts,
    SourceInfo,
    operation_of,
)
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.model.record import SourceRecord
from connectd.model.schema import Struct


def source_record(
    plan: TablePlan, key: tuple[str, ...], value: Struct | None, origin: str = ""
) -> SourceRecord:
    """A record of a table as Connect data."""
    return SourceRecord(
        topic=plan.topic,
        key_schema=plan.key_connect_schema,
        key=Struct(plan.key_connect_schema, key),
        value_schema=None if value is None else value.schema,
        value=value,
        origin=origin,
    )


def read_facts(info: SourceInfo) -> RecordFacts:
    """Items of a scan have no time of their own and carry that of its start."""
    return RecordFacts(Operation.READ, created_ms=info.init_sync_start_ms)


def change_facts(plan: TablePlan, record: StreamRecord) -> RecordFacts:
    """What a record of a stream says of itself.

    Raises:
        ConvertError: DynamoDB Streams has no such event.
    """
    return RecordFacts(
        operation=operation_of(record.event_name),
        created_ms=round(record.created_s * 1000),
        user_identity=identity(plan, record),
    )


def identity(plan: TablePlan, record: StreamRecord) -> bytes | None:
    """Who made a change, where the envelope tells."""
    return record.user_identity if plan.envelope.user_identity else None


def attributes(record: StreamRecord) -> Raw:
    """What the document of a change shows: the new image, or the key where there is none."""
    return record.new_image or record.keys


def old_image(plan: TablePlan, record: StreamRecord) -> Raw | None:
    """The item before a change, where the envelope has a place for it and the stream tells."""
    return record.old_image if plan.envelope.old_image and record.old_image else None


def is_document_empty(plan: TablePlan, operation: Operation) -> bool:
    """Whether records of an operation have no document."""
    return operation is Operation.DELETE and not plan.envelope.deletes_carry_keys


def origin(plan: TablePlan, key: tuple[str, ...] | None, index: int) -> str:
    """Names a record for messages: its table, and its key if that is known."""
    if key is None:
        return f"table {plan.table}, record {index} of the page"
    names = plan.origin_names
    if len(names) == 1:
        return f"{names[0]}{key[0]}"
    return f"{names[0]}{key[0]}{names[1]}{key[1]}"
