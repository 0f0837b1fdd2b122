"""The command line: it explains itself, fails in one line, and has not drifted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from connectd import cli
from connectd.cli import reference

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (
    "run", "standalone", "validate", "plugins", "reference", "connectors", "offsets", "health",
)  # fmt: skip
VALID = ROOT / "config" / "dynamodb-source.json"

CapSys = pytest.CaptureFixture[str]


class TestHelp:
    @pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
    def test_teaches(self, command: list[str], capsys: CapSys) -> None:
        with pytest.raises(SystemExit) as ending:
            cli.main([*command, "--help"])
        assert ending.value.code == 0
        told = capsys.readouterr().out
        assert f"  connectd {' '.join(command)}" in told, "an example"
        assert "Exit codes:" in told or not command

    def test_names_every_command(self, capsys: CapSys) -> None:
        with pytest.raises(SystemExit):
            cli.main(["--help"])
        told = capsys.readouterr().out
        assert [name for name in COMMANDS if not re.search(rf"^ +{name}\b", told, re.M)] == []

    def test_is_what_one_gets_without_a_command(self, capsys: CapSys) -> None:
        assert cli.main([]) == 2
        assert "usage: connectd" in capsys.readouterr().err

    def test_loads_no_worker(self) -> None:
        program = (
            "import sys\n"
            "from connectd import cli\n"
            "try: cli.main(['standalone', '--help'])\n"
            "except SystemExit: pass\n"
            "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, text=True, capture_output=True, check=True
        )
        loaded = set(done.stdout.splitlines()[-1].split())
        heavy = {"fastapi", "uvicorn", "boto3", "botocore", "aiohttp", "confluent_kafka", "orjson"}
        assert "argparse" in loaded
        assert loaded & heavy == set()


class TestMistakes:
    def test_an_unknown_command_names_the_known_ones(self, capsys: CapSys) -> None:
        with pytest.raises(SystemExit) as ending:
            cli.main(["runn"])
        assert ending.value.code == 2
        told = capsys.readouterr().err
        assert [name for name in COMMANDS if name not in told] == []

    @pytest.mark.parametrize("command", ["run", "standalone"])
    def test_a_missing_properties_file_is_told_in_one_line(
        self, command: str, capsys: CapSys, tmp_path: Path
    ) -> None:
        missing = tmp_path / "worker.properties"
        assert cli.main([command, str(missing)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line == f"connectd: cannot read the file {missing}: No such file or directory"

    def test_a_wrong_properties_file_names_every_key(self, capsys: CapSys, tmp_path: Path) -> None:
        path = tmp_path / "worker.properties"
        path.write_text("bootstrap.servers=localhost:9092\noffset.flush.interval.ms=soon\n")
        assert cli.main(["run", str(path)]) == 2
        told = capsys.readouterr().err
        for key in ("group.id", "config.storage.topic", "offset.flush.interval.ms"):
            assert key in told

    def test_a_login_in_a_wrong_value_is_not_repeated(self, capsys: CapSys, tmp_path: Path) -> None:
        path = tmp_path / "worker.properties"
        path.write_text("bootstrap.servers=localhost:9092\nlisteners=http://me:s3cret@host:1\n")
        assert cli.main(["run", str(path)]) == 2
        told = capsys.readouterr().err
        assert "http://[hidden]@host:1" in told
        assert "s3cret" not in told

    def test_a_broken_connector_file_is_told_before_anything_is_started(
        self, capsys: CapSys, tmp_path: Path
    ) -> None:
        worker, connector = tmp_path / "worker.properties", tmp_path / "c.properties"
        worker.touch()
        connector.write_text("topic=lines\n")
        assert cli.main(["standalone", str(worker), str(connector)]) == 2
        assert f"'{connector}' is missing the mandatory 'name'" in capsys.readouterr().err

    def test_a_reader_that_has_seen_enough_is_no_error(self) -> None:
        pipe = f"{sys.executable} -m connectd reference | head -n 1; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["bash", "-c", pipe], cwd=ROOT, text=True, capture_output=True, timeout=60, check=False
        )
        assert done.stdout.splitlines() == ["# Configuration reference", "0"]
        assert done.stderr == ""


class TestReference:
    def test_in_the_repository_is_the_generated_one(self) -> None:
        """Write it with ``connectd reference > config/REFERENCE.md`` when keys have changed."""
        stored = (ROOT / "config" / "REFERENCE.md").read_text(encoding="utf-8")
        assert stored == reference.reference_text()

    def test_has_the_same_keys_as_json(self, capsys: CapSys) -> None:
        assert cli.main(["reference", "--format", "json"]) == 0
        sections = json.loads(capsys.readouterr().out)["sections"]
        text = reference.reference_text()
        for section in sections:
            assert f"## {section['title']}\n" in text
            assert [
                key["name"] for key in section["keys"] if f"| `{key['name']}`" not in text
            ] == []
        assert [section["title"] for section in sections[:2]] == ["Worker", "Standalone worker"]


class TestPlugins:
    def test_are_listed_under_our_names_and_the_java_ones(self, capsys: CapSys) -> None:
        assert cli.main(["plugins"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split() == ["TYPE", "VERSION", "CLASS"]
        for name in (
            "connectd.DynamoDBSource",
            "com.trustpilot.connector.dynamodb.DynamoDBSourceConnector",
            "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "org.apache.kafka.connect.json.JsonConverter",
        ):
            assert [line for line in lines if line.endswith(name)], name

    def test_are_listed_as_json_too(self, capsys: CapSys) -> None:
        assert cli.main(["plugins", "--json"]) == 0
        listed = json.loads(capsys.readouterr().out)
        assert {"source", "converter", "transformation"} <= {each["type"] for each in listed}
        assert set(listed[0]) == {"class", "type", "version"}


class TestValidate:
    def test_a_good_config(self, capsys: CapSys) -> None:
        assert cli.main(["validate", str(VALID)]) == 0
        assert capsys.readouterr().out == f"{VALID}: valid\n"

    def test_with_the_worker_that_is_to_run_it(self, capsys: CapSys) -> None:
        worker = ROOT / "config" / "worker.properties"
        assert cli.main(["validate", "-w", str(worker), str(VALID)]) == 0
        assert capsys.readouterr().out == f"{VALID}: valid\n"

    def bad(self, tmp_path: Path) -> Path:
        path = tmp_path / "c.properties"
        path.write_text("name=c\nconnector.class=FileStreamSource\ntasks.max=many\ntopik=t\n")
        return path

    def test_a_bad_config_names_each_key_and_problem(self, capsys: CapSys, tmp_path: Path) -> None:
        path = self.bad(tmp_path)
        assert cli.main(["validate", str(path)]) == 1
        told = capsys.readouterr()
        assert told.out.startswith(f"{path}: 3 errors\n")
        assert "tasks.max" in told.out
        assert 'Missing required configuration "topic"' in told.out
        assert "Not a number of type INT" in told.out
        assert "\033" not in told.out, "colours are for terminals"
        assert "topik" in told.err, "a hint, and no error"

    def test_the_same_as_json_is_the_answer_of_the_rest_api(
        self, capsys: CapSys, tmp_path: Path
    ) -> None:
        assert cli.main(["validate", "--json", str(self.bad(tmp_path))]) == 1
        infos = json.loads(capsys.readouterr().out)
        assert (infos["name"], infos["error_count"]) == ("FileStreamSource", 3)
        assert {"definition", "value"} == set(infos["configs"][0])

    def test_an_unknown_class_is_a_problem_like_others(
        self, capsys: CapSys, tmp_path: Path
    ) -> None:
        path = tmp_path / "c.json"
        path.write_text('{"name": "c", "connector.class": "Nope"}')
        assert cli.main(["validate", str(path)]) == 1
        assert "connector.class" in capsys.readouterr().out

    def test_no_config_at_all(self, capsys: CapSys, tmp_path: Path) -> None:
        path = tmp_path / "c.json"
        path.write_text("{")
        assert cli.main(["validate", str(path)]) == 2
        assert "is not JSON" in capsys.readouterr().err

    def test_secrets_are_not_repeated(self, capsys: CapSys, tmp_path: Path) -> None:
        path = tmp_path / "c.json"
        config = {
            "name": "c",
            "connector.class": "connectd.DynamoDBSource",
            "aws.secret.key": "planted-secret-1",
            "tasks.max": "0",
        }
        path.write_text(json.dumps(config))
        for arguments in (["validate"], ["validate", "--json"]):
            assert cli.main([*arguments, str(path)]) == 1
            told = capsys.readouterr()
            assert "planted-secret-1" not in told.out + told.err
