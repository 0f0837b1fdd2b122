"""One kept-alive HTTP/1.1 connection: a request at a time, its answer whole or an error.

The parser is llhttp (httptools), strict as it comes: framing, chunks and folded headers are its
business. What is decided here: how much may come, what of the head matters, and when a connection
may serve another request. It may not after anything that was not asked for, which might be taken
for the answer to the next request; nor after a request that nobody waits for any more.

A page of a megabyte passes the parser by: once the head has told its length, what is left of it is
received where it stays, and is not copied again. What comes in one piece with its head, as the
answer to an idle poll does, or in chunks, goes through the parser.

Owned by ``pooled_transport``, on the event loop only, which also watches over the time. An exchange
costs a write, a future and a dozen calls out of the parser: this is where an idle poll spends its
time.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from typing import Final, cast

import httptools
import msgspec

BODY_BYTES_MAX: Final = 32 * 1024 * 1024
"""A page holds 1 MB of item data. Names of types, quotes and escapes blow that up to about 9 MB
(one-letter attributes of NULL), two images in a stream record to twice as much."""

_HEAD_BYTES_MAX: Final = 64 * 1024

_INBOX_BYTES: Final = 16 * 1024
"""Read at once as long as nobody knows what comes; an idle poll's answer is much smaller."""

_LARGE_INBOX_BYTES: Final = 256 * 1024
"""... and once it is known that much comes, of which nobody knows how much. As large as uvloop's
own buffer of TLS: what has come in before the server ends the connection would be lost if the inbox
did not take it at once."""

_PAGE_BYTES_MAX: Final = 4 * 1024 * 1024
"""What says it is longer is put together from what comes: memory is for what is there."""

_HEADERS_THAT_MATTER: Final = frozenset(
    {b"x-amz-crc32", b"date", b"content-length", b"transfer-encoding"}
)


class ConnectionLostError(ConnectionError):
    """The connection ended before the answer did.

    ``is_untouched``: not a byte of it had come, as when a server closes a connection that lay idle
    at the moment in which it is used again.
    """

    def __init__(self, message: str, *, is_untouched: bool) -> None:
        super().__init__(message)
        self.is_untouched = is_untouched


class NotHttpError(ConnectionError):
    """What came is not an answer that we read."""


class WireAnswer(msgspec.Struct, frozen=True, gc=False):
    """Status, content, and the headers that matter, as they came."""

    status: int
    content: bytes | io.BytesIO
    crc32: bytes | None
    date: bytes | None

    @property
    def body(self) -> bytes:
        """The content. One that was received in place is copied as long as it is being written to,
        which is over when who waited for the answer has it.
        """
        content = self.content
        return content if isinstance(content, bytes) else content.getvalue()


class HttpConnection(asyncio.BufferedProtocol):
    """See the module's docstring. Times are the loop's.

    ``idle_since_s``: the end of the last exchange; ``give_up_s``: that of the one under way, at the
    latest (``expire``).
    """

    def __init__(
        self, on_lost: Callable[[HttpConnection], None], loop: asyncio.AbstractEventLoop
    ) -> None:
        """``on_lost`` is called once, when the connection is gone, for whatever reason."""
        self._loop = loop
        self.idle_since_s = 0.0
        self.give_up_s = 0.0
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[WireAnswer] | None = None
        self._is_usable = True
        self._inbox = memoryview(bytearray(_INBOX_BYTES))
        self._parser = httptools.HttpResponseParser(self)
        self._forget()

    def _forget(self) -> None:
        """An answer is over, or another begins: nothing of it is kept."""
        self._has_bytes = self._has_head = self._is_framed = False
        self._head_bytes = self._body_bytes = 0
        self._length: int | None = None
        self._chunks: list[bytes] = []
        self._page: io.BytesIO | None = None
        self._page_left: memoryview | None = None
        self._crc32: bytes | None = None
        self._date: bytes | None = None

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent."""
        return self._is_usable and self._transport is not None

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is awaited."""
        return self._answer is not None

    def exchange(self, request: bytes, give_up_s: float) -> asyncio.Future[WireAnswer]:
        """Send a request. Whoever does not wait for the answer any more must ``abort``.

        The future raises:
            TimeoutError: ``expire`` was called.
            ConnectionLostError, NotHttpError: no answer will come.
        """
        answer: asyncio.Future[WireAnswer] = self._loop.create_future()
        transport = self._transport
        if transport is None:
            answer.set_exception(ConnectionLostError("the connection is closed", is_untouched=True))
            return answer
        self._answer = answer
        self.give_up_s = give_up_s
        transport.write(request)
        return answer

    def expire(self) -> None:
        """The time for the answer is over."""
        self._fail(TimeoutError())

    def abort(self) -> None:
        """Drop the connection at once."""
        self._is_usable = False
        if self._transport is not None:
            self._transport.abort()

    # -- asyncio.BufferedProtocol ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where what comes next belongs: never more than is left of the page."""
        return self._inbox if self._page_left is None else self._page_left

    def buffer_updated(self, nbytes: int) -> None:
        """So much has come."""
        if self._page_left is not None:
            self._page_left = self._page_left[nbytes:]
            if not self._page_left:
                self._finish_page()
            return
        if self._answer is None:
            self.abort()  # nothing was asked
            return
        self._has_bytes = True
        try:
            self._parser.feed_data(self._inbox[:nbytes])
        except httptools.HttpParserUpgrade:  # it tells where, and nothing else
            self._fail(NotHttpError("the answer is not HTTP any more: it wants another protocol"))
            return
        except httptools.HttpParserError as error:
            self._fail(NotHttpError(f"the answer is not HTTP: {error}"))
            return
        if not self.is_waiting:
            return
        if not self._has_head:
            self._head_bytes += nbytes
            if self._head_bytes > _HEAD_BYTES_MAX:
                self._fail(NotHttpError(f"the answer's head exceeds {_HEAD_BYTES_MAX} bytes"))
        elif self._length is not None and self._length <= _PAGE_BYTES_MAX:
            self._begin_page(self._length)
        elif len(self._inbox) < _LARGE_INBOX_BYTES:
            self._inbox = memoryview(bytearray(_LARGE_INBOX_BYTES))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        was_usable, self._is_usable = self._is_usable, False
        if exc is None and was_usable and self._has_head and not self._is_framed:
            self._finish()  # the end of the connection is the end of the body, unless we ended it
        else:
            self._fail(
                ConnectionLostError(
                    f"the connection was lost{f': {exc}' if exc else ''}",
                    is_untouched=not self._has_bytes,
                )
            )
        del self._parser  # each holds the other
        self._on_lost(self)

    # -- httptools ------------------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; most are of no interest."""
        known = name.lower()
        if known not in _HEADERS_THAT_MATTER:
            return
        match known:  # the parser leaves white space behind a value
            case b"x-amz-crc32":
                self._crc32 = value.rstrip()
            case b"date":
                self._date = value.rstrip()
            case b"content-length":  # the parser has seen to it that it is a number
                self._is_framed, self._length = True, int(value)
            case _:
                self._is_framed = True

    def on_headers_complete(self) -> None:
        """The body begins; an interim answer (1xx) has none."""
        self._has_head = True

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._body_bytes += len(body)
        if self._body_bytes > BODY_BYTES_MAX:
            self._fail(
                NotHttpError(
                    f"the answer is larger than {BODY_BYTES_MAX} bytes, "
                    "a page of DynamoDB never is: check the endpoint"
                )
            )
        elif self._is_usable:
            self._chunks.append(body)

    def on_message_complete(self) -> None:
        """The answer is whole, or was an interim one."""
        if self._parser.get_status_code() < 200:
            self._forget()
            return
        self._is_usable = self._is_usable and self._parser.should_keep_alive()
        self._finish()

    def on_message_begin(self) -> None:
        """A second answer to one request."""
        if self._answer is None:
            self.abort()

    # -- pages ----------------------------------------------------------------------------------

    def _begin_page(self, length: int) -> None:
        """The rest of the body is received in place."""
        page = self._page = io.BytesIO()
        page.seek(length - 1)
        page.write(b"\0")  # as long as it is going to be
        page.seek(0)
        page.write(b"".join(self._chunks))
        self._page_left = page.getbuffer()[self._body_bytes :]
        self._chunks = []

    def _finish_page(self) -> None:
        self._is_usable = self._is_usable and self._parser.should_keep_alive()
        self._finish()
        self._parser = httptools.HttpResponseParser(self)  # that one still waits for the body

    # -- ends -----------------------------------------------------------------------------------

    def _finish(self) -> None:
        answer, self._answer = self._answer, None
        self.idle_since_s = self._loop.time()
        if answer is not None and not answer.done():
            chunks = self._chunks
            content = self._page or (chunks[0] if len(chunks) == 1 else b"".join(chunks))
            answer.set_result(
                WireAnswer(self._parser.get_status_code(), content, self._crc32, self._date)
            )
        self._forget()

    def _fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(error)
        self._forget()  # whoever holds the error holds this object
        self.abort()
