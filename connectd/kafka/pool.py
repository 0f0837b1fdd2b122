"""One producer for all tasks that want the same one.

librdkafka's producers cost threads, connections and a buffer each, and batch better the more goes
through one of them (spec performance section 9); so tasks share a producer per effective
configuration. Only ``producer.override.*`` that differ make another one: if its brokers do not
answer, that is the business of the connectors that wanted it, and not of all. Used on the loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from connectd.errors import InvariantError, WorkerError
from connectd.kafka import clientconf
from connectd.kafka.clientconf import Settings
from connectd.kafka.producer import PageProducer, ProducerStatistics

Key = tuple[tuple[str, str], ...]

_NOTHING: Final = ProducerStatistics(
    pages_sent=0,
    pages_outstanding=0,
    pages_queued=0,
    records_buffered=0,
    records_acked=0,
    records_failed=0,
    buffer_full=0,
    is_available=True,
    is_usable=False,
)


@dataclass
class _Share:
    key: Key
    producer: PageProducer
    holders: Counter[str] = field(default_factory=Counter)
    """How often it is held, by the connector whose overrides it has; "": it has none."""

    @property
    def client_id(self) -> str:
        return dict(self.key)["client.id"]


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
        self._closing: list[_Share] = []
        # What producers that are gone have counted, while others of their client.id go on: sums by
        # client.id may only grow, or whoever reads them takes them for begun anew.
        self._gone: dict[str, ProducerStatistics] = {}

    def acquire(self, settings: Settings, *, overridden_by: str = "") -> PageProducer:
        """The producer for these settings (Java names, no prefix); ``release`` it after use.

        ``overridden_by``: the connector that has overrides among them.

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
        share.holders[overridden_by] += 1
        return share.producer

    async def release(
        self, producer: PageProducer, *, deadline_s: float, overridden_by: str = ""
    ) -> int:
        """Give a producer back, as it was acquired.

        The last holder waits for its pages to be acknowledged. The answer is the number of pages
        that were not, when the deadline comes first.

        Raises:
            InvariantError: it was not acquired here, or released before.
        """
        share = self._shares.get(producer)
        if share is None or not share.holders[overridden_by]:
            raise InvariantError("a producer is released that nobody holds")
        share.holders[overridden_by] -= 1
        if share.holders.total():
            return 0
        del self._shares[producer]
        if self._usable.get(share.key) is share:
            del self._usable[share.key]
        self._closing.append(share)
        try:
            return await producer.close(deadline_s)
        finally:
            self._closing.remove(share)
            self._retire(share)

    def _retire(self, share: _Share) -> None:
        client_id = share.client_id
        if all(each.client_id != client_id for each in self._all()):
            self._gone.pop(client_id, None)
            return
        counted, before = share.producer.statistics(), self._gone.get(client_id, _NOTHING)
        self._gone[client_id] = replace(
            _NOTHING,
            pages_sent=before.pages_sent + counted.pages_sent,
            records_acked=before.records_acked + counted.records_acked,
            records_failed=before.records_failed + counted.records_failed,
            buffer_full=before.buffer_full + counted.buffer_full,
        )

    def _all(self) -> list[_Share]:
        return [*self._shares.values(), *self._closing]

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
        self._gone.clear()
        return left

    def statistics(self) -> tuple[ProducerStatistics, ...]:
        """One entry per producer."""
        return tuple(share.producer.statistics() for share in self._shares.values())

    def availability(self) -> dict[str, bool]:
        """Whether the brokers answer, by the connector whose own producers are meant; "" are those
        without overrides, if there are any.
        """
        found: dict[str, bool] = {}
        for share in self._shares.values():
            is_available = share.producer.statistics().is_available
            for holder, times in share.holders.items():
                if times:
                    found[holder] = found.get(holder, True) and is_available
        return found

    def statistics_by_client(self) -> dict[str, list[ProducerStatistics]]:
        """By ``client.id``, which producers with other settings may share.

        What those have counted that are gone is an entry more, as long as there are others.
        """
        found: dict[str, list[ProducerStatistics]] = {}
        for share in self._all():
            found.setdefault(share.client_id, []).append(share.producer.statistics())
        for client_id, counted in self._gone.items():
            found[client_id].append(counted)
        return found
