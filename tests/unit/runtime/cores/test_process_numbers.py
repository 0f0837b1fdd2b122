"""Numbers of several processes add up to those of one worker."""

from __future__ import annotations

import math

from connectd.runtime.cores.messages import ProcessReport
from connectd.runtime.cores.process_numbers import counters, merged

ONE = ProcessReport(
    producers={"p": {"record-send-total": 3, "pages_queued": 1}},
    producers_available={"": True, "c": False},
    aws={"Scan": {"calls_total": 2}},
    polls={"polls_in_flight": 1},
    process={"cpu_seconds_total": 1.5, "resident_memory_bytes": 100.0},
    loop={"loop_pulses_total": 10, "loop_pulses_late_total": 1},
    lateness_max_s=0.25,
)
OTHER = ProcessReport(
    producers={"p": {"record-send-total": 4, "pages_queued": 0}, "q": {"pages_queued": 2}},
    producers_available={"": False},
    aws={"GetRecords": {"calls_total": 5}},
    polls={"polls_in_flight": 2},
    process={"cpu_seconds_total": 0.5, "resident_memory_bytes": 50.0},
    loop={"loop_pulses_total": 20, "loop_pulses_late_total": 0},
    lateness_max_s=math.nan,
)


def test_sums_worst_cases_and_truths_about_each() -> None:
    assert merged([ONE, OTHER]) == ProcessReport(
        producers={"p": {"record-send-total": 7, "pages_queued": 1}, "q": {"pages_queued": 2}},
        producers_available={"": False, "c": False},
        aws={"Scan": {"calls_total": 2}, "GetRecords": {"calls_total": 5}},
        polls={"polls_in_flight": 3},
        process={"cpu_seconds_total": 2.0, "resident_memory_bytes": 150.0},
        loop={"loop_pulses_total": 30, "loop_pulses_late_total": 1},
        lateness_max_s=0.25,
    )


def test_nothing_is_known_of_no_process() -> None:
    assert math.isnan(merged([]).lateness_max_s)


def test_only_what_counts_outlives_a_process() -> None:
    kept = counters(ONE)
    assert kept.producers == {"p": {"record-send-total": 3}}
    assert kept.aws == ONE.aws
    assert kept.process == {"cpu_seconds_total": 1.5}
    assert kept.loop == ONE.loop
    assert (kept.polls, kept.producers_available) == ({}, {})
