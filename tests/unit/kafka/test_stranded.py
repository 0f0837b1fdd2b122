"""A client that has lost all its brokers for good is found out, and others are left in peace."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from confluent_kafka import KafkaError, KafkaException

from connectd.kafka import stranded
from connectd.kafka.clientconf import Conf
from connectd.kafka.stranded import LOOK_S, MARGIN_S, SILENCE_S, Lookout
from connectd.kafka.voice import ClientVoice
from tests.harness.processes import wait_for

DEADLINE_S = 20.0
CONF = {"socket.connection.setup.timeout.ms": "10000", "reconnect.backoff.max.ms": "1000"}
PATIENCE_S = 11.0 + MARGIN_S


@dataclass
class Answer:
    brokers: dict[int, object]


@dataclass
class FakeClient:
    """Answers, or raises, what it is told to."""

    says: Answer | KafkaException

    def list_topics(self, topic: str, timeout: float) -> Answer:
        assert topic == "t"
        if isinstance(self.says, KafkaException):
            raise self.says
        return self.says

    def close(self) -> bool:
        return True


def failing(code: int) -> KafkaException:
    return KafkaException(KafkaError(code))


SOME = Answer({1: "broker"})
NONE = Answer({})
UNREACHED = failing(KafkaError._TRANSPORT)
UNANSWERED = failing(KafkaError._TIMED_OUT)


@dataclass
class World:
    """A client that is looked at as time passes, and the newcomers beside it."""

    newcomer: Answer | KafkaException = field(default_factory=lambda: SOME)
    client: FakeClient = field(default_factory=lambda: FakeClient(UNREACHED))
    now: float = 0.0
    made: int = 0

    def __post_init__(self) -> None:
        self.voice = ClientVoice("client")
        self.lookout = Lookout(self._make, CONF, self.voice, monotonic=lambda: self.now)

    def _make(self, conf: Conf) -> FakeClient:
        self.made += 1
        return FakeClient(self.newcomer)

    def look(self, for_s: float) -> bool:
        """Look all the time, for so long or until it is found out."""
        end = self.now + for_s
        while self.now < end:
            if self.lookout.is_stranded(self.client, "t"):
                return True
            asked = self.lookout._newcomer
            assert asked is None or wait_for(asked.done, deadline_s=DEADLINE_S)
            self.now += LOOK_S / 4
        return False


@pytest.fixture
def world() -> World:
    return World()


def test_a_client_that_has_nobody_while_newcomers_are_answered_is_stranded(world: World) -> None:
    assert world.look(10 * PATIENCE_S)
    least_s = SILENCE_S + PATIENCE_S
    assert least_s <= world.now <= least_s + LOOK_S + 2 * stranded.NEWCOMER_PAUSE_S + 2 * LOOK_S
    found_at = world.now
    assert world.look(10 * PATIENCE_S), "its successor is looked at as well"
    assert world.now - found_at >= least_s


@pytest.mark.parametrize("newcomer", [UNREACHED, UNANSWERED, NONE], ids=["away", "silent", "none"])
def test_an_outage_is_waited_for_however_long_it_is(
    world: World, newcomer: Answer | KafkaException
) -> None:
    world.newcomer = newcomer
    assert not world.look(20 * PATIENCE_S)
    world.newcomer = SOME
    assert not world.look(PATIENCE_S / 2), "whoever has somebody to connect to has this long"
    world.client.says = UNANSWERED
    assert not world.look(20 * PATIENCE_S)


def test_an_outage_in_between_begins_the_wait_anew(world: World) -> None:
    for _ in range(5):
        assert not world.look(SILENCE_S + PATIENCE_S * 0.8)
        world.newcomer = UNREACHED
        assert not world.look(2 * stranded.NEWCOMER_PAUSE_S)
        world.newcomer = SOME


@pytest.mark.parametrize("says", [SOME, UNANSWERED], ids=["answered", "connected"])
def test_a_client_with_a_connection_is_left_in_peace(
    world: World, says: Answer | KafkaException
) -> None:
    """Whatever else it waits for: replicas that are not in sync, a broker that is silent."""
    world.client.says = says
    assert not world.look(10 * PATIENCE_S)
    assert world.made == 0


def test_a_client_that_says_something_is_left_in_peace(world: World) -> None:
    for _ in range(30):
        world.voice.on_error(KafkaError(KafkaError._TRANSPORT))
        assert not world.look(SILENCE_S)
        world.voice.on_answer()
        assert not world.look(SILENCE_S)
    assert world.made == 0


def test_a_newcomer_that_cannot_be_made_is_not_answered(world: World) -> None:
    def make(conf: Conf) -> FakeClient:
        raise failing(KafkaError._INVALID_ARG)

    world.lookout = Lookout(make, CONF, world.voice, monotonic=lambda: world.now)
    assert not world.look(10 * PATIENCE_S)


def test_how_long_it_takes_follows_from_the_clients_own_settings() -> None:
    voice = ClientVoice("client")
    of_librdkafka = Lookout(FakeClient, {}, voice).patience_s  # type: ignore[arg-type]
    assert of_librdkafka == 40.0 + MARGIN_S
    slow: Conf = {**CONF, "reconnect.backoff.max.ms": 60_000}
    assert Lookout(FakeClient, slow, voice).patience_s == 70.0 + MARGIN_S  # type: ignore[arg-type]
