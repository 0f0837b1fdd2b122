"""An export that a real local Spark reads, from moto's S3 into real Kafka."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from pyspark import SparkContext

from connectd.connectors.dynamodb.export_files import DataFile
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.connectors.dynamodb.scan_reports import Failed, Finished, SegmentMoved
from tests.component.dynamodb.exports import data_file
from tests.harness.kafka import KafkaBroker
from tests.harness.moto import bucket_in, running_moto
from tests.integration.worker_rig import prefix_of
from tests.kit.items import ALL_TYPES
from tests.spark.scan_rig import Scan, ScanRig

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

BUCKET = "exports"
FILE_ITEMS = 400


@pytest.fixture(scope="module")
def rig(kafka_broker: KafkaBroker) -> Iterator[ScanRig]:
    with ScanRig(kafka_broker, prefix_of(__name__)) as rig:
        yield rig


@pytest.fixture
def scan(rig: ScanRig, spark_context: SparkContext) -> Scan:
    return Scan(rig, spark_context)


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of moto's S3, with the bucket made."""
    with running_moto(tmp_path_factory.mktemp("moto")) as url, bucket_in(url, BUCKET) as client:
        yield client


def export_job(rig: ScanRig, s3: Any, table: str, items: Sequence[Any], **changes: Any) -> ScanJob:
    """A job to read an export of these items, the last file being empty."""
    files = {}
    for number, first in enumerate(range(0, len(items) + 1, FILE_ITEMS)):
        part = items[first : first + FILE_ITEMS]
        content, key = data_file(part), f"{table}/data/{number:04d}.json.gz"
        s3.put_object(Bucket=BUCKET, Key=key, Body=content)
        files[number] = DataFile(key, len(part), hashlib.md5(content).digest())
    job = rig.job(
        table, {"aws.s3.endpoint": s3.meta.endpoint_url}, segments=len(files), page_size=100
    )
    state = dataclasses.replace(job.state, export_bucket=BUCKET)
    return dataclasses.replace(job, state=state, files=files, **changes)


def test_the_topic_of_an_export_is_byte_for_byte_that_of_a_scan(scan: Scan, s3: Any) -> None:
    rig, table = scan.rig, scan.rig.new_table(1500)
    rig.control.put(table=table, item=ALL_TYPES)
    items = rig.control.table_items(table=table)
    job = export_job(rig, s3, table, items, chunk_items=250)
    scan.finish(table, job)
    assert {each.consumed for each in scan.of(SegmentMoved)} == {0.0}
    exported = sorted((each.key, each.value) for each in rig.records(table))
    assert len(exported) == 1501

    scanned = rig.job(table, segments=len(job.files), topic=f"{rig.topic(table)}-scanned")
    assert scan.run(scanned) == Finished()
    records = rig.records(f"{table}-scanned")
    assert sorted((each.key, each.value) for each in records) == exported


def test_a_damaged_file_fails_the_scan_and_the_rest_is_read_when_it_is_mended(
    scan: Scan, s3: Any
) -> None:
    rig, table = scan.rig, scan.rig.new_table(1000)
    job = export_job(rig, s3, table, rig.control.table_items(table=table))
    key = job.files[1].key
    whole = s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    s3.put_object(Bucket=BUCKET, Key=key, Body=whole[:-9])
    last = scan.run(job)
    assert isinstance(last, Failed)
    assert not last.retriable
    assert f"s3://{BUCKET}/{key}: its MD5 is" in last.error
    s3.put_object(Bucket=BUCKET, Key=key, Body=whole)
    scan.finish(table, rig.rest_of(job))
    assert len(rig.records(table)) == 1000
