"""What the Dockerfile says, read: sources that exist, pins, a user who is nobody."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import connectd
from tests.image import dockerfile
from tests.image.dockerfile import Dockerfile
from tests.image.locks import ROOT

TARGETS = ("worker", "spark")
LINT_DEADLINE_S = 60.0

each_target = pytest.mark.parametrize("target", TARGETS)


@pytest.fixture(scope="module")
def file() -> Dockerfile:
    return dockerfile.read()


def test_the_worker_is_what_one_gets_without_a_target(file: Dockerfile) -> None:
    assert list(file.stages)[-1] == "worker"


def test_what_is_copied_exists_and_is_sent_to_the_engine(file: Dockerfile) -> None:
    sources = [
        source
        for stage in file.stages.values()
        for each in stage.instructions
        if each.word == "COPY" and each.copied[0] is None
        for source in each.copied[1]
    ]
    assert {"connectd", "spark_jobs", "config/locks", "pyproject.toml", "hatch_build.py"} <= set(
        sources
    )
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert [source for source in sources if not dockerfile.is_sent(source)] == []


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("connectd/app/wiring.py", True),
        ("config/worker.properties", True),
        ("connectd/__pycache__/x.pyc", False),
        ("connectd/connectors/dynamodb/page_scanner.pyx", True),
        ("connectd/connectors/dynamodb/page_items.pxi", True),
        ("connectd/connectors/dynamodb/page_scanner.cpython-311-x86_64-linux-gnu.so", False),
        ("config/standalone.properties", False),
        (".git/config", False),
        (".env", False),
        ("tests/__init__.py", False),
        ("helm/connectd/values.yaml", False),
    ],
)
def test_nothing_is_sent_to_the_engine_but_what_is_named(path: str, sent: bool) -> None:
    assert dockerfile.is_sent(path) is sent


def test_every_stage_that_is_copied_from_is_there(file: Dockerfile) -> None:
    stages = [
        each.copied[0]
        for stage in file.stages.values()
        for each in stage.instructions
        if each.word == "COPY" and each.copied[0] is not None
    ]
    assert set(stages) == {"build", "build-spark", "jre"}
    assert set(stages) <= set(file.stages)


def test_base_images_are_pinned_to_exact_releases(file: Dockerfile) -> None:
    bases = {each.base for each in file.stages.values()} - set(file.stages)
    images = {file.image_of(base) for base in bases}
    assert len(images) == 3
    unpinned = [each for each in images if not re.fullmatch(r"[\w/.-]+:\d+\.\d+\.\d+[\w.-]*", each)]
    assert unpinned == []


def test_what_is_compiled_is_compiled_for_the_python_that_runs_it(file: Dockerfile) -> None:
    built, runs = (file.image_of(file.stages[each].base) for each in ("build", "runtime"))
    assert built.replace("-bookworm", "-slim-bookworm") == runs


@each_target
def test_the_process_is_nobody(file: Dockerfile, target: str) -> None:
    user, group = file.last(target, "USER").text.split(":")
    assert int(user) >= 10_000
    assert int(group) >= 10_000
    words = [each.word for each in file.instructions(target)]
    last_user = len(words) - words[::-1].index("USER")
    assert "RUN" not in words[last_user:]
    assert "COPY" not in words[last_user:]


@each_target
def test_nothing_that_builds_is_in_the_image(file: Dockerfile, target: str) -> None:
    runs = [each.text for each in file.instructions(target) if each.word == "RUN"]
    assert [run for run in runs if re.search(r"\b(pip|apt-get|apt|curl|wget)\b", run)] == []


@each_target
def test_it_is_labelled_with_its_version(file: Dockerfile, target: str) -> None:
    labels = {
        name: text
        for each in file.instructions(target)
        if each.word == "LABEL"
        for name, text in each.pairs.items()
    }
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert labels["org.opencontainers.image.version"] == "${VERSION}"
    arguments = [each.text for each in file.instructions(target) if each.word == "ARG"]
    assert f"VERSION={connectd.__version__}" in arguments


def test_every_package_comes_with_its_hash(file: Dockerfile) -> None:
    lines = [
        line
        for stage in file.stages.values()
        for each in stage.instructions
        if each.word == "RUN"
        for line in each.text.split("&&")
        if re.search(r"\bpip\b.* (install|wheel)\b", line)
    ]
    assert len(lines) >= 6
    assert [
        line for line in lines if not re.search(r"--require-hashes|--no-index|--no-deps", line)
    ] == []
    outside = [line for line in lines if "-r config/locks" in line]
    assert [line for line in outside if "--require-hashes" not in line] == []


def test_a_linter_finds_nothing_to_complain_of() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    ended = subprocess.run(
        [hadolint, "--no-color", ROOT / "Dockerfile"],
        capture_output=True,
        text=True,
        timeout=LINT_DEADLINE_S,
    )
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr


def test_an_instruction_that_is_not_known_is_no_dockerfile() -> None:
    path = ROOT / "pyproject.toml"
    with pytest.raises(ValueError, match="do not know"):
        dockerfile.read(path)
