"""Source offsets by serialised key, as one gets them by reading the topic (spec kafka-connect C.3).

Pure. Two partitions are the same when their serialised keys are. Garbage changes nothing: what a
partition had before it stays, so that a damaged record costs a replay and never a position.
"""

from __future__ import annotations

from connectd.model.record import SourceOffset, SourcePartition
from connectd.stores import offset_format


class OffsetTable:
    """Offsets, and the partitions of each connector."""

    def __init__(self) -> None:
        self._offsets: dict[bytes, SourceOffset] = {}
        self._partitions: dict[str, dict[bytes, SourcePartition]] = {}

    def apply(self, key: bytes | None, value: bytes | None) -> str | None:
        """Take in a record of the topic; returns why it was skipped, or None."""
        try:
            connector, partition = offset_format.decode_key(key)
            offset = offset_format.decode_value(value)
        except ValueError as error:
            return str(error)
        assert key is not None, "decode_key refuses a record without a key"
        if offset is None:
            self._remove(connector, key)
            return None
        self._offsets[key] = offset
        if partition is not None:  # a null partition can be looked up, and is listed nowhere
            self._partitions.setdefault(connector, {})[key] = partition
        return None

    def get(self, key: bytes) -> SourceOffset | None:
        """The offset under a serialised key."""
        return self._offsets.get(key)

    def of_connector(self, connector: str) -> dict[bytes, SourcePartition]:
        """A new mapping of a connector's serialised keys to its partitions."""
        return dict(self._partitions.get(connector, {}))

    def connectors(self) -> frozenset[str]:
        """Connectors that have an offset."""
        return frozenset(self._partitions)

    def _remove(self, connector: str, key: bytes) -> None:
        self._offsets.pop(key, None)
        partitions = self._partitions.get(connector, {})
        partitions.pop(key, None)
        if not partitions:
            self._partitions.pop(connector, None)
