"""Bytes in blocks of memory of exactly their size, so that a sanitizer sees every step beyond.

Objects of Python end with bytes of their own, and a slice of a page has the rest of the page behind
it: a read past the end would find something there.
"""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Final

_READ_ONLY: Final = 0x100  # PyBUF_READ


class ExactMemory:
    """Holds copies until the end of a ``with`` block, one after the other."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._malloc, self._free = library.malloc, library.free
        self._malloc.restype, self._malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
        self._free.restype, self._free.argtypes = None, (ctypes.c_void_p,)
        self._view = ctypes.pythonapi.PyMemoryView_FromMemory
        self._view.restype = ctypes.py_object
        self._view.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
        self._blocks: list[int] = []

    def __enter__(self) -> ExactMemory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for block in self._blocks:
            self._free(block)
        self._blocks.clear()

    @property
    def last_block(self) -> int:
        """The address of the last copy."""
        return self._blocks[-1]

    def copy(self, text: bytes) -> memoryview:
        """The text, in memory of its own."""
        block = self._malloc(len(text))
        if not block:
            raise MemoryError(f"no memory for {len(text)} bytes")
        self._blocks.append(block)
        ctypes.memmove(block, text, len(text))
        view: memoryview = self._view(block, len(text), _READ_ONLY)
        return view
