"""Whether a client that holds something has lost all its brokers for good: the one rule for those.

An admin client holds nothing; it is replaced on less (``admin``).

When an answer about the cluster names no broker (all are fenced for a moment, as after an outage of
the controllers or a restart of the whole cluster), librdkafka forgets every broker that it knows,
and often does not go back to bootstrap.servers (its issue 5301; with
``metadata.recovery.strategy=none`` it never does). Such a client is *stranded*: it has nobody to
connect to, tries nothing and says nothing any more, for ever, and nothing can be done but to make
another one. Its owner does that: a producer in ``sending``, a reader in ``tailing``.

From outside it looks like a client whose cluster is silent. What tells them apart: a newcomer, a
client made now with the same settings, is answered. So a client is stranded when for a while

* it has said nothing, neither an error nor an answer (``voice``),
* it had no connection, whenever it was looked at, and
* every newcomer was answered, by a cluster with brokers.

The while is as long as a client with somebody to connect to may need for that, by its own settings.
In an outage newcomers are not answered, and where connections are refused the client says so all
the time: outages are ridden out by the same client, however long they are. A cluster that is there
and acknowledges nothing (too few replicas in sync) is connected to.

A ``Lookout`` is used by the thread that polls the client, and never blocks it: newcomers live in
threads of their own, one at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, Protocol

from confluent_kafka import KafkaError, KafkaException

from connectd.aio import threads
from connectd.kafka import errors
from connectd.kafka.clientconf import Conf
from connectd.kafka.voice import ClientVoice

LOOK_S: Final = 1.0
"""Between two looks."""

SILENCE_S: Final = 3.0
"""A client is not looked at before it has said nothing for so long."""

NEWCOMER_S: Final = 5.0
"""How long a newcomer may take."""

NEWCOMER_PAUSE_S: Final = 2.0
"""Between one newcomer and the next: an absence of the cluster that is shorter may be missed."""

MARGIN_S: Final = 2.0
"""Beyond what a client's settings allow it to need for a connection."""

_SETUP_MS: Final = ("socket.connection.setup.timeout.ms", 30_000)
_BACKOFF_MS: Final = ("reconnect.backoff.max.ms", 10_000)
"""librdkafka's own defaults."""

_NEWCOMER: Final[Conf] = {
    "log_level": 0,
    "error_cb": lambda _: None,  # or it would go to stderr
    "allow.auto.create.topics": "false",
    "enable.metrics.push": "false",
}


class Brokers(Protocol):
    """An answer about the cluster."""

    brokers: dict[int, object]


class Client(Protocol):
    """What is looked at: a client of confluent_kafka."""

    def list_topics(self, topic: str, timeout: float) -> Brokers:
        """Ask any broker."""
        ...

    def close(self) -> object:
        """Let go of everything."""
        ...


class Lookout:
    """See the module's docstring: one for each client."""

    def __init__(
        self,
        make: Callable[[Conf], Client],
        conf: Conf,
        voice: ClientVoice,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``make`` and ``conf``: as the client was made, without its voice."""
        self._make = make
        self._conf = conf | _NEWCOMER
        self._voice = voice
        self._monotonic = monotonic
        self.patience_s = _patience_s(conf)
        self._heard = voice.heard
        self._look_at = monotonic() + SILENCE_S
        self._newcomer: Future[bool] | None = None
        self._newcomer_at = 0.0
        self._is_newcomer_of_before = False
        self._answered_at: float | None = None

    def is_stranded(self, client: Client, topic: str) -> bool:
        """Look, if it is time to; to be called while the client is waited for in vain.

        ``topic``: one that the client knows. After yes it is about the client's successor.
        """
        now = self._monotonic()
        if self._heard != self._voice.heard:
            self._begin_anew(now)
        if now < self._look_at:
            return False
        self._look_at = now + LOOK_S
        if _has_connection(client, topic):
            self._voice.on_answer()  # or there would be none
            self._begin_anew(now)
            return False
        if not self._are_newcomers_answered(topic, now):
            return False
        self._begin_anew(now)
        return True

    def _begin_anew(self, now: float) -> None:
        self._heard = self._voice.heard
        self._look_at = now + SILENCE_S
        self._answered_at = None
        self._is_newcomer_of_before = True

    def _are_newcomers_answered(self, topic: str, now: float) -> bool:
        """Whether they have been, for long enough."""
        if self._newcomer is None:
            if now >= self._newcomer_at:
                self._is_newcomer_of_before = False
                self._newcomer = threads.started(
                    lambda: _is_answered(self._make, self._conf, topic), name="kafka-newcomer"
                )
            return False
        if not self._newcomer.done():
            return False
        newcomer, self._newcomer = self._newcomer, None
        is_answered = newcomer.exception() is None and newcomer.result()
        self._newcomer_at = now + NEWCOMER_PAUSE_S
        if self._is_newcomer_of_before or not is_answered:
            self._answered_at = None
            return False
        if self._answered_at is None:
            self._answered_at = now
        return now - self._answered_at >= self.patience_s


def _has_connection(client: Client, topic: str) -> bool:
    """Whether there is a broker that could be asked; the answer is not waited for."""
    try:
        client.list_topics(topic, timeout=0)
    except KafkaException as error:
        return errors.kafka_error(error).code() != KafkaError._TRANSPORT
    return True


def _is_answered(make: Callable[[Conf], Client], conf: Conf, topic: str) -> bool:
    """What a newcomer finds; whatever keeps it from that is raised."""
    newcomer = make(conf)
    try:
        return bool(newcomer.list_topics(topic, timeout=NEWCOMER_S).brokers)
    finally:
        newcomer.close()


def _patience_s(conf: Conf) -> float:
    needed_ms = sum(int(conf.get(key, default)) for key, default in (_SETUP_MS, _BACKOFF_MS))
    return needed_ms / 1000 + MARGIN_S
