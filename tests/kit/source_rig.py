"""Runs a source task as a worker would, but by hand: its context, its offsets, its records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connectd.aio.clock import LoopClock
from connectd.aio.scheduler import PollScheduler
from connectd.model.record import Emission, RecordBatch, SourceOffset, SourcePartition, SourceRecord
from connectd.plugins import spi


@dataclass
class StoredOffsets:
    """Implements ``spi.OffsetReader`` over a dict."""

    stored: dict[SourcePartition, SourceOffset] = field(default_factory=dict)
    refreshed: int = 0

    async def refresh(self) -> None:
        """Counts."""
        self.refreshed += 1

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        """The stored offset."""
        return self.stored.get(partition)

    def all(self) -> Mapping[SourcePartition, SourceOffset]:
        """Everything."""
        return self.stored


@dataclass
class SourceContext:
    """Implements ``spi.TaskContext`` and ``spi.ConnectorContext``."""

    connector: str = "numbers"
    task: int = 0
    offsets: StoredOffsets = field(default_factory=StoredOffsets)
    services: spi.WorkerServices = field(
        default_factory=lambda: spi.WorkerServices(
            clock=LoopClock(wall_anchor_s=1_700_000_000.0),
            scheduler=PollScheduler(in_flight_max=1),
            resources={},
        )
    )
    errors: list[Exception] = field(default_factory=list)
    reconfigurations: int = 0

    def report_failure(self, error: Exception) -> None:
        """Remembers it."""
        self.errors.append(error)

    def raise_error(self, error: Exception) -> None:
        """Remembers it."""
        self.errors.append(error)

    def request_task_reconfiguration(self) -> None:
        """Counts."""
        self.reconfigurations += 1

    def commit(self, emission: Emission) -> None:
        """Make the position of an emission durable."""
        if emission.source_offset is not None:
            self.offsets.stored[emission.source_partition] = emission.source_offset


def records_of(*emissions: Emission) -> list[SourceRecord]:
    """The records of batches; none of them is an error."""
    records: list[SourceRecord] = []
    for emission in emissions:
        assert isinstance(emission, RecordBatch)
        for record in emission.payload.source_records():
            assert isinstance(record, SourceRecord)
            records.append(record)
    return records
