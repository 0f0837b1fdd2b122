"""The repair of ``connectd reconcile``: writes what the connector would write of what differs.

Every item is read once more just before its record is written; the record takes the road of the
connector's own. Of what is not in the table a tombstone is written, into the very partition where
its last record stands, so that compaction removes it. An item that is there and has no record (it
cannot be converted, or a transform drops it) is left alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from connectd.app.reconcile_parts import CHUNK_KEYS, OnProgress, Parts, digest_of, items_now
from connectd.connectors.dynamodb.digest_file import DigestFile
from connectd.connectors.dynamodb.reconciling import Repaired
from connectd.connectors.dynamodb.second_look import Candidate
from connectd.errors import BrokerUnavailableError
from connectd.kafka.log import first_error
from connectd.kafka.page import SendJob, SendResult
from connectd.kafka.producer import PageProducer
from connectd.model.record import RoutedPage, RoutedRecord

ACK_S: Final = 120.0
"""How long a repair waits for Kafka to acknowledge one chunk."""


class Repair:
    """Writes what differs; see the module's docstring."""

    def __init__(self, parts: Parts, digests: DigestFile, on_progress: OnProgress) -> None:
        self._parts = parts
        self._digests = digests
        self._on_progress = on_progress
        self._records = self._tombstones = 0

    async def run(self) -> Repaired:
        producer = self._parts.open_producer()
        producer.open()
        total = self._digests.counts().different
        try:
            after = b""
            while chunk := self._digests.differences(CHUNK_KEYS, after=after):
                after = chunk[-1].key_id
                await self._write(producer, await self._mending(chunk))
                self._on_progress("repairing", self._records + self._tombstones, total)
        finally:
            await producer.close(1.0)
        return Repaired(self._records, self._tombstones)

    async def _mending(self, chunk: Sequence[Candidate]) -> list[RoutedRecord]:
        for each in chunk:
            if each.item_key is None:
                each.item_key = self._parts.keys.item_key(each.topic, each.key)
        # Without its item's key nobody can say that a record is really one too many.
        known = [each for each in chunk if each.item_key is not None]
        records = []
        for candidate, now in zip(known, await items_now(self._parts, known), strict=True):
            if digest_of(self._parts, candidate, now) is not None:
                assert now.record is not None
                records.append(now.record)
                self._records += 1
            elif candidate.found is not None and (now.record is not None or not now.exists):
                tombstone = RoutedRecord(candidate.topic, candidate.key, None, candidate.partition)
                records.append(tombstone)
                self._tombstones += 1
        return records

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
