"""How a process with Kafka clients ends: as Python does, but without the C library's ``exit``.

librdkafka's threads run until the process is gone, whoever has let go of their client, and
``exit`` takes OpenSSL's tables away under them (``OPENSSL_cleanup``, for which OpenSSL wants every
other thread to be through; OPENSSL_init_crypto(3)). A client that is just shaking hands with a
broker then turns the exit code of the process into a segmentation fault.

So what Python promises is kept: threads that are no daemons are waited for, and functions that were
given to ``atexit`` are called. Then the streams are flushed, and the kernel ends the process.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from typing import NoReturn


def run_and_leave(main: Callable[[], int]) -> NoReturn:
    """Run a program and end the process with the code that it returns, or that its SystemExit has.

    To be called before anything else registers a function with ``atexit``: what has been registered
    first is called last. An error that ``main`` raises ends the process in Python's way.
    """
    code: list[int] = []
    atexit.register(_leave, code)
    try:
        code.append(int(main()))
    except SystemExit as error:
        if isinstance(error.code, int):
            code.append(error.code)
        raise
    sys.exit(code[0])


def _leave(code: list[int]) -> None:
    if not code:
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # started without it
                stream.flush()
    except (OSError, ValueError):
        return  # Python tries again, says so, and has an exit code for it
    os._exit(code[0])
