"""The little of a Kafka broker that no other can be brought to say: a cluster that is not ready.

It answers two requests, ApiVersions and Metadata (version 4), of a cluster of itself. Without
``is_ready`` no broker is in its answers, as when the controller has fenced all of them; while
``is_silent`` nothing is answered, until it is over.
"""

from __future__ import annotations

import socket
import struct
import threading
from typing import BinaryIO, Final, Self

CLUSTER_ID: Final = "scripted"

_METADATA: Final = 3
_API_VERSIONS: Final = 18
_SPOKEN: Final = {_METADATA: (0, 4), _API_VERSIONS: (0, 3), 0: (0, 3), 1: (0, 4)}
_UNKNOWN_TOPIC: Final = 3
_NODE: Final = 1


class ScriptedBroker:
    """See the module's docstring. A context manager; ``may_create`` is what was asked for last."""

    def __init__(self) -> None:
        self.is_ready = True
        self.may_create: bool | None = None
        self._speaks = threading.Event()
        self._speaks.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port: int = self._listener.getsockname()[1]
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self.settings = {"bootstrap.servers": f"127.0.0.1:{self._port}"}

    @property
    def is_silent(self) -> bool:
        """Whether answers are held back."""
        return not self._speaks.is_set()

    @is_silent.setter
    def is_silent(self, is_silent: bool) -> None:
        self._speaks.clear() if is_silent else self._speaks.set()

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._speaks.set()
        for each in (self._listener, *self._connections):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the other side was quicker
        for thread in self._threads:
            thread.join()
        for each in (self._listener, *self._connections):
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection.makefile("rb") as requests:
                while request := _read(requests):
                    self._speaks.wait()
                    api, version, correlation = struct.unpack(">hhi", request[:8])
                    body = self._metadata(request) if api == _METADATA else _api_versions(version)
                    connection.sendall(struct.pack(">ii", 4 + len(body), correlation) + body)
        except OSError:
            return  # the client has gone

    def _metadata(self, request: bytes) -> bytes:
        self.may_create = request[-1] == 1
        answer = struct.pack(">ii", 0, int(self.is_ready))
        if self.is_ready:
            answer += struct.pack(">i", _NODE) + _text("127.0.0.1")
            answer += struct.pack(">ih", self._port, -1)
        answer += _text(CLUSTER_ID) + struct.pack(">i", _NODE if self.is_ready else -1)
        topics = _topics(request)
        answer += struct.pack(">i", len(topics))
        for topic in topics:
            answer += struct.pack(">h", _UNKNOWN_TOPIC) + _text(topic) + struct.pack(">bi", 0, 0)
        return answer


def _read(requests: BinaryIO) -> bytes:
    size = requests.read(4)
    return requests.read(struct.unpack(">i", size)[0]) if len(size) == 4 else b""


def _api_versions(version: int) -> bytes:
    spoken = [struct.pack(">hhh", api, *versions) for api, versions in _SPOKEN.items()]
    if version < 3:
        return struct.pack(">hi", 0, len(spoken)) + b"".join(spoken)
    tagged = b"".join(each + b"\0" for each in spoken)
    return struct.pack(">hb", 0, len(spoken) + 1) + tagged + struct.pack(">ib", 0, 0)


def _topics(request: bytes) -> list[str]:
    (client_id,) = struct.unpack(">h", request[8:10])
    place = 10 + max(0, client_id)
    (count,) = struct.unpack(">i", request[place : place + 4])
    place += 4
    topics = []
    for _ in range(count):
        (size,) = struct.unpack(">h", request[place : place + 2])
        topics.append(request[place + 2 : place + 2 + size].decode())
        place += 2 + size
    return topics


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()
