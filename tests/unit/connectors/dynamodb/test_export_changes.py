"""Lines of incremental exports, as the developer guide shows them, become records of a stream."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from connectd.connectors.dynamodb import export_changes
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState, SourceInfo
from connectd.connectors.dynamodb.export_files import DamagedExportError, DataFile
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.offsets import SegmentPosition
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.errors import RecordError
from connectd.model.record import RecordBatch
from connectd.model.schema import Struct
from tests.component.dynamodb.exports import change_line, lines_file

KEYS = {"id": {"S": "a"}}
OLD = {**KEYS, "v": {"N": "1"}}
NEW = {**KEYS, "v": {"N": "2.50"}}
WRITTEN_S = 1_774_379_199.746598
INFO = SourceInfo("orders", InitSyncState.FINISHED, 1, 2, 3)


def batch_of(*lines: Any, tombstones: bool = True) -> RecordBatch:
    file = DataFile("k", len(lines), b"")
    (page,) = export_changes.read_change_pages(
        "a file", io.BytesIO(lines_file(lines)), file, skip=0, items_max=0
    )
    assert page.is_last
    plan = TablePlan(
        "orders",
        "orders",
        KeySchema((KeyAttribute("id", "S"),)),
        EnvelopeSettings(document="plain", old_image=True, user_identity=True),
    )
    return export_changes.change_batch(
        plan,
        INFO,
        page.items,
        SegmentPosition(0, 1, 5, count=len(lines), is_finished=True),
        tombstones=tombstones,
        on_acked=lambda _: None,
    )


def told(batch: RecordBatch) -> list[Any]:
    """Operation, document and old document of each record, None for a tombstone."""
    found: list[Any] = []
    for record in batch.payload.source_records():
        assert not isinstance(record, RecordError)
        value = record.value
        assert value is None or isinstance(value, Struct)
        found.append(
            None if value is None else tuple(map(value.get, ("op", "document", "old_document")))
        )
    return found


def test_both_images_are_an_update_one_of_them_an_insert_or_a_deletion() -> None:
    batch = batch_of(
        change_line(KEYS, WRITTEN_S, NEW, OLD),
        change_line(KEYS, WRITTEN_S, NEW, None),
        change_line(KEYS, WRITTEN_S, None, OLD),
        change_line(KEYS, WRITTEN_S, None, None),
        {**change_line(KEYS, WRITTEN_S, None, None), "NewImage": None, "OldImage": None},
    )
    new, old = '{"id":"a","v":2.50}', '{"id":"a","v":1}'
    assert told(batch) == [
        ("u", new, old),
        ("c", new, None),
        *(("d", "", old), None),
        *(("d", "", None), None),
        *(("d", "", None), None),
    ]
    assert len(batch.payload) == 5
    assert batch.source_partition.to_dict() == {"table_name": "orders", "segment": 0}
    assert batch.source_offset == {
        "init_sync_start": 5,
        "total_segments": 1,
        "state": "FINISHED",
        "count": 5,
    }


def test_a_change_has_its_own_time_and_nobody_who_made_it() -> None:
    (record, *_) = batch_of(change_line(KEYS, WRITTEN_S, NEW, OLD)).payload.source_records()
    assert not isinstance(record, RecordError)
    assert isinstance(record.value, Struct)
    source = record.value.get("source")
    assert isinstance(source, Struct)
    assert source.get("init_sync") == "FINISHED"
    assert record.value.get("ts_ms") == 1_774_379_199_747
    assert record.value.get("user_identity") is None


def test_deletions_come_without_tombstones_where_those_are_not_wanted() -> None:
    batch = batch_of(change_line(KEYS, WRITTEN_S, None, OLD), tombstones=False)
    assert [op for op, _, _ in told(batch)] == ["d"]


def test_what_is_done_of_a_file_is_skipped() -> None:
    lines = [change_line({"id": {"S": f"{n}"}}, WRITTEN_S, NEW, None) for n in range(5)]
    pages = export_changes.read_change_pages(
        "f", io.BytesIO(lines_file(lines)), DataFile("k", 5, b""), skip=2, items_max=2
    )
    keys = [[json.loads(bytes(each.keys))["id"]["S"] for each in page.items] for page in pages]
    assert [each for each in keys if each] == [["2", "3"], ["4"]]


@pytest.mark.parametrize(
    "line",
    [
        {"Item": NEW},
        {"Keys": KEYS, "NewImage": NEW},
        {"Metadata": {"WriteTimestampMicros": {"N": "1"}}, "NewImage": NEW},
        {"Metadata": {"WriteTimestampMicros": {"N": "soon"}}, "Keys": KEYS},
        {"Metadata": {"WriteTimestampMicros": {"N": "-1"}}, "Keys": KEYS},
        [],
    ],
)
def test_a_line_that_is_no_change_is_named(line: Any) -> None:
    with pytest.raises(DamagedExportError, match="line 2 is no item"):
        batch_of(change_line(KEYS, WRITTEN_S, NEW, None), line)
