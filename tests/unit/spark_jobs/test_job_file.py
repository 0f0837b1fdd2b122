"""The job's file is read once and is gone then."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from connectd.connectors.dynamodb.scan_job import JOB_ENV, ScanJob
from connectd.errors import ConfigError
from spark_jobs.job_file import take_job, text_for_workers
from tests.unit.spark_jobs.jobs import job


def test_the_job_is_read_and_its_file_deleted(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_bytes(job().to_json())
    assert take_job({JOB_ENV: str(path)}) == job()
    assert not path.exists()


def test_a_file_that_is_no_job_is_deleted_as_well(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_bytes(b'{"producer":{"sasl.password":"x"}}')
    with pytest.raises(ConfigError, match="missing"):
        take_job({JOB_ENV: str(path)})
    assert not path.exists()


def test_without_a_job_it_is_said_who_starts_this_program() -> None:
    with pytest.raises(ConfigError, match=r"CONNECTD_SCAN_JOB is not set: .* started by connectd"):
        take_job({})


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"job\.json"):
        take_job({JOB_ENV: str(tmp_path / "job.json")})


def test_workers_get_the_job_without_its_segments() -> None:
    read = ScanJob.from_json(text_for_workers(job()))
    assert read == dataclasses.replace(job(), segments=())
    assert read.total_segments == 3
