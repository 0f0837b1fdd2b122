"""moto as a process: S3 for exports, and calls of DynamoDB that no other emulator knows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from tests.harness.processes import ManagedProcess, accepts_connections, free_ports

REGION = "eu-west-1"
START_DEADLINE_S = 60.0


@contextmanager
def running_moto(home: Path) -> Iterator[str]:
    """Its URL, for as long as the block lasts; ``home``: where the log goes."""
    (port,) = free_ports(1)
    argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    moto = ManagedProcess("moto", argv, log_path=home / "moto.log")
    moto.start()
    try:
        moto.wait_until(
            lambda: accepts_connections("127.0.0.1", port),
            what="a connection",
            deadline_s=START_DEADLINE_S,
        )
        yield f"http://127.0.0.1:{port}"
    finally:
        moto.stop(grace_s=5)


@contextmanager
def client_of(service: Any, url: str) -> Iterator[Any]:
    """A plain boto3 client of it."""
    client = boto3.client(
        service,
        endpoint_url=url,
        region_name=REGION,
        aws_access_key_id="AKIDLOCAL",
        aws_secret_access_key="secret",
        config=Config(s3={"addressing_style": "path"}),
    )
    try:
        yield client
    finally:
        client.close()


@contextmanager
def bucket_in(url: str, bucket: str) -> Iterator[Any]:
    """A plain client of S3, with a bucket made."""
    with client_of("s3", url) as client:
        client.create_bucket(
            Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        yield client
