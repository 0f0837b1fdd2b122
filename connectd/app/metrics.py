"""Gathers every number of the process for one scrape of ``/metrics``.

Most are known to the herder (``runtime.metering``); here are those of what the worker stands on:
its Kafka clients, its AWS clients, its event loop, the process. An answer is used again for
``FRESH_S``, so that scrapers side by side cost no more than one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from prometheus_client import ProcessCollector

from connectd.aio.clock import Clock
from connectd.aio.scheduler import PollScheduler
from connectd.aws.clients import AwsClientPool
from connectd.configdef.worker import WorkerConfig
from connectd.connectors.dynamodb import tiers
from connectd.kafka.pool import ProducerPool
from connectd.observe import metrics_connect, metrics_own
from connectd.observe.metrics import Dialect, Exposition, label_text
from connectd.runtime.herder import Herder
from connectd.runtime.loop_watch import LoopWatch

FRESH_S: Final = 1.0
"""Nobody scrapes more often than that on purpose."""


@dataclass(frozen=True)
class MeteredParts:
    """What the numbers are asked of; ``client_id`` is the worker's name among them."""

    herder: Herder
    producers: ProducerPool
    aws: AwsClientPool
    scheduler: PollScheduler
    loop_watch: LoopWatch
    clock: Clock
    client_id: str


class WorkerMetrics:
    """See the module's docstring; implements ``rest.metrics.MetricsSource``."""

    def __init__(self, config: WorkerConfig, parts: MeteredParts) -> None:
        self._dialects = [
            Dialect(name) for name in config.parsed.strings("connectd.metrics.dialects")
        ]
        self._protocol = None if config.cluster is None else config.cluster.group.protocol
        self._parts = parts
        self._started_s = parts.clock.wall_s()
        self._process = ProcessCollector(registry=None)
        self._rendering = asyncio.Lock()
        self._text = b""
        self._fresh_until_s: float | None = None

    async def text(self) -> bytes:
        """The answer, at most ``FRESH_S`` old."""
        clock = self._parts.clock
        async with self._rendering:
            if self._fresh_until_s is None or clock.monotonic() >= self._fresh_until_s:
                self._text = await (await self.collect()).render()
                self._fresh_until_s = clock.monotonic() + FRESH_S
            return self._text

    async def collect(self) -> Exposition:
        """Every number, as of now."""
        clock = self._parts.clock
        began_s = clock.monotonic()
        exposition = Exposition(self._dialects)
        self._add_identity(exposition)
        self._add_worker(exposition)
        await self._parts.herder.metering.add_to(exposition)
        self._add_producers(exposition)
        self._add_aws(exposition)
        self._add_process(exposition)
        took_s = clock.monotonic() - began_s
        exposition.add(metrics_own.METRICS["collect_seconds"], "", took_s)
        return exposition

    def _add_identity(self, exposition: Exposition) -> None:
        info = self._parts.herder.describe()
        labels = label_text(
            client_id=self._parts.client_id,
            version=info.version,
            commit_id=info.commit,
            start_time_ms=round(self._started_s * 1000),
        )
        exposition.add(metrics_connect.APP_INFO, labels, 1)
        exposition.add(metrics_connect.START_TIME, "", round(self._started_s, 3))
        if self._protocol is not None:
            protocol = label_text(connect_protocol=self._protocol.upper())
            exposition.add(metrics_connect.PROTOCOL, protocol, 1)

    def _add_worker(self, exposition: Exposition) -> None:
        parts = self._parts
        polls = parts.scheduler.statistics()
        exposition.add_all(
            metrics_own.WORKER,
            "",
            {
                "ready": int(not parts.herder.reasons_not_ready()),
                "connectors_lost": parts.herder.connectors_lost(),
                "loop_lateness_max_seconds": parts.loop_watch.lateness_max_s(),
                "polls_in_flight": polls.in_flight,
                "polls_in_flight_max": polls.in_flight_max,
                "polls_waiting": polls.waiting,
            },
        )
        tier = label_text(tier=tiers.active().value)
        exposition.add(metrics_own.ENCODING_TIER, tier, 1)
        for name, is_available in parts.herder.stores_available().items():
            exposition.add(
                metrics_own.KAFKA["available"], label_text(client=name), int(is_available)
            )

    def _add_producers(self, exposition: Exposition) -> None:
        for client_id, producers in self._parts.producers.statistics_by_client().items():
            labels = label_text(client_id=client_id)
            exposition.add_all(
                metrics_connect.PRODUCER,
                labels,
                {
                    "record-send-total": sum(each.records_acked for each in producers),
                    "record-error-total": sum(each.records_failed for each in producers),
                },
            )
            exposition.add_all(
                metrics_own.PRODUCER,
                labels,
                {
                    "pages_outstanding": sum(each.pages_outstanding for each in producers),
                    "pages_queued": sum(each.pages_queued for each in producers),
                    "records_buffered": sum(each.records_buffered for each in producers),
                    "buffer_full_total": sum(each.buffer_full for each in producers),
                },
            )
        availability = self._parts.producers.availability()
        are_available = availability.pop("", True)
        exposition.add(
            metrics_own.KAFKA["available"], label_text(client="producers"), int(are_available)
        )
        for connector, is_available in availability.items():
            exposition.add(
                metrics_own.CONNECTOR["kafka_available"],
                label_text(connector=connector),
                int(is_available),
            )

    def _add_aws(self, exposition: Exposition) -> None:
        for operation, counts in self._parts.aws.calls().items():
            exposition.add_all(
                metrics_own.AWS,
                label_text(operation=operation),
                {
                    "calls_total": counts.calls,
                    "throttles_total": counts.throttles,
                    "failures_total": counts.failures,
                    "call_seconds_total": round(counts.seconds, 6),
                },
            )

    def _add_process(self, exposition: Exposition) -> None:
        for family in self._process.collect():
            for sample in family.samples:
                name = sample.name.removeprefix("process_")
                if name in metrics_own.PROCESS.metrics:
                    exposition.add(metrics_own.PROCESS[name], "", sample.value)
