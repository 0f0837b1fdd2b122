"""One client's connection: what HTTP itself demands, and no client at the cost of others.

The server's own protocol class does the work; here are the limits around it. A request's head must
be complete within ``HEAD_S`` of its first byte, and is of bounded size; an answer must be taken
within ``WRITE_S``; a connection without request is closed after the keep-alive time, or earlier
when too many are open: the one that has been idle longest makes room for a new one. Deadlines of
bodies are those of ``bodies``. Whatever is refused here has the error body that clients know.
"""

from __future__ import annotations

import asyncio
import json
import sys
from http import HTTPStatus
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S: Final = 30.0
WRITE_S: Final = 30.0
HEAD_BYTES_MAX: Final = 16_384
"""Twice of what the Java worker takes: proxies add headers of their own."""

CONNECTIONS_MAX: Final = 500
"""Half of the descriptors that a process usually has; brokers and streams need some as well."""


class Connection(H11Protocol):
    """See the module's docstring. Made by the server, one for each connection."""

    _deadline: asyncio.TimerHandle | None = None
    """Of the head that is arriving, or of unread rest after an answer."""

    _write_deadline: asyncio.TimerHandle | None = None
    _idle_since_s: float = 0.0

    @property
    def _is_idle(self) -> bool:
        return self._deadline is None and (self.cycle is None or self.cycle.response_complete)

    # -- its life -------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come, and may have to wait outside."""
        super().connection_made(transport)
        self._idle_since_s = self.loop.time()
        if len(self.connections) > CONNECTIONS_MAX and not self._make_room():
            self.refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _make_room(self) -> bool:
        others = [each for each in self.connections if isinstance(each, Connection)]
        idle = [each for each in others if each is not self and each._is_idle]
        if not idle:
            return False
        longest = min(idle, key=lambda each: each._idle_since_s)
        self.connections.discard(longest)
        longest.transport.close()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone, and so are its deadlines."""
        self._set_deadline(None)
        self._set_write_deadline(None)
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    # -- reading --------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Bytes of a head or of a body."""
        if self._is_idle:
            self._set_deadline(HEAD_S)
        super().data_received(data)

    def handle_events(self) -> None:
        """What the bytes mean."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._set_deadline(None)

    def send_400_response(self, msg: str) -> None:
        """The request is none; the parser knows which status says so best."""
        error = sys.exc_info()[1]
        hint = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        self.refuse(HTTPStatus(hint))

    def refuse(self, status: HTTPStatus) -> None:
        """Say why, where that is still possible, and hang up."""
        if self.transport.is_closing():
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            message = f"HTTP {int(status)} {status.phrase}"
            body = json.dumps({"error_code": int(status), "message": message}).encode()
            headers: list[tuple[bytes, bytes]] = [
                *self.server_state.default_headers,
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
                (b"connection", b"close"),
            ]
            reason = status.phrase.encode()
            events: list[Any] = [
                h11.Response(status_code=int(status), headers=headers, reason=reason),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ]
            self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
        self._hang_up()

    def _set_deadline(self, after_s: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if after_s is None else self.loop.call_later(after_s, self._on_late)

    def _on_late(self) -> None:
        self._deadline = None
        self.refuse(HTTPStatus.REQUEST_TIMEOUT)

    # -- writing --------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """An answer is on its way."""
        self._idle_since_s = self.loop.time()
        super().on_response_complete()
        if self.transport.is_closing():
            self._set_write_deadline(WRITE_S)

    def pause_writing(self) -> None:
        """The client does not take what it asked for."""
        super().pause_writing()
        self._set_write_deadline(WRITE_S)

    def resume_writing(self) -> None:
        """It does again."""
        self._set_write_deadline(None)
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """No further request has come."""
        if not self.transport.is_closing():
            self._hang_up()

    def _hang_up(self) -> None:
        """Close when everything is sent, and whatever is left after ``WRITE_S``."""
        self.transport.close()
        self._set_write_deadline(WRITE_S)

    def _set_write_deadline(self, after_s: float | None) -> None:
        if self._write_deadline is not None:
            self._write_deadline.cancel()
        if after_s is None or self.transport is None:
            self._write_deadline = None
        else:
            self._write_deadline = self.loop.call_later(after_s, self.transport.abort)
