"""The offsets of a run's connector, in the process that has no store.

What the parent knew when the run began, or when it was asked last, and what the run itself has
written since: no other task writes what this one reads. The store is the parent's, and so is the
right to write; an answer comes when what was written is durable.
"""

from __future__ import annotations

from collections.abc import Mapping

from connectd.model.record import SourceOffset, SourcePartition
from connectd.runtime.cores.calls import Calls
from connectd.runtime.cores.messages import ReadOffsets, WriteOffsets, offsets_of, offsets_text


class RemoteOffsets:
    """See the module's docstring (``spi.OffsetReader``, ``pipeline.OffsetWriter``)."""

    def __init__(self, run: int, known: bytes, calls: Calls) -> None:
        self._run = run
        self._calls = calls
        self._offsets: dict[SourcePartition, SourceOffset] = {}
        self._know(known)

    def _know(self, text: bytes) -> None:
        everything = offsets_of(text)
        self._offsets = {name: each for name, each in everything.items() if each is not None}

    async def refresh(self) -> None:
        """Read to the end of the store.

        Raises:
            RetriableError: the store, or the parent, does not answer.
        """
        answer = await self._calls.ask(lambda call: ReadOffsets(call, self._run))
        if answer.offsets is not None:
            self._know(answer.offsets)

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        """The stored offset of a partition."""
        return self._offsets.get(partition)

    def all(self) -> Mapping[SourcePartition, SourceOffset]:
        """All partitions with a stored offset."""
        return dict(self._offsets)

    async def put(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
        """Write in the order of the mapping; returns when all are durable.

        Raises:
            RetriableError: nothing is known about the outcome; the same may be written again.
        """
        text = offsets_text(offsets)
        await self._calls.ask(lambda call: WriteOffsets(call, self._run, text))
        for partition, offset in offsets.items():
            if offset is None:
                self._offsets.pop(partition, None)
            else:
                self._offsets[partition] = offset
