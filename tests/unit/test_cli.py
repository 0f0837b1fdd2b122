"""The command line: it explains itself, and what it generates has not drifted."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectd import cli
from connectd.cli import reference

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_in_the_repository_is_the_generated_one() -> None:
    """Write it with ``connectd reference > config/REFERENCE.md`` when keys have changed."""
    stored = (ROOT / "config" / "REFERENCE.md").read_text(encoding="utf-8")
    assert stored == reference.reference_text()


def test_plugins_are_listed_under_our_names_and_the_java_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["plugins"]) == 0
    listed = capsys.readouterr().out
    for name in (
        "connectd.DynamoDBSource",
        "com.trustpilot.connector.dynamodb.DynamoDBSourceConnector",
        "org.apache.kafka.connect.json.JsonConverter",
    ):
        assert name in listed


def test_a_missing_properties_file_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = tmp_path / "worker.properties"
    assert cli.main(["run", str(missing)]) == 2
    assert str(missing) in capsys.readouterr().err


def test_a_wrong_properties_file_names_every_key(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "worker.properties"
    path.write_text("bootstrap.servers=localhost:9092\noffset.flush.interval.ms=soon\n")
    assert cli.main(["run", str(path)]) == 2
    told = capsys.readouterr().err
    for key in ("group.id", "config.storage.topic", "offset.flush.interval.ms"):
        assert key in told


@pytest.mark.parametrize("command", [[], ["run"], ["plugins"], ["reference"]])
def test_help_teaches(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        cli.main([*command, "--help"])
    assert ending.value.code == 0
    assert len(capsys.readouterr().out.splitlines()) > 4
