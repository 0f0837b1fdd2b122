"""How benchmarks take what they are told, and an end from outside."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

import pytest

from benchmarks import rig, tables, topics
from benchmarks.sizes import size


@pytest.mark.parametrize("given", ["0", "-5", "x", ""])
@pytest.mark.parametrize("option", ["--topics", "--rounds"])
def test_a_size_that_leaves_nothing_to_measure_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str, given: str
) -> None:
    monkeypatch.setattr("sys.argv", ["topics", f"{option}={given}"])
    with pytest.raises(SystemExit) as end:
        topics.main()
    assert end.value.code == 2
    assert option in capsys.readouterr().err


def test_no_tables_are_too_few() -> None:
    with pytest.raises(SystemExit) as end:
        tables.main(["--tables=0"])
    assert end.value.code == 2


def test_a_size_is_a_number() -> None:
    assert size("7") == 7


@pytest.fixture
def handled_as_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("handled_as_before")
def test_ended_from_outside_the_parts_end_first() -> None:
    ended: list[str] = []

    def measure() -> None:
        with contextlib.ExitStack() as parts:
            parts.callback(ended.append, "parts")
            os.kill(os.getpid(), signal.SIGTERM)
            signal.sigtimedwait([], 5)

    rig.leave_on_sigterm()
    with pytest.raises(SystemExit) as end:
        measure()
    assert end.value.code == 128 + signal.SIGTERM
    assert ended == ["parts"]
