"""What the three stores on a compacted topic have in common: a home, a log, and their life.

A store opens when its topic has been made or checked (``topic_home``) and read to the end, and is
told of every record from there on. What the records mean, and how writes are gathered, is the
store's own business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

from connectd.aio.clock import Clock
from connectd.errors import BrokerUnavailableError, WorkerError
from connectd.kafka.admin import KafkaAdmin
from connectd.kafka.log import CompactedLog
from connectd.kafka.tailing import LogRecord
from connectd.stores import topic_home
from connectd.stores.topic_home import HomeRules, TopicHome

CLOSE_S = 5.0
"""How long ``close`` waits for records that are on their way."""


class KafkaStore(ABC):
    """Implements ``stores.protocols.Store`` on a compacted topic; used on one event loop."""

    RULES: ClassVar[HomeRules]

    def __init__(
        self,
        home: TopicHome,
        *,
        clock: Clock,
        on_failure: Callable[[WorkerError], None],
        give_up_ms: int = 0,
    ) -> None:
        """``on_failure`` is called on the loop when the topic cannot be followed any more.

        ``give_up_ms``: see ``CompactedLog``.

        Raises:
            ConfigError: a client setting is not accepted.
        """
        self._home = home
        self._clock = clock
        self._admin = KafkaAdmin(home.client, client_id=f"{home.client_id}-admin", clock=clock)
        self._log = CompactedLog(
            home.client,
            topic=home.topic,
            client_id=home.client_id,
            admin=self._admin,
            clock=clock,
            on_records=self._on_records,
            on_failure=on_failure,
            give_up_ms=give_up_ms,
        )

    async def open(self) -> None:
        """See ``protocols.Store``."""
        partitions = await topic_home.prepare(
            self._home, self.RULES, admin=self._admin, clock=self._clock
        )
        try:
            await self._log.open(partitions, deadline_s=self._home.open_deadline_s)
        except BrokerUnavailableError as error:
            raise WorkerError(f"opening the store of {self.RULES.purpose}: {error}") from error

    async def close(self) -> None:
        """See ``protocols.Store``."""
        await self._log.close(deadline_s=CLOSE_S)

    @property
    def is_available(self) -> bool:
        """Whether the brokers answer, as far as the reader has found out."""
        return self._log.is_available

    @property
    def refusal(self) -> str | None:
        """See ``protocols.Store``."""
        return self._log.refusal

    @abstractmethod
    def _on_records(self, records: Sequence[LogRecord]) -> None:
        """Take in what the topic says; called on the loop, in the topic's order."""
