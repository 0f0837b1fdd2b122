"""Passing a request on to the worker that it belongs to (spec kafka-connect A.1.5).

At most two hops: a follower asks the leader, and the leader the owner. The query parameter
``forward`` counts them: absent, ``true``, ``false``; with ``false`` a request goes no further.
What several workers know parts of (``parts``) is asked of each of them, with ``false``.

Nobody is waited for who is not the one to be asked any more: a leader that is frozen has a
successor soon. Then the connection is closed before the client hears of it, by which the old one
knows, whenever it wakes, that it is too late (``runtime.askers``). The request goes to the new one
if the old one has certainly not heard of it, or if doing it twice is doing it once. Otherwise the
client is told that nobody knows: what the old one has created, the new one would refuse as being
there already.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import Response

from connectd.aio.jobs import run_unless
from connectd.rest.bodies import body_of
from connectd.rest.errors import RestError
from connectd.rest.resource import empty_response, json_response, location_of
from connectd.runtime import askers
from connectd.runtime.peers import DEADLINE_HEADER, LOOK_S, PeerAnswer, PeerError, Peers
from connectd.runtime.requests import REQUEST_DEADLINE_S
from connectd.runtime.roles import NotHereError
from connectd.runtime.views import Views

_CONFLICT = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
_NO_LEADER = (
    "Cannot complete request momentarily due to no known leader URL, likely because a rebalance "
    "was underway."
)


_REPEATABLE: Final = frozenset(("GET", "HEAD", "PUT"))

_WORDS_S: Final = 5.0
"""How much longer than it may take an answer is waited for: it says in which stage time ran out."""

_SUCCESSOR_S: Final = 20.0
"""How long a request that nobody has taken waits for another leader: twice the usual session."""

_CATCH_UP_S: Final = 5.0
"""How long the success of a change waits for this worker to read of it."""

PART_S: Final = 5.0
"""How long another worker may take over its part of an answer, which is missing otherwise."""


@dataclass(frozen=True)
class Part:
    """What one of the other workers has answered; ``content`` None: nothing, and ``why``."""

    url: str
    content: Mapping[str, Any] | None
    why: str = ""


class Forwarder:
    """Asks the other worker in the client's place."""

    def __init__(self, peers: Peers, views: Views, *, part_s: float = PART_S) -> None:
        self._peers = peers
        self._views = views
        self._part_s = part_s

    async def parts(self, request: Request, urls: Sequence[str]) -> list[Part]:
        """What each of these workers has to say to a GET, all asked at once.

        A worker that is asked by another one asks nobody.
        """
        if request.query_params.get("forward") is not None:
            return []
        return list(await asyncio.gather(*(self._part(request, url) for url in urls)))

    async def _part(self, request: Request, url: str) -> Part:
        path = f"{url.rstrip('/')}{request.scope['path']}?forward=false"
        try:
            async with asyncio.timeout(self._part_s):
                answer = await self._peers.ask("GET", path, body=None, headers=_login(request))
            if answer.status != HTTPStatus.OK:
                return Part(url, None, f"status {answer.status}")
            content = json.loads(answer.body)
            if isinstance(content, dict):
                return Part(url, content)
        except TimeoutError:
            return Part(url, None, f"no answer within {self._part_s:g} s")
        except PeerError as error:
            return Part(url, None, str(error))
        except ValueError:
            pass  # it is said below
        return Part(url, None, "that is not what a worker answers")

    async def __call__(self, request: Request, elsewhere: NotHereError) -> Response | None:
        """The other worker's answer, as if it were ours.

        None: somebody else is to be asked by now, and may be. After a change this worker has read
        of it too, so that whoever looks here next sees it.

        Raises:
            RestError: there is no answer.
            NobodyWaitsError: whoever asked has given up.
        """
        hop = request.query_params.get("forward")
        if hop is not None and hop.strip().lower() != "true":
            raise RestError(HTTPStatus.CONFLICT, _CONFLICT)
        if elsewhere.url is None:
            raise RestError(HTTPStatus.CONFLICT, _NO_LEADER)
        query = [pair for pair in parse_qsl(request.url.query) if pair[0] != "forward"]
        query.append(("forward", "true" if hop is None else "false"))
        url = f"{elsewhere.url.rstrip('/')}{request.scope['path']}?{urlencode(query)}"
        body = body_of(request)
        headers = _login(request)
        if body is not None:
            headers["Content-Type"] = "application/json"
        await askers.require_wanted()
        left_s = askers.left_s(REQUEST_DEADLINE_S)
        headers[DEADLINE_HEADER] = str(max(0, round(left_s * 1000)))
        asking = self._peers.ask(request.method, url, body=body, headers=headers)
        try:
            async with asyncio.timeout(left_s + _WORDS_S):
                answer = await run_unless(asking, _wait_in_vain(elsewhere))
        except TimeoutError as error:
            raise _io_error(f"{url}: no answer within {left_s + _WORDS_S:.0f} s") from error
        except PeerError as error:
            if error.is_unsent:
                await _wait_successor(elsewhere)
            if elsewhere.is_outdated and (error.is_unsent or _is_repeatable(request)):
                return None
            raise _io_error(str(error)) from error
        if answer is None:
            await askers.require_wanted()
            if _is_repeatable(request):
                return None
            raise _io_error(
                f"{url}: no answer, and another worker is to be asked by now; look whether it was "
                "done, and ask again if not"
            )
        if request.method != "GET" and answer.status < 300:
            await self._views.catch_up(_CATCH_UP_S)
        return _translated(request, answer)


async def _wait_in_vain(elsewhere: NotHereError) -> None:
    """Until somebody else is to be asked, or (which it raises) nobody waits for the answer."""
    while not elsewhere.is_outdated:
        await askers.require_wanted()
        await asyncio.sleep(LOOK_S)


async def _wait_successor(elsewhere: NotHereError) -> None:
    """One that cannot be reached is mostly gone, and another one is to be asked soon."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(askers.left_s(_SUCCESSOR_S)):
            await _wait_in_vain(elsewhere)


def _is_repeatable(request: Request) -> bool:
    """Whether doing it twice is doing it once: a restart is."""
    return request.method in _REPEATABLE or request.scope["path"].endswith("/restart")


def _login(request: Request) -> dict[str, str]:
    """Workers of a cluster know the same users."""
    shown = request.headers.get("authorization")
    return {} if shown is None else {"Authorization": shown}


def _translated(request: Request, answer: PeerAnswer) -> Response:
    if answer.status == HTTPStatus.NO_CONTENT:
        return empty_response(HTTPStatus.NO_CONTENT)
    if not 200 <= answer.status < 300 and answer.status < 400:
        text = f"Unexpected status code when handling forwarded request: {answer.status}"
        raise RestError(HTTPStatus.INTERNAL_SERVER_ERROR, text)
    try:
        content = json.loads(answer.body)
    except ValueError as error:
        raise _io_error(f"the answer of status {answer.status} is not JSON") from error
    response = json_response(content, status=answer.status)
    if answer.status == HTTPStatus.CREATED and isinstance(content, dict) and "name" in content:
        response.headers["Location"] = location_of(request, str(content["name"]))
    return response


def _io_error(detail: str) -> RestError:
    text = f"IO Error trying to forward REST request: {detail}"
    return RestError(HTTPStatus.INTERNAL_SERVER_ERROR, text)
