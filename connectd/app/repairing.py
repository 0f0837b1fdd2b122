"""The repair of ``connectd reconcile``: writes what the connector would write of what differs.

Every item is read once more just before its record is written; the record takes the road of the
connector's own. Of what is not in the table a tombstone is written, into the very partition where
its last record stands, so that compaction removes it. An item that is there and has no record (it
cannot be converted, or a transform drops it) is left alone.

Nothing is written over a record that the comparison has not seen: after the items the topic is read
to its end, and a key whose last record is another one by then is left to the comparison that
follows. What another table's record holds is never touched, and neither is an extra record of which
nobody can say that it is this table's, unless the user has said so (``--repair-extra``). Kafka has
no write that depends on what was written before, so another table's record may still come in the
moment between reading and writing; that is found afterwards and told (``overwritten``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from connectd.app.reconcile_notes import CANDIDATES_MAX
from connectd.app.reconcile_parts import (
    CHUNK_KEYS,
    UNKNOWN,
    Now,
    OnProgress,
    Parts,
    digest_of,
    items_now,
    lead_back,
)
from connectd.connectors.dynamodb.digest_file import DigestFile, Found
from connectd.connectors.dynamodb.reconciling import Repaired, names_table, owner_of
from connectd.connectors.dynamodb.second_look import Candidate
from connectd.errors import BrokerUnavailableError, ConnectdError
from connectd.kafka.log import first_error
from connectd.kafka.page import SendJob, SendResult
from connectd.kafka.producer import PageProducer
from connectd.model.record import RoutedPage, RoutedRecord

ACK_S: Final = 120.0
"""How long a repair waits for Kafka to acknowledge one chunk."""


class Topics(Protocol):
    """The topics of the comparison, as a repair sees them."""

    def tell(self, on_found: Callable[[Sequence[Found]], None]) -> None:
        """Who hears of records from now on."""
        ...

    async def read_to_end(self) -> None:
        """All that was acknowledged before is told of."""
        ...

    def may_remove(self, candidate: Candidate) -> bool:
        """Whether an extra record that does not lead to an item is surely of none, and the user
        wants it gone."""
        ...


class Repair:
    """Writes what differs; see the module's docstring."""

    def __init__(
        self,
        parts: Parts,
        digests: DigestFile,
        topics: Topics,
        on_progress: OnProgress,
        *,
        removes_extra: bool,
    ) -> None:
        self._parts = parts
        self._digests = digests
        self._topics = topics
        self._on_progress = on_progress
        self._removes_extra = removes_extra
        self._records = self._tombstones = 0
        self._written: set[bytes] = set()
        self._held: set[bytes] = set()
        self.overwritten = 0
        """Keys whose record of another table came in between, and was written over."""
        self.overtaken: list[Candidate] = []
        """Beside an export: keys that the comparison behind the repair must ask the table for."""

    async def run(self) -> Repaired:
        """Write, and wait until all is acknowledged.

        Raises:
            ConnectdError: table or topic cannot be read, or Kafka does not take the records.
        """
        producer = self._parts.open_producer()
        producer.open()
        self._topics.tell(self._take_in)
        total = self._digests.counts().different
        try:
            after = b""
            while chunk := self._digests.differences(CHUNK_KEYS, after=after):
                items = await self._items(chunk)
                await self._topics.read_to_end()
                left = {
                    each.key_id: each for each in self._digests.differences(len(chunk), after=after)
                }
                after = chunk[-1].key_id
                self._written, self._held = set(), set()
                records, written = [], []
                for candidate, now in zip(chunk, items, strict=True):
                    if not _is_as_it_was(candidate, left.get(candidate.key_id)):
                        self._leave(candidate)
                    elif (record := self._mending(candidate, now)) is not None:
                        records.append(record)
                        written.append((candidate, digest_of(self._parts, candidate, now)))
                await self._write(producer, records)
                await self._ask_again(written)
                self._on_progress("repairing", self._records + self._tombstones, total)
            await self._topics.read_to_end()
        finally:
            await producer.close(1.0)
        return Repaired(self._records, self._tombstones)

    def _leave(self, candidate: Candidate) -> None:
        """Somebody has to ask the table for this key: its record may be older than the item."""
        if self._parts.export is None or candidate.item_key is None:
            return
        if len(self.overtaken) >= CANDIDATES_MAX:
            raise ConnectdError(
                f"more than {CANDIDATES_MAX} items have changed while they were repaired beside "
                "an export; pause the connector, and whoever writes to the table, and run it again"
            )
        self.overtaken.append(candidate)

    async def _ask_again(self, written: Sequence[tuple[Candidate, bytes | None]]) -> None:
        """Find out what has changed before its record was acknowledged.

        What changes later has its record later. A comparison with a scan would find out by itself;
        an export shows what was.
        """
        if self._parts.export is None:
            return
        asked = [each for each in written if each[0].item_key is not None]
        items = await items_now(self._parts, [candidate for candidate, _ in asked])
        for (candidate, digest), now in zip(asked, items, strict=True):
            if digest_of(self._parts, candidate, now) != digest:
                self._leave(candidate)

    async def _items(self, chunk: Sequence[Candidate]) -> list[Now]:
        lead_back(self._parts, chunk)
        known = [each for each in chunk if each.item_key is not None]
        items = await items_now(self._parts, known)  # may find that a key leads nowhere
        found = {each.key_id: now for each, now in zip(known, items, strict=True)}
        return [found.get(each.key_id, UNKNOWN) for each in chunk]

    def _mending(self, candidate: Candidate, now: Now) -> RoutedRecord | None:
        """The record that mends a difference, None: there is none, or nobody may say so."""
        expected, found = digest_of(self._parts, candidate, now), candidate.found
        if expected == found or owner_of(found) is not None or now.reason is not None:
            return None
        if expected is not None:
            self._records += 1
            self._written.add(candidate.key_id)
            return now.record
        if now.exists and now.record is None:
            return None
        if not self._is_ours(candidate):
            return None
        self._tombstones += 1
        self._written.add(candidate.key_id)
        return RoutedRecord(candidate.topic, candidate.key, None, candidate.partition)

    def _is_ours(self, candidate: Candidate) -> bool:
        """Whether an extra record may be removed."""
        if candidate.key is None:
            return False  # a tombstone is the tombstone of a key
        if candidate.item_key is None:
            return self._topics.may_remove(candidate)
        return names_table(candidate.found) or self._removes_extra

    def _take_in(self, rows: Sequence[Found]) -> None:
        self._digests.find_again(rows)
        for row in _of(rows, self._written):
            if owner_of(row.digest) is not None:
                self._held.add(row.key_id)
            elif row.key_id in self._held:
                self._held.remove(row.key_id)
                self.overwritten += 1

    async def _write(self, producer: PageProducer, records: list[RoutedRecord]) -> None:
        if not records:
            return
        done: asyncio.Future[SendResult] = asyncio.get_running_loop().create_future()
        page = RoutedPage(records)
        await producer.send(SendJob(encode=lambda: page, on_done=done.set_result))
        try:
            result = await asyncio.wait_for(done, ACK_S)
        except TimeoutError as error:
            raise BrokerUnavailableError(
                f"repairing: {len(records)} records were not acknowledged within {ACK_S:g} s; "
                "check the brokers, and compare again"
            ) from error
        refusal = first_error(result)
        if refusal is not None:
            raise refusal


def _is_as_it_was(known: Candidate, left: Candidate | None) -> bool:
    """Whether a key still differs, and its last record is the one that was known."""
    return left is not None and left.place == known.place


def _of(rows: Iterable[Found], keys: set[bytes]) -> list[Found]:
    return [row for row in rows if row.key_id in keys]
