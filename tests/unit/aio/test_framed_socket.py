"""Frames arrive whole and in order, and a peer that does not keep to the rules is hung up on."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from connectd.aio import framed_socket
from connectd.aio.framed_socket import FramedSocket
from connectd.errors import InvariantError


class End:
    """One end, and what it has heard."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.news = asyncio.Event()
        self.is_over = asyncio.Event()

    async def open(self, end: socket.socket) -> FramedSocket:
        return await FramedSocket.open(end, on_frame=self._heard, on_end=self.is_over.set)

    def _heard(self, frame: bytes) -> None:
        self.frames.append(frame)
        self.news.set()

    async def heard(self, count: int) -> list[bytes]:
        async with asyncio.timeout(10):
            while len(self.frames) < count:
                self.news.clear()
                await self.news.wait()
        return self.frames


def on_both_loops(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[str], None]:
    """Run the test in a loop of its own, asyncio's or uvloop's."""

    @pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
    def run(loop: str) -> None:
        factory = uvloop.new_event_loop if loop == "uvloop" else asyncio.SelectorEventLoop
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(asyncio.wait_for(test(), 30))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@on_both_loops
async def test_frames_of_any_length_arrive_whole_and_in_order() -> None:
    ours, theirs = socket.socketpair()
    here, there = End(), End()
    one, other = await here.open(ours), await there.open(theirs)
    sent = [b"", b"x", b"y" * 3_000_000, b"z"]
    for frame in sent:
        one.send(frame)
    other.send(b"back")
    assert await there.heard(4) == sent
    assert await here.heard(1) == [b"back"]
    one.close()
    await there.is_over.wait()
    assert not here.is_over.is_set()
    other.send(b"to nobody")
    other.close()
    await one.wait_closed()
    await other.wait_closed()


@on_both_loops
async def test_frames_are_put_together_from_single_bytes() -> None:
    ours, theirs = socket.socketpair()
    here = End()
    framed = await here.open(ours)
    loop = asyncio.get_running_loop()
    theirs.setblocking(False)
    for byte in struct.pack(">I", 3) + b"abc" + struct.pack(">I", 0):
        await loop.sock_sendall(theirs, bytes([byte]))
    assert await here.heard(2) == [b"abc", b""]
    theirs.close()
    await here.is_over.wait()
    await framed.wait_closed()


@on_both_loops
async def test_a_peer_that_announces_too_much_is_hung_up_on() -> None:
    ours, theirs = socket.socketpair()
    here = End()
    await here.open(ours)
    theirs.sendall(struct.pack(">I", framed_socket.FRAME_BYTES_MAX + 1))
    await here.is_over.wait()
    theirs.close()


@on_both_loops
async def test_a_peer_that_does_not_read_is_hung_up_on() -> None:
    ours, theirs = socket.socketpair()
    here = End()
    framed = await here.open(ours)
    frame = b"x" * (framed_socket.FRAME_BYTES_MAX // 2)
    for _ in range(6):
        framed.send(frame)
    await here.is_over.wait()
    theirs.close()


@on_both_loops
async def test_a_frame_that_is_too_long_is_a_defect_of_ours() -> None:
    ours, theirs = socket.socketpair()
    framed = await End().open(ours)
    with pytest.raises(InvariantError, match="a frame of"):
        framed.send(bytes(framed_socket.FRAME_BYTES_MAX + 1))
    framed.close()
    theirs.close()
    await framed.wait_closed()
