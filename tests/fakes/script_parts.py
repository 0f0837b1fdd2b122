"""What the commands of the script work on."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fakes.account import Account
from tests.fakes.faults import Faults
from tests.fakes.identity import Identities
from tests.fakes.journal import Journal
from tests.fakes.service_streams import StreamService
from tests.fakes.service_tagging import TaggingService
from tests.fakes.streams import Stream
from tests.fakes.tables import Table
from tests.fakes.throttles import RateLimits, TableCapacity


@dataclass(frozen=True, slots=True)
class Parts:
    """The fake's parts."""

    account: Account
    capacity: TableCapacity
    faults: Faults
    identities: Identities
    journal: Journal
    rates: RateLimits
    streams: StreamService
    tagging: TaggingService


class Commands:
    """A group of commands."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def _table(self, name: str) -> Table:
        return self._parts.account.table(name)

    def _now_s(self) -> float:
        return self._parts.account.clock.now_s()

    def _stream(self, table: str, stream_arn: str | None = None) -> Stream:
        """A table's current stream (or, without one, its last), or one named by its ARN."""
        if stream_arn is not None:
            return self._parts.account.stream(stream_arn)
        found = self._parts.account.tables.get(table)
        if found is not None and found.latest_stream is not None:
            return found.latest_stream
        streams = [s for s in self._parts.account.streams() if s.name.table == table]
        if not streams:
            raise ValueError(f"table {table} never had a stream; enable one first")
        return streams[-1]
