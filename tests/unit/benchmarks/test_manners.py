"""How benchmarks take what they are told."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import cast

import pytest

from benchmarks import copying, tables, topics
from benchmarks.rig import DataPath, Rig
from benchmarks.sizes import size
from tests.fakes.process import FakeProcess
from tests.harness.kafka import KafkaBroker
from tests.harness.processes import HarnessError

ROOT = Path(__file__).parents[3]


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


@pytest.mark.parametrize("path", ["scan", "stream"])
def test_a_table_has_a_tenth(capsys: pytest.CaptureFixture[str], path: DataPath) -> None:
    with pytest.raises(SystemExit) as end:
        copying.measure(path, ["--items=9"])
    assert end.value.code == 2
    assert "9 is too few, expected at least 10" in capsys.readouterr().err


def test_who_waits_notices_that_the_scripted_dynamodb_has_ended() -> None:
    with FakeProcess() as fake:
        parts = Rig(fake, cast("KafkaBroker", None))
        parts.demand_fake()
    with pytest.raises(HarnessError, match="has ended"):
        parts.demand_fake()


def _names() -> list[str]:
    found = re.search(r"^BENCHMARKS := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found is not None
    return found[1].split()


def test_make_knows_benchmarks_only() -> None:
    for name in _names():
        assert '__name__ == "__main__"' in (ROOT / f"benchmarks/{name}.py").read_text(), name


@pytest.mark.parametrize("name", ["", "rig", "sizes", "Scan", "nosuch"])
def test_make_refuses_what_is_no_benchmark_and_names_those_that_are(name: str) -> None:
    make = ["make", "-s", "-o", ".venv/.installed", "bench", f"NAME={name}"]
    answer = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert f"NAME is '{name}', expected one of: {' '.join(_names())}" in answer.stderr
