"""Lines that repeat are held back, counted, and bounded."""

from __future__ import annotations

import logging

from connectd.observe import repeats
from connectd.observe.repeats import RepeatGate


def record(
    message: object, created: float, *, level: int = logging.WARNING, name: str = "connectd.x"
) -> logging.LogRecord:
    made = logging.LogRecord(name, level, __file__, 1, message, (), None)
    made.created = created
    return made


def test_the_first_lines_of_a_kind_pass_and_the_rest_is_counted() -> None:
    gate = RepeatGate()
    answers = [gate.admit(record({"event": "slow", "n": n}, 100.0)) for n in range(25)]
    assert answers == [0] * repeats.LINES_MAX + [None] * 5
    assert gate.statistics().suppressed == 5


def test_the_next_window_tells_how_many_were_held_back() -> None:
    gate = RepeatGate()
    for _ in range(repeats.LINES_MAX + 7):
        gate.admit(record({"event": "slow"}, 100.0))
    assert gate.admit(record({"event": "slow"}, 100.0 + repeats.WINDOW_S)) == 7
    assert gate.admit(record({"event": "slow"}, 101.0 + repeats.WINDOW_S)) == 0


def test_other_context_level_logger_or_message_is_another_kind() -> None:
    gate = RepeatGate()
    for _ in range(repeats.LINES_MAX):
        gate.admit(record({"event": "slow", "table": "a"}, 100.0))
    assert gate.admit(record({"event": "slow", "table": "a"}, 100.0)) is None
    assert gate.admit(record({"event": "slow", "table": "b"}, 100.0)) == 0
    assert gate.admit(record({"event": "slow", "table": "a", "task": 1}, 100.0)) == 0
    assert gate.admit(record({"event": "fast", "table": "a"}, 100.0)) == 0
    assert gate.admit(record({"event": "slow", "table": "a"}, 100.0, level=logging.ERROR)) == 0
    assert gate.admit(record({"event": "slow", "table": "a"}, 100.0, name="connectd.y")) == 0


def test_messages_of_libraries_are_kinds_by_their_template() -> None:
    gate = RepeatGate()
    answers = [gate.admit(record("took %s ms", 100.0)) for _ in range(repeats.LINES_MAX + 1)]
    assert answers[-1] is None


def test_debug_lines_always_pass() -> None:
    gate = RepeatGate()
    answers = {gate.admit(record({"event": "d"}, 1.0, level=logging.DEBUG)) for _ in range(100)}
    assert answers == {0}


def test_a_clock_set_back_opens_a_new_window() -> None:
    gate = RepeatGate()
    for _ in range(repeats.LINES_MAX + 1):
        gate.admit(record({"event": "slow"}, 10_000.0))
    assert gate.admit(record({"event": "slow"}, 50.0)) == 1


def test_the_number_of_kinds_is_bounded() -> None:
    gate = RepeatGate()
    for number in range(repeats.KINDS_MAX + 50):
        gate.admit(record({"event": f"kind {number}"}, 100.0))
    assert gate.statistics().kinds == repeats.KINDS_MAX
