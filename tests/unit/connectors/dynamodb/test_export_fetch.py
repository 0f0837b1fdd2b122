"""Manifests of an export, and the checksums that lie beside them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable, Mapping

import pytest

from connectd.connectors.dynamodb import export_fetch
from connectd.connectors.dynamodb.export_fetch import ReadPart
from connectd.connectors.dynamodb.export_files import DamagedExportError
from connectd.connectors.dynamodb.source_api import ObjectPart
from connectd.errors import AccessDeniedError, ConnectdError, InvalidRequestError
from tests.component.dynamodb import exports

ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/orders/export/01-a"
TABLE_ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/orders"
FOLDER = "AWSDynamoDB/01-a/"
SUMMARY, FILES = "manifest-summary", "manifest-files"


def hex_md5(text: bytes) -> bytes:
    return hashlib.md5(text).hexdigest().encode()


def base64_md5(text: bytes) -> bytes:
    return base64.b64encode(hashlib.md5(text).digest())


def manifests() -> dict[str, bytes]:
    files = exports.files_manifest({f"{FOLDER}data/a.json.gz": (b"1", 1)})
    summary = exports.summary(ARN, TABLE_ARN, f"{FOLDER}{FILES}.json", 1)
    return {f"{FOLDER}{SUMMARY}.json": summary, f"{FOLDER}{FILES}.json": files}


def read(
    objects: Mapping[str, bytes], missing: ConnectdError | None = None
) -> tuple[int, list[str]]:
    """The number of files, and what was asked for."""
    asked: list[str] = []

    def reader_of(key: str) -> ReadPart:
        async def part(start: int) -> ObjectPart:
            asked.append(key.removeprefix(FOLDER))
            if key not in objects:
                raise missing or InvalidRequestError("NoSuchKey")
            return ObjectPart(objects[key][start:], len(objects[key]))

        return part

    _, files = asyncio.run(
        export_fetch.read_manifests(
            "b", f"{FOLDER}{SUMMARY}.json", reader_of, arn=ARN, table_arn=TABLE_ARN
        )
    )
    return len(files), asked


@pytest.mark.parametrize("digest", [hex_md5, base64_md5])
@pytest.mark.parametrize("ending", [".md5", ".checksum"])
@pytest.mark.parametrize("name", [SUMMARY, FILES])
def test_a_manifest_that_its_checksum_denies_is_damaged(
    name: str, ending: str, digest: Callable[[bytes], bytes]
) -> None:
    objects = manifests()
    manifest, checksum = f"{FOLDER}{name}.json", f"{FOLDER}{name}{ending}"
    objects[checksum] = digest(objects[manifest]) + b"\n"
    assert read(objects)[0] == 1
    objects[manifest] += b"\n"  # it still reads well
    with pytest.raises(DamagedExportError, match=rf"{name}.json: its MD5 is .*, the checksum"):
        read(objects)


@pytest.mark.parametrize("missing", [InvalidRequestError("NoSuchKey"), AccessDeniedError("403")])
def test_manifests_without_checksums_are_taken(missing: ConnectdError) -> None:
    count, asked = read(manifests(), missing)
    assert count == 1
    assert asked == [
        *(f"{SUMMARY}{ending}" for ending in (".json", ".md5", ".checksum")),
        *(f"{FILES}{ending}" for ending in (".json", ".md5", ".checksum")),
    ]


@pytest.mark.parametrize("content", [b"", b"sha256:abc", b"\xff" * 16, b"x" * 100_000])
def test_a_checksum_of_another_kind_says_nothing(content: bytes) -> None:
    assert read({**manifests(), f"{FOLDER}{FILES}.md5": content})[0] == 1
