"""Kafka's primitive types, and structures of them as tables.

A ``Struct`` lists its fields in order, each with the first version that has it; values are plain
Python, structures are mappings by field name. Big-endian; a length of -1 is null. Only the layouts
before "flexible versions" (KIP-482): the Connect protocol and all requests here stay below them.

Pure. Whoever reads does not trust the sender: lengths are checked against what is there.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from connectd.errors import ConnectdError

ITEMS_MAX: Final = 1_000_000
"""An array that claims more is damaged: its items would not fit into any message."""


class WireError(ConnectdError):
    """Bytes are not what they should be, or a value cannot be put into bytes."""


class Reader:
    """Bytes and how far they are read."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._place = 0

    def take(self, size: int) -> bytes:
        """The next bytes.

        Raises:
            WireError: there are fewer.
        """
        end = self._place + size
        if size < 0 or end > len(self._content):
            left = len(self._content) - self._place
            raise WireError(
                f"reading {size} bytes: found {left}, the message is cut off or damaged"
            )
        taken = self._content[self._place : end]
        self._place = end
        return taken

    @property
    def is_at_end(self) -> bool:
        """Whether nothing is left."""
        return self._place >= len(self._content)


class Type(Protocol):
    """How a value becomes bytes, and comes back."""

    def write(self, out: bytearray, value: Any, version: int) -> None:
        """Append a value; raises WireError when it does not fit."""
        ...

    def read(self, source: Reader, version: int) -> Any:
        """The next value; raises WireError when there is none."""
        ...


@dataclass(frozen=True)
class _Integer:
    form: str

    def write(self, out: bytearray, value: Any, version: int) -> None:
        try:
            out += struct.pack(self.form, value)
        except struct.error as error:
            raise WireError(f"writing {value!r} as {self.form}: {error}") from error

    def read(self, source: Reader, version: int) -> int:
        (value,) = struct.unpack(self.form, source.take(struct.calcsize(self.form)))
        return int(value)


@dataclass(frozen=True)
class _Sized:
    """Text or bytes behind their length."""

    size: _Integer
    is_text: bool
    may_be_null: bool

    def write(self, out: bytearray, value: Any, version: int) -> None:
        if value is None:
            if not self.may_be_null:
                raise WireError("writing null where a value must be")
            self.size.write(out, -1, version)
            return
        content = value.encode() if self.is_text else bytes(value)
        self.size.write(out, len(content), version)
        out += content

    def read(self, source: Reader, version: int) -> Any:
        size = self.size.read(source, version)
        if size < 0:
            if size == -1 and self.may_be_null:
                return None
            raise WireError(f"reading a value of length {size}: expected at least 0")
        content = source.take(size)
        if not self.is_text:
            return content
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise WireError(f"reading text: {error}") from error


INT8: Final = _Integer(">b")
INT16: Final = _Integer(">h")
INT32: Final = _Integer(">i")
INT64: Final = _Integer(">q")
STRING: Final = _Sized(INT16, is_text=True, may_be_null=False)
NULLABLE_STRING: Final = _Sized(INT16, is_text=True, may_be_null=True)
BYTES: Final = _Sized(INT32, is_text=False, may_be_null=False)
NULLABLE_BYTES: Final = _Sized(INT32, is_text=False, may_be_null=True)


@dataclass(frozen=True)
class Array:
    """Items behind their number."""

    item: Type
    may_be_null: bool = False

    def write(self, out: bytearray, value: Any, version: int) -> None:
        """See ``Type``."""
        if value is None:
            if not self.may_be_null:
                raise WireError("writing null where an array must be")
            INT32.write(out, -1, version)
            return
        INT32.write(out, len(value), version)
        for each in value:
            self.item.write(out, each, version)

    def read(self, source: Reader, version: int) -> Any:
        """See ``Type``."""
        count = INT32.read(source, version)
        if count == -1 and self.may_be_null:
            return None
        if not 0 <= count <= ITEMS_MAX:
            raise WireError(f"reading an array of {count} items: the message is damaged")
        return [self.item.read(source, version) for _ in range(count)]


@dataclass(frozen=True)
class Field:
    """A named place in a structure, from version ``since`` to ``until`` (both included)."""

    name: str
    type: Type
    since: int = 0
    until: int = 2**15 - 1

    def is_in(self, version: int) -> bool:
        """Whether a version has it."""
        return self.since <= version <= self.until


class Struct:
    """Fields in order; ``trailing``: what the last ones are when the bytes end before them."""

    def __init__(self, *fields: Field, trailing: Mapping[str, Any] | None = None) -> None:
        self.fields = fields
        self._trailing = dict(trailing or {})

    def write(self, out: bytearray, value: Any, version: int) -> None:
        """See ``Type``."""
        for field in self.fields:
            if field.is_in(version):
                field.type.write(out, value[field.name], version)

    def read(self, source: Reader, version: int) -> dict[str, Any]:
        """See ``Type``."""
        values: dict[str, Any] = {}
        for field in self.fields:
            if not field.is_in(version):
                continue
            if source.is_at_end and field.name in self._trailing:
                values[field.name] = self._trailing[field.name]
            else:
                values[field.name] = field.type.read(source, version)
        return values

    def dumps(self, value: Mapping[str, Any], version: int = 0) -> bytes:
        """The bytes of a value.

        Raises:
            WireError: it does not fit.
        """
        out = bytearray()
        self.write(out, value, version)
        return bytes(out)

    def loads(self, content: bytes, version: int = 0) -> dict[str, Any]:
        """The value of bytes; what follows behind is left alone.

        Raises:
            WireError: they are not such a structure.
        """
        return self.read(Reader(content), version)
