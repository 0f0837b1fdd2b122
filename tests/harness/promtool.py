"""Prometheus' own tool for rule files, built once for this machine, outside of the repository.

There is no package of it but its source in a Go module, which ``go install`` fetches and checks
against Go's checksum database. Without service discovery, which is nine tenths of it, that takes
half a minute on a warm machine and a few on a new one. The program is kept in
``<cache>/promtool-<version>`` (``jars.cache_dir``).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.harness import jars
from tests.harness.processes import HarnessError

VERSION: Final = "v0.316.0"
PACKAGE: Final = "github.com/prometheus/prometheus/cmd/promtool"
BUILD_DEADLINE_S: Final = 1200.0
RUN_DEADLINE_S: Final = 60.0


def program() -> Path:
    """The program, built when it is not there yet.

    Raises:
        HarnessError: there is no Go here, or the build failed, with its last words.
    """
    home = jars.cache_dir() / f"promtool-{VERSION}"
    found = home / "promtool"
    if not found.is_file():
        home.mkdir(parents=True, exist_ok=True)
        with jars.locked(home / "lock"):
            if not found.is_file():
                _build(home)
    return found


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run it; whatever its exit code."""
    return subprocess.run(
        [program(), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=RUN_DEADLINE_S,
        check=False,
    )


def _build(home: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise HarnessError(
            "alert rules are tested with promtool, which is built from its Go module: install Go "
            "1.25 or later, and put it on PATH"
        )
    target = home / "building"
    answer = subprocess.run(
        [go, "install", "-tags", "remove_all_sd", "-ldflags", "-s -w", f"{PACKAGE}@{VERSION}"],
        env={**os.environ, "GOBIN": str(target), "GOFLAGS": "-buildvcs=false"},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=BUILD_DEADLINE_S,
        check=False,
    )
    if answer.returncode != 0:
        last = "\n".join(answer.stderr.splitlines()[-10:])
        raise HarnessError(f"building promtool {VERSION}: exit code {answer.returncode}\n{last}")
    (target / "promtool").rename(home / "promtool")
    target.rmdir()
