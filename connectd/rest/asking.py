"""Who asks, as a request tells it: a client, or another worker in a client's place.

Workers say in ``DEADLINE_HEADER`` how many milliseconds they wait, counted by the clock of whoever
reads it. That keeps a request within what its client was promised over all hops. It does not help a
worker that was frozen: for it the count begins when it wakes. There the closed connection tells;
see ``runtime.askers``.
"""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request

from connectd.runtime.askers import Asker
from connectd.runtime.peers import DEADLINE_HEADER
from connectd.runtime.requests import REQUEST_DEADLINE_S

_TURNS: Final = 8
"""Turns of the loop until a connection that was closed long ago is known to be: the request and the
end of its connection come out of the socket one after the other, through TLS in some more steps."""


def asker_of(request: Request) -> Asker:
    """Who waits for the answer, and for how long from now on.

    A client that hangs up is still served, as by Java's workers: it has been told nothing. A worker
    that does is not.
    """
    said = request.headers.get(DEADLINE_HEADER, "")
    is_known = said.isascii() and said.isdigit() and len(said) < 10
    wait_s = min(int(said) / 1000, REQUEST_DEADLINE_S) if is_known else REQUEST_DEADLINE_S
    until_s = asyncio.get_running_loop().time() + wait_s
    if not said and "forward" not in request.query_params:
        return Asker(until_s)

    async def has_gone() -> bool:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        return await request.is_disconnected()

    return Asker(until_s, has_gone)
