"""Records of a partition up to an offset: what counts as movement, and what ends the reading."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError

from connectd.errors import BrokerUnavailableError
from spark_jobs import reconcile_sides
from spark_jobs.reconcile_sides import STILL_S


class Message:
    """A record, or an event of librdkafka's."""

    def __init__(self, offset: int | None, code: int | None = None) -> None:
        self._offset = offset
        is_retriable = code == KafkaError._TRANSPORT
        self._error = None if code is None else KafkaError(code, "told", False, is_retriable)

    def offset(self) -> int | None:
        return self._offset

    def error(self) -> KafkaError | None:
        return self._error


class World:
    """A consumer whose every call takes ``poll_s``, and the clock that says so."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.poll_s = 1.0
        self.batches: list[list[Message]] = []
        self.rest: list[Message] = []
        self.is_closed = False

    def assign(self, _: Any) -> None:
        """There is one partition."""

    def consume(self, _: int, timeout: float) -> list[Message]:
        self.now_s += self.poll_s
        return self.batches.pop(0) if self.batches else self.rest

    def close(self) -> None:
        self.is_closed = True

    def monotonic(self) -> float:
        return self.now_s

    def records(self, end: int) -> Iterator[Any]:
        return reconcile_sides._records({}, "t", 0, end)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    monkeypatch.setattr(reconcile_sides, "Consumer", lambda _: world)
    monkeypatch.setattr(reconcile_sides, "time", world)
    return world


def test_what_librdkafka_tries_again_is_no_movement(world: World) -> None:
    world.rest = [Message(None, KafkaError._TRANSPORT)]
    world.batches = [[Message(0)]]
    with pytest.raises(BrokerUnavailableError, match="nothing came for 60 s"):
        list(world.records(5))
    assert STILL_S <= world.now_s <= STILL_S + 3
    assert world.is_closed


def test_who_takes_records_may_take_long(world: World) -> None:
    world.batches = [[Message(0), Message(1)], [], [Message(2)]]
    seen = []
    for message in world.records(3):
        seen.append(message.offset())
        world.now_s += STILL_S
    assert seen == [0, 1, 2]


def test_the_end_of_a_partition_is_an_end_however_late_it_comes(world: World) -> None:
    world.poll_s = STILL_S + 1
    world.batches = [[Message(7, KafkaError._PARTITION_EOF)]]
    assert list(world.records(9)) == []
