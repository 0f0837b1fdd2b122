"""The fake as a process of its own: it starts, takes its script over HTTP, and ends."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import subprocess
import sys

import pytest

from connectd.aio.clock import LoopClock
from connectd.aws.clients import AwsClients
from connectd.aws.settings import AwsSettings
from connectd.errors import ConfigError
from tests.fakes.process import FakeProcess


def test_a_fake_elsewhere_is_scripted_like_one_in_this_process() -> None:
    with FakeProcess(partitions=3, region="us-west-2") as fake:
        arn = fake.control.create_table(table="orders", tags={"env": "test"})
        assert arn.startswith("arn:aws:dynamodb:us-west-2:123456789012:table/orders/stream/")
        assert len(fake.control.open_shards(table="orders")) == 3
        fake.control.clock_set(at_s=1_800_000_000.0)
        fake.control.put(table="orders", item={"id": {"S": "k"}})
        assert fake.control.table_items(table="orders") == [{"id": {"S": "k"}}]
        assert 1_800_000_000.0 <= fake.control.clock_now() < 1_800_000_060.0
        with pytest.raises(ValueError, match="no command 'fly'"):
            fake.control.fly()
        pid = fake.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_over_tls_only_clients_that_trust_its_authority_read_the_same_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    with FakeProcess(tls=True) as fake:
        fake.control.create_table(table="orders")
        fake.control.put(table="orders", item={"id": {"S": "k"}})
        with pytest.raises(ConfigError, match=r"CERTIFICATE_VERIFY_FAILED.*set AWS_CA_BUNDLE"):
            asyncio.run(_scanned(fake.tls_url))
        monkeypatch.setenv("AWS_CA_BUNDLE", str(fake.ca_bundle))
        assert asyncio.run(_scanned(fake.tls_url)) == asyncio.run(_scanned(fake.url))
        bundle = fake.ca_bundle
    assert not bundle.exists()


async def _scanned(endpoint: str) -> bytes:
    """A page with the one item, by the worker's own transport."""
    settings = AwsSettings(
        region="eu-west-1",
        access_key_id="key",
        secret_access_key="secret",
        dynamodb_endpoint=endpoint,
    )
    clients = AwsClients(settings, LoopClock())
    await clients.open()
    try:
        answer = await clients.dynamodb.scan(
            "orders", segment=0, total_segments=1, exclusive_start_key=None, limit=None
        )
    finally:
        await clients.close()
    assert b'{"id":{"S":"k"}}' in answer.body
    return answer.body


def test_the_first_line_tells_the_url_and_the_end_of_input_ends_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.server", "--until-stdin-ends"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
        connection.request("GET", "/")
        assert connection.getresponse().read().startswith(b"healthy")
        connection.close()
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=10) == 0
