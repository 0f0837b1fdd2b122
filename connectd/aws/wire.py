"""One call of the data plane: sign, send, and turn an error answer into an exception.

Retried here: only a request refused because the session token had run out, once, with new
credentials (the transport repeats a request on a stale connection, once). The rest is the
caller's policy: also new credentials that have run out in their turn, which may be waited for.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol

from connectd.aio.clock import Clock
from connectd.aws.call_counts import CallCounts
from connectd.aws.endpoints import Endpoint
from connectd.aws.errors import Call, parse_wire_fault, refused_anew, translate_fault
from connectd.aws.signing import FrozenCredentials, Keys
from connectd.aws.transport import HttpAnswer, HttpTransport, RawResponse


class Endpoints(Protocol):
    """Where requests go (``endpoints``); ``known``: None as long as nobody has resolved it."""

    def known(self, method: str, parameters: dict[str, Any]) -> Endpoint | None: ...

    async def resolve(self, call: Call, method: str, parameters: dict[str, Any]) -> Endpoint: ...


class JsonWire:
    """Calls one service by the JSON 1.0 protocol. ``deadline_s`` bounds each request."""

    def __init__(
        self,
        *,
        transport: HttpTransport,
        endpoints: Endpoints,
        keys: Keys,
        clock: Clock,
        deadline_s: float,
        counts: CallCounts | None = None,
    ) -> None:
        self._counts = counts or CallCounts(clock)
        self._transport = transport
        self._endpoints = endpoints
        self._keys = keys
        self._clock = clock
        self._deadline_s = deadline_s

    async def call(
        self, call: Call, *, target: str, method: str, parameters: dict[str, Any], body: bytes
    ) -> RawResponse:
        """Send ``body`` to the operation ``target`` and return the answer of a 200.

        ``method`` and ``parameters`` name the same operation in boto3's words, for the choice of
        the endpoint. Raises what ``errors`` makes of an error answer or of the network.
        """
        counts, clock = self._counts.of(call), self._clock
        began_s = clock.monotonic()
        try:
            endpoint = self._endpoints.known(method, parameters)
            if endpoint is None:
                endpoint = await self._endpoints.resolve(call, method, parameters)
            keys = self._keys.fresh() or await self._keys.current()
            answer = await self._send(call, endpoint, keys, target, body)
            if answer.status != 200:
                answer = await self._on_fault(answer, call, endpoint, keys, target, body)
        except BaseException as error:
            counts.end(clock.monotonic() - began_s, error)
            raise
        counts.end(clock.monotonic() - began_s)
        return RawResponse(answer.body, answer.date_s)

    async def _on_fault(
        self,
        answer: HttpAnswer,
        call: Call,
        endpoint: Endpoint,
        keys: FrozenCredentials,
        target: str,
        body: bytes,
    ) -> HttpAnswer:
        """The answer to a second request, if other credentials are what was missing."""
        fault = parse_wire_fault(answer.status, answer.body)
        if fault.is_expired_token:
            renewed = await self._keys.renew(keys)
            if renewed != keys:
                answer = await self._send(call, endpoint, renewed, target, body)
                if answer.status == 200:
                    return answer
                fault = parse_wire_fault(answer.status, answer.body)
                if fault.is_expired_token:
                    raise refused_anew(translate_fault(fault, call))
        raise translate_fault(fault, call)

    def _send(
        self, call: Call, endpoint: Endpoint, keys: FrozenCredentials, target: str, body: bytes
    ) -> Awaitable[HttpAnswer]:
        headers = endpoint.signer.sign(keys, target=target, body=body, wall_s=self._clock.wall_s())
        return self._transport.post(
            endpoint.url, headers, body, deadline_s=self._deadline_s, call=call
        )
