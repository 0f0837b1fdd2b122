"""A door before a broker, through which a cluster may seem to have no broker that is ready.

Clients that come through it come back to it: the broker's address in its answers becomes the
proxy's own. Without ``is_ready`` the answers name no broker and no leader, as for the moment in
which a controller has fenced all of them; everything else passes as it is. While ``is_silent``
nothing passes, though connections are accepted. What it has to understand is spoken in an old
version: the broker seems to know no newer one.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from typing import BinaryIO, Final, Self

_METADATA: Final = 3
_COORDINATOR: Final = 10
_VERSIONS_MAX: Final = {_METADATA: 4, _COORDINATOR: 2}
_METADATA_WITH_THROTTLE: Final = 3
_METADATA_WITH_CLUSTER_ID: Final = 2
_COORDINATOR_WITH_THROTTLE: Final = 1
_API_VERSIONS: Final = 18
_FLEXIBLE_API_VERSIONS: Final = 3
_LEADER_NOT_AVAILABLE: Final = 5
_NOBODY: Final = -1


class MetadataProxy:
    """See the module's docstring. A context manager; the cluster has one broker, ``bootstrap``."""

    def __init__(self, bootstrap: str) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self._broker = (host, int(port))
        self._passes = threading.Event()
        self._passes.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self.is_ready = True
        self.settings = {"bootstrap.servers": f"127.0.0.1:{self._port}"}

    @property
    def is_silent(self) -> bool:
        """Whether everything is held back."""
        return not self._passes.is_set()

    @is_silent.setter
    def is_silent(self, is_silent: bool) -> None:
        self._passes.clear() if is_silent else self._passes.set()

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._passes.set()
        for each in (self._listener, *self._sockets):
            _shut(each)
        for thread in self._threads:
            thread.join()
        for each in (self._listener, *self._sockets):
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(self._broker)
            except OSError:
                client.close()
                continue
            self._sockets += [client, broker]
            asked: deque[tuple[int, int]] = deque()
            for ways in ((self._ask, client, broker, asked), (self._answer, broker, client, asked)):
                self._threads.append(threading.Thread(target=_pumped, args=ways))
                self._threads[-1].start()

    def _ask(self, request: bytes, asked: deque[tuple[int, int]]) -> bytes:
        self._passes.wait()
        asked.append(struct.unpack(">hh", request[4:8]))
        return request

    def _answer(self, answer: bytes, asked: deque[tuple[int, int]]) -> bytes:
        self._passes.wait()
        api, version = asked.popleft()
        if api == _API_VERSIONS:
            return _with_old_versions(answer, version)
        if api == _METADATA:
            return _framed(answer[4:8] + self._metadata(_Reader(answer[8:]), version))
        if api == _COORDINATOR:
            return _framed(answer[4:8] + self._coordinator(_Reader(answer[8:]), version))
        return answer

    def _metadata(self, told: _Reader, version: int) -> bytes:
        head = told.take(4) if version >= _METADATA_WITH_THROTTLE else b""
        brokers = []
        for _ in range(told.number(">i")):
            node, _, _ = told.take(4), told.text(), told.take(4)
            brokers.append(node + _text("127.0.0.1") + struct.pack(">i", self._port) + told.text())
        cluster = told.text() if version >= _METADATA_WITH_CLUSTER_ID else b""
        controller = told.take(4)
        if not self.is_ready:
            brokers, controller = [], struct.pack(">i", _NOBODY)
        head += struct.pack(">i", len(brokers)) + b"".join(brokers) + cluster + controller
        return head + (told.rest() if self.is_ready else _without_leaders(told))

    def _coordinator(self, told: _Reader, version: int) -> bytes:
        with_text = version >= _COORDINATOR_WITH_THROTTLE
        head = told.take(4) + told.take(2) + told.text() if with_text else told.take(2)
        node, _, _ = told.take(4), told.text(), told.take(4)
        return head + node + _text("127.0.0.1") + struct.pack(">i", self._port)


def _without_leaders(told: _Reader) -> bytes:
    topics = told.number(">i")
    answer = struct.pack(">i", topics)
    for _ in range(topics):
        answer += told.take(2) + told.text() + told.take(1)
        partitions = told.number(">i")
        answer += struct.pack(">i", partitions)
        for _ in range(partitions):
            told.take(2)
            answer += struct.pack(">h", _LEADER_NOT_AVAILABLE) + told.take(4)
            told.take(4)
            answer += struct.pack(">i", _NOBODY)
            for _ in ("replicas", "in sync"):
                told.take(4 * told.number(">i"))
                answer += struct.pack(">i", 0)
    return answer


def _with_old_versions(answer: bytes, version: int) -> bytes:
    """The list of requests and their versions, with lower ones for some."""
    is_flexible = version >= _FLEXIBLE_API_VERSIONS
    place, size = (11, 7) if is_flexible else (14, 6)
    changed = bytearray(answer)
    while place + size <= len(changed):
        (api,) = struct.unpack_from(">h", changed, place)
        if api in _VERSIONS_MAX:
            struct.pack_into(">h", changed, place + 4, _VERSIONS_MAX[api])
        place += size
    return bytes(changed)


class _Reader:
    """Takes an answer apart."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._place = 0

    def take(self, size: int) -> bytes:
        taken = self._body[self._place : self._place + size]
        self._place += size
        return taken

    def number(self, form: str) -> int:
        (number,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(number)

    def text(self) -> bytes:
        """A text with its length before it, as it is."""
        length = self.take(2)
        return length + self.take(max(0, struct.unpack(">h", length)[0]))

    def rest(self) -> bytes:
        return self._body[self._place :]


def _pumped(
    change: Callable[[bytes, deque[tuple[int, int]]], bytes],
    source: socket.socket,
    sink: socket.socket,
    asked: deque[tuple[int, int]],
) -> None:
    try:
        with source.makefile("rb") as frames:
            while frame := _frame(frames):
                sink.sendall(change(frame, asked))
    except OSError:
        pass
    finally:
        _shut(source)
        _shut(sink)


def _frame(frames: BinaryIO) -> bytes:
    size = frames.read(4)
    return size + frames.read(struct.unpack(">i", size)[0]) if len(size) == 4 else b""


def _framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _shut(each: socket.socket) -> None:
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was quicker
