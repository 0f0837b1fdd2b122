"""Whole messages over a stream socket between two processes of ours.

A frame is its length, four bytes, the most significant first, and its content. Used on one event
loop. Bounded: what is longer than ``FRAME_BYTES_MAX`` is not sent, and a peer that sends such a
frame, or lets more than ``UNSENT_BYTES_MAX`` pile up here because it does not read, is hung up on.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Final, cast

from connectd.errors import InvariantError

FRAME_BYTES_MAX: Final = 128 * 1024 * 1024
"""The offsets of a connector with half a million positions."""

UNSENT_BYTES_MAX: Final = 2 * FRAME_BYTES_MAX

_LENGTH: Final = struct.Struct(">I")


class FramedSocket(asyncio.Protocol):
    """One end; see the module's docstring.

    ``on_frame`` is called for each frame, in order; ``on_end`` once, when the other end is gone, or
    was hung up on, and not after ``close``.
    """

    def __init__(self, on_frame: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_frame = on_frame
        self._on_end = on_end
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._is_over = False
        self._is_closed = asyncio.Event()

    @classmethod
    async def open(
        cls, end: socket.socket, *, on_frame: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> FramedSocket:
        """Take a connected socket over."""
        framed = cls(on_frame, on_end)
        end.setblocking(False)
        await asyncio.get_running_loop().create_connection(lambda: framed, sock=end)
        return framed

    # -- what the owner calls -------------------------------------------------------------------

    def send(self, frame: bytes) -> None:
        """Send a frame; nobody hears it once the connection is over.

        Raises:
            InvariantError: it is too long.
        """
        if len(frame) > FRAME_BYTES_MAX:
            raise InvariantError(
                f"a frame of {len(frame)} bytes is to be sent, expected at most {FRAME_BYTES_MAX}"
            )
        if self._is_over or self._transport is None:
            return
        self._transport.write(_LENGTH.pack(len(frame)) + frame)
        if self.unsent_bytes > UNSENT_BYTES_MAX:
            self._transport.abort()

    @property
    def unsent_bytes(self) -> int:
        """What the other end has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Hang up; what is sent by then arrives, if the other end reads it."""
        self._is_over = True
        if self._transport is not None:
            self._transport.close()

    async def wait_closed(self) -> None:
        """Wait until nothing of it is left."""
        await self._is_closed.wait()

    # -- what the loop calls --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Taken over."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's has no such ancestor

    def data_received(self, data: bytes) -> None:
        """Some bytes: frames, or parts of them."""
        received = self._received
        received += data
        begin = 0
        while len(received) - begin >= _LENGTH.size and not self._is_over:
            (length,) = _LENGTH.unpack_from(received, begin)
            if length > FRAME_BYTES_MAX:
                assert self._transport is not None
                self._transport.abort()
                return
            end = begin + _LENGTH.size + length
            if len(received) < end:
                break
            self._on_frame(bytes(received[begin + _LENGTH.size : end]))
            begin = end
        del received[:begin]

    def connection_lost(self, exc: Exception | None) -> None:
        """The other end is gone, or we have hung up."""
        self._is_closed.set()
        if not self._is_over:
            self._is_over = True
            self._on_end()
