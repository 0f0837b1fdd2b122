"""A finished export read by somebody who keeps no position: found by either name, or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from connectd.aio.clock import LoopClock
from connectd.aws.exports import ExportRequest, ExportWindow
from connectd.connectors.dynamodb.export_pages import ExportReading
from connectd.errors import AccessDeniedError, ConfigError, ConnectdError, ThrottledError
from tests.component.dynamodb.exports import FakeExports
from tests.kit.virtual_time import run_virtual

TABLE_ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/orders"
FOLDER = "some/AWSDynamoDB/00000000000001-abcdef"
ITEMS = [{"id": {"S": f"k{number}"}, "n": {"N": f"{number}.50"}} for number in range(25)]


async def exported(duration_s: float = 0.0, window: ExportWindow | None = None) -> FakeExports:
    """An account with one export, which is complete unless it lasts."""
    exports = FakeExports(
        LoopClock(wall_anchor_s=1_700_000_000.0), lambda table: ITEMS, duration_s=duration_s
    )
    wanted = ExportRequest(TABLE_ARN, "token", "exports", "some", window=window)
    found = await exports.request(wanted)
    await exports.describe(found.arn)  # it is written when somebody looks
    return exports


async def opened(exports: FakeExports, name: str | None = None) -> ExportReading:
    named = name or next(iter(exports.exports))
    return await ExportReading.open(exports, named, TABLE_ARN, exports.clock)


async def items_of(reading: ExportReading) -> list[Any]:
    async with reading.pages() as pages:
        return [json.loads(bytes(item)) async for page in pages for item in page.items]


@pytest.mark.parametrize(
    "name",
    [
        None,
        f"s3://exports/{FOLDER}",
        f"s3://exports/{FOLDER}/",
        f"s3://exports/{FOLDER}/manifest-summary.json",
    ],
)
def test_an_export_is_found_by_its_arn_or_by_its_folder(name: str | None) -> None:
    async def scenario() -> None:
        exports = await exported()
        reading = await opened(exports, name)
        assert reading.export.arn == f"{TABLE_ARN}/export/00000000000001-abcdef"
        assert reading.export.items == len(ITEMS)
        assert reading.export.export_ms == 1_777_629_600_000
        assert await items_of(reading) == ITEMS

    run_virtual(scenario())


def test_calls_that_are_throttled_are_made_again() -> None:
    async def scenario() -> None:
        exports = await exported()
        refusals = [ThrottledError("slow down") for _ in range(5)]
        exports.gate = lambda operation, subject: refusals.pop() if refusals else None
        assert await items_of(await opened(exports)) == ITEMS

    run_virtual(scenario())


def test_who_stops_in_the_middle_reads_no_further() -> None:
    async def scenario() -> None:
        exports = await exported()
        reading = await opened(exports)
        read = len(exports.reads)
        async with reading.pages() as pages:
            async for _ in pages:
                break
        assert len(exports.reads) == read + 1

    run_virtual(scenario())


def _without(ending: str) -> Callable[[FakeExports], None]:
    def damage(exports: FakeExports) -> None:
        for key in exports.keys(ending):
            del exports.objects["exports", key]

    return damage


def _with(ending: str, old: bytes, new: bytes) -> Callable[[FakeExports], None]:
    def damage(exports: FakeExports) -> None:
        for key in exports.keys(ending):
            content = exports.objects["exports", key]
            exports.objects["exports", key] = content.replace(old, new)

    return damage


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (_without("manifest-summary.json"), "NoSuchKey"),
        (_without("manifest-files.json"), "NoSuchKey"),
        (_without("00.json.gz"), "NoSuchKey"),
        (_with(".json.gz", b"\x1f", b"x"), "its MD5 is"),
        (_with("manifest-summary.json", b"/orders", b"/others"), "Arn is"),
        (_with("manifest-summary.json", b"DYNAMODB_JSON", b"ION"), "outputFormat is 'ION'"),
    ],
)
def test_what_is_damaged_or_of_another_table_is_refused_with_what_helps(
    damage: Callable[[FakeExports], None], problem: str
) -> None:
    async def scenario() -> None:
        exports = await exported()
        damage(exports)
        with pytest.raises(ConfigError, match=f"{problem}.*name another full export"):
            await items_of(await opened(exports))

    run_virtual(scenario())


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("orders", "is no export; expected its ARN"),
        (f"s3://exports/{FOLDER}x", "NoSuchKey"),
        ("s3://exports", "NoSuchKey"),
        ("s3://", "'s3://' is no export; expected its ARN"),
        ("s3:///some/folder", "is no export; expected its ARN"),
        ("s3://A_b/some/folder", "Invalid value A_b for configuration --export: A bucket's name"),
    ],
)
def test_another_name_is_refused(name: str, problem: str) -> None:
    async def scenario() -> None:
        with pytest.raises(ConfigError, match=problem):
            await opened(await exported(), name)

    run_virtual(scenario())


def test_an_export_that_is_not_finished_or_incremental_is_refused() -> None:
    async def scenario() -> None:
        with pytest.raises(ConfigError, match="is IN_PROGRESS; name one that is COMPLETED"):
            await opened(await exported(duration_s=60.0))
        window = ExportWindow(1_699_900_000_000, 1_699_950_000_000)
        with pytest.raises(ConfigError, match="exportType is 'INCREMENTAL_EXPORT'"):
            await opened(await exported(window=window))

    run_virtual(scenario())


def test_a_missing_right_is_told_as_it_is() -> None:
    async def scenario() -> None:
        exports = await exported()
        exports.gate = lambda operation, subject: AccessDeniedError(f"allow {operation}")
        with pytest.raises(ConnectdError, match="allow DescribeExport"):
            await opened(exports)
        exports.gate = lambda operation, subject: (
            AccessDeniedError("allow s3:GetObject") if operation == "GetObject" else None
        )
        with pytest.raises(AccessDeniedError, match="allow s3:GetObject"):
            await opened(exports)

    run_virtual(scenario())
