"""One comparison of a table with its topics: the first look, the second, and the report of both.

What belongs to it is told in ``reconciliation``. A topic counts as compared when it has been read:
the one that the connector writes to without transforms, those that the records of items go to, and
those that the user names. Where transforms may choose others, the first of these is left out only
if the items prove that they go elsewhere; an empty table proves nothing. A comparison that has read
no topic at all has compared nothing, and ends without a report, with one exception: a connector
without transforms has made no topic for a table that is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from connectd.aio.clock import iso_instant
from connectd.app import reconcile_notes
from connectd.app.expected_records import ForeignItemError
from connectd.app.followed_topics import FollowedTopics
from connectd.app.reconcile_notes import CANDIDATES_MAX, Leftovers
from connectd.app.reconcile_on_spark import SparkLook
from connectd.app.reconcile_parts import (
    CHUNK_KEYS,
    OnProgress,
    Parts,
    Wishes,
    digest_of,
    items_now,
    lead_back,
)
from connectd.connectors.dynamodb import reconciling
from connectd.connectors.dynamodb.decode import Raw, ScanPage
from connectd.connectors.dynamodb.digest_file import DigestFile, Expected, Found
from connectd.connectors.dynamodb.export_pages import ExportPage, FinishedExport
from connectd.connectors.dynamodb.reconciling import (
    Compared,
    Counts,
    Difference,
    Exported,
    Report,
)
from connectd.connectors.dynamodb.record_keys import item_shown
from connectd.connectors.dynamodb.second_look import Candidate, SecondLook
from connectd.errors import AccessDeniedError, ConfigError, ConnectdError, NotFoundError
from connectd.kafka.tailing import LogRecord

LOOK_AGAIN_S: Final = 1.0

_COARSENESS: Final = (Compared.DOCUMENTS, Compared.JSON, Compared.BYTES)


class Comparison:
    """The state of one comparison; ``close`` it."""

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
        self._topics = FollowedTopics(parts.open_follower, self._take_in, on_progress)
        self._is_topic_absent = False
        self._before: dict[str, Mapping[int, int]] = {}
        self._on_found: Callable[[Sequence[Found]], None] = digests.find
        self._compared = Compared.DOCUMENTS
        self._foreign = self._items = self._asked = self._unrecorded = 0
        self._has_records = False
        self._look = SecondLook(())
        self.denied: ConnectdError | None = None

    async def run(self, connector: str, ask_table_for: Sequence[Candidate] = ()) -> Report:
        """Compare. ``ask_table_for`` are keys that get a second look even if they do not differ.

        Raises:
            ConfigError: no topic was compared.
            ConnectdError: table or topics cannot be read.
        """
        parts = self._parts
        parts.expected.skipped = 0
        if parts.spark is None:
            elsewhere = await self._first_look()
        else:
            elsewhere = await self._first_look_on_spark(parts.spark)
        await self._look_again(ask_table_for)
        here = replace(
            self._digests.counts(),
            records=self._topics.records,
            skipped=parts.expected.skipped,
            foreign=self._foreign,
        )
        counts = here.plus(elsewhere)
        counts = replace(
            counts,
            items=counts.items + counts.skipped,
            unchecked=counts.different - self._looked_at(),
        )
        self._unrecorded = counts.skipped + counts.unconvertible
        differences = self._digests.differences(self._wishes.shown)
        return Report(
            connector=connector,
            table=self._table,
            topics=self._compared_topics(counts),
            compared=self._compared,
            counts=counts,
            differences=tuple(map(self._named, differences)),
            notes=tuple(await self._notes(counts)),
            export=None if parts.export is None else _exported(parts.export.export),
        )

    async def close(self) -> None:
        """End the reading of the topics."""
        await self._topics.close()

    # -- both sides -----------------------------------------------------------------------------

    async def _first_look(self) -> Counts:
        parts, wished = self._parts, self._wishes.topics
        for topic in wished:
            await self._topics.follow(topic)
        if not parts.may_be_routed:
            self._is_topic_absent = not await self._topics.follow_if_there(parts.topic)
        if self._wishes.removes_extra:
            for topic in {parts.topic, *wished}:
                with suppress(NotFoundError):
                    self._before[topic] = await self._topics.ends(topic)
        await self._read_table()
        if parts.may_be_routed and not self._has_records:
            await self._topics.follow_if_there(parts.topic)
        await self._topics.read()
        return Counts()

    async def _first_look_on_spark(self, spark: SparkLook) -> Counts:
        """Returns what is not in the file of digests: there are only keys that differ."""
        default = () if self._parts.may_be_routed else (self._parts.topic,)
        topics = (*default, *self._wishes.topics)
        if not topics:
            raise ConfigError(
                "transforms may choose the topics of this connector, and Spark must know them "
                "before; name every one with --topic"
            )
        ends: dict[str, Mapping[int, int]] = {}
        try:
            for topic in topics:
                ends[topic] = await self._topics.ends(topic)
        except NotFoundError:
            if await self._has_items():
                raise
            return await self._first_look()  # Spark has nothing to do
        self._on_progress("starting Spark", 0, None)
        look = await spark(ends, CANDIDATES_MAX, lambda step: self._on_progress(step, 0, None))
        self._compared = look.compared
        self._has_records = True
        self._digests.expect(
            Expected(each.key_id, each.topic, each.key, each.item_key, each.expected)
            for each in look.differences
        )
        self._digests.settle(look.differences)
        elsewhere = look.counts.minus(self._digests.counts())
        self._before |= ends
        self._on_found = self._digests.find_again  # the file has only what differs
        for topic in topics:
            await self._topics.follow(topic, ends[topic])
        return elsewhere

    async def _has_items(self) -> bool:
        async with self._parts.table.pages() as pages:
            async for page in pages:
                if page.items:
                    return True
        return False

    async def _read_table(self) -> None:
        export = self._parts.export
        step = "reading the export of" if export else "scanning"
        total = export.export.items if export else None
        async with (export or self._parts.table).pages() as pages:
            async for page in pages:
                try:
                    await self._expect(page.items)
                except ForeignItemError as error:
                    raise _named(error, page) from error
                self._items += len(page.items)
                self._on_progress(f"{step} {self._table}", self._items, total)

    async def _expect(self, items: Sequence[Raw]) -> None:
        states = await self._parts.expected.of_items(items)
        for each in states:
            if each.compared is None:
                continue
            self._has_records = True
            self._compared = max(self._compared, each.compared, key=_COARSENESS.index)
            await self._topics.follow(each.row.topic)
        self._digests.expect(each.row for each in states)

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

    def _compared_topics(self, counts: Counts) -> tuple[str, ...]:
        topic, names = self._parts.topic, self._topics.names
        if names or counts.different:
            return names
        if self._is_topic_absent and not counts.items:
            return (topic,)  # the connector makes it with its first record
        raise ConfigError(
            f"no topic was compared: no item of table {self._table} has a record that would say "
            f"where it goes, and there is no topic {topic}; name it with --topic"
        )

    # -- for a repair ---------------------------------------------------------------------------

    def tell(self, on_found: Callable[[Sequence[Found]], None]) -> None:
        """Who hears of records from now on."""
        self._on_found = on_found

    async def read_to_end(self) -> None:
        """All that was acknowledged before is told of."""
        await self._topics.read_to_end()

    def may_remove(self, candidate: Candidate) -> bool:
        """Whether an extra record whose key leads to no item is surely of none.

        It is if it stood there before the scan began, which reads strongly consistently then: an
        item that the scan has not seen was made later, and so was, or will be, its record.
        """
        if not self._wishes.removes_extra or self._unrecorded:
            return False  # an item that has no record may have had one: this one
        if candidate.partition is None or candidate.offset is None:
            return False
        return candidate.offset < self._before.get(candidate.topic, {}).get(candidate.partition, 0)

    # -- the second look ------------------------------------------------------------------------

    async def _look_again(self, ask_table_for: Sequence[Candidate]) -> None:
        found = self._digests.differences(CANDIDATES_MAX)
        lead_back(self._parts, found)
        known = {each.key_id for each in found}
        found += [self._as_it_is(each) for each in ask_table_for if each.key_id not in known]
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
        return sum(each.item_key is not None and each.kind is not None for each in self._look)

    def _as_it_is(self, known: Candidate) -> Candidate:
        """The present state of a key that was known before."""
        state = self._digests.state(known.key_id)
        if state is None:
            row = Expected(known.key_id, known.topic, known.key, known.item_key, None)
            self._digests.expect([row])
            return Candidate(*row, None, None, None, None)
        state.item_key = known.item_key
        return state

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
                    if now.reason is not None and candidate.topic and candidate.item_key:
                        # The topic has a record of it: it is one difference, and not two.
                        look.expect(reconciling.item_id(candidate.item_key), None)
        except AccessDeniedError as error:
            self.denied = error

    # -- words ----------------------------------------------------------------------------------

    def _named(self, candidate: Candidate) -> Difference:
        kind = candidate.kind
        assert kind is not None, "the file gives differences only"
        if candidate.topic == reconciling.NO_TOPIC and candidate.item_key is not None:
            key = item_shown(candidate.item_key)
        else:
            key = self._parts.keys.shown(candidate.topic, candidate.key)
        return Difference(
            kind,
            candidate.topic,
            key,
            candidate.partition,
            candidate.offset,
            reconciling.owner_of(candidate.found),
            reconciling.reason_of(candidate.expected),
        )

    async def _notes(self, counts: Counts) -> list[str]:
        left = Leftovers()
        for each in self._look:
            left.add(each)
        wants_extra = self._wishes.removes_extra
        return [
            *reconcile_notes.of_way(self._compared, self._asked if self._parts.export else None),
            *await self._notes_of_topic(),
            *reconcile_notes.of_doubt(
                counts, sum(each.kind is not None for each in self._look), self.denied
            ),
            *reconcile_notes.of_leftovers(left, self._unrecorded, removes_extra=wants_extra),
            *reconcile_notes.of_items(counts, left, self._topics.policies),
        ]

    async def _notes_of_topic(self) -> list[str]:
        """What is to be known of the topic that the connector writes to without transforms."""
        topic = self._parts.topic
        if topic in self._topics.names:
            return []
        if self._is_topic_absent:
            return [reconcile_notes.absent(topic)]
        try:
            await self._topics.ends(topic)
        except (NotFoundError, AccessDeniedError):
            return []  # there is none, or it is nobody's business here
        return [reconcile_notes.left_out(topic)]


def _named(error: ForeignItemError, page: ScanPage | ExportPage) -> ConnectdError:
    """Where an item stands that is none of the table's."""
    if isinstance(page, ScanPage):
        return error
    line = page.first_line + error.index
    return ConfigError(f"{page.where}, line {line}: {error}; name another full export")


def _exported(export: FinishedExport) -> Exported:
    time = None if export.export_ms is None else iso_instant(export.export_ms / 1000)
    return Exported(export.arn, time)
