"""The file that holds the offsets of a standalone worker, on a disk that may fail at any time.

``OffsetFile`` owns the path and a lock beside it (``<file>.lock``), so that two workers never share
a file. A write makes a whole new file, forces it to the disk and puts it in the place of the old
one: whatever happens, one of the two is there, complete. The bytes are those of a standalone Java
worker (``java_serial``), which neither locks nor writes this way: stop it first.

Everything here blocks; the store calls it on a thread of its own, the command line directly.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import structlog

from connectd.errors import ConfigError, RetriableError
from connectd.stores import java_serial
from connectd.stores.java_serial import JavaMap

_log = structlog.get_logger(__name__)

KEY: Final = "offset.storage.file.filename"
FILE_BYTES_MAX: Final = 256 * 1024 * 1024
"""A million partitions take less; more is another kind of file."""


class OffsetFile:
    """See the module's docstring; ``path`` is the file itself, behind any symbolic link."""

    def __init__(self, name: str | Path) -> None:
        self.path = Path(os.path.realpath(name))
        self._lock: int | None = None

    def open(self) -> JavaMap:
        """Lock and read it; a missing or empty file is a new one.

        Raises:
            ConfigError: it cannot be used: another process has it, the disk refuses, or it holds
                something else.
        """
        try:
            self._take_lock()
            content = self._read()
        except OSError as error:
            self.close()
            raise ConfigError(f"{KEY} {self.path} cannot be used: {_reason(error)}") from error
        except ConfigError:
            self.close()
            raise
        try:
            return java_serial.decode(content) if content else {}
        except ValueError as error:
            self.close()
            raise ConfigError(
                f"{KEY} {self.path} is not the offset file of a standalone worker: {error}. "
                "Restore it from a backup, or move it away to start without positions: "
                "everything is copied again then"
            ) from error

    def write(self, entries: Mapping[bytes | None, bytes | None]) -> None:
        """Put a new content in its place; durable when this returns.

        Raises:
            RetriableError: the disk refuses; the old content is still there.
        """
        assert self._lock is not None, "an offset file is opened before it is written"
        temporary = self.path.with_name(f".{self.path.name}.new")
        try:
            mode = self._mode()
            with temporary.open("wb") as file:
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                file.write(java_serial.encode(entries))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
            self._sync_directory()
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise RetriableError(
                f"writing the offsets to {self.path}: {_reason(error)}; the positions before stay"
            ) from error

    def close(self) -> None:
        """Give the lock back. Idempotent."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take_lock(self) -> None:
        path = self.path.with_name(f"{self.path.name}.lock")
        lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(lock, 20).decode(errors="replace").strip()
            os.close(lock)
            raise ConfigError(
                f"{KEY} {self.path} is in use by process {owner or 'unknown'} (it holds {path}): "
                "stop that one first, or name another file"
            ) from error
        self._lock = lock
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()}\n".encode())

    def _read(self) -> bytes:
        try:
            with self.path.open("rb") as file:
                content = file.read(FILE_BYTES_MAX + 1)
        except FileNotFoundError:
            return b""
        if len(content) > FILE_BYTES_MAX:
            raise ConfigError(
                f"{KEY} {self.path} is larger than {FILE_BYTES_MAX} bytes: not an offset file?"
            )
        if not content:
            # A Java worker that dies while it writes leaves this behind, and so does `touch`.
            _log.warning(
                "the offset file is empty: starting without positions", file=str(self.path)
            )
        return content

    def _mode(self) -> int | None:
        """Permissions of the present file: a Java worker may be another user."""
        try:
            return stat.S_IMODE(self.path.stat().st_mode)
        except FileNotFoundError:
            return None

    def _sync_directory(self) -> None:
        directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
