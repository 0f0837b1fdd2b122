"""The package of docs/plugins.md, installed with pip and used by a worker on real Kafka."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.kafka import KafkaBroker
from tests.harness.processes import wait_for
from tests.harness.topics import read_topic
from tests.harness.worker import ROOT, WorkerProcess
from tests.packages import documented, wheel

pytestmark = pytest.mark.timeout(240)

_DEADLINE_S = 90.0
_CODE_LINES_MAX = 20
_CLASSES = {
    "com.acme.TickSource": "source",
    "com.acme.CsvConverter": "converter",
    "com.acme.MaskAddress": "transformation",
}
_BROKEN = {
    "pyproject.toml": '[project]\nname = "broken-plugins"\nversion = "0.9"\n'
    '[project.entry-points."connectd.transforms"]\n"com.acme.Broken" = "broken_plugins:Broken"\n',
    "broken_plugins.py": "import a_module_that_is_not_there\n",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the documented package."""
    into = tmp_path_factory.mktemp("site")
    wheel.install(documented.files(), into=into, work=tmp_path_factory.mktemp("wheels"))
    return into


@pytest.fixture
def with_broken(installed: Path, tmp_path: Path) -> str:
    """``PYTHONPATH`` with a package beside it that cannot be imported."""
    wheel.install(_BROKEN, into=tmp_path / "site", work=tmp_path)
    return f"{installed}:{tmp_path / 'site'}"


def connectd(python_path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One run of the command line."""
    return subprocess.run(
        [sys.executable, "-m", "connectd", *arguments],
        env={"PYTHONPATH": python_path, "PATH": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )


def test_each_documented_plugin_fits_into_twenty_lines() -> None:
    lengths = {
        name: len([line for line in text.splitlines() if line.strip()])
        for name, text in documented.files().items()
        if name.endswith(".py")
    }
    assert len(lengths) == 3
    assert {name: lines for name, lines in lengths.items() if lines > _CODE_LINES_MAX} == {}


def test_an_installed_package_is_listed_with_its_version(installed: Path) -> None:
    answer = connectd(str(installed), "plugins", "--json")
    listed = {each["class"]: each for each in json.loads(answer.stdout)}
    assert (answer.returncode, answer.stderr) == (0, "")
    assert {name: listed[name]["type"] for name in _CLASSES} == _CLASSES
    assert {listed[name]["version"] for name in _CLASSES} == {"1.2"}


def test_a_package_that_cannot_be_imported_is_told_of_and_the_others_are_there(
    with_broken: str,
) -> None:
    answer = connectd(with_broken, "plugins")
    assert answer.returncode == 1
    assert "com.acme.TickSource" in answer.stdout
    assert "com.acme.Broken" not in answer.stdout
    (line,) = answer.stderr.splitlines()
    assert line.startswith("connectd: com.acme.Broken of broken-plugins 0.9 cannot be used")
    assert "No module named 'a_module_that_is_not_there'" in line


def test_validation_knows_the_plugins_and_why_one_is_missing(
    with_broken: str, tmp_path: Path
) -> None:
    file = tmp_path / "ticks.json"
    connector = json.loads(documented.files()["ticks.json"])
    file.write_text(json.dumps(connector), encoding="utf-8")
    answer = connectd(with_broken, "validate", str(file))
    assert (answer.returncode, answer.stdout) == (0, f"{file}: valid\n"), answer.stderr
    connector["config"]["transforms.mask.type"] = "com.acme.Broken"
    del connector["config"]["topic"]
    file.write_text(json.dumps(connector), encoding="utf-8")
    answer = connectd(with_broken, "validate", str(file))
    assert answer.returncode == 1
    assert "a_module_that_is_not_there" in answer.stdout
    assert 'Missing required configuration "topic"' in answer.stdout


@pytest.fixture
def worker(
    with_broken: str, kafka_broker: KafkaBroker, kafka_prefix: str, tmp_path: Path
) -> Iterator[WorkerProcess]:
    """A worker with both packages."""
    worker = WorkerProcess(
        kafka_broker.bootstrap,
        group_id=f"{kafka_prefix}group",
        topics_prefix=kafka_prefix,
        env={"PYTHONPATH": with_broken},
        home=tmp_path / "worker",
    )
    worker.start()
    yield worker
    worker.close()


def _values(broker: KafkaBroker, topic: str) -> list[bytes | None]:
    return [record.value for record in read_topic(broker.bootstrap, topic)]


@pytest.mark.kafka
def test_a_worker_runs_the_documented_connector_and_goes_on_where_it_was(
    worker: WorkerProcess, kafka_broker: KafkaBroker, kafka_prefix: str
) -> None:
    topic = f"{kafka_prefix}ticks"
    connector: dict[str, Any] = json.loads(documented.files()["ticks.json"])
    connector["config"] |= {"topic": topic, "every.ms": "50"}
    created = worker.request("POST", "/connectors", connector)
    assert created.status == 201, created.body

    def has(count: int) -> bool:
        return len(_values(kafka_broker, topic)) >= count

    assert wait_for(lambda: has(3), deadline_s=_DEADLINE_S), worker.log_tail()
    assert worker.sigterm() == 0
    before = _values(kafka_broker, topic)
    worker.start()
    assert wait_for(lambda: has(len(before) + 2), deadline_s=_DEADLINE_S), worker.log_tail()
    found = _values(kafka_broker, topic)
    wanted = [f"{number};***@acme.example".encode() for number in range(1, len(found) + 1)]
    assert found == wanted


@pytest.mark.kafka
def test_a_connector_that_needs_a_broken_plugin_is_refused_with_the_reason(
    worker: WorkerProcess,
) -> None:
    connector: dict[str, Any] = json.loads(documented.files()["ticks.json"])
    connector["config"]["transforms.mask.type"] = "com.acme.Broken"
    refused = worker.request("POST", "/connectors", connector)
    assert refused.status == 400
    assert "a_module_that_is_not_there" in refused.body["message"]
    assert "a plugin cannot be used" in worker.log_tail()
