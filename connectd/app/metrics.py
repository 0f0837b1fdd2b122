"""Gathers every number of the process for one scrape of ``/metrics``.

Most are known to the herder (``runtime.metering``); here are those of what the worker stands on:
its Kafka clients, its AWS clients, its event loops, its processes (``process_report``). An answer
is used again for ``FRESH_S``, so that scrapers side by side cost no more than one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from connectd.aio.clock import Clock
from connectd.aio.scheduler import PollScheduler
from connectd.app.process_report import ProcessReporter, ReportedParts
from connectd.aws.clients import AwsClientPool
from connectd.configdef.worker import WorkerConfig
from connectd.connectors.dynamodb import tiers
from connectd.kafka.pool import ProducerPool
from connectd.observe import metrics_connect, metrics_own
from connectd.observe.metrics import Dialect, Exposition, label_text
from connectd.runtime.cores import process_numbers
from connectd.runtime.cores.messages import ProcessReport
from connectd.runtime.cores.processes import ProcessStatistics, TaskProcesses
from connectd.runtime.herder import Herder
from connectd.runtime.loop_watch import LoopWatch

FRESH_S: Final = 1.0
"""Nobody scrapes more often than that on purpose."""


@dataclass(frozen=True)
class MeteredParts:
    """What the numbers are asked of; ``client_id`` is the worker's name among them, ``processes``
    are those of its tasks if it has any."""

    herder: Herder
    producers: ProducerPool
    aws: AwsClientPool
    scheduler: PollScheduler
    loop_watch: LoopWatch
    clock: Clock
    client_id: str
    processes: TaskProcesses | None = None


_OF_ONE_PROCESS: Final = ("start_time_seconds", "max_fds")
"""What is said of the worker's own process, whichever others there are."""


class WorkerMetrics:
    """See the module's docstring; implements ``rest.metrics.MetricsSource``."""

    def __init__(self, config: WorkerConfig, parts: MeteredParts) -> None:
        self._dialects = [
            Dialect(name) for name in config.parsed.strings("connectd.metrics.dialects")
        ]
        self._protocol = None if config.cluster is None else config.cluster.group.protocol
        self._parts = parts
        self._started_s = parts.clock.wall_s()
        self._reporter = ProcessReporter(
            ReportedParts(parts.producers, parts.aws, parts.scheduler, parts.loop_watch)
        )
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
        report = self._report()
        self._add_worker(exposition, report)
        await self._parts.herder.metering.add_to(exposition)
        self._add_producers(exposition, report)
        self._add_aws(exposition, report)
        exposition.add_all(metrics_own.PROCESS, "", report.process)
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

    def _add_worker(self, exposition: Exposition, report: ProcessReport) -> None:
        parts, counts = self._parts, ProcessStatistics()
        if parts.processes is not None:
            counts = parts.processes.statistics()
        exposition.add_all(
            metrics_own.WORKER,
            "",
            {
                "ready": int(not parts.herder.reasons_not_ready()),
                "connectors_lost": parts.herder.connectors_lost(),
                "loop_lateness_max_seconds": report.lateness_max_s,
                **report.loop,
                **report.polls,
                "task_processes": counts.processes,
                "task_processes_running": counts.running,
                "task_processes_lost_total": counts.lost,
            },
        )
        tier = label_text(tier=tiers.active().value)
        exposition.add(metrics_own.ENCODING_TIER, tier, 1)
        for name, is_available in parts.herder.stores_available().items():
            exposition.add(
                metrics_own.KAFKA["available"], label_text(client=name), int(is_available)
            )

    def _report(self) -> ProcessReport:
        """Of the worker as a whole."""
        own, processes = self._reporter.report(), self._parts.processes
        if processes is None:
            return own
        everything = process_numbers.merged([replace(own, polls={}), processes.report()])
        of_one = {name: own.process[name] for name in _OF_ONE_PROCESS if name in own.process}
        return replace(everything, process={**everything.process, **of_one})

    @staticmethod
    def _add_producers(exposition: Exposition, report: ProcessReport) -> None:
        for client_id, numbers in report.producers.items():
            labels = label_text(client_id=client_id)
            for group in (metrics_connect.PRODUCER, metrics_own.PRODUCER):
                exposition.add_all(
                    group,
                    labels,
                    {name: value for name, value in numbers.items() if name in group.metrics},
                )
        availability = dict(report.producers_available)
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

    @staticmethod
    def _add_aws(exposition: Exposition, report: ProcessReport) -> None:
        for operation, numbers in report.aws.items():
            exposition.add_all(metrics_own.AWS, label_text(operation=operation), numbers)
