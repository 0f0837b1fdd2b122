"""Lives of a stream: shards split and roll over, listings lie, workers die; nothing is missed.

A stream with its real shards is played against plans. Listings hide young shards and show closed
ones as open, as reading them page by page does (spec streams-and-leases 2.2).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from connectd.connectors.dynamodb import lineage
from connectd.connectors.dynamodb.lineage import Baseline, Plan, Windows, plan_reading
from connectd.connectors.dynamodb.offsets import PositionKind, ShardPosition
from connectd.connectors.dynamodb.source_api import Shard
from connectd.model.ids import SequenceNumber

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_RETENTION_MS = 24 * _HOUR_MS
_WINDOWS = Windows(retention_ms=_RETENTION_MS, safe_zone_ms=20 * _HOUR_MS)
_HIDDEN_MS = 5 * _MINUTE_MS

_many_lives = pytest.mark.parametrize(
    ("seed", "latest"),
    [(seed, seed % 2 == 1) for seed in range(int(os.environ.get("CONNECTD_EXAMPLES", "24")))],
)
"""The seed in the name of a test replays its life. ``CONNECTD_EXAMPLES`` asks for more of them."""


@dataclass
class _RealShard:
    """A shard as it is; ``closed_ms`` None: it grows."""

    shard_id: str
    parent: str | None
    born_ms: int
    closed_ms: int | None = None


class _Stream:
    """A stream that changes with time."""

    def __init__(self, random: Random) -> None:
        self.now_ms = 1_700_000_000_000
        self.shards: dict[str, _RealShard] = {}
        self._random = random
        for _ in range(random.randint(1, 3)):
            self._add(None)

    def _add(self, parent: str | None) -> None:
        name = f"shardId-{self.now_ms:020d}-{len(self.shards):08x}"
        self.shards[name] = _RealShard(name, parent, self.now_ms)

    def close_one(self) -> None:
        """An open shard rolls over or splits."""
        shard = self._random.choice([each for each in self.shards.values() if not each.closed_ms])
        self.now_ms += 1
        shard.closed_ms = self.now_ms
        for _ in range(self._random.randint(1, 2)):
            self._add(shard.shard_id)

    def is_trimmed(self, shard: _RealShard) -> bool:
        return shard.closed_ms is not None and shard.closed_ms < self.now_ms - _RETENTION_MS

    def listing(self, *, lies: bool) -> list[Shard]:
        """What DescribeStream shows, shuffled; with lies about the young."""
        listed = []
        for shard in self.shards.values():
            is_young = self.now_ms - shard.born_ms < _HIDDEN_MS
            if self.is_trimmed(shard) or (lies and is_young and self._random.random() < 0.5):
                continue
            is_fresh = shard.closed_ms is None or self.now_ms - shard.closed_ms < _HIDDEN_MS
            looks_open = shard.closed_ms is None or (
                lies and is_fresh and self._random.random() < 0.5
            )
            listed.append(Shard(shard.shard_id, shard.parent, None, None if looks_open else "9"))
        self._random.shuffle(listed)
        return listed


@dataclass
class _Worker:
    """Follows a stream by plans; asserts in passing what must hold at every moment.

    ``reading`` are positions of shards being read, ``drained`` those of them that have come to an
    end which is not durable yet; ``positions`` are durable.
    """

    stream: _Stream
    latest: bool
    positions: dict[str, ShardPosition] = field(default_factory=dict)
    reading: dict[str, ShardPosition] = field(default_factory=dict)
    drained: set[str] = field(default_factory=set)
    sealed_here: set[str] = field(default_factory=set)
    finished: set[str] = field(default_factory=set)
    begun: list[str] = field(default_factory=list)

    def meet(self) -> None:
        """The first listing, which is asked for again while it hides parents."""
        stream = self.stream
        while True:
            listed = stream.listing(lies=True)
            if listed and not lineage.hidden_parents(
                listed, now_ms=stream.now_ms, windows=_WINDOWS
            ):
                break
        baseline = Baseline("arn", 7, stream.now_ms)
        for position in lineage.first_positions(listed, baseline, latest=self.latest):
            self.positions[position.shard_id] = position
            if position.is_sealed:
                self.finished.add(position.shard_id)

    def look(self, *, lies: bool) -> Plan:
        """List, plan, and start what the plan says."""
        listed = self.stream.listing(lies=lies)
        plan = plan_reading(
            listed,
            {**self.positions, **self.reading},
            now_ms=self.stream.now_ms,
            windows=_WINDOWS,
            live=self.reading.keys() | self.sealed_here,
        )
        for position in plan.read:
            self._check(position, is_adopted=position in plan.adopted)
            if position.shard_id not in self.reading:
                self.begun.append(position.shard_id)
                self.reading[position.shard_id] = position
        for shard_id in plan.forgettable:
            if self.stream.is_trimmed(self.stream.shards[shard_id]):
                del self.positions[shard_id]
        return plan

    def _check(self, position: ShardPosition, *, is_adopted: bool) -> None:
        shard_id = position.shard_id
        assert shard_id not in self.finished, f"{shard_id} is read after its durable end"
        if is_adopted:
            assert position.kind is PositionKind.TRIM_HORIZON
        parent = self.stream.shards[shard_id].parent
        while parent is not None:
            if not self.latest or parent in self.begun:
                assert parent in self.finished, f"{shard_id} is read before the end of {parent}"
            parent = self.stream.shards[parent].parent

    def keep_up(self) -> None:
        """Readers read to the tips of their shards; some positions become durable."""
        for shard_id, position in self.reading.items():
            moved = position.after(SequenceNumber("5"), self.stream.now_ms)
            self.reading[shard_id] = self.positions[shard_id] = moved

    def drain_one(self, random: Random) -> bool:
        """A reader comes to the end of a closed shard, if there is one."""
        ended = [name for name in self.reading if self.stream.shards[name].closed_ms is not None]
        if ended:
            self.drained.add(random.choice(sorted(ended)))
        return bool(ended)

    def seal_one(self, random: Random) -> None:
        """The end of a drained shard becomes durable."""
        if not self.drained:
            return
        shard_id = random.choice(sorted(self.drained))
        self.drained.discard(shard_id)
        position = self.reading.pop(shard_id).known_good_at(self.stream.now_ms)
        self.positions[shard_id] = position.sealed()
        self.sealed_here.add(shard_id)
        self.finished.add(shard_id)

    def crash(self) -> None:
        """Forget what is not durable."""
        self.reading.clear()
        self.drained.clear()
        self.sealed_here.clear()

    def catch_up(self, random: Random) -> Plan:
        """No more lies, no more changes: read what there is."""
        while True:
            plan, finished = self.look(lies=False), len(self.finished)
            while self.drain_one(random):
                self.seal_one(random)
            if len(self.finished) == finished:
                return plan

    def wanted(self) -> set[str]:
        """Shards that must be read: all but those that were closed when LATEST was taken."""
        return {
            name
            for name in self.stream.shards
            if name in self.begun or not self.latest or name not in self.finished
        }


def _live(random: Random, *, latest: bool, crashes: bool, steps: int = 60) -> _Worker:
    """A life of so many random moments."""
    stream = _Stream(random)
    for _ in range(random.randint(0, 4)):
        stream.close_one()
    stream.now_ms += random.choice([0, _HIDDEN_MS])
    worker = _Worker(stream, latest)
    worker.meet()
    for _ in range(steps):
        moment = random.choice(
            ["close", "look", "look", "keep up", "drain", "seal", "seal", "wait", "crash"]
        )
        if moment == "close" and len(stream.shards) < 25:
            stream.close_one()
        elif moment == "look":
            assert worker.look(lies=True).gaps == ()
        elif moment == "keep up":
            worker.keep_up()
        elif moment == "drain":
            worker.drain_one(random)
        elif moment == "seal":
            worker.seal_one(random)
        elif moment == "wait":
            stream.now_ms += random.randint(1, 2 * _MINUTE_MS)
        elif moment == "crash" and crashes:
            worker.crash()
    return worker


@_many_lives
@pytest.mark.parametrize("crashes", [False, True])
def test_every_shard_is_read_to_its_end_after_its_parents(
    seed: int, latest: bool, crashes: bool
) -> None:
    """Field cases S07, S08, S15: whatever listings show, and whenever the worker dies."""
    random = Random(seed)
    worker = _live(random, latest=latest, crashes=crashes)
    plan = worker.catch_up(random)
    assert (plan.gaps, plan.orphans, plan.waiting) == ((), (), ())
    closed = {name for name, shard in worker.stream.shards.items() if shard.closed_ms is not None}
    assert closed <= worker.finished
    assert set(worker.reading) == set(worker.stream.shards) - closed
    if not crashes:
        assert len(worker.begun) == len(set(worker.begun))


@_many_lives
def test_what_was_finished_is_not_read_again_once_it_is_forgotten(seed: int, latest: bool) -> None:
    random = Random(seed)
    worker = _live(random, latest=latest, crashes=False)
    worker.catch_up(random)
    for _ in range(3):
        for _ in range(3):
            worker.stream.now_ms += 10 * _HOUR_MS
            worker.keep_up()
            worker.stream.close_one()
            worker.catch_up(random)
        worker.crash()
    plan = worker.catch_up(random)
    assert (plan.gaps, plan.orphans, plan.waiting) == ((), (), ())
    still_kept = [
        name for name in worker.positions if worker.stream.is_trimmed(worker.stream.shards[name])
    ]
    # What is trimmed is forgotten; only the end of a lineage's last shard may have to wait.
    assert len(still_kept) <= len(worker.reading)


@pytest.mark.parametrize("pause_h", [1, 10, 19])
@_many_lives
def test_a_pause_within_the_safe_zone_loses_nothing(seed: int, latest: bool, pause_h: int) -> None:
    random = Random(seed)
    worker = _live(random, latest=latest, crashes=True, steps=30)
    worker.keep_up()
    worker.crash()
    _pause(worker.stream, random, pause_h)
    plan = worker.catch_up(random)
    assert (plan.gaps, plan.orphans, plan.waiting) == ((), (), ())
    closed = {name for name, shard in worker.stream.shards.items() if shard.closed_ms is not None}
    assert closed <= worker.finished


@pytest.mark.parametrize("pause_h", [25, 30, 72])
@_many_lives
def test_a_pause_longer_than_the_stream_keeps_is_always_a_gap(
    seed: int, latest: bool, pause_h: int
) -> None:
    """Field cases I03 and S06: changes were trimmed unread, and nobody said so."""
    random = Random(seed)
    worker = _live(random, latest=latest, crashes=True, steps=30)
    worker.keep_up()
    worker.crash()
    _pause(worker.stream, random, pause_h)
    plan = plan_reading(
        worker.stream.listing(lies=False),
        worker.positions,
        now_ms=worker.stream.now_ms,
        windows=_WINDOWS,
    )
    assert plan.gaps
    assert plan.read == ()


def _pause(stream: _Stream, random: Random, hours: int) -> None:
    """Time passes without a worker; shards go on rolling over."""
    rolls = random.randint(0, 6)
    for _ in range(rolls):
        stream.now_ms += hours * _HOUR_MS // (rolls + 1)
        stream.close_one()
    stream.now_ms += hours * _HOUR_MS // (rolls + 1)


def test_time_alone_makes_no_gap_for_a_worker_that_keeps_up() -> None:
    worker = _live(Random(7), latest=False, crashes=False)
    worker.catch_up(Random(7))
    for _ in range(100):
        worker.stream.now_ms += 19 * _HOUR_MS
        assert worker.look(lies=False).gaps == ()
        worker.keep_up()


def test_a_sealed_shard_is_not_begun_by_a_second_worker() -> None:
    worker = _live(Random(3), latest=False, crashes=False)
    worker.catch_up(Random(3))
    second = replace(worker, reading={}, drained=set(), sealed_here=set(), begun=[])
    second.look(lies=False)
    assert set(second.begun) == {
        name for name, shard in worker.stream.shards.items() if shard.closed_ms is None
    }
