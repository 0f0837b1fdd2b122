"""The locked versions fit pyproject.toml, and so do those of the bill of materials."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.image import audit, locks
from tests.image.locks import LOCKED, ROOT, SPARK_EXTRAS, WORKER_EXTRAS

LOCKS = {"worker.txt": WORKER_EXTRAS, "spark.txt": SPARK_EXTRAS}
HASH = f"--hash=sha256:{'0' * 64}"


def requirements(extras: tuple[str, ...]) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    texts = [*project["dependencies"], *(each for extra in extras for each in optional[extra])]
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize("name", LOCKS)
def test_every_requirement_is_locked_at_a_version_that_it_allows(name: str) -> None:
    """Write the locks with ``python -m tests.image.locks`` when requirements have changed."""
    pinned = audit.pins(LOCKED / name)
    wanted = [
        each for each in requirements(LOCKS[name]) if not each.marker or each.marker.evaluate()
    ]
    unfit = [
        str(each)
        for each in wanted
        if not each.specifier.contains(pinned.get(canonicalize_name(each.name), "0"))
    ]
    assert unfit == []


def test_the_image_with_spark_has_the_versions_of_the_other_one() -> None:
    worker, spark = (audit.pins(LOCKED / name) for name in ("worker.txt", "spark.txt"))
    assert worker.items() <= spark.items()
    assert {"pyspark", "py4j", "pyarrow"} <= spark.keys() - worker.keys()


def test_nothing_of_the_tests_is_in_an_image() -> None:
    pinned = audit.pins(LOCKED / "spark.txt")
    assert {"pytest", "moto", "ruff", "helm-python-sdk"} & pinned.keys() == set()


def test_what_builds_the_images_is_locked() -> None:
    pinned = audit.pins(LOCKED / "build.txt")
    assert {"cython", "hatchling", "setuptools", "wheel", "cyclonedx-bom"} <= pinned.keys()


def test_files_of_the_last_days_are_not_taken() -> None:
    for command in locks.commands(datetime.date(2030, 3, 10)):
        assert command[command.index("--exclude-newer") + 1] == "2030-03-03"


@pytest.mark.parametrize("entry", ["a>=1 \\\n", "a==1\n", "a \\\n", "a==1,<2 \\\n    --hash=md5:0"])
def test_a_lock_that_is_open_is_refused(tmp_path: Path, entry: str) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(entry)
    with pytest.raises(ValueError, match="is not pinned to one version with hashes"):
        audit.pins(lock)


def sbom(*components: dict[str, Any]) -> dict[str, Any]:
    return {"components": list(components)}


def component(name: str, version: str = "1", /, **licence: str) -> dict[str, Any]:
    said = [licence] if "expression" in licence else [{"license": licence}]
    return {"name": name, "version": version, "licenses": said if licence else None}


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "lock.txt"
    path.write_text(f"a-b==1 \\\n    {HASH}\n")
    return path


@pytest.mark.parametrize(
    ("components", "found"),
    [
        ([component("A_b", id="MIT")], []),
        ([component("a-b", expression="MPL-2.0 AND (Apache-2.0 OR MIT)")], []),
        ([component("a-b", name="License :: OSI Approved :: BSD License")], []),
        ([component("a-b", id="AGPL-3.0-only")], ["a-b: the licence is AGPL-3.0-only"]),
        ([component("a-b", expression="MIT AND SSPL-1.0")], ["a-b: the licence is SSPL-1.0"]),
        ([component("a-b")], ["a-b: the licence is none that is known"]),
        ([component("a-b", "2", id="MIT")], ["a-b: the lock says 1, the image has 2"]),
        ([], ["a-b: the lock says 1, the image has None"]),
    ],
)
def test_an_audit_finds_other_versions_and_other_licences(
    lock: Path, components: list[dict[str, Any]], found: list[str]
) -> None:
    assert audit.problems(sbom(*components), lock) == found
