"""How a process that moves pages uses memory and the interpreter: said once, before it begins.

A worker's life is pages of a megabyte, a body and the records made of it, each of which is gone a
moment later. Python asks the C library for everything of that size, and glibc gives what is freed
back to the kernel at once, which then has to clear the same pages again for the next body: a tenth
of what a scan costs on the event loop. So some megabytes are kept.

Pages are encoded in the producer's thread, and the event loop gets the interpreter's lock when that
thread's turn is over: 5 ms by default, for every piece of an answer that comes in. Shorter turns
cost a scan 2 % of its processor time at most, and the loop is late by a fifth of it.

Objects here die when nobody refers to them any more; cycles are as good as none. The collector that
looks for cycles begins when some hundred objects more were made than have died, which is what the
polls of one tick are: an eighth of what thousands of idle shards cost. So it begins later.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
from typing import Final

KEPT_BYTES: Final = 16 << 20
"""Of memory that is free at the end of a heap, at most so much stays the process's own."""

SINGLE_BYTES: Final = 8 << 20
"""What is larger is mapped by itself, and given back. No page is: AWS ends them at 1 MB."""

TURN_S: Final = 0.001
"""How long a thread may have the interpreter while others wait for it."""

NEW_OBJECTS: Final = 25_000
"""A collection begins when so many more containers were made than have died (700 by default). More
than the polls of a tick are made of, and some megabytes where they are the parts of cycles."""

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
"""Parameters of glibc's ``mallopt(3)``, from ``malloc.h``."""

_SET_OUTSIDE: Final = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
"""Whoever has set one of these has decided."""


def settle() -> None:
    """To be called once, when everything that stays for good is loaded."""
    gc.freeze()  # collections need not walk over it again and again
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
    sys.setswitchinterval(TURN_S)
    if sys.platform == "linux" and not any(name in os.environ for name in _SET_OUTSIDE):
        with contextlib.suppress(AttributeError, OSError):  # another C library: it does as it does
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
            mallopt(_M_MMAP_THRESHOLD, SINGLE_BYTES)
