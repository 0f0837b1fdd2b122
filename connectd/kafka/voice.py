"""What a Kafka client has to say, quietly.

librdkafka repeats itself several times a second while a broker is away. Here its log lines go to
DEBUG, and its error callback becomes two state changes worth a line each: the brokers do not
answer, and they answer again. ``trouble`` keeps what was heard last, for those who have to say why
something waits. One ``ClientVoice`` per client; its callbacks run in the threads that poll the
client.
"""

from __future__ import annotations

import structlog
from confluent_kafka import KafkaError

_log = structlog.get_logger(__name__)

_AWAY = frozenset({KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION, KafkaError._SSL})
"""Errors after which nothing works until the next success; a single lost connection is not one."""

_ADVICE = {
    KafkaError._AUTHENTICATION: "check sasl.mechanism, user name and password",
    KafkaError._SSL: (
        "check the trusted certificates (ssl.truststore.location or ssl.ca.location) and that the "
        "broker's certificate is for the host that bootstrap.servers names"
    ),
}


class ClientVoice:
    """Hooks for one client: ``log`` serves as its logger, ``on_error`` as its error callback."""

    def __init__(self, client: str, *, is_quiet: bool = False) -> None:
        """``is_quiet``: the state changes go to DEBUG, since whoever asks hears of the trouble."""
        self._client = client
        self._warn, self._inform = (
            (_log.debug, _log.debug) if is_quiet else (_log.warning, _log.info)
        )
        self.is_available = True
        self.heard = 0
        """How often something was heard: a client of which nothing is may be ``stranded``."""
        self._cause = ""

    @property
    def trouble(self) -> str:
        """Why the brokers do not answer, as far as the client has found out; empty: they do."""
        return "" if self.is_available else f"Kafka does not answer: {self._cause}"

    def log(self, level: int, form: str, *args: object) -> None:
        """A line of librdkafka's own log (the interface of ``logging.Logger.log``)."""
        _log.debug("librdkafka", client=self._client, level=level, text=form % args)

    def on_error(self, error: KafkaError) -> None:
        """librdkafka's error callback: global conditions, not single records.

        Fatal errors do not come here, confluent_kafka raises them out of the next poll.
        """
        self.heard += 1
        if error.code() != KafkaError._ALL_BROKERS_DOWN or not self._cause:
            # That all are down is said right after what is wrong with the last of them.
            advice = _ADVICE.get(error.code())
            self._cause = f"{error.str()} ({error.name()})" + (f"; {advice}" if advice else "")
        if error.code() in _AWAY and self.is_available:
            self.is_available = False
            self._warn(
                "kafka does not answer, trying again",
                client=self._client,
                code=error.name(),
                text=self._cause,
            )

    def on_answer(self) -> None:
        """Something has succeeded."""
        self.heard += 1
        self._cause = ""
        if not self.is_available:
            self.is_available = True
            self._inform("kafka answers again", client=self._client)
