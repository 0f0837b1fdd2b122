"""The numbers of several processes as those of one worker.

Sums, but for what is a worst case or a truth about each: the lateness of a loop is the largest, a
producer is available where all are. What counts goes on counting when a process is lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from connectd.runtime.cores.messages import ProcessReport, Value

_Table = Mapping[str, Mapping[str, Value]]


def merged(reports: Iterable[ProcessReport]) -> ProcessReport:
    """All of them together."""
    everything = list(reports)
    available: dict[str, bool] = {}
    for report in everything:
        for connector, is_available in report.producers_available.items():
            available[connector] = available.get(connector, True) and is_available
    return ProcessReport(
        producers=_added(report.producers for report in everything),
        producers_available=available,
        aws=_added(report.aws for report in everything),
        polls=_summed(report.polls for report in everything),
        process=_summed(report.process for report in everything),
        loop=_summed(report.loop for report in everything),
        lateness_max_s=max(
            (each for report in everything if not math.isnan(each := report.lateness_max_s)),
            default=math.nan,
        ),
    )


def counters(report: ProcessReport) -> ProcessReport:
    """What of it counts, and so does not end with the process."""
    return ProcessReport(
        producers=_counting(report.producers),
        aws=_counting(report.aws),
        process=dict(_only_counters(report.process)),
        loop=dict(_only_counters(report.loop)),
    )


def _added(tables: Iterable[_Table]) -> dict[str, dict[str, Value]]:
    found: dict[str, list[Mapping[str, Value]]] = {}
    for table in tables:
        for name, numbers in table.items():
            found.setdefault(name, []).append(numbers)
    return {name: _summed(numbers) for name, numbers in found.items()}


def _summed(several: Iterable[Mapping[str, Value]]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for numbers in several:
        for name, value in numbers.items():
            found[name] = found.get(name, 0) + value
    return found


def _counting(table: _Table) -> dict[str, dict[str, Value]]:
    return {name: dict(_only_counters(numbers)) for name, numbers in table.items()}


def _only_counters(numbers: Mapping[str, Value]) -> Iterable[tuple[str, Value]]:
    return ((name, value) for name, value in numbers.items() if name.endswith(("_total", "-total")))
