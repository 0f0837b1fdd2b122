"""A process for tasks that runs none: it does what its setup's ``log_format`` names.

``python -m tests.kit.tiny_process DESCRIPTOR``, as ``connectd.app.task_program`` is started.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys

from connectd.runtime.cores import messages


def _receive(end: socket.socket, length: int) -> bytes:
    received = b""
    while len(received) < length:
        some = end.recv(length - len(received))
        if not some:
            sys.exit(7)
        received += some
    return received


def main() -> None:
    """Read the setup, say that it is ready, and do it."""
    end = socket.socket(fileno=int(sys.argv[1]))
    (length,) = struct.unpack(">I", _receive(end, 4))
    setup = messages.from_parent(_receive(end, length))
    assert isinstance(setup, messages.Setup)
    frame = messages.encode(messages.Ready(os.getpid()))
    end.sendall(struct.pack(">I", len(frame)) + frame)
    if setup.log_format == "babble":
        end.sendall(struct.pack(">I", 3) + b"???")
    if setup.log_format == "crash":
        print("a line of the log", flush=True)
        print("it was me", file=sys.stderr, flush=True)
        os._exit(9)
    if setup.log_format == "hang-up":
        end.close()
        signal.pause()
    while end.recv(1):
        continue


if __name__ == "__main__":
    main()
