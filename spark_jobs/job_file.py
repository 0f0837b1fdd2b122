"""The job that the daemon left for the driver: read once, then deleted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from connectd.connectors.dynamodb.scan_job import JOB_ENV, ScanJob
from connectd.errors import ConfigError


def take_job(environment: Mapping[str, str]) -> ScanJob:
    """Read the job's file and delete it, since it holds passwords.

    Raises:
        ConfigError: there is no such file, or it is not a job.
    """
    name = environment.get(JOB_ENV, "")
    if not name:
        raise ConfigError(
            f"{JOB_ENV} is not set: this program is started by connectd, which leaves a job in the "
            "file of that name"
        )
    path = Path(name)
    try:
        text = path.read_bytes()
        path.unlink()
    except OSError as error:
        raise ConfigError(f"reading the scan job: {error}") from error
    return ScanJob.from_json(text)


def text_for_workers(job: ScanJob) -> bytes:
    """The job as it goes along with every chunk: all but segments and files, of which a chunk
    has one.
    """
    return dataclasses.replace(job, segments=(), files={}).to_json()
