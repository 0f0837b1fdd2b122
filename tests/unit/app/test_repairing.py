"""What a repair writes, and what it leaves because something came in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest

from connectd.app import repairing
from connectd.app.expected_records import Unconvertible
from connectd.app.reconcile_parts import Parts
from connectd.app.repairing import Repair
from connectd.connectors.dynamodb import reconciling
from connectd.connectors.dynamodb.digest_file import DigestFile, Expected, Found
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.reconciling import Repaired, StateReader
from connectd.connectors.dynamodb.record_keys import KeyReader
from connectd.connectors.dynamodb.second_look import Candidate
from connectd.errors import ConnectdError
from connectd.kafka.page import SendJob, SendResult
from connectd.model.record import RoutedPage, RoutedRecord

TOPIC = "shared"
JSON = reconciling.json_decoder(carries_schema=False)
STATES = StateReader(JSON, "t", plain_documents=False)
KEYS = KeyReader(KeySchema((KeyAttribute("id", "S"),)), JSON, sanitise=False)


def key(name: str) -> bytes:
    return f'{{"id":"{name}"}}'.encode()


def value(table: str = "t", document: str = "{}") -> bytes:
    members = {"version": "1", "document": document, "source": {"table_name": table}, "op": "r"}
    return json.dumps(members).encode()


def row(record: tuple[bytes, bytes | None], offset: int) -> Found:
    digest = STATES.found(TOPIC, record[1]).digest
    return Found(reconciling.key_id(TOPIC, record[0]), TOPIC, record[0], digest, 0, offset, 0)


class World:
    """A table without items unless some are put, and a topic of one partition; the producer's
    records come into the topic as others' do."""

    def __init__(self, digests: DigestFile) -> None:
        self.digests = digests
        self.items_now: dict[bytes, bytes] = {}
        self.log: list[tuple[bytes, bytes | None]] = []
        self.told = 0
        self.written: list[RoutedRecord] = []
        self.before_reading: list[Callable[[], None]] = []
        self.before_writing: list[Callable[[], None]] = []
        self.removable = False
        self.has_export = False
        self.broken: set[bytes] = set()
        self.documents: dict[bytes, str] = {}
        self._on_found: Callable[[Sequence[Found]], None] = digests.find

    def append(self, name: bytes, content: bytes | None) -> None:
        self.log.append((name, content))

    # Topics
    def tell(self, on_found: Callable[[Sequence[Found]], None]) -> None:
        self._on_found = on_found

    async def read_to_end(self) -> None:
        while self.before_reading:
            self.before_reading.pop()()
        rows = [
            row(record, self.told + place) for place, record in enumerate(self.log[self.told :])
        ]
        self.told = len(self.log)
        self._on_found(rows)

    def may_remove(self, candidate: Candidate) -> bool:
        return self.removable

    # the table, and what the connector would write
    async def items(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.items_now.get(each) for each in keys]

    async def of_item(self, item: bytes) -> RoutedRecord | Unconvertible:
        if item in self.broken:
            return Unconvertible("no such field")
        return RoutedRecord(TOPIC, item, value(document=self.documents.get(item, "{}")))

    # the producer
    def open(self) -> None:
        """There is nothing to open."""

    async def send(self, job: SendJob) -> None:
        while self.before_writing:
            self.before_writing.pop()()
        page = cast("RoutedPage", job.encode())
        for each in page.records:
            self.written.append(each)
            self.append(each.key or b"", each.value)
        job.on_done(SendResult((TOPIC,), len(page.records)))

    async def close(self, _: float) -> None:
        """There is nothing to close."""

    def parts(self) -> Parts:
        unused: Any = None
        mine: Any = self
        return Parts(
            clock=unused,
            table=mine,
            expected=mine,
            states=STATES,
            keys=KEYS,
            topic=TOPIC,
            may_be_routed=False,
            open_follower=unused,
            open_producer=lambda: mine,
            export=mine if self.has_export else None,
        )

    def compared(self) -> None:
        """The comparison has read the topic to its end."""
        asyncio.run(self.read_to_end())

    def expect(self, name: str) -> None:
        """An item that the comparison has seen, and that is there still."""
        record = key(name), value()
        item_key = f'{{"id":{{"S":"{name}"}}}}'.encode()
        self.items_now[item_key] = key(name)
        state = row(record, 0)
        self.digests.expect([Expected(state.key_id, TOPIC, record[0], item_key, state.digest)])


@pytest.fixture
def world() -> Iterator[World]:
    with DigestFile() as digests:
        yield World(digests)


def repaired(world: World, *, removes_extra: bool = False) -> tuple[Repaired, Repair]:
    repair = Repair(
        world.parts(), world.digests, world, lambda *_: None, removes_extra=removes_extra
    )
    return asyncio.run(repair.run()), repair


def test_what_is_missing_is_written_and_what_is_extra_gets_its_tombstone(
    world: World,
) -> None:
    world.expect("missing")
    world.append(key("extra"), value())
    world.compared()

    told, repair = repaired(world)

    assert told == Repaired(1, 1)
    written = {each.key: (each.value, each.kafka_partition) for each in world.written}
    assert written == {key("missing"): (value(), None), key("extra"): (None, 0)}
    assert repair.overwritten == 0
    assert world.digests.counts().different == 0


@pytest.mark.parametrize("table", ["u", "t"])
def test_a_record_that_comes_before_the_repair_is_not_written_over(
    world: World, table: str
) -> None:
    world.expect("missing")
    world.append(key("extra"), value())
    world.compared()
    later = [(key(name), value(table, "{ }")) for name in ("extra", "missing")]
    world.before_reading.append(lambda: world.log.extend(later))

    told, _ = repaired(world)

    assert told == Repaired(0, 0)
    assert world.written == []


def test_a_record_of_another_table_is_never_touched(world: World) -> None:
    world.expect("held")
    for name in ("held", "gone"):
        world.append(key(name), value())
        world.append(key(name), value("u"))
    world.compared()
    assert (repaired(world, removes_extra=True))[0] == Repaired(0, 0)


def test_what_is_written_over_in_that_very_moment_is_told(world: World) -> None:
    world.append(key("extra"), value())
    world.compared()
    world.before_writing.append(lambda: world.append(key("extra"), value("u")))
    told, repair = repaired(world)
    assert (told, repair.overwritten) == (Repaired(0, 1), 1)


def test_a_record_that_comes_behind_the_tombstone_is_not_written_over(world: World) -> None:
    world.append(key("extra"), value())
    world.compared()

    async def late(_: float) -> None:
        world.append(key("extra"), value("u"))
        await world.read_to_end()

    world.close = late  # type: ignore[method-assign]
    told, repair = repaired(world)
    assert (told, repair.overwritten) == (Repaired(0, 1), 0)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (b"no key of ours", value()),
        (b"", value()),
        (key("unwrapped"), b'{"id":"unwrapped"}'),
        (key("text"), b"text"),
    ],
)
def test_what_may_be_anothers_is_removed_on_the_users_word_alone(
    world: World, name: bytes, content: bytes
) -> None:
    world.append(name, content)
    world.compared()
    assert (repaired(world))[0] == Repaired(0, 0)
    world.removable = True
    assert (repaired(world, removes_extra=True))[0] == Repaired(0, 1)
    assert [(each.key, each.value, each.kafka_partition) for each in world.written] == [
        (name, None, 0)
    ]


def test_a_record_without_a_key_has_no_tombstone(world: World) -> None:
    world.removable = True
    world.digests.find([row((b"x", value()), 0)._replace(key=None)])
    assert (repaired(world, removes_extra=True))[0] == Repaired(0, 0)


def test_an_item_that_cannot_be_converted_is_left_with_its_record(world: World) -> None:
    world.expect("broken")
    world.append(key("broken"), value(document="older"))
    world.compared()
    world.broken.add(key("broken"))
    assert repaired(world, removes_extra=True)[0] == Repaired(0, 0)


@pytest.mark.parametrize("has_export", [True, False])
def test_beside_an_export_what_changes_before_its_record_is_there_is_asked_for_again(
    world: World, has_export: bool
) -> None:
    world.has_export = has_export
    for name in ("quiet", "busy", "gone", "late"):
        world.expect(name)
    world.append(key("extra"), value())
    world.append(key("back"), value())
    world.compared()
    world.before_reading.append(lambda: world.append(key("late"), value("t", "{ }")))

    def change() -> None:
        world.documents[key("busy")] = "changed"
        del world.items_now[b'{"id":{"S":"gone"}}']
        world.items_now[b'{"id":{"S":"back"}}'] = key("back")

    world.before_writing.append(change)
    told, repair = repaired(world)
    assert told == Repaired(3, 2)
    overtaken = {each.key for each in repair.overtaken}
    changed = {key(name) for name in ("busy", "gone", "back", "late")}
    assert overtaken == (changed if has_export else set())


def test_beside_an_export_more_changes_than_can_be_remembered_end_the_repair(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repairing, "CANDIDATES_MAX", 1)
    world.has_export = True
    for name in ("one", "two"):
        world.expect(name)
    world.compared()
    world.before_writing.append(lambda: world.items_now.clear())
    with pytest.raises(ConnectdError, match="more than 1 items have changed"):
        repaired(world)
