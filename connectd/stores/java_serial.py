"""The file of a standalone Java worker: a serialised ``HashMap<byte[], byte[]>``.

Java's Object Serialization Stream Protocol, version 5, cut down to the one object that Kafka
Connect writes into ``offset.storage.file.filename`` (spec kafka-connect B.3). What is written here
Java reads back, and the other way round; any other object is refused with the place where it stops
being that map. Pure: bytes in, bytes out.

Bounded by the size of the input: nothing is allocated for a length before that many bytes are known
to be there, there is no recursion, and every entry costs at least two bytes of the stream.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

JavaMap = dict[bytes | None, bytes | None]
"""Java's map allows null as a key and as a value."""

_HEADER: Final = b"\xac\xed\x00\x05"  # STREAM_MAGIC, STREAM_VERSION
_NULL: Final = 0x70
_REFERENCE: Final = 0x71
_CLASS: Final = 0x72
_OBJECT: Final = 0x73
_ARRAY: Final = 0x75
_BLOCK: Final = 0x77
_END: Final = 0x78
_FIRST_HANDLE: Final = 0x7E0000


def _class(name: str, uid: int, flags: int, fields: bytes) -> bytes:
    head = bytes((_CLASS,)) + struct.pack(">H", len(name)) + name.encode()
    return head + struct.pack(">QB", uid, flags) + fields + bytes((_END, _NULL))


def _field(type_code: str, name: str) -> bytes:
    return type_code.encode() + struct.pack(">H", len(name)) + name.encode()


_MAP_CLASS: Final = _class(
    "java.util.HashMap",
    0x0507DAC1C31660D1,
    0x03,  # serialisable, and writes more than its fields
    struct.pack(">H", 2) + _field("F", "loadFactor") + _field("I", "threshold"),
)
_BYTES_CLASS: Final = _class("[B", 0xACF317F8060854E0, 0x02, struct.pack(">H", 0))
_LOAD_FACTOR: Final = 0.75
_CAPACITY_MIN: Final = 16

# Handles count the things that a later one may refer to, in the order of the stream: the class of
# the map, the map, the class of arrays (with the first array), and from then on the arrays.
_MAP_HANDLES: Final = 2
_BYTES_CLASS_HANDLE: Final = _FIRST_HANDLE + _MAP_HANDLES


def encode(entries: Mapping[bytes | None, bytes | None]) -> bytes:
    """The stream of a map, in the order of the mapping."""
    capacity = _CAPACITY_MIN
    while capacity * _LOAD_FACTOR < len(entries):
        capacity *= 2
    parts = [_HEADER, bytes((_OBJECT,)), _MAP_CLASS]
    parts.append(struct.pack(">fI", _LOAD_FACTOR, int(capacity * _LOAD_FACTOR)))
    parts.append(struct.pack(">BBII", _BLOCK, 8, capacity, len(entries)))
    array_class = _BYTES_CLASS
    for item in (item for entry in entries.items() for item in entry):
        if item is None:
            parts.append(bytes((_NULL,)))
            continue
        parts.append(bytes((_ARRAY,)) + array_class + struct.pack(">I", len(item)))
        parts.append(item)
        array_class = struct.pack(">BI", _REFERENCE, _BYTES_CLASS_HANDLE)
    parts.append(bytes((_END,)))
    return b"".join(parts)


def decode(stream: bytes) -> JavaMap:
    """The map of a stream; of a key that comes twice the last value holds.

    Raises:
        ValueError: it is cut off, or holds anything else; says at which byte.
    """
    reader = _Reader(stream)
    reader.expect(_HEADER, "the header of a Java serialisation stream")
    reader.expect(bytes((_OBJECT,)) + _MAP_CLASS, "a java.util.HashMap")
    reader.take(8, "load factor and threshold")
    reader.expect(bytes((_BLOCK, 8)), "capacity and size of the map")
    _, size = struct.unpack(">II", reader.take(8, "capacity and size of the map"))
    entries: JavaMap = {}
    for _ in range(size):
        key = reader.array()
        entries[key] = reader.array()
    reader.expect(bytes((_END,)), "the end of the map")
    if reader.position != len(stream):
        raise ValueError(f"byte {reader.position}: found more bytes after the end of the map")
    return entries


class _Reader:
    """A place in a stream, and the arrays that have been read so far."""

    def __init__(self, stream: bytes) -> None:
        self.position = 0
        self._stream = stream
        self._has_class = False
        self._arrays: list[bytes] = []

    def take(self, length: int, what: str) -> bytes:
        """The next bytes; raises ValueError when there are not so many."""
        left = len(self._stream) - self.position
        if length > left:
            raise ValueError(
                f"byte {self.position}: the file ends within {what}: {length} bytes expected, "
                f"{left} left"
            )
        taken = self._stream[self.position : self.position + length]
        self.position += length
        return taken

    def expect(self, wanted: bytes, what: str) -> None:
        """Pass over known bytes; raises ValueError when others are there."""
        start = self.position
        found = self.take(len(wanted), what)
        if found != wanted:
            raise ValueError(f"byte {start}: expected {what}, found 0x{found[:16].hex()}")

    def array(self) -> bytes | None:
        """A ``byte[]``, null, or one that has come before."""
        start = self.position
        code = self.take(1, "a key or value")[0]
        if code == _NULL:
            return None
        if code == _REFERENCE:
            return self._earlier(start, self._handle("a key or value"))
        if code != _ARRAY:
            raise ValueError(f"byte {start}: expected a byte[], found type code 0x{code:02x}")
        self._array_class()
        (length,) = struct.unpack(">I", self.take(4, "the length of a byte[]"))
        array = self.take(length, "a byte[]")
        self._arrays.append(array)
        return array

    def _array_class(self) -> None:
        start = self.position
        if not self._has_class:
            self.expect(_BYTES_CLASS, "the class of byte[]")
            self._has_class = True
            return
        code = self.take(1, "the class of byte[]")[0]
        if code != _REFERENCE or self._handle("the class of byte[]") != _BYTES_CLASS_HANDLE:
            raise ValueError(f"byte {start}: expected a reference to the class of byte[]")

    def _handle(self, what: str) -> int:
        (handle,) = struct.unpack(">I", self.take(4, what))
        return int(handle)

    def _earlier(self, start: int, handle: int) -> bytes:
        index = handle - _BYTES_CLASS_HANDLE - 1
        if not 0 <= index < len(self._arrays):
            raise ValueError(f"byte {start}: refers to handle 0x{handle:x}, which is no byte[]")
        return self._arrays[index]
