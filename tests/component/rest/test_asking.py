"""A worker that was frozen finds requests in its sockets whose senders have gone: real sockets.

The loop that serves does not turn while the senders come and go, as in a process that is stopped:
what they do lies in the kernel until then. (Through TLS nothing can have been sent meanwhile: there
is nobody to shake hands.)
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Sequence

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from connectd.aio.jobs import JobGroup
from connectd.configdef.rest_settings import Listener
from connectd.rest import bodies
from connectd.rest.asking import asker_of
from connectd.rest.errors import answering
from connectd.rest.server import RestServer
from connectd.runtime import askers

AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER: close with a reset."""

LINE = b"Host: x\r\nConnection: close\r\n"
DEADLINE = b"X-Connectd-Deadline-Ms: 60000\r\n"
DELETE = b"DELETE /a?forward=true HTTP/1.1\r\n" + LINE + b"\r\n"
SIGNED = b"DELETE /a HTTP/1.1\r\n" + LINE + DEADLINE + b"\r\n"
CLIENTS = b"DELETE /a HTTP/1.1\r\n" + LINE + b"\r\n"
LARGE = (
    b"PUT /a?forward=true HTTP/1.1\r\n" + LINE + b"Content-Length: 60000\r\n\r\n" + b"x" * 60_000
)


class App:
    """Notes what it does for somebody, and what it does not."""

    def __init__(self) -> None:
        self.outcomes: list[str] = []
        self.heard = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await answering(Request(scope, receive, send), self._handle)
        await response(scope, receive, send)

    async def _handle(self, request: Request) -> Response:
        if request.method == "PUT":
            await bodies.read_bytes(request)
        with askers.asked_by(asker_of(request)):
            try:
                await askers.require_wanted()
                self.outcomes.append("done")
            except askers.NobodyWaitsError:
                self.outcomes.append("refused")
            finally:
                self.heard.set()
        return Response(b"{}")


async def outcomes(request: bytes, *, stays: bool, lingers: bool = True) -> Sequence[str]:
    app, jobs = App(), JobGroup("test")
    server = RestServer([Listener("http", "127.0.0.1", 0)], grace_s=5.0)
    port = server.open()[0].port
    jobs.spawn("http", server.serve(app))
    await asyncio.sleep(0)
    with socket.create_connection(("127.0.0.1", port), timeout=10.0) as client:
        client.sendall(request)
        if not lingers:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        if not stays:
            client.close()
        async with asyncio.timeout(20.0):
            await app.heard.wait()
    server.stop()
    assert await jobs.join(deadline_s=10.0)
    return app.outcomes


@pytest.mark.parametrize("request_", [DELETE, SIGNED, LARGE], ids=["forwarded", "signed", "large"])
@pytest.mark.parametrize("lingers", [True, False], ids=["closed", "reset"])
def test_what_a_worker_has_given_up_is_not_done(request_: bytes, lingers: bool) -> None:
    assert asyncio.run(outcomes(request_, stays=False, lingers=lingers)) == ["refused"]


@pytest.mark.parametrize("request_", [DELETE, SIGNED, LARGE], ids=["forwarded", "signed", "large"])
def test_what_a_worker_waits_for_is(request_: bytes) -> None:
    assert asyncio.run(outcomes(request_, stays=True)) == ["done"]


def test_a_client_that_hangs_up_is_served_as_by_javas_workers() -> None:
    assert asyncio.run(outcomes(CLIENTS, stays=False)) == ["done"]
