"""A compacted log without a broker: the test acknowledges, refuses and feeds by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from connectd.errors import ConnectdError, WorkerError
from connectd.kafka.page import RecordFailure, SendResult
from connectd.kafka.tailing import LogRecord
from connectd.model.record import EncodedRecord

TOPIC = "topic"


@dataclass
class Append:
    """A page that waits for its answer."""

    records: list[EncodedRecord]
    on_done: Callable[[SendResult], None]


class FakeLog:
    """Takes the place of ``kafka.log.CompactedLog``; one partition."""

    def __init__(
        self, *_: object, on_records: Callable[[Sequence[LogRecord]], None], **__: object
    ) -> None:
        self._on_records = on_records
        self._position = 0
        self._end = 0
        self.appends: list[Append] = []
        self.pages: list[list[EncodedRecord]] = []
        self.refuses_appends = False

    # --- what the stores call ----------------------------------------------------------------

    async def open(self, partitions: int, *, deadline_s: float) -> None:
        """Nothing to read."""

    async def close(self, *, deadline_s: float) -> int:
        """Nothing to release."""
        return 0

    async def read_to_end(self, deadline_s: float) -> None:
        """The test feeds what there is to read."""

    def has_read(self, ends: dict[int, int]) -> bool:
        """As the real one."""
        return all(self._position >= end for end in ends.values())

    def append_nowait(
        self, records: Sequence[EncodedRecord], on_done: Callable[[SendResult], None]
    ) -> None:
        """Remember the page."""
        if self.refuses_appends:
            raise WorkerError("using topic topic: the log is closed")
        self.pages.append(list(records))
        self.appends.append(Append(list(records), on_done))

    # --- what the test calls -----------------------------------------------------------------

    def acknowledge(self, *, read_back: bool = True) -> None:
        """The oldest page is durable; its records are read back, now or later."""
        append = self.appends.pop(0)
        self._end += len(append.records)
        append.on_done(SendResult((TOPIC,), len(append.records), offsets={0: self._end - 1}))
        if read_back:
            self.read(*append.records)

    def refuse(self, error: ConnectdError, *keys: bytes) -> None:
        """Records of the oldest page are refused: those of the keys, or all."""
        append = self.appends.pop(0)
        failures = tuple(
            RecordFailure(key, TOPIC, error) for key, _ in append.records if not keys or key in keys
        )
        self._end += len(append.records) - len(failures)
        result = SendResult(
            (TOPIC,), len(append.records), failures=failures, failure_count=len(failures)
        )
        append.on_done(result)

    def fail(self, error: ConnectdError) -> None:
        """The oldest page fails as a whole."""
        append = self.appends.pop(0)
        append.on_done(SendResult((TOPIC,), len(append.records), error=error))

    def read(self, *records: EncodedRecord) -> None:
        """The reader comes past these records."""
        read = [
            LogRecord(key, value, 0, self._position + number, 0)
            for number, (key, value) in enumerate(records)
        ]
        self._end = max(self._end, self._position + len(read))
        self._on_records(read)
        self._position += len(read)

    def read_foreign(self, *records: EncodedRecord) -> None:
        """Somebody else's records."""
        self._end += len(records)
        self.read(*records)
