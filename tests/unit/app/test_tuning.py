"""How a process is set up for pages, asked in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from connectd.app import tuning

MAPPED_BY_A_PAGE = """
import ctypes, gc, sys
from connectd.app import tuning

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    )]

mallinfo2 = ctypes.CDLL(None).mallinfo2
mallinfo2.restype = Info
if "settle" in sys.argv:
    tuning.settle()
before = mallinfo2().hblkhd
page = bytes(2 << 20)
print(
    mallinfo2().hblkhd - before,
    gc.get_freeze_count(),
    sys.getswitchinterval(),
    gc.get_threshold()[0],
)
"""


def set_up(*arguments: str, env: dict[str, str] | None = None) -> tuple[int, int, float, int]:
    """Bytes that are mapped for a page, objects that are frozen, a thread's turn in seconds, and
    how many new objects begin a collection."""
    done = subprocess.run(
        [sys.executable, "-c", MAPPED_BY_A_PAGE, *arguments],
        env={**{name: os.environ[name] for name in ("PATH",)}, **(env or {})},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    mapped, frozen, turn_s, new = done.stdout.split()
    return int(mapped), int(frozen), float(turn_s), int(new)


def test_a_page_is_mapped_by_itself_until_memory_is_settled() -> None:
    assert set_up()[0] >= 2 << 20
    assert set_up("settle")[0] == 0


def test_what_is_loaded_is_not_walked_over_again() -> None:
    assert set_up("settle")[1] > 1000


def test_the_loop_gets_its_turn_soon() -> None:
    assert set_up("settle")[2] == tuning.TURN_S


def test_the_polls_of_a_tick_begin_no_collection() -> None:
    assert set_up("settle")[3] == tuning.NEW_OBJECTS


def test_who_has_tuned_the_allocator_has_decided() -> None:
    tuned = {"MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
    assert set_up("settle", env=tuned)[0] >= 2 << 20


def test_a_page_of_the_service_stays_below_what_is_mapped_by_itself() -> None:
    assert tuning.SINGLE_BYTES > 4 << 20
