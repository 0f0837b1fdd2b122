"""Source offsets in a file, for standalone workers (spec kafka-connect B.3).

Writes are gathered: while the file is being written, everything that is put meanwhile makes up the
next version. ``put`` returns when its version is on the disk. One that fails is withdrawn, and
answered as what was there before; one that misses its deadline is withdrawn unless its version is
being written just then, since nobody can call that back.

Entries that are not ours to read (another key format, null keys) are kept and written back, so that
the file can be handed to a Java worker at any time. A null value, which Java writes for a removed
offset, is no offset.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from connectd.errors import RetriableError
from connectd.model.record import SourceOffset, SourcePartition
from connectd.stores import offset_entries, offset_format
from connectd.stores.file_offset_home import OffsetFile
from connectd.stores.java_serial import JavaMap
from connectd.stores.offset_entries import OffsetEntry
from connectd.stores.offset_table import OffsetTable

_log = structlog.get_logger(__name__)

CLOSE_S = 5.0
"""How long ``close`` waits for a version that is being written."""


@dataclass(eq=False)
class _Version:
    """Entries that are written together, and the answer that their putters wait for."""

    entries: dict[bytes, OffsetEntry] = field(default_factory=dict)
    done: asyncio.Future[None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class FileOffsetStore:
    """Implements ``stores.protocols.OffsetStore`` on one file; state of the event loop."""

    is_available = True
    """It needs nobody."""

    refusal: str | None = None

    def __init__(self, name: str | Path, *, write_deadline_s: float) -> None:
        """``write_deadline_s`` is the worker's ``offset.flush.timeout.ms``."""
        self._file = OffsetFile(name)
        self._write_deadline_s = write_deadline_s
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="offset-file")
        self._durable: JavaMap = {}
        self._table = OffsetTable()
        self._next: _Version | None = None
        self._in_flight: _Version | None = None

    # --- life -------------------------------------------------------------------------------

    async def open(self) -> None:
        """See ``protocols.Store``."""
        entries = await asyncio.get_running_loop().run_in_executor(self._disk, self._file.open)
        self._durable = entries
        skipped = [
            reason
            for key, value in entries.items()
            if (reason := self._table.apply(key, value)) is not None
        ]
        if skipped:
            _log.warning(
                "offset file: entries that cannot be read are kept as they are",
                file=str(self._file.path),
                entries=len(skipped),
                reason=skipped[0],
            )

    async def close(self) -> None:
        """See ``protocols.Store``."""
        version = self._next or self._in_flight
        if version is not None:
            await asyncio.wait([version.done], timeout=CLOSE_S)
        self._disk.shutdown(wait=False)
        if self._in_flight is None:  # else the lock stays until the process ends
            self._file.close()

    # --- reading ----------------------------------------------------------------------------

    async def refresh(self) -> None:
        """See ``protocols.OffsetStore``: nobody else writes the file."""

    def get(self, connector: str, partition: SourcePartition) -> SourceOffset | None:
        """See ``protocols.OffsetStore``."""
        return self._offset(offset_format.encode_key(connector, partition))

    def all(self, connector: str) -> Mapping[SourcePartition, SourceOffset]:
        """See ``protocols.OffsetStore``."""
        partitions = self._table.of_connector(connector)
        for version in self._unwritten():
            for key, entry in version.entries.items():
                if entry.connector == connector:
                    partitions[key] = entry.partition
        found = ((partition, self._offset(key)) for key, partition in partitions.items())
        return {partition: offset for partition, offset in found if offset is not None}

    def connectors(self) -> frozenset[str]:
        """See ``protocols.OffsetStore``."""
        unwritten = (
            entry.connector
            for version in self._unwritten()
            for entry in version.entries.values()
            if entry.offset is not None
        )
        return self._table.connectors().union(unwritten)

    def _offset(self, key: bytes) -> SourceOffset | None:
        for version in self._unwritten():
            if key in version.entries:
                return version.entries[key].offset
        return self._table.get(key)

    def _unwritten(self) -> list[_Version]:
        """Newest first."""
        return [version for version in (self._next, self._in_flight) if version is not None]

    # --- writing ----------------------------------------------------------------------------

    async def put(
        self, connector: str, offsets: Mapping[SourcePartition, SourceOffset | None]
    ) -> None:
        """See ``protocols.OffsetStore``."""
        entries = offset_entries.encoded(connector, offsets)
        if not entries:
            return
        if self._next is None:
            self._next = _Version()
        version = self._next
        version.entries.update(entries)
        self._write_next()
        try:
            async with asyncio.timeout(self._write_deadline_s):
                await asyncio.shield(version.done)
        except TimeoutError as error:
            self._withdraw(version, entries)
            raise RetriableError(
                f"writing {len(entries)} offsets of {connector} to {self._file.path}: not on the "
                f"disk within {self._write_deadline_s:g} s; they are kept for the next attempt"
            ) from error
        except BaseException:
            self._withdraw(version, entries)
            raise

    def _write_next(self) -> None:
        if self._in_flight is not None or self._next is None:
            return
        version, self._next = self._next, None
        if not version.entries:  # all withdrawn
            return
        self._in_flight = version
        content = dict(self._durable)
        for key, entry in version.entries.items():
            if entry.value is None:
                content.pop(key, None)
            else:
                content[key] = entry.value
        writing = asyncio.get_running_loop().run_in_executor(self._disk, self._file.write, content)
        writing.add_done_callback(lambda done: self._on_written(version, content, done))

    def _on_written(
        self, version: _Version, content: JavaMap, writing: asyncio.Future[None]
    ) -> None:
        self._in_flight = None
        error = writing.exception()
        if error is None:
            self._durable = content
            for key, entry in version.entries.items():
                self._table.apply(key, entry.value)
            version.done.set_result(None)
        else:
            version.done.set_exception(error)
            version.done.exception()  # retrieved here: the putters may have gone
        self._write_next()

    def _withdraw(self, version: _Version, entries: Mapping[bytes, OffsetEntry]) -> None:
        if version is not self._next:
            return
        for key, entry in entries.items():
            if version.entries.get(key) is entry:
                del version.entries[key]
