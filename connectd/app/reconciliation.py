"""``connectd reconcile``: one table of one connector against its topic, once.

The table is scanned and its topics are read at the same time; both sides go into a file of digests
(``digest_file``). What differs at the end is looked at again until it agrees or has differed for
``settle_s`` (``second_look``). A repair reads every item that still differs once more, writes what
the connector would write of it, waits for all acknowledgements, and compares everything again.

Instead of the table a full export may be looked at first. Its picture is older than the topic, so
that much may differ which is in order; the second look, which asks the table itself, tells. What it
cannot tell: that the topic lacks a change made after the export, for there both say the same.

A topic may be shared with other tables. The last record of a key counts, whosever it is: what
another table's record holds is no difference, or a conflict if this table has an item there.

Nothing of this is known to a running worker: positions are not touched, and a repair's records
stand among the worker's own. An item that changes between its reading and the acknowledgement may
therefore be overtaken by its older state; the comparison that follows every repair says so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Final

from connectd.aio.clock import iso_instant
from connectd.app import reconcile_notes
from connectd.app.reconcile_notes import CANDIDATES_MAX, Leftovers
from connectd.app.reconcile_on_spark import SparkLook
from connectd.app.reconcile_parts import (
    CHUNK_KEYS,
    OnProgress,
    Parts,
    Wishes,
    digest_of,
    items_now,
    topic_named,
)
from connectd.app.repairing import Repair
from connectd.connectors.dynamodb import reconciling
from connectd.connectors.dynamodb.decode import Raw
from connectd.connectors.dynamodb.digest_file import DigestFile, Expected, Found
from connectd.connectors.dynamodb.export_pages import FinishedExport
from connectd.connectors.dynamodb.reconciling import (
    Compared,
    Counts,
    Difference,
    Exported,
    Repaired,
    Report,
)
from connectd.connectors.dynamodb.second_look import Candidate, SecondLook
from connectd.errors import AccessDeniedError, ConfigError, ConnectdError, NotFoundError
from connectd.kafka.following import TopicFollower
from connectd.kafka.tailing import LogRecord

LOOK_AGAIN_S: Final = 1.0


class Reconciliation:
    """Compares, and repairs; see the module's docstring."""

    def __init__(
        self, connector: str, table: str, parts: Parts, wishes: Wishes, on_progress: OnProgress
    ) -> None:
        self._connector = connector
        self._table = table
        self._parts = parts
        self._wishes = wishes
        self._on_progress = on_progress

    async def compare(self) -> Report:
        """One comparison.

        Raises:
            ConnectdError: table or topic cannot be read; what could not be compared is not told of.
        """
        return await self._compare(None)

    async def repair(self) -> Report:
        """Compare, write what is missing, stale or extra, and compare again.

        Raises:
            ConnectdError: as ``compare``, or Kafka does not take the records.
        """
        repaired, notes = Repaired(0, 0), []

        async def mend(comparison: _Comparison, digests: DigestFile) -> None:
            nonlocal repaired
            repair = Repair(
                self._parts,
                digests,
                comparison,
                self._on_progress,
                removes_extra=self._wishes.removes_extra,
            )
            repaired = await repair.run()
            if repair.overwritten:
                notes.append(reconcile_notes.overwritten(repair.overwritten))

        report = await self._compare(mend)
        if not report.is_equal:
            report = await self._compare(None)
        return replace(report, repaired=repaired, notes=(*report.notes, *notes))

    async def _compare(self, mend: Mend | None) -> Report:
        async with AsyncExitStack() as stack:
            digests = stack.enter_context(DigestFile(self._wishes.spill))
            comparison = _Comparison(
                self._table, self._parts, self._wishes, digests, self._on_progress
            )
            stack.push_async_callback(comparison.close)
            report = await comparison.run(self._connector)
            if mend is not None and not report.is_equal:
                if comparison.denied is not None:
                    raise comparison.denied
                await mend(comparison, digests)
            return report


class _Comparison:
    """The state of one comparison."""

    def __init__(
        self,
        table: str,
        parts: Parts,
        wishes: Wishes,
        digests: DigestFile,
        on_progress: OnProgress,
    ) -> None:
        self._table = table
        self._parts = parts
        self._wishes = wishes
        self._digests = digests
        self._on_progress = on_progress
        self._followers: dict[str, TopicFollower] = {}
        self._before: dict[str, Mapping[int, int]] = {}
        self._on_found: Callable[[Sequence[Found]], None] = digests.find
        self._compared = Compared.DOCUMENTS
        self._foreign = self._items = self._asked = self._skipped = 0
        self._look = SecondLook(())
        self._policies: dict[str, str | None] = {}
        self.denied: ConnectdError | None = None

    async def run(self, connector: str) -> Report:
        parts = self._parts
        parts.expected.skipped = 0
        topics = (*(() if parts.may_be_routed else (parts.topic,)), *self._wishes.topics)
        if parts.spark is None:
            elsewhere = Counts()
            await self._first_look(topics)
        else:
            elsewhere = await self._first_look_on_spark(parts.spark, topics)
        await self._look_again()
        here = replace(
            self._digests.counts(),
            records=sum(each.records for each in self._followers.values()),
            skipped=parts.expected.skipped,
            foreign=self._foreign,
        )
        counts = here.plus(elsewhere)
        self._skipped = counts.skipped
        counts = replace(counts, unchecked=counts.different - self._looked_at())
        differences = self._digests.differences(self._wishes.shown)
        return Report(
            connector=connector,
            table=self._table,
            topics=tuple(sorted(self._followers)),
            compared=self._compared,
            counts=counts,
            differences=tuple(map(self._named, differences)),
            notes=tuple(self._notes(counts)),
            export=None if parts.export is None else _exported(parts.export.export),
        )

    async def close(self) -> None:
        followers, self._followers = self._followers, {}
        for follower in followers.values():
            await follower.close()

    # -- both sides -----------------------------------------------------------------------------

    async def _first_look(self, topics: Sequence[str]) -> None:
        for topic in topics:
            await self._follow(topic)
        if self._wishes.removes_extra:
            for topic in {self._parts.topic, *topics}:
                with suppress(NotFoundError):
                    self._before[topic] = await self._ends(topic)
        await self._read_table()
        for topic, follower in self._followers.items():
            await self._read_topic(topic, follower)

    async def _first_look_on_spark(self, spark: SparkLook, topics: Sequence[str]) -> Counts:
        """Returns what is not in the file of digests: there are only keys that differ."""
        if not topics:
            raise ConfigError(
                "transforms may choose the topics of this connector, and Spark must know them "
                "before; name every one with --topic"
            )
        ends: dict[str, Mapping[int, int]] = {}
        for topic in topics:
            with topic_named(topic):
                ends[topic] = await self._ends(topic)
        self._on_progress("starting Spark", 0, None)
        look = await spark(ends, CANDIDATES_MAX, lambda step: self._on_progress(step, 0, None))
        self._compared = look.compared
        self._digests.expect(
            Expected(each.key_id, each.topic, each.key, each.item_key, each.expected)
            for each in look.differences
        )
        self._digests.settle(look.differences)
        elsewhere = look.counts.minus(self._digests.counts())
        self._before |= ends
        self._on_found = self._digests.find_again  # the file has only what differs
        for topic in topics:
            await self._follow(topic, ends[topic])
        return elsewhere

    async def _ends(self, topic: str) -> Mapping[int, int]:
        return await self._parts.open_follower(topic, lambda _: None, None).ends()

    async def _follow(self, topic: str, start: Mapping[int, int] | None = None) -> None:
        if topic in self._followers:
            return

        def on_records(records: Sequence[LogRecord]) -> None:
            self._take_in(topic, records)

        follower = self._parts.open_follower(topic, on_records, start)
        with topic_named(topic):
            description = await follower.open()
        self._followers[topic] = follower
        self._policies[topic] = description.cleanup_policy

    async def _read_table(self) -> None:
        export = self._parts.export
        step = "reading the export of" if export else "scanning"
        total = export.export.items if export else None
        async with (export or self._parts.table).pages() as pages:
            async for page in pages:
                await self._expect(page.items)
                self._items += len(page.items)
                self._on_progress(f"{step} {self._table}", self._items, total)

    async def _expect(self, items: Sequence[Raw]) -> None:
        rows = []
        for each in await self._parts.expected.of_items(items):
            topic, key, value = each.record[:3]
            state = self._parts.states.read(topic, value)
            if state.digest is None:
                continue
            self._compared = max(self._compared, state.compared, key=_COARSENESS.index)
            await self._follow(topic)
            row = Expected(reconciling.key_id(topic, key), topic, key, each.item_key, state.digest)
            rows.append(row)
        self._digests.expect(rows)

    async def _read_topic(self, topic: str, follower: TopicFollower) -> None:
        step = f"reading {topic}"
        await follower.read_to_end(lambda done, total: self._on_progress(step, done, total))

    def _take_in(self, topic: str, records: Sequence[LogRecord]) -> None:
        rows = []
        states = self._parts.states
        for record in records:
            state = states.found(topic, record.value)
            self._foreign += states.is_foreign(state)
            rows.append(
                Found(
                    reconciling.key_id(topic, record.key),
                    topic,
                    record.key,
                    state.digest,
                    record.partition,
                    record.offset,
                    record.timestamp_ms,
                )
            )
        self._on_found(rows)

    # -- for a repair ---------------------------------------------------------------------------

    def tell(self, on_found: Callable[[Sequence[Found]], None]) -> None:
        """Who hears of records from now on."""
        self._on_found = on_found

    async def read_to_end(self) -> None:
        """All that was acknowledged before is told of."""
        for follower in self._followers.values():
            await follower.read_to_end()

    def may_remove(self, candidate: Candidate) -> bool:
        """Whether an extra record whose key leads to no item is surely of none.

        It is if it stood there before the scan began, which reads strongly consistently then: an
        item that the scan has not seen was made later, and so was, or will be, its record.
        """
        if not self._wishes.removes_extra or self._skipped:
            return False  # an item that has no record may have had one: this one
        if candidate.partition is None or candidate.offset is None:
            return False
        return candidate.offset < self._before.get(candidate.topic, {}).get(candidate.partition, 0)

    # -- the second look ------------------------------------------------------------------------

    async def _look_again(self) -> None:
        found = self._digests.differences(CANDIDATES_MAX)
        for candidate in found:
            if candidate.item_key is None:
                candidate.item_key = self._parts.keys.item_key(candidate.topic, candidate.key)
        self._look = look = SecondLook(found)
        self._on_found = self._find_again
        self._asked = len(look)
        end_s = self._parts.clock.monotonic() + self._wishes.settle_s
        while len(look) and self.denied is None:
            await self._ask_table(look)
            await self.read_to_end()
            left_s = end_s - self._parts.clock.monotonic()
            if not len(look) or left_s <= 0:
                break
            self._on_progress(f"{len(look)} keys differ, looking again", 0, None)
            await self._parts.clock.sleep(min(LOOK_AGAIN_S, left_s))
        self._digests.settle([*look, *look.settled])
        self._on_found = self._digests.find_again

    def _looked_at(self) -> int:
        """Keys that differ, and whose item was asked for."""
        if self.denied is not None:
            return 0
        return sum(each.item_key is not None for each in self._look)

    def _find_again(self, rows: Sequence[Found]) -> None:
        for row in rows:  # from here on only what differed is of interest
            self._look.find(
                row.key_id,
                row.digest,
                partition=row.partition,
                offset=row.offset,
                timestamp_ms=row.timestamp_ms,
            )

    async def _ask_table(self, look: SecondLook) -> None:
        asked = [each for each in look if each.item_key is not None]
        try:
            for start in range(0, len(asked), CHUNK_KEYS):
                self._on_progress("looking again", start, len(asked))
                chunk = asked[start : start + CHUNK_KEYS]
                items = await items_now(self._parts, chunk)
                for candidate, now in zip(chunk, items, strict=True):
                    look.expect(candidate.key_id, digest_of(self._parts, candidate, now))
        except AccessDeniedError as error:
            self.denied = error

    # -- words ----------------------------------------------------------------------------------

    def _named(self, candidate: Candidate) -> Difference:
        kind = candidate.kind
        assert kind is not None, "the file gives differences only"
        key = self._parts.keys.shown(candidate.topic, candidate.key)
        return Difference(
            kind,
            candidate.topic,
            key,
            candidate.partition,
            candidate.offset,
            reconciling.owner_of(candidate.found),
        )

    def _notes(self, counts: Counts) -> list[str]:
        left = Leftovers()
        for each in self._look:
            left.add(each)
        wants_extra = self._wishes.removes_extra
        return [
            *reconcile_notes.of_way(self._compared, self._asked if self._parts.export else None),
            *reconcile_notes.of_doubt(counts, len(self._look), self.denied),
            *reconcile_notes.of_leftovers(left, counts.skipped, removes_extra=wants_extra),
            *reconcile_notes.of_items(counts, self._policies),
        ]


def _exported(export: FinishedExport) -> Exported:
    time = None if export.export_ms is None else iso_instant(export.export_ms / 1000)
    return Exported(export.arn, time)


Mend = Callable[[_Comparison, DigestFile], Awaitable[None]]
"""Writes what differs, while the topics are still followed."""

_COARSENESS: Final = (Compared.DOCUMENTS, Compared.JSON, Compared.BYTES)
