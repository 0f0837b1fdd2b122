"""Which chunk of a scan comes next, when, and when there is no point in going on."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from connectd.connectors.dynamodb.offsets import SegmentPosition
from spark_jobs.chunk_schedule import LOST_MAX, WAIT_MAX_S, ChunkSchedule
from spark_jobs.chunks import ChunkResult
from tests.unit.spark_jobs.jobs import positions


def _moved(position: SegmentPosition, items: int = 10) -> SegmentPosition:
    return position.after_page(b'{"id":{"S":"%d"}}' % (position.count + items), items)


def _ended(position: SegmentPosition) -> SegmentPosition:
    return position.after_page(None, 1)


def _started(schedule: ChunkSchedule, now_s: float = 0.0) -> list[SegmentPosition]:
    found = []
    while (position := schedule.next(now_s)) is not None:
        found.append(position)
    return found


def test_as_many_chunks_run_as_there_are_slots() -> None:
    schedule = ChunkSchedule(positions(8), slots=3)
    assert len(_started(schedule)) == 3
    assert schedule.running == 3
    assert schedule.wait_s(0.0) is None


def test_the_first_segments_are_spread_over_the_table() -> None:
    schedule = ChunkSchedule(positions(8), slots=4)
    assert sorted(each.segment for each in _started(schedule)) == [0, 2, 4, 6]


def test_a_segment_has_one_chunk_at_a_time() -> None:
    schedule = ChunkSchedule(positions(1), slots=4)
    (position,) = _started(schedule)
    assert schedule.next(0.0) is None
    schedule.on_result(ChunkResult(_moved(position)), 0.0)
    assert schedule.next(0.0) == _moved(position)


def test_a_segment_that_has_begun_goes_before_one_that_has_not() -> None:
    schedule = ChunkSchedule(positions(3), slots=1)
    (first,) = _started(schedule)
    schedule.on_result(ChunkResult(_moved(first)), 5.0)
    assert schedule.next(5.0) == _moved(first)


def test_segments_that_have_begun_take_turns() -> None:
    schedule = ChunkSchedule(positions(2), slots=2)
    first, second = _started(schedule)
    schedule.on_result(ChunkResult(_moved(second)), 1.0)
    schedule.on_result(ChunkResult(_moved(first)), 2.0)
    assert [each.segment for each in _started(schedule, 3.0)] == [second.segment, first.segment]


def test_finished_segments_are_not_scanned_again() -> None:
    begun = [_ended(positions(2)[0]), positions(2)[1]]
    schedule = ChunkSchedule(begun, slots=4)
    (position,) = _started(schedule)
    assert position.segment == 1
    schedule.on_result(ChunkResult(_ended(position)), 0.0)
    assert schedule.is_finished


def test_what_is_refused_for_now_is_tried_again_for_ever_with_growing_waits() -> None:
    schedule = ChunkSchedule(positions(1), slots=1)
    now_s, waits = 0.0, []
    for attempt in range(1, 41):
        (position,) = _started(schedule, now_s)
        refused = ChunkResult(position, error="throttled", retriable=True)
        assert schedule.on_result(refused, now_s) == attempt
        assert schedule.next(now_s) is None
        wait_s = schedule.wait_s(now_s)
        assert wait_s is not None
        waits.append(wait_s)
        now_s += wait_s
    assert waits[:3] == [1.0, 2.0, 4.0]
    assert waits[-1] == WAIT_MAX_S
    assert schedule.failure is None


def test_progress_makes_the_next_wait_short_again() -> None:
    schedule = ChunkSchedule(positions(1), slots=1)
    (position,) = _started(schedule)
    schedule.on_result(ChunkResult(position, error="throttled", retriable=True), 0.0)
    (position,) = _started(schedule, 1.0)
    moved = ChunkResult(_moved(position), error="throttled", retriable=True)
    assert schedule.on_result(moved, 1.0) == 1
    assert schedule.wait_s(1.0) == 1.0


def test_one_segment_waits_and_the_others_go_on() -> None:
    schedule = ChunkSchedule(positions(2), slots=1)
    (first,) = _started(schedule)
    schedule.on_result(ChunkResult(first, error="throttled", retriable=True), 0.0)
    (second,) = _started(schedule)
    assert second.segment != first.segment


def test_what_waiting_does_not_mend_ends_the_scan_at_once() -> None:
    schedule = ChunkSchedule(positions(4), slots=2)
    first, second = _started(schedule)
    schedule.on_result(ChunkResult(first, error="no such table"), 0.0)
    assert schedule.next(0.0) is None
    assert schedule.failure is not None
    assert (schedule.failure.error, schedule.failure.retriable) == ("no such table", False)
    schedule.on_result(ChunkResult(_moved(second)), 0.0)
    assert schedule.next(0.0) is None


def test_the_first_failure_is_the_one_that_is_told() -> None:
    schedule = ChunkSchedule(positions(2), slots=2)
    first, second = _started(schedule)
    schedule.on_result(ChunkResult(first, error="the cause"), 0.0)
    schedule.on_result(ChunkResult(second, error="what it led to"), 0.0)
    assert schedule.failure is not None
    assert schedule.failure.error == "the cause"


def test_a_lost_chunk_is_done_again_from_the_same_position() -> None:
    schedule = ChunkSchedule(positions(1), slots=1)
    (position,) = _started(schedule)
    assert schedule.on_lost(position.segment, "killed", 0.0) == 1
    assert schedule.next(0.5) is None
    assert schedule.next(1.0) == position


def test_losses_in_a_row_without_progress_end_the_scan() -> None:
    schedule = ChunkSchedule(positions(1), slots=1)
    for _ in range(LOST_MAX):
        assert schedule.failure is None
        assert schedule.next(1e9) is not None
        schedule.on_lost(0, "out of memory", 0.0)
    assert schedule.failure is not None
    assert schedule.failure.retriable
    assert "segment 0" in schedule.failure.error
    assert "out of memory" in schedule.failure.error


def test_losses_with_progress_in_between_do_not_add_up() -> None:
    schedule = ChunkSchedule(positions(1), slots=1)
    for _ in range(3 * LOST_MAX):
        (position,) = _started(schedule, 1e9)
        schedule.on_lost(0, "killed", 0.0)
        (position,) = _started(schedule, 1e9)
        schedule.on_result(ChunkResult(_moved(position)), 0.0)
    assert schedule.failure is None


@pytest.mark.parametrize(
    ("segments", "slots", "share"), [(8, 4, 25.0), (2, 4, 50.0), (1, 9, 100.0)]
)
def test_capacity_is_shared_out_over_the_chunks_that_can_run(
    segments: int, slots: int, share: float
) -> None:
    assert ChunkSchedule(positions(segments), slots=slots).share(100.0) == share


def test_without_a_limit_there_is_nothing_to_share() -> None:
    assert ChunkSchedule(positions(1), slots=1).share(None) is None


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_every_segment_gets_to_its_end_in_order(seed: int) -> None:
    """Random results, refusals and losses: positions never go back, shares never add up to more."""
    chance = random.Random(seed)
    schedule = ChunkSchedule(positions(chance.randint(1, 12)), slots=chance.randint(1, 5))
    now_s, running, reached = 0.0, [], dict.fromkeys(range(12), 0)
    while not schedule.is_finished:
        for position in _started(schedule, now_s):
            assert position.count >= reached[position.segment]
            running.append((position, schedule.share(1.0) or 0.0))
        assert sum(share for _, share in running) <= 1.0 + 1e-9
        if not running:
            now_s += schedule.wait_s(now_s) or 0.0
            continue
        position, _ = running.pop(chance.randrange(len(running)))
        fate = chance.random()
        if fate < 0.1:
            schedule.on_lost(position.segment, "killed", now_s)
        else:
            after = _ended(position) if fate > 0.8 else _moved(position)
            result = ChunkResult(after)
            if fate < 0.3:
                result = replace(result, position=position, error="busy", retriable=True)
            reached[position.segment] = result.position.count
            schedule.on_result(result, now_s)
        if schedule.failure is not None:
            assert schedule.failure.retriable
            return
        now_s += chance.random()
