"""Exports against moto, and a table read from an export that lies in moto's S3.

moto writes one data file and no manifests, so that the export is written here, as documented.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from connectd.aio.clock import LoopClock
from connectd.aws.clients import AwsClientPool, AwsClients
from connectd.aws.exports import ExportDescription, ExportRequest, ExportWindow
from connectd.aws.settings import AwsSettings
from connectd.connectors.dynamodb.export_files import read_items
from connectd.connectors.dynamodb.source_api import ObjectPart
from connectd.errors import InvalidRequestError
from tests.component.dynamodb.account import Account
from tests.component.dynamodb.exports import FakeExports
from tests.component.dynamodb.rig import WALL_S, Rig
from tests.harness.moto import REGION, bucket_in, client_of, running_moto
from tests.kit.items import ALL_TYPES

pytestmark = pytest.mark.emulator

KEYS: Any = {"access_key_id": "AKIDLOCAL", "secret_access_key": "secret"}
BUCKET = "exports"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where moto listens."""
    with running_moto(tmp_path_factory.mktemp("moto")) as url:
        yield url


@pytest.fixture(scope="module")
def s3(url: str) -> Iterator[Any]:
    """A plain client of S3, with the bucket made."""
    with bucket_in(url, BUCKET) as client:
        yield client


@pytest.fixture(scope="module")
def dynamodb(url: str) -> Iterator[Any]:
    """A plain client of DynamoDB."""
    with client_of("dynamodb", url) as client:
        yield client


@pytest.fixture(scope="module")
def table_arn(dynamodb: Any) -> str:
    """A table with one item, without point-in-time recovery."""
    answer = dynamodb.create_table(
        TableName="orders",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    dynamodb.put_item(TableName="orders", Item={"id": {"S": "5028"}, "n": {"N": "12.50"}})
    return str(answer["TableDescription"]["TableArn"])


def settings(url: str) -> AwsSettings:
    return AwsSettings(REGION, dynamodb_endpoint=url, s3_endpoint=url, **KEYS)


async def _completed(clients: AwsClients, arn: str) -> ExportDescription:
    while True:
        export = await clients.exports.describe(arn)
        if export.status != "IN_PROGRESS":
            return export
        await asyncio.sleep(0.05)


def test_a_table_is_exported_once_point_in_time_recovery_is_on(
    url: str, s3: Any, dynamodb: Any, table_arn: str
) -> None:
    wanted = ExportRequest(table_arn, "token", BUCKET, "moto")

    async def run() -> bytes:
        clients = AwsClients(settings(url), LoopClock())
        await clients.open()
        try:
            with pytest.raises(InvalidRequestError, match="switch on point-in-time recovery"):
                await clients.exports.request(wanted)
            dynamodb.update_continuous_backups(
                TableName="orders",
                PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
            )
            export = await _completed(clients, (await clients.exports.request(wanted)).arn)
            assert (export.status, export.item_count) == ("COMPLETED", 1)
            assert (export.kind, export.bucket) == ("FULL_EXPORT", BUCKET)
            end_ms = int(datetime.now(UTC).timestamp()) * 1000
            window = ExportWindow(end_ms - 3_600_000, end_ms)
            others = replace(wanted, token="another", prefix="changes", window=window)
            changes = await _completed(clients, (await clients.exports.request(others)).arn)
            assert (changes.kind, changes.table_arn) == ("INCREMENTAL_EXPORT", table_arn)
            listed = s3.list_objects_v2(Bucket=BUCKET, Prefix="moto/")["Contents"]
            (key,) = [each["Key"] for each in listed]
            first = await clients.exports.read_object(BUCKET, key, start=0, length=10)
            rest = await clients.exports.read_object(BUCKET, key, start=10, length=1 << 20)
            assert len(first.content) + len(rest.content) == first.total_bytes
            return first.content + rest.content
        finally:
            await clients.close()

    content = asyncio.run(run())
    assert [bytes(each) for each in read_items("moto", io.BytesIO(content))] == [
        b'{"id": {"S": "5028"}, "n": {"N": "12.50"}}'
    ]


def test_objects_that_are_empty_or_missing(url: str, s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key="empty", Body=b"")

    async def run() -> None:
        clients = AwsClients(settings(url), LoopClock())
        await clients.open()
        try:
            read = clients.exports.read_object
            assert await read(BUCKET, "empty", start=0, length=10) == ObjectPart(b"", 0)
            with pytest.raises(InvalidRequestError, match="NoSuchKey"):
                await read(BUCKET, "missing", start=0, length=10)
            with pytest.raises(InvalidRequestError, match="NoSuchBucket"):
                await read("no-such-bucket", "missing", start=0, length=10)
        finally:
            await clients.close()

    asyncio.run(run())


class _ExportsInS3(FakeExports):
    """Exports of the account in memory, whose objects are in moto's bucket."""

    clients: AwsClients
    s3: Any

    def write(self) -> None:
        """Put everything there is into the bucket."""
        for (bucket, key), content in self.objects.items():
            self.s3.put_object(Bucket=bucket, Key=key, Body=content)

    async def describe(self, arn: str) -> ExportDescription:
        found = await super().describe(arn)
        self.write()
        return found

    async def read_object(self, bucket: str, key: str, *, start: int, length: int) -> ObjectPart:
        return await self.clients.exports.read_object(bucket, key, start=start, length=length)


def test_a_table_is_read_from_its_export_in_s3_and_followed(url: str, s3: Any) -> None:
    async def run() -> None:
        account = Account(LoopClock(wall_anchor_s=WALL_S))
        table = account.add_table("orders")
        for number in range(500):
            table.put(f"k{number}", number)
        pool = AwsClientPool(LoopClock())
        exports = _ExportsInS3(
            account.clock,
            lambda name: [
                {**ALL_TYPES, **table.item_json(key, value)} for key, value in table.items.items()
            ],
            duration_s=0.0,
            file_items=120,
        )
        exports.clients, exports.s3 = await pool.acquire(settings(url)), s3
        account.exports = exports
        rig = Rig(
            account,
            {"init.sync.engine": "export", "init.sync.export.s3.bucket": BUCKET},
        )
        await rig.start()
        await rig.until(lambda: len(rig.log) > 100, within_s=30)
        table.put("k1", 1000)
        table.delete("k2")
        await rig.until(lambda: rig.is_in_sync("orders"), within_s=30)
        await rig.until(lambda: rig.topic_view("orders") == table.items, within_s=30)
        assert len([each for each in rig.log if each.op == "r"]) == 500
        await rig.stop()
        await pool.close()

    asyncio.run(run())
