"""The DynamoDB endpoint of the demo and of the tests that need no shard lineage: ministack.

One process on a free port of 127.0.0.1 that serves DynamoDB, its streams, tags and STS. What it
does not do as AWS does (shards, throttling, trimming, TTL records) stands in spec
test-infrastructure (b); ``tests/fakes`` is for those.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from tests.harness.processes import HarnessError, ManagedProcess, RealPart, free_ports

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_resourcegroupstaggingapi import ResourceGroupsTaggingAPIClient
    from mypy_boto3_sts import STSClient

START_DEADLINE_S = 30.0
STOP_GRACE_S = 5.0
CALL_TIMEOUT_S = 20

REGION = "eu-west-1"
ACCESS_KEY_ID = "local-access-key"
SECRET_KEY = "local-secret-key"
"""Any pair is accepted."""


class Ministack(RealPart):
    """One ministack process and clients for it."""

    def __init__(self, *, home: Path | None = None) -> None:
        """``home``: where the log goes; it is then kept."""
        self._own_home = home is None
        self._home = home
        (self.port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: ManagedProcess | None = None

    @property
    def pid(self) -> int:
        """Process id."""
        return self._started().pid

    def start(self) -> None:
        """Start it and wait until it answers HTTP; raises HarnessError with its log."""
        home = self._home = self._home or Path(tempfile.mkdtemp(prefix="connectd-ministack-"))
        self._process = ManagedProcess(
            f"ministack on {self.url}",
            [sys.executable, "-m", "ministack"],
            log_path=home / "ministack.log",
            env={
                "BIND_HOST": "127.0.0.1",  # its default is every address of the machine
                "GATEWAY_PORT": str(self.port),
                "LOG_LEVEL": "ERROR",
                "IOT_MTLS_ENABLED": "0",
                "SFTP_ENABLED": "0",
                "MINISTACK_REGION": REGION,
            },
        )
        self._process.start()
        self._process.wait_until(
            lambda: answers_http(self.url), what="an HTTP answer", deadline_s=START_DEADLINE_S
        )

    def close(self) -> None:
        """Stop it; tables and items are gone."""
        if self._process is not None:
            self._process.stop(grace_s=STOP_GRACE_S)
            self._process = None
        if self._own_home and self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)
            self._home = None

    def pause(self) -> None:
        """SIGSTOP: connections stay open and nothing is answered."""
        self._started().pause()

    def resume(self) -> None:
        """SIGCONT after ``pause``."""
        self._started().resume()

    def log_tail(self) -> str:
        """The end of its log."""
        return self._started().log_tail()

    def dynamodb(self) -> DynamoDBClient:
        """A client for tables and items."""
        return self._session().client("dynamodb", endpoint_url=self.url, config=_CONFIG)

    def streams(self) -> DynamoDBStreamsClient:
        """A client for streams."""
        return self._session().client("dynamodbstreams", endpoint_url=self.url, config=_CONFIG)

    def tagging(self) -> ResourceGroupsTaggingAPIClient:
        """A client for the tagging API."""
        return self._session().client(
            "resourcegroupstaggingapi", endpoint_url=self.url, config=_CONFIG
        )

    def sts(self) -> STSClient:
        """A client for STS."""
        return self._session().client("sts", endpoint_url=self.url, config=_CONFIG)

    def _session(self) -> boto3.Session:
        return boto3.Session(
            aws_access_key_id=ACCESS_KEY_ID, aws_secret_access_key=SECRET_KEY, region_name=REGION
        )

    def _started(self) -> ManagedProcess:
        if self._process is None:
            raise HarnessError("ministack has not been started; call start() first.")
        return self._process


def answers_http(url: str) -> bool:
    """Whether anything answers HTTP at ``url``, whatever it says."""
    try:
        with urllib.request.urlopen(url, timeout=1.0):
            return True
    except urllib.error.HTTPError as answer:
        answer.close()
        return True
    except OSError:
        return False


_CONFIG = Config(
    connect_timeout=CALL_TIMEOUT_S,
    read_timeout=CALL_TIMEOUT_S,
    retries={"max_attempts": 1},
    max_pool_connections=32,
)
