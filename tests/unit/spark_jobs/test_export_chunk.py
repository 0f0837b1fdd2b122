"""A chunk of a data file of an export, on virtual time."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
from collections.abc import Iterable
from typing import Any, cast

import pytest

from connectd.aio.clock import LoopClock
from connectd.aws.clients import AwsClients
from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.export_files import DataFile
from connectd.connectors.dynamodb.offsets import SegmentPosition, TableState
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.connectors.dynamodb.source_api import ObjectPart
from connectd.errors import (
    AccessDeniedError,
    BrokerUnavailableError,
    ConfigError,
    InvalidRequestError,
    ThrottledError,
)
from connectd.model.record import Encoded, EncodedPage, EncodedRecord
from connectd.pipeline.tolerance import ErrorPolicy
from spark_jobs import chunk_tools
from spark_jobs.chunk_lease import ChunkLease
from spark_jobs.chunk_sending import ChunkSender, SentPage
from spark_jobs.chunk_tools import ChunkTools
from spark_jobs.chunks import ChunkResult
from spark_jobs.job_file import text_for_workers
from spark_jobs.segment_scan import ChunkScan
from tests.component.dynamodb.exports import data_file
from tests.kit.virtual_time import run_virtual
from tests.unit.spark_jobs.jobs import START_MS, an_order, job

KEY = "some/AWSDynamoDB/1/data/a.json.gz"


class S3:
    """Implements ``ExportsApi.read_object`` over one object; ``errors`` come first."""

    def __init__(self, content: bytes, *errors: Exception, part_s: float = 0.1) -> None:
        self.content = content
        self._errors = list(errors)
        self._part_s = part_s
        self.calls: list[tuple[str, str, int]] = []

    async def read_object(self, bucket: str, key: str, *, start: int, length: int) -> ObjectPart:
        self.calls.append((bucket, key, start))
        await asyncio.sleep(self._part_s)
        if self._errors:
            raise self._errors.pop(0)
        return ObjectPart(self.content[start : start + length], len(self.content))


class Sender:
    """Takes pages and acknowledges ``acked_max`` of them."""

    def __init__(self) -> None:
        self.pages: list[Encoded] = []
        self.acked_max = 1_000

    def begin(self, lease: ChunkLease) -> None:
        lease.check()

    def send(self, page: Encoded) -> SentPage:
        self.pages.append(page)
        return SentPage(len(page.records))

    def wait_delivered(self, pages: Iterable[SentPage]) -> None:
        for index, sent in enumerate(pages):
            if index >= self.acked_max:
                raise BrokerUnavailableError("nothing is acknowledged")
            sent.left = 0

    def discard(self) -> None:
        self.pages.clear()


class _Clients:
    def __init__(self, exports: S3) -> None:
        self.exports = exports


class Rig:
    """Chunks of one file with ``items`` items, one after the other."""

    def __init__(self, items: int = 25, s3: S3 | None = None, segments: int = 2) -> None:
        content = data_file([{"id": {"S": str(number)}} for number in range(items)])
        self.s3 = s3 or S3(content)
        self.file = DataFile(KEY, items, hashlib.md5(content).digest())
        state = TableState(
            "orders",
            InitSyncState.RUNNING,
            START_MS,
            total_segments=segments,
            export_bucket="exports",
        )
        self.job: ScanJob = job(
            segments, state=state, page_size=10, files={0: self.file}, chunk_items=20
        )
        self.position = SegmentPosition(0, segments, START_MS)
        self.sender = Sender()

    def run(self) -> ChunkResult:
        async def run() -> ChunkResult:
            clock = LoopClock(wall_anchor_s=1_800_000_000.0)
            tools = ChunkTools(
                job=self.job,
                clock=clock,
                plan=self.job.plan,
                policy=ErrorPolicy(**dataclasses.asdict(self.job.errors)),
                converters=chunk_tools.make_converters(self.job),
                topics=chunk_tools.make_topics(self.job, clock),
                clients=cast("AwsClients", _Clients(self.s3)),
                sender=cast("ChunkSender", self.sender),
            )
            return await ChunkScan(
                tools, an_order(self.position, file=self.file, lease_s=905.0)
            ).run()

        result = run_virtual(run())
        self.position = result.position
        return result

    def sent(self) -> list[EncodedRecord]:
        """All records that were sent, in order."""
        found: list[EncodedRecord] = []
        for page in self.sender.pages:
            assert isinstance(page, EncodedPage)
            found += page.records
        return found


def test_a_file_is_read_in_chunks_each_of_which_goes_on_after_the_last() -> None:
    rig = Rig()
    first = rig.run()
    assert (first.position.count, first.position.is_finished) == (20, False)
    assert (first.items, first.records, first.consumed) == (20, 20, 0.0)
    assert first.topics == ("dynamodb-orders",)
    last = rig.run()
    assert (last.position.count, last.position.is_finished, last.items) == (25, True, 5)
    assert [key for key, _ in rig.sent()] == [b'{"id":"%d"}' % number for number in range(25)]
    assert {call[:2] for call in rig.s3.calls} == {("exports", KEY)}


def test_the_only_file_says_finished_with_its_last_record() -> None:
    rig = Rig(items=3, segments=1)
    result = rig.run()
    assert result.position.is_finished
    assert result.ended_ms is not None
    assert [b"FINISHED" in (value or b"") for _, value in rig.sent()] == [False, False, True]


def test_an_empty_file_is_finished() -> None:
    rig = Rig(items=0)
    result = rig.run()
    assert result.position.is_finished
    assert (result.items, result.error) == (0, None)


def test_what_is_not_acknowledged_is_read_again() -> None:
    rig = Rig()
    rig.sender.acked_max = 1
    result = rig.run()
    assert result.position.count == 10
    assert result.error is not None
    assert result.retriable


def test_s3_that_is_busy_is_asked_again() -> None:
    rig = Rig()
    rig.s3 = S3(data_file([{"id": {"S": str(n)}} for n in range(25)]), ThrottledError("busy"))
    rig.file = dataclasses.replace(rig.file, md5=hashlib.md5(rig.s3.content).digest())
    assert rig.run().error is None
    assert len(rig.s3.calls) == 2


@pytest.mark.parametrize(
    ("errors", "said", "retriable"),
    [
        ([ThrottledError("busy")] * 10, "busy", True),
        ([AccessDeniedError("allow s3:GetObject")], "allow s3:GetObject", False),
        ([InvalidRequestError("NoSuchKey")], f"s3://exports/{KEY}: NoSuchKey; restore", False),
    ],
)
def test_s3_that_refuses_ends_the_chunk_where_it_began(
    errors: list[Exception], said: str, retriable: bool
) -> None:
    rig = Rig(s3=S3(b"", *errors))
    result = rig.run()
    assert (result.position.count, result.items) == (0, 0)
    assert result.error is not None
    assert said in result.error
    assert result.retriable is retriable


def test_nothing_of_a_damaged_file_is_sent() -> None:
    rig = Rig()
    rig.s3 = S3(data_file([{"id": {"S": "forged"}}]))
    result = rig.run()
    assert rig.sender.pages == []
    assert result.error is not None
    assert "its MD5 is" in result.error
    assert not result.retriable


def test_a_job_carries_its_files_to_the_driver_and_a_chunk_its_own() -> None:
    rig = Rig()
    assert ScanJob.from_json(rig.job.to_json()) == rig.job
    assert ScanJob.from_json(text_for_workers(rig.job)).files == {}


@pytest.mark.parametrize(
    ("member", "value", "said"),
    [
        ("md5", "xyz", "md5 is 'xyz', expected hex"),
        ("items", "3", "items"),
        ("more", 1, "more"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(member: str, value: object, said: str) -> None:
    members: dict[str, Any] = json.loads(Rig().job.to_json())
    members["files"][0][member] = value
    with pytest.raises(ConfigError, match=said):
        ScanJob.from_json(json.dumps(members).encode())
