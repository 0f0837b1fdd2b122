"""Counts what a piece of work does: bytecodes, allocations, memory, and blocks of compiled code.

None of it depends on how fast the machine is or what runs beside it; the same work gives the same
counts. What each measure is, and what it does not see, stands in ``tests.effort.__main__``.

*Bytecodes* are counted by a trace function, for all Python code but that of the tests.
*Allocations* and *code blocks* are counted in C (``counters.c``), which is compiled here: they are
measured where there is a compiler. One process counts for itself alone (``__main__``).
"""

from __future__ import annotations

import bisect
import ctypes
import gc
import subprocess
import sys
import sysconfig
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
TESTS: Final = str(ROOT / "tests")

BLOCK_FLAGS: Final = ("-O0", "-fsanitize-coverage=trace-pc")
"""For the compiler of an extension whose code blocks are to be counted: one by one as written."""

_CODE_MAX: Final = 1 << 20

Parts = Counter[str]
"""A count by the function that it belongs to."""


def bytecodes(work: Callable[[], object]) -> Parts:
    """Instructions of the interpreter."""
    counted: Counter[Any] = Counter()

    def enter(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename.startswith(TESTS):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        code = frame.f_code

        def step(frame: FrameType, event: str, argument: object) -> Any:
            if event == "opcode":
                counted[code] += 1
            return step

        return step

    gc.disable()
    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 looks for one such frame when it begins
    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    parts: Parts = Counter()
    for code, count in counted.items():
        parts[f"{_module(code.co_filename)} {code.co_qualname}"] += count
    return parts


def peak_bytes(work: Callable[[], object]) -> int:
    """The most that Python's memory grew by at any moment."""
    gc.disable()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        work()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    return peak - before


class CompiledCounters:
    """The counters in C, compiled into ``directory``; made before what they count is loaded."""

    def __init__(self, directory: Path) -> None:
        library = directory / "counters.so"
        subprocess.run(
            [
                *("gcc", "-shared", "-fPIC", "-O2", f"-I{sysconfig.get_path('include')}"),
                *("-o", str(library), str(Path(__file__).with_name("counters.c"))),
            ],
            check=True,
        )
        self._library = ctypes.PyDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self._allocations = ctypes.c_ulong.in_dll(self._library, "allocations")
        self._blocks = (ctypes.c_uint * _CODE_MAX).in_dll(self._library, "code_blocks")
        self._beyond = ctypes.c_ulong.in_dll(self._library, "code_blocks_beyond")

    def allocations(self, work: Callable[[], object]) -> int:
        """How often Python's allocators were asked for memory."""
        gc.disable()
        self._library.count_allocations(1)
        try:
            before = self._allocations.value
            work()
            return int(self._allocations.value - before)
        finally:
            self._library.count_allocations(0)
            gc.enable()

    def code_blocks(self, work: Callable[[], object], extension: Path) -> Parts:
        """Basic blocks of an extension that was compiled with ``BLOCK_FLAGS``."""
        ctypes.memset(self._blocks, 0, ctypes.sizeof(self._blocks))
        work()
        assert self._beyond.value == 0, "more code than there are counters"
        starts, names = _functions(extension)
        shown = extension.name.partition(".")[0]
        parts: Parts = Counter()
        for place, count in enumerate(self._blocks):
            if count:
                parts[f"{shown} {names[bisect.bisect_right(starts, place) - 1]}"] += count
        return parts


def _functions(extension: Path) -> tuple[list[int], list[str]]:
    """Where the functions of a library begin, in order, and their names in its source."""
    listed = subprocess.run(
        ["nm", "--numeric-sort", "--defined-only", str(extension)],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    starts, names = [], []
    for line in listed.splitlines():
        place, kind, name = line.split(maxsplit=2)
        if kind in "tT":
            starts.append(int(place, 16))
            names.append(_source_name(name))
    return starts, names


def _source_name(symbol: str) -> str:
    """``copy_string`` of ``__pyx_f_8connectd_…_12page_scanner_copy_string``; others as they are."""
    return symbol.rpartition("_12page_scanner_")[2] if symbol.startswith("__pyx_") else symbol


def _module(file: str) -> str:
    """A file as it is shown: below the repository, or by its last two parts."""
    path = Path(file)
    if path.is_relative_to(ROOT / "connectd"):
        return path.relative_to(ROOT).as_posix()
    return "/".join(path.parts[-2:])
