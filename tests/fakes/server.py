"""The fake as a server: on the test's event loop, or as a program of its own.

``async with running_fake() as fake: fake.url`` serves beside the code under test, on real or
virtual time. ``python -m tests.fakes.server --port 0`` serves until its standard input ends or a
signal comes, and prints one line of JSON first: ``{"url": "http://127.0.0.1:…", "tls_url": ""}``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop

from tests.fakes.clock import FakeClock
from tests.fakes.control import Control
from tests.fakes.fake import FakeAws
from tests.fakes.http_server import HttpServer


@dataclass(frozen=True, slots=True)
class RunningFake:
    """A fake that can be reached at ``url``, and over TLS at ``tls_url`` (may be empty)."""

    url: str
    aws: FakeAws
    tls_url: str = ""

    @property
    def control(self) -> Control:
        """The script."""
        return self.aws.control


@asynccontextmanager
async def running_fake(
    aws: FakeAws | None = None,
    *,
    partitions: int = 1,
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[RunningFake]:
    """Serve a fake on this event loop; without one, a new one whose clock follows the loop.

    On a virtual-time loop the fake's time starts at ``clock.FROZEN_START_S`` and jumps with the
    loop's. With ``tls`` the same fake also listens on a second port, to those who want https.
    """
    if aws is None:
        clock = FakeClock.following(asyncio.get_running_loop().time)
        aws = FakeAws(clock, partitions=partitions)
    server = HttpServer(aws.handle, aws.clock.http_date)
    tls_server = HttpServer(aws.handle, aws.clock.http_date)
    try:
        url = await server.start(port)
        tls_url = await tls_server.start(tls=tls) if tls is not None else ""
        yield RunningFake(url, aws, tls_url)
    finally:
        await server.stop()
        await tls_server.stop()


async def _serve(options: argparse.Namespace) -> None:
    ends_with_stdin = options.until_stdin_ends
    aws = FakeAws(FakeClock.running(), region=options.region, partitions=options.partitions)
    tls = None if options.certificate is None else _tls(options.certificate)
    async with running_fake(aws, port=options.port, tls=tls) as fake:
        print(json.dumps({"url": fake.url, "tls_url": fake.tls_url}), flush=True)
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        if ends_with_stdin:
            loop.add_reader(sys.stdin.fileno(), stop.set)
        await stop.wait()
        if ends_with_stdin:
            loop.remove_reader(sys.stdin.fileno())


def _tls(certificate: Path) -> ssl.SSLContext:
    """What OpenSSL offers by default, to a client that wants HTTP/1.1."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    tls.set_alpn_protocols(["http/1.1"])
    return tls


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.server", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 (default) takes a free one")
    parser.add_argument("--partitions", type=int, default=1, help="of tables created later")
    parser.add_argument("--region", default="eu-west-1")
    parser.add_argument(
        "--until-stdin-ends", action="store_true", help="stop when the parent closes the pipe"
    )
    parser.add_argument(
        "--certificate", type=Path, help="PEM file with it and its key: serves TLS on a second port"
    )
    uvloop.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
