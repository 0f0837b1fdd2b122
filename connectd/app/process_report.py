"""What one process says of what its tasks stand on: its Kafka and AWS clients, its loop, itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client import ProcessCollector

from connectd.aio.scheduler import PollScheduler
from connectd.aws.clients import AwsClientPool
from connectd.kafka.pool import ProducerPool
from connectd.kafka.producer import ProducerStatistics
from connectd.observe import metrics_own
from connectd.runtime.cores.messages import ProcessReport, Value
from connectd.runtime.loop_watch import LoopWatch


@dataclass(frozen=True)
class ReportedParts:
    """What the numbers are asked of."""

    producers: ProducerPool
    aws: AwsClientPool
    scheduler: PollScheduler
    loop_watch: LoopWatch


class ProcessReporter:
    """Asks them, each time anew."""

    def __init__(self, parts: ReportedParts) -> None:
        self._parts = parts
        self._process = ProcessCollector(registry=None)

    def report(self) -> ProcessReport:
        """As of now."""
        parts = self._parts
        polls = parts.scheduler.statistics()
        by_client = parts.producers.statistics_by_client()
        return ProcessReport(
            producers={client_id: _sums(each) for client_id, each in by_client.items()},
            producers_available=parts.producers.availability(),
            aws={
                operation: {
                    "calls_total": counts.calls,
                    "throttles_total": counts.throttles,
                    "failures_total": counts.failures,
                    "call_seconds_total": round(counts.seconds, 6),
                }
                for operation, counts in parts.aws.calls().items()
            },
            polls={
                "polls_in_flight": polls.in_flight,
                "polls_in_flight_max": polls.in_flight_max,
                "polls_waiting": polls.waiting,
            },
            process={
                name: sample.value
                for family in self._process.collect()
                for sample in family.samples
                if (name := sample.name.removeprefix("process_")) in metrics_own.PROCESS.metrics
            },
            loop={
                "loop_pulses_total": parts.loop_watch.pulses,
                "loop_pulses_late_total": parts.loop_watch.pulses_late,
            },
            lateness_max_s=parts.loop_watch.lateness_max_s(),
        )


def _sums(producers: Iterable[ProducerStatistics]) -> dict[str, Value]:
    """By the names of Connect's metrics, and of ours."""
    several = list(producers)
    return {
        "record-send-total": sum(each.records_acked for each in several),
        "record-error-total": sum(each.records_failed for each in several),
        "pages_outstanding": sum(each.pages_outstanding for each in several),
        "pages_queued": sum(each.pages_queued for each in several),
        "records_buffered": sum(each.records_buffered for each in several),
        "buffer_full_total": sum(each.buffer_full for each in several),
    }
