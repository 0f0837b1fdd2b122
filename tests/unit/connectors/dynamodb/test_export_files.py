"""What DynamoDB writes into S3, read as documented, and refused where it is damaged."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
from typing import Any

import pytest

from connectd.connectors.dynamodb import export_files
from connectd.connectors.dynamodb.decode import decode_scan_page
from connectd.connectors.dynamodb.export_files import DamagedExportError, DataFile, ExportSummary
from tests.component.dynamodb.exports import files_manifest, summary
from tests.kit.items import ALL_TYPES

TABLE_ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/orders"
ARN = f"{TABLE_ARN}/export/01693685827463-2d8752fd"


def read_summary(text: bytes, **others: Any) -> ExportSummary:
    expected = {"arn": ARN, "table_arn": TABLE_ARN, **others}
    return export_files.read_summary("s3://b/summary", text, **expected)


def lines_of(*items: Any, end: bytes = b"\n") -> bytes:
    texts = [json.dumps({"Item": each}, separators=(",", ":")).encode() for each in items]
    return b"\n".join(texts) + end


def items_in(content: bytes) -> list[bytes]:
    return [bytes(each) for each in export_files.read_items("a file", io.BytesIO(content))]


def numbered(count: int, text: str = "") -> list[Any]:
    return [{"id": {"S": f"{number}{text}"}} for number in range(count)]


def pages_of(
    content: bytes, items: int, *, skip: int = 0, items_max: int = 0
) -> list[tuple[list[str], bool]]:
    file = DataFile("k", items, b"")
    return [
        ([json.loads(bytes(item))["id"]["S"] for item in page.items], page.is_last)
        for page in export_files.read_pages(
            "a file", io.BytesIO(content), file, skip=skip, items_max=items_max
        )
    ]


def test_items_are_byte_for_byte_those_of_a_scan() -> None:
    text = json.dumps(ALL_TYPES, ensure_ascii=False, separators=(",", ":")).encode()
    scanned = decode_scan_page(b'{"Items":[%b],"Count":1,"ScannedCount":1}' % text)
    assert items_in(gzip.compress(b'{"Item":%b}\n' % text)) == [bytes(scanned.items[0])] == [text]


@pytest.mark.parametrize("end", [b"\n", b"", b"\n\n"])
def test_the_last_line_needs_no_end(end: bytes) -> None:
    assert len(items_in(gzip.compress(lines_of(*numbered(3), end=end)))) == 3


def test_files_without_items() -> None:
    assert items_in(gzip.compress(b"")) == []
    assert items_in(b"") == []
    assert pages_of(b"", 0) == [([], True)]


def test_a_file_of_several_gzip_members_is_one_file() -> None:
    first, second = numbered(2), numbered(3)
    content = gzip.compress(lines_of(*first)) + gzip.compress(b"")
    assert len(items_in(content + gzip.compress(lines_of(*second)))) == 5


def test_a_file_that_unpacks_to_very_much_is_read_a_little_at_a_time() -> None:
    content = gzip.compress(lines_of(*numbered(60, "x" * 100_000)))
    assert len(content) < 100_000
    pages = pages_of(content, 60)
    assert len(pages) == 6
    assert sum(len(items) for items, _ in pages) == 60
    assert [is_last for _, is_last in pages] == [False] * 5 + [True]


@pytest.mark.parametrize("skip", range(8))
def test_reading_goes_on_after_what_is_done(skip: int) -> None:
    content = gzip.compress(lines_of(*numbered(7)))
    pages = pages_of(content, 7, skip=skip, items_max=2)
    assert [key for items, _ in pages for key in items] == [str(n) for n in range(skip, 7)]
    assert [is_last for _, is_last in pages][-1:] == [True]
    assert sum(is_last for _, is_last in pages) == 1


def test_nobody_waits_long_while_much_is_skipped() -> None:
    content = gzip.compress(lines_of(*numbered(60, "x" * 100_000)))
    pages = pages_of(content, 60, skip=59)
    assert [len(items) for items, _ in pages] == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (gzip.compress(lines_of(*numbered(1000)))[:-20], "it ends in the middle"),
        (gzip.compress(lines_of(*numbered(1000)))[:200], "it ends in the middle"),
        (b"no gzip at all", "it is no gzip file"),
        (gzip.compress(lines_of(*numbered(3))) + b"garbage", "it is no gzip file"),
        (gzip.compress(lines_of({"id": {"S": "1"}}) + b'{"Item":{"id"'), "line 2 is no item"),
        (gzip.compress(b'{"Keys":{"id":{"S":"1"}}}\n'), "line 1 is no item"),
        (gzip.compress(b"\xff\xfe\n"), "line 1 is no item"),
    ],
)
def test_damaged_files_are_refused(content: bytes, problem: str) -> None:
    with pytest.raises(DamagedExportError, match=f"a file: {problem}"):
        items_in(content)


def test_a_byte_that_has_changed_is_noticed() -> None:
    content = bytearray(gzip.compress(lines_of(*numbered(1000)), mtime=0))
    content[len(content) // 2] ^= 0x40
    with pytest.raises(DamagedExportError):
        items_in(bytes(content))


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(export_files, "LINE_BYTES_MAX", 1_000_000)
    with pytest.raises(DamagedExportError, match="more than 1000000 bytes"):
        items_in(gzip.compress(b"x" * 5_000_000))


@pytest.mark.parametrize("items", [2, 4])
def test_another_number_of_items_than_the_manifest_says_has_no_last_page(items: int) -> None:
    content = gzip.compress(lines_of(*numbered(3)))
    file = DataFile("k", items, b"")
    found: list[export_files.LinePage[Any]] = []
    pages = export_files.read_pages("a file", io.BytesIO(content), file, skip=0, items_max=1)
    with pytest.raises(DamagedExportError, match=f"it has 3 items, the manifest says {items}"):
        found.extend(pages)
    assert [page.is_last for page in found] == [False, False]


def test_the_summary_is_beside_the_manifest_that_is_named_or_where_it_must_be() -> None:
    key = "some/AWSDynamoDB/01693685827463-2d8752fd/manifest-summary.json"
    named = "some/AWSDynamoDB/01693685827463-2d8752fd/manifest-files.json"
    assert export_files.summary_key(named, "", ARN) == key
    assert export_files.summary_key(key, "", ARN) == key
    assert export_files.summary_key(None, "some", ARN) == key
    assert export_files.summary_key(None, "", ARN) == key.removeprefix("some/")


def test_the_summary_leads_to_the_files_wherever_they_are() -> None:
    """Incremental exports share one folder of data: only the manifest tells what belongs to it."""
    text = summary(ARN, TABLE_ARN, "x/manifest-files.json", 3)
    assert read_summary(text) == ExportSummary(ARN, "x/manifest-files.json", 3, 1_777_629_600_000)
    elsewhere = {"AWSDynamoDB/data/b.json.gz": (b"two", 2), "AWSDynamoDB/data/a.json.gz": (b"1", 1)}
    files = export_files.read_files("m", files_manifest(elsewhere), 3)
    assert files == (
        DataFile("AWSDynamoDB/data/a.json.gz", 1, hashlib.md5(b"1").digest()),
        DataFile("AWSDynamoDB/data/b.json.gz", 2, hashlib.md5(b"two").digest()),
    )


def test_a_summary_without_a_time_and_of_any_export() -> None:
    text = summary(ARN, TABLE_ARN, "x", 3, exportTime="soon")
    assert read_summary(text, arn=None) == ExportSummary(ARN, "x", 3, None)


@pytest.mark.parametrize(
    ("others", "problem"),
    [
        ({"outputFormat": "ION"}, "outputFormat is 'ION', expected 'DYNAMODB_JSON'"),
        ({"exportType": "INCREMENTAL_EXPORT"}, "expected 'FULL_EXPORT'"),
        ({"tableArn": TABLE_ARN + "2"}, "tableArn is"),
        ({"exportArn": ARN + "2"}, "exportArn is"),
        ({"itemCount": "three"}, "no summary of an export"),
    ],
)
def test_a_summary_of_something_else_is_refused(others: dict[str, object], problem: str) -> None:
    text = summary(ARN, TABLE_ARN, "files", 3, **others)
    with pytest.raises(DamagedExportError, match=problem):
        read_summary(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (files_manifest({"a": (b"", 1)}) * 2, "a is named twice"),
        (files_manifest({"a": (b"", 1)}), "its files have 1 items, the summary says 2"),
        (b'{"itemCount":2,"dataFileS3Key":"a"}', "line 1 names no data file"),
        (b'{"itemCount":2,"dataFileS3Key":"a","md5Checksum":"?"}', "line 1 names no data file"),
        (b"\xff", "line 1 names no data file"),
    ],
)
def test_a_damaged_list_of_files_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(DamagedExportError, match=problem):
        export_files.read_files("s3://b/files", text, 2)


def test_checksums_are_base64() -> None:
    md5 = hashlib.md5(b"content").digest()
    line = {
        "itemCount": 0,
        "md5Checksum": base64.b64encode(md5).decode(),
        "etag": "f",
        "dataFileS3Key": "a",
    }
    assert export_files.read_files("m", json.dumps(line).encode(), 0) == (DataFile("a", 0, md5),)
