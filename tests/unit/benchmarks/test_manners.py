"""How benchmarks take what they are told."""

from __future__ import annotations

import pytest

from benchmarks import tables, topics
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
