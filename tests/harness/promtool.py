"""Prometheus' own judge of rule files, built once for this machine, outside of the repository.

There is no package of promtool but its source in a Go module, which ``go mod download`` fetches and
checks against Go's checksum database. Most of the whole program is clients of other services, so
its runner of rule tests is compiled with a small program around it, ``promtool_rules.go``: a minute
of two cores on a new machine. The program is kept in ``<cache>/promtool-<version>-<digest>``
(``jars.cache_dir``). ``python -m tests.harness.promtool`` builds it ahead of the tests that run it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from tests.harness import jars
from tests.harness.processes import HarnessError

VERSION: Final = "v0.316.0"
MODULE: Final = "github.com/prometheus/prometheus"
MAIN: Final = Path(__file__).with_name("promtool_rules.go")
BUILD_DEADLINE_S: Final = 1200.0
RUN_DEADLINE_S: Final = 60.0

_SETTINGS: Final = {"GOFLAGS": "-buildvcs=false", "GOWORK": "off", "CGO_ENABLED": "0"}


def program() -> Path:
    """The program, built when it is not there yet.

    Raises:
        HarnessError: there is no Go here, or the build failed, with its last words.
    """
    digest = hashlib.sha256(MAIN.read_bytes()).hexdigest()[:12]
    home = jars.cache_dir() / f"promtool-{VERSION}-{digest}"
    found = home / "promtool"
    if not found.is_file():
        home.mkdir(parents=True, exist_ok=True)
        with jars.locked(home / "lock"):
            if not found.is_file():
                _build(found)
    return found


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run it (``check rules FILE``, ``test rules FILE``); whatever its exit code."""
    return subprocess.run(
        [program(), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=RUN_DEADLINE_S,
        check=False,
    )


def _build(target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as building:
        source = Path(building)
        downloaded = _go("mod", "download", "-json", f"{MODULE}@{VERSION}", cwd=source)
        with zipfile.ZipFile(json.loads(downloaded)["Zip"]) as archive:
            archive.extractall(source)
        root = source / f"{MODULE}@{VERSION}"
        package = root / "cmd" / "promtool"
        for file in package.glob("*.go"):
            if file.name != "unittest.go":
                file.unlink()
        shutil.copyfile(MAIN, package / "main.go")
        built = source / "built"
        _go("build", "-ldflags", "-s -w", "-o", str(built), "./cmd/promtool", cwd=root)
        built.rename(target)


def _go(*arguments: str, cwd: Path) -> str:
    """What a command of Go prints."""
    go = shutil.which("go")
    if go is None:
        raise HarnessError(
            "alert rules are tested with promtool, which is built from its Go module: install Go "
            "1.25 or later, and put it on PATH"
        )
    answer = subprocess.run(
        [go, *arguments],
        env={**os.environ, **_SETTINGS},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=BUILD_DEADLINE_S,
        check=False,
    )
    if answer.returncode != 0:
        last = "\n".join(answer.stderr.splitlines()[-10:])
        told = f"go {arguments[0]} for promtool {VERSION}: exit code {answer.returncode}"
        raise HarnessError(f"{told}\n{last}")
    return answer.stdout


if __name__ == "__main__":
    program()
