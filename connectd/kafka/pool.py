"""One producer for all tasks that want the same one.

librdkafka's producers cost threads, connections and a buffer each, and batch better the more goes
through one of them (spec performance section 9); so tasks share a producer per effective
configuration. Only ``producer.override.*`` that differ make another one. Used on the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from connectd.errors import InvariantError, WorkerError
from connectd.kafka import clientconf
from connectd.kafka.clientconf import Settings
from connectd.kafka.producer import PageProducer, ProducerStatistics

Key = tuple[tuple[str, str], ...]


@dataclass
class _Share:
    key: Key
    producer: PageProducer
    holders: int = 0


class ProducerPool:
    """Counts who uses which producer; the last one to release it closes it."""

    def __init__(
        self,
        *,
        client_id: str,
        buffer_kib: int = clientconf.BUFFER_KIB,
        on_failure: Callable[[WorkerError], None] | None = None,
    ) -> None:
        """``client_id`` is that of producers whose settings name none."""
        self._client_id = client_id
        self._buffer_kib = buffer_kib
        self._on_failure = on_failure
        self._usable: dict[Key, _Share] = {}
        self._shares: dict[PageProducer, _Share] = {}

    def acquire(self, settings: Settings) -> PageProducer:
        """The producer for these settings (Java names, no prefix); ``release`` it after use.

        A producer that has failed for good stays with those who hold it and is replaced here.

        Raises:
            ConfigError: a key is unknown, refused or forbidden, or a value is not accepted.
        """
        conf = clientconf.producer_conf(
            settings, client_id=self._client_id, buffer_kib=self._buffer_kib
        )
        key = tuple(sorted(conf.items()))
        share = self._usable.get(key)
        if share is None or not share.producer.is_usable:
            producer = PageProducer(conf, name=conf["client.id"], on_failure=self._on_failure)
            producer.open()
            share = self._usable[key] = self._shares[producer] = _Share(key, producer)
        share.holders += 1
        return share.producer

    async def release(self, producer: PageProducer, *, deadline_s: float) -> int:
        """Give a producer back; the last holder waits for its pages to be acknowledged.

        Returns the number of pages that were not, when the deadline comes first.

        Raises:
            InvariantError: it was not acquired here, or released before.
        """
        share = self._shares.get(producer)
        if share is None:
            raise InvariantError("a producer is released that nobody holds")
        share.holders -= 1
        if share.holders:
            return 0
        del self._shares[producer]
        if self._usable.get(share.key) is share:
            del self._usable[share.key]
        return await producer.close(deadline_s)

    def disown(self) -> None:
        """Let no producer send what it holds (see ``PageProducer.disown``); new ones can be had."""
        for share in self._shares.values():
            share.producer.disown()

    async def close(self, *, deadline_s: float) -> int:
        """Close all producers, held or not; returns the number of pages without an answer."""
        left = 0
        for share in list(self._shares.values()):
            left += await share.producer.close(deadline_s)
        self._shares.clear()
        self._usable.clear()
        return left

    def statistics(self) -> tuple[ProducerStatistics, ...]:
        """One entry per producer."""
        return tuple(share.producer.statistics() for share in self._shares.values())

    def statistics_by_client(self) -> dict[str, list[ProducerStatistics]]:
        """The same, by ``client.id``, which producers with other settings may share."""
        found: dict[str, list[ProducerStatistics]] = {}
        for share in self._shares.values():
            name = str(dict(share.key)["client.id"])
            found.setdefault(name, []).append(share.producer.statistics())
        return found
