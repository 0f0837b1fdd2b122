"""The file of a standalone Java worker: read, written back, and hostile ones refused.

``recorded/standalone.offsets`` is what Apache Kafka Connect 4.3.1 wrote: two file sources, of which
one has been reset.
"""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.stores import java_serial

RECORDED = (Path(__file__).parent / "recorded" / "standalone.offsets").read_bytes()
ENTRIES: java_serial.JavaMap = {
    b'["copied",{"filename":"lines.txt"}]': b'{"position":14}',
    b'["reset",{"filename":"other.txt"}]': None,
}
FIRST_ARRAY = RECORDED.index(b"[B") - 4
"""Where the first key begins: its type code, then the class of arrays."""

maps = st.dictionaries(st.none() | st.binary(max_size=40), st.none() | st.binary(max_size=40))


def test_a_recorded_file_is_read() -> None:
    assert java_serial.decode(RECORDED) == ENTRIES


def test_it_is_written_back_byte_by_byte() -> None:
    assert java_serial.encode(java_serial.decode(RECORDED)) == RECORDED


@given(maps)
def test_what_is_written_is_read_in_its_order(entries: java_serial.JavaMap) -> None:
    read = java_serial.decode(java_serial.encode(entries))
    assert list(read.items()) == list(entries.items())


@pytest.mark.parametrize(("size", "capacity"), [(0, 16), (12, 16), (13, 32), (24, 32), (25, 64)])
def test_the_capacity_is_one_that_java_accepts(size: int, capacity: int) -> None:
    stream = java_serial.encode({b"%d" % number: b"" for number in range(size)})
    block = stream.index(b"\x77\x08")
    assert struct.unpack(">II", stream[block + 2 : block + 10]) == (capacity, size)
    assert struct.unpack(">fI", stream[block - 8 : block]) == (0.75, capacity * 3 // 4)


def test_an_array_may_refer_to_one_that_came_before() -> None:
    stream = java_serial.encode({b"a": b"v", b"b": None})
    again = bytes([0x71]) + struct.pack(">I", 0x7E0004)  # the value of a
    assert java_serial.decode(stream[:-2] + again + stream[-1:]) == {b"a": b"v", b"b": b"v"}


def test_a_file_that_is_cut_off_anywhere_is_refused() -> None:
    for length in range(len(RECORDED)):
        with pytest.raises(ValueError, match=r"^byte \d+: "):
            java_serial.decode(RECORDED[:length])


def test_more_after_the_end_is_refused() -> None:
    with pytest.raises(ValueError, match="more bytes after the end"):
        java_serial.decode(RECORDED + b"\0")


@given(st.binary(max_size=300))
def test_anything_else_is_refused_with_its_place(garbage: bytes) -> None:
    for stream in (garbage, RECORDED[:4] + garbage, RECORDED[:FIRST_ARRAY] + garbage):
        with pytest.raises(ValueError, match=r"^byte \d+: "):
            java_serial.decode(stream)


@given(st.lists(st.tuples(st.integers(0, len(RECORDED) - 1), st.integers(0, 255)), max_size=8))
def test_a_damaged_file_is_read_or_refused_but_nothing_else(damage: list[tuple[int, int]]) -> None:
    stream = bytearray(RECORDED)
    for position, value in damage:
        stream[position] = value
    told = None
    read: java_serial.JavaMap = {}
    try:
        read = java_serial.decode(bytes(stream))
    except ValueError as error:
        told = str(error)
    assert len(read) <= len(ENTRIES)
    assert told is None or told.startswith("byte ")


@pytest.mark.parametrize("what", ["length of an array", "size of the map"])
def test_a_huge_number_allocates_nothing(what: str) -> None:
    stream = bytearray(RECORDED)
    place = RECORDED.index(b"\0\0\0\x23") if "array" in what else RECORDED.index(b"\x77\x08") + 6
    stream[place : place + 4] = b"\x7f\xff\xff\xff"
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="byte"):
            java_serial.decode(bytes(stream))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("handle", [0x7E0000, 0x7E0001, 0x7E0002, 0x7E0009, 0xFFFFFFFF])
def test_a_reference_to_something_else_is_refused(handle: int) -> None:
    stream = java_serial.encode({b"a": None})
    reference = bytes([0x71]) + struct.pack(">I", handle)
    with pytest.raises(ValueError, match="which is no byte"):
        java_serial.decode(stream[:-2] + reference + stream[-1:])
